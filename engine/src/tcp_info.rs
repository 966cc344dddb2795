//! TCP's own account of a connection.

use std::os::fd::{AsRawFd, OwnedFd};

use model::end::TcpInfo;
use sys::socket::get;

/// Room for `struct tcp_info` of this and later kernels.
const ROOM: usize = 512;

/// Asks the kernel; `None` when the socket has no such thing.
pub fn read(socket: &OwnedFd) -> Option<TcpInfo> {
    let mut bytes = [0u8; ROOM];
    let length = get(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).ok()?;
    Some(parse(bytes.get(..length)?))
}

/// Segments and bytes that a sender has in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Segments that were sent and not yet acknowledged (`tcpi_unacked`).
    pub segments: u32,
    /// Bytes that were acknowledged so far (`tcpi_bytes_acked`).
    pub acknowledged: u64,
}

/// Asks the kernel what is in flight; `None` when the connection is not, or no
/// more, open for data both ways (the end of a stream is a segment, too), or the
/// kernel (before Linux 4.1) has no such thing. It allocates nothing.
pub fn under_way(socket: &OwnedFd) -> Option<UnderWay> {
    /// TCP_ESTABLISHED of the kernel (include/net/tcp_states.h).
    const ESTABLISHED: u8 = 1;
    const UNACKED: usize = 24;
    const BYTES_ACKED: usize = 120;
    let mut bytes = [0u8; BYTES_ACKED + 8];
    let length = get(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).ok()?;
    if length < bytes.len() || bytes[0] != ESTABLISHED {
        return None;
    }
    let segments = u32::from_ne_bytes(*bytes.get(UNACKED..)?.first_chunk()?);
    let acknowledged = u64::from_ne_bytes(*bytes.get(BYTES_ACKED..)?.first_chunk()?);
    Some(UnderWay { segments, acknowledged })
}

/// Reads fields at their offsets in `include/uapi/linux/tcp.h`. The kernel only
/// ever appends to that structure; what an older one lacks is 0.
pub fn parse(bytes: &[u8]) -> TcpInfo {
    let u32_at = |offset| bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_ne_bytes(*chunk));
    let u64_at = |offset| bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u64::from_ne_bytes(*chunk));
    TcpInfo {
        snd_mss: u32_at(16),
        rcv_mss: u32_at(20),
        pmtu: u32_at(60),
        rtt: u32_at(68),
        rttvar: u32_at(72),
        snd_cwnd: u32_at(80),
        total_retrans: u32_at(100),
        segs_out: u32_at(136),
        segs_in: u32_at(140),
        min_rtt: u32_at(148),
        data_segs_in: u32_at(152),
        data_segs_out: u32_at(156),
        busy_time: u64_at(168),
        rwnd_limited: u64_at(176),
        sndbuf_limited: u64_at(184),
        snd_wnd: u32_at(228),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use model::end::TcpInfo;
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn fields_stand_where_the_header_has_them() {
        let mut bytes = [0u8; 240];
        bytes[68..72].copy_from_slice(&7u32.to_ne_bytes());
        bytes[100..104].copy_from_slice(&3u32.to_ne_bytes());
        bytes[176..184].copy_from_slice(&9u64.to_ne_bytes());
        assert_eq!(parse(&bytes), TcpInfo { rtt: 7, total_retrans: 3, rwnd_limited: 9, ..TcpInfo::default() });
        assert_eq!(parse(&bytes[..104]).rwnd_limited, 0, "an older kernel's shorter structure");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }
    }
}
