//! Sizes at which a stack is known to change its ways.

use model::{Bytes, Cell, Family, Protocol};

use stats::cost::Threshold;

use crate::cost::Breakpoint;

/// The largest payload that one frame carries; `None` when neither the link's
/// MTU nor TCP's own segment size is known, and where no frame carries it.
///
/// UDP: MTU less 28 bytes of headers over IPv4, 48 over IPv6. TCP: the segment
/// size that it reported, else MTU less 40 or 60 and 12 of the usual timestamps (RFC 7323).
pub fn frame_payload(cell: &Cell, mtu: Option<u64>, segment: Option<Bytes>) -> Option<u64> {
    if cell.api.over().is_local() {
        return None;
    }
    let ip = match cell.family {
        Family::V4 => 20,
        Family::V6 => 40,
    };
    match (cell.protocol(), segment) {
        (Protocol::Tcp, Some(segment)) => Some(segment.get()),
        (Protocol::Tcp, None) => mtu?.checked_sub(ip + 20 + 12),
        (Protocol::Udp, _) => mtu?.checked_sub(ip + 8),
    }
}

/// The thresholds of a series, in the order in which they claim a breakpoint.
pub fn thresholds(cell: &Cell, mtu: Option<u64>, segment: Option<Bytes>) -> Vec<Threshold> {
    let frame = match cell.protocol() {
        Protocol::Tcp => "MSS",
        Protocol::Udp => "MTU",
    };
    let frame = frame_payload(cell, mtu, segment).map(|last| Threshold { name: frame, last });
    let buffers = [cell.sndbuf, cell.rcvbuf].into_iter().flatten().map(|size| Threshold { name: "socket buffer", last: size.get() });
    frame.into_iter().chain(buffers).chain(Threshold::FIXED).collect()
}

/// A breakpoint between two neighbouring sizes, with the name of the threshold
/// that lies between them.
pub fn breakpoint(after: Bytes, before: Bytes, thresholds: &[Threshold]) -> Breakpoint {
    Breakpoint { after, before, name: Threshold::between(after.get(), before.get(), thresholds).map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::{breakpoint, frame_payload, thresholds};
    use crate::testing::cell;
    use model::{Bytes, Cell, Family, Test};

    fn name(cell: &Cell, after: u64, before: u64) -> Option<String> {
        breakpoint(Bytes::new(after), Bytes::new(before), &thresholds(cell, Some(1500), None)).name
    }

    #[test]
    fn breakpoints_are_named_where_they_sit() {
        let udp = cell(Test::UdpStream, 1);
        assert_eq!(name(&udp, 1472, 1473).as_deref(), Some("MTU"));
        assert_eq!(name(&udp, 1471, 1472), None);
        assert_eq!(name(&udp, 4096, 8192).as_deref(), Some("page"));
        assert_eq!(name(&udp, 2032, 8192), None);
        let past = Cell { api: model::Api::UnixDgram, ..udp.clone() };
        assert_eq!((name(&past, 1472, 1473), name(&past, 4096, 8192).as_deref()), (None, Some("page")));
        let tcp = Cell { sndbuf: Some(Bytes::new(10_000)), ..cell(Test::TcpStream, 1) };
        assert_eq!(name(&tcp, 1448, 2032).as_deref(), Some("MSS"));
        assert_eq!(name(&tcp, 8192, 16_384).as_deref(), Some("socket buffer"));
        assert_eq!(name(&tcp, 65_536, 65_537).as_deref(), Some("GSO limit"));
    }

    #[test]
    fn headers_come_off_the_mtu() {
        let udp6 = Cell { family: Family::V6, ..cell(Test::UdpStream, 1) };
        assert_eq!(frame_payload(&udp6, Some(1500), None), Some(1452));
        let tcp = cell(Test::TcpStream, 1);
        assert_eq!(frame_payload(&tcp, Some(1500), None), Some(1448));
        assert_eq!(frame_payload(&tcp, Some(1500), Some(Bytes::new(1460))), Some(1460));
        assert_eq!(frame_payload(&tcp, None, None), None);
        assert_eq!(frame_payload(&tcp, Some(68), None), Some(16));
    }
}
