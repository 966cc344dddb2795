//! Protocols that this kernel has, and where its memory lies, learnt from sockets that are opened for it.

use std::fs::{self, File};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;

use super::MECHANISM;
use super::sockets::{SocketHolder, Sockets};
use crate::system::descriptor;
use model::Refusal;
use sys::page_size;

/// Sockets that are opened: family, type and protocol. None of them receives anything.
const KINDS: [[libc::c_int; 3]; 14] = [
    [libc::AF_INET, libc::SOCK_STREAM, 0],
    [libc::AF_INET6, libc::SOCK_STREAM, 0],
    [libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP],
    [libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_MPTCP],
    [libc::AF_INET, libc::SOCK_DGRAM, 0],
    [libc::AF_INET6, libc::SOCK_DGRAM, 0],
    [libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE],
    [libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP],
    [libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_RAW],
    [libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_RAW],
    [libc::AF_UNIX, libc::SOCK_STREAM, 0],
    [libc::AF_UNIX, libc::SOCK_DGRAM, 0],
    [libc::AF_PACKET, libc::SOCK_RAW, 0],
    [libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE],
];

/// Distance of two addresses in the kernel's map of memory where the machine's memory is not known: 1 TiB.
const USUAL_SPAN: u64 = 1 << 40;

/// What is learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocols {
    /// Addresses of the functions of each protocol.
    pub functions: Vec<u64>,
    /// Addresses that another socket may have: from those met, as far as the machine has memory.
    pub addresses: RangeInclusive<u64>,
}

impl Protocols {
    /// Opens the sockets, and looks for them among those of all processes: their inodes are this process's alone.
    ///
    /// # Errors
    /// When none of them can be opened, or is found.
    pub fn learn(sockets: &Sockets) -> Result<Self, Refusal> {
        let open: Vec<File> = KINDS.iter().filter_map(|kind| socket(*kind).ok()).collect();
        let inodes: Vec<u64> = open.iter().filter_map(|socket| Some(socket.metadata().ok()?.ino())).collect();
        let own: Vec<SocketHolder> = sockets.held()?.into_iter().filter(|held| inodes.contains(&held.inode)).collect();
        Self::of(&own, fs::read_to_string("/proc/zoneinfo").ok().and_then(|text| memory_span(&text))).ok_or_else(|| {
            let answer = format!("of {} sockets opened for it the kernel shows {}", open.len(), own.len());
            Refusal::new(MECHANISM, answer, "Allow this process a socket of any kind, such as TCP")
        })
    }

    fn of(own: &[SocketHolder], span: Option<u64>) -> Option<Self> {
        let mut functions: Vec<u64> = own.iter().map(|held| held.creator).filter(|creator| *creator != 0).collect();
        functions.sort_unstable();
        functions.dedup();
        let addresses = || own.iter().map(|held| held.socket.address);
        let (lowest, highest, span) = (addresses().min()?, addresses().max()?, span.unwrap_or(USUAL_SPAN));
        let addresses = lowest.saturating_sub(span)..=highest.saturating_add(span);
        (!functions.is_empty()).then_some(Self { functions, addresses })
    }
}

fn socket([family, kind, protocol]: [libc::c_int; 3]) -> io::Result<File> {
    // SAFETY: takes numbers only.
    let made = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    descriptor(made.into()).map(File::from)
}

/// Bytes from the start of the machine's memory to its end, with the holes in it, by the text of `/proc/zoneinfo`; `None`
/// where that is not the kernel's.
fn memory_span(text: &str) -> Option<u64> {
    let number = |line: &str, name| line.trim_start().strip_prefix(name)?.trim().parse::<u64>().ok();
    let (mut spanned, mut end) = (0, 0_u64);
    // Zone by zone: how many pages it spans, and further down where it starts.
    for line in text.lines() {
        spanned = number(line, "spanned ").unwrap_or(spanned);
        if let Some(start) = number(line, "start_pfn:") {
            end = end.max(start.saturating_add(spanned));
        }
    }
    end.checked_mul(page_size() as u64).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::{Protocols, memory_span};
    use crate::owners::{Socket, SocketHolder};
    use proptest::prelude::{any, proptest};
    use sys::page_size;

    fn held(address: u64, creator: u64) -> SocketHolder {
        let socket = Socket { address, family: 2, protocol: 6, cgroup: 0, namespace: 0, state: 7 };
        SocketHolder { process: 1, descriptor: 3, inode: 4, socket, drops: 0, creator }
    }

    #[test]
    fn each_protocol_is_known_once() {
        let known = Protocols::of(&[held(5_000, 9), held(4_000, 7), held(6_000, 9), held(4_500, 0)], Some(1_000)).unwrap();
        assert_eq!(known, Protocols { functions: vec![7, 9], addresses: 3_000..=7_000 });
        assert_eq!(Protocols::of(&[], Some(1_000)), None);
        assert_eq!(Protocols::of(&[held(4_000, 0)], Some(1_000)), None, "its protocol is not known");
    }

    #[test]
    fn memory_ends_with_its_highest_zone() {
        let text = "Node 0, zone DMA\n  pages free 9\n        spanned  4095\n  start_pfn:           1\nNode 0, zone Normal\n        \
                    spanned  5505024\n  start_pfn:           4096\nNode 0, zone Movable\n        spanned  0\n";
        assert_eq!(memory_span(text), Some(5_509_120 * page_size() as u64));
        assert_eq!(memory_span("Node 0"), None);
        let here = std::fs::read_to_string("/proc/zoneinfo").unwrap();
        assert!(memory_span(&here).is_some_and(|span| span > 64 << 20), "{here}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(spanned in any::<u64>(), start in any::<u64>(), more in any::<String>()) {
            let _ = memory_span(&format!("spanned {spanned}\n start_pfn: {start}\n{more}"));
        }
    }
}
