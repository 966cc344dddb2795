//! Sizes at which the kernel holds a message otherwise, from its source.
//!
//! | boundary | where it is | holds for |
//! |---|---|---|
//! | `skb head` | a datagram's head moves to the next larger cache: head room, headers and payload, rounded up to a line of the cache, and `skb_shared_info` behind them (net/core/skbuff.c, `__alloc_skb`) | UDP |
//! | `page fragment` | the payload no longer fits into one allocation: `SKB_MAX_ALLOC` (net/ipv4/ip_output.c, `__ip_append_data`); of TCP a fragment of the socket's page, 32 KiB (`SKB_FRAG_PAGE_ORDER`, net/core/sock.c) | UDP on large MTU, TCP |
//! | `MSS`, `MTU` | the payload of one frame | TCP, UDP |
//! | `GSO` | the most that TCP hands over at once: whole segments below `gso_max_size` less the headers (net/ipv4/tcp.c, `tcp_xmit_size_goal`) | TCP |

use model::host::HostFacts;
use model::order::Order;
use model::plan::Offload;
use model::{Bytes, Cell, Family, Protocol, Run};

use super::Boundary;
use crate::cost::threshold::frame_payload;
use crate::paths::Paths;

/// A line of the cache on the architectures that are known.
const LINE: u64 = 64;

/// `skb_shared_info` with 17 fragments, as a multiple of a line.
const SHARED_INFO: u64 = 320;

/// `SKB_MAX_ALLOC`: four pages less [`SHARED_INFO`].
const MOST_AT_ONCE: u64 = 4 * 4096 - SHARED_INFO;

/// `SKB_SMALL_HEAD_SIZE` of a kernel with tunnels: a cache of its own from Linux
/// 6.3 on (commit bf9f1baa279f); before, the 512 bytes of a general one.
const SMALL_HEAD: u64 = 640;
const SMALL_HEAD_SINCE: (u32, u32) = (6, 3);

/// A fragment of a socket's page.
const FRAGMENT: u64 = 32_768;

/// TCP keeps payload in fragments alone since Linux 4.17 (commit 0a6b2a1dc2a2).
const FRAGMENTS_SINCE: (u32, u32) = (4, 17);

/// The most bytes of a GSO packet, less `MAX_TCP_HEADER` and 1.
const GSO_MOST: u64 = 65_536 - 321;

/// Facts about the kernels and the links between them.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    /// The release, if both hosts have the same.
    release: Option<(u32, u32)>,
    /// True where the architecture is one that these sizes hold for.
    known: bool,
    /// Facts about the links.
    paths: Paths,
    /// True where the link's devices are told to gather pieces; `None` leaves it to them.
    gather: Option<bool>,
}

impl Stack {
    /// From the records of a run.
    pub fn new(run: &Run, hosts: &[HostFacts], paths: Paths) -> Self {
        let releases: Option<Vec<(u32, u32)>> = hosts.iter().map(|host| release(&host.kernel)).collect();
        let same = releases.filter(|all| all.windows(2).all(|pair| pair[0] == pair[1]));
        Self {
            release: same.and_then(|all| all.first().copied()),
            known: !hosts.is_empty() && hosts.iter().all(|host| host.architecture == "x86_64"),
            paths,
            gather: run.plan.link.offloads.get(&Offload::Sg).copied(),
        }
    }

    fn since(&self, release: (u32, u32)) -> bool {
        self.release.is_some_and(|own| own >= release)
    }
}

/// `6.12.48+deb13-amd64` is 6.12.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The boundaries of a series by rising size, against the sizes that were
/// measured. `segment` is TCP's own.
pub fn boundaries(cell: &Cell, segment: Option<Bytes>, stack: &Stack, sizes: &[Bytes]) -> Vec<Boundary> {
    let payload = frame_payload(cell, stack.paths.of_cell(cell).mtu, segment);
    let mut found = match cell.protocol() {
        Protocol::Udp => udp(cell, payload, stack),
        Protocol::Tcp => tcp(payload, stack),
    };
    found.order_by_key(|(_, last, _)| *last);
    let boundary = |(name, last, why): (&str, u64, String)| {
        let below = sizes.iter().filter(|size| size.get() <= last).count();
        Boundary { name: name.to_owned(), last: Bytes::new(last), below, why }
    };
    found.into_iter().map(boundary).collect()
}

