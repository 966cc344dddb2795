//! Sizes to measure, so that a workload can be predicted.

use model::order::Order;
use model::{Cell, Protocol};

/// Sizes that any sweep has: below, at and above what a segment and a datagram
/// hold, and on to 16 KiB.
const USUAL: [u64; 8] = [1, 64, 256, 512, 1_024, 2_048, 4_096, 16_384];

/// No size of a sweep is larger: beyond it a message costs by the byte, and a
/// short trial would hold too few.
const LARGEST: u64 = 1 << 20;

/// Sizes, rising, that cells like this one should measure for messages of up to
/// `largest` bytes: at least the usual, the largest that fits one packet and the
/// smallest that does not, and then in fourfold steps. The last is the largest
/// of all, unless that is above 1 MiB.
pub fn sizes_for(cell: &Cell, largest: u64) -> Vec<u64> {
    // What one Ethernet frame of 1,500 bytes carries, with TCP's timestamps.
    let full = match (cell.protocol(), cell.family) {
        (Protocol::Udp, model::Family::V4) => 1_472,
        (Protocol::Udp, model::Family::V6) => 1_452,
        (Protocol::Tcp, model::Family::V4) => 1_448,
        (Protocol::Tcp, model::Family::V6) => 1_428,
    };
    let mut sizes: Vec<u64> = USUAL.into_iter().chain([full, full + 1]).collect();
    let end = largest.min(LARGEST);
    sizes.extend(std::iter::successors(Some(65_536), |size| Some(size * 4)).take_while(|size| *size < end));
    if end > USUAL[USUAL.len() - 1] {
        sizes.push(end);
    }
    if cell.protocol() == Protocol::Udp {
        sizes.iter_mut().for_each(|size| *size = (*size).min(cell.family.largest_datagram()));
    }
    sizes.order();
    sizes.dedup();
    sizes
}
