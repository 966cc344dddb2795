//! Sizes at which a stack is known to change its ways.

use model::{Bytes, Cell, Family, Protocol};

use crate::result::Breakpoint;

/// A size up to which one way holds, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threshold {
    name: &'static str,
    last: u64,
}

/// The page of every architecture this tool is usually run on.
const PAGE: u64 = 4096;

/// GSO_LEGACY_MAX_SIZE of the kernel's include/linux/netdevice.h.
const GSO_LIMIT: u64 = 65_536;

/// The largest payload that one frame carries; `None` when neither the link's
/// MTU nor TCP's own segment size is known.
///
/// UDP: MTU less 28 bytes of headers over IPv4, 48 over IPv6. TCP: the segment
/// size it told, else MTU less 40 or 60 and 12 of the usual timestamps (RFC 7323).
pub fn frame_payload(cell: &Cell, mtu: Option<u64>, segment: Option<Bytes>) -> Option<u64> {
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
pub fn of(cell: &Cell, mtu: Option<u64>, segment: Option<Bytes>) -> Vec<Threshold> {
    let frame = match cell.protocol() {
        Protocol::Tcp => "MSS",
        Protocol::Udp => "MTU",
    };
    let frame = frame_payload(cell, mtu, segment).map(|last| Threshold { name: frame, last });
    let buffers = [cell.sndbuf, cell.rcvbuf].into_iter().flatten().map(|size| Threshold { name: "socket buffer", last: size.get() });
    let fixed = [Threshold { name: "page", last: PAGE }, Threshold { name: "GSO limit", last: GSO_LIMIT }];
    frame.into_iter().chain(buffers).chain(fixed).collect()
}

/// A breakpoint between two neighbouring sizes, with its name when a threshold
/// lies between them and they are near: no more than a factor of two apart. A
/// wider gap could hold many causes.
pub fn breakpoint(after: Bytes, before: Bytes, thresholds: &[Threshold]) -> Breakpoint {
    let near = before.get() <= after.get().saturating_mul(2);
    let between = |threshold: &&Threshold| (after.get()..before.get()).contains(&threshold.last);
    let found = thresholds.iter().find(between).filter(|_| near);
    Breakpoint { after, before, name: found.map(|threshold| threshold.name.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::{breakpoint, frame_payload, of};
    use crate::testing::cell;
    use model::{Bytes, Cell, Family, Test};

    fn name(cell: &Cell, after: u64, before: u64) -> Option<String> {
        breakpoint(Bytes::new(after), Bytes::new(before), &of(cell, Some(1500), None)).name
    }

    #[test]
    fn breakpoints_are_named_where_they_sit() {
        let udp = cell(Test::UdpStream, 1);
        assert_eq!(name(&udp, 1472, 1473).as_deref(), Some("MTU"));
        assert_eq!(name(&udp, 1471, 1472), None);
        assert_eq!(name(&udp, 4096, 8192).as_deref(), Some("page"));
        assert_eq!(name(&udp, 2032, 8192), None);
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