type Found = (&'static str, u64, String);

fn udp(cell: &Cell, payload: Option<u64>, stack: &Stack) -> Vec<Found> {
    let mut found = Vec::new();
    if let Some(payload) = payload {
        found.push(("MTU", payload, "a larger datagram is sent in fragments".to_owned()));
    }
    if !stack.known || stack.release.is_none() {
        return found;
    }
    // UDP header, IP header, and what is kept free: room for the link's header
    // (16) with 15 to align it, over IPv6 with a fragment header (8) instead.
    let extra = match cell.family {
        Family::V4 => 8 + 20 + 16 + 15,
        Family::V6 => 8 + 40 + 16 + 8,
    };
    let heads = [if stack.since(SMALL_HEAD_SINCE) { SMALL_HEAD } else { 512 }, 1024, 2048, 4096, 8192];
    // Only one datagram in one piece has its payload in its head.
    let within = |last: &u64| payload.is_none_or(|payload| *last < payload);
    for head in heads {
        let last = (head - SHARED_INFO) / LINE * LINE - extra;
        if within(&last) {
            found.push(("skb head", last, format!("the head of a larger one needs more than {head} bytes")));
        }
    }
    let last = MOST_AT_ONCE - extra - 1;
    let gathers = cell.offloads.get(&Offload::Sg).copied().or(stack.gather) != Some(false);
    if gathers && within(&last) {
        found.push(("page fragment", last, "the payload of a larger one lies in fragments of pages".to_owned()));
    }
    found
}

fn tcp(payload: Option<u64>, stack: &Stack) -> Vec<Found> {
    let mut found = Vec::new();
    if let Some(segment) = payload.filter(|segment| *segment > 0) {
        found.push(("MSS", segment, "a larger message takes several segments".to_owned()));
        let most = GSO_MOST / segment;
        if most > 1 && stack.known {
            found.push(("GSO", most * segment, format!("TCP hands over at most {most} segments at once")));
        }
    }
    if stack.known && stack.since(FRAGMENTS_SINCE) {
        found.push(("page fragment", FRAGMENT, "a larger message lies in several fragments of pages".to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Stack, boundaries, release};
    use crate::paths::{Path, Paths};
    use crate::testing::cell;
    use model::{Bytes, Cell, Family, Test};
    use proptest::prelude::{any, prop_assert, proptest};

    fn found(cell: &Cell, stack: &Stack, sizes: &[u64]) -> Vec<(String, u64, usize)> {
        let sizes: Vec<Bytes> = sizes.iter().map(|size| Bytes::new(*size)).collect();
        let segment = (cell.test == Test::TcpStream).then(|| Bytes::new(1448));
        boundaries(cell, segment, stack, &sizes).into_iter().map(|one| (one.name, one.last.get(), one.below)).collect()
    }

    fn path(mtu: u64) -> Paths {
        Path { mtu: Some(mtu), segments_are_frames: false }.into()
    }

    fn stack(release: (u32, u32), mtu: u64) -> Stack {
        Stack { release: Some(release), known: true, paths: path(mtu), ..Stack::default() }
    }

    /// What was found by experiment with Linux 6.1: the head of a datagram
    /// leaves its cache between 112 and 1024 bytes.
    #[test]
    fn a_datagram_s_head() {
        let udp = cell(Test::UdpStream, 1);
        let of = |name: &str, last, below| (name.to_owned(), last, below);
        let found_ = found(&udp, &stack((6, 1), 1500), &[1, 112, 1024, 1472, 2032]);
        assert_eq!(found_, [of("skb head", 133, 2), of("skb head", 645, 2), of("MTU", 1472, 4)]);
        let newer = found(&udp, &stack((6, 12), 1500), &[1]);
        assert_eq!(newer[0], of("skb head", 261, 1));
        let v6 = Cell { family: Family::V6, ..udp.clone() };
        assert_eq!(found(&v6, &stack((6, 1), 1500), &[1])[0], of("skb head", 120, 1));
        let loopback = found(&udp, &stack((6, 1), 65_536), &[16_004, 16_005]);
        assert!(loopback.contains(&of("page fragment", 16_004, 1)), "{loopback:?}");
    }

    #[test]
    fn a_stream_s_fragments() {
        let of = |name: &str, last, below| (name.to_owned(), last, below);
        let found = found(&cell(Test::TcpStream, 1), &stack((6, 1), 1500), &[1, 1448, 65_536]);
        assert_eq!(found, [of("MSS", 1448, 2), of("page fragment", 32_768, 2), of("GSO", 65_160, 2)]);
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let none = Stack { paths: path(1500), ..Stack::default() };
        assert_eq!(found(&cell(Test::UdpStream, 1), &none, &[1]), [("MTU".to_owned(), 1472, 1)]);
        assert_eq!(found(&cell(Test::TcpStream, 1), &none, &[1]), [("MSS".to_owned(), 1448, 1)]);
        assert_eq!((release("6.12.48+deb13-amd64"), release("6"), release("x.1")), (Some((6, 12)), None, None));
    }

    proptest! {
        #[test]
        fn columns_are_counted(sizes in proptest::collection::btree_set(1u64..100_000, 1..9), mtu in 68u64..65_536, udp in any::<bool>()) {
            let sizes: Vec<u64> = sizes.into_iter().collect();
            let cell = cell(if udp { Test::UdpStream } else { Test::TcpStream }, 1);
            let found = found(&cell, &stack((6, 1), mtu), &sizes);
            prop_assert!(found.is_sorted_by_key(|one| one.1));
            for (_, last, below) in found {
                prop_assert!(sizes[..below].iter().all(|size| *size <= last) && sizes[below..].iter().all(|size| *size > last));
            }
        }
    }
}
