//! UDP and IP of the providers that are stacks of their own: headers before the data of a block, and
//! what becomes of the sum that the copy of the data made.

use std::io;
use std::net::SocketAddrV4;
use std::ops::Range;

use super::block::Block;
use crate::net::{checksum, udp};

/// Writes the headers before the data of a block; returns where the packet lies in its room.
pub fn write_headers(data: &mut Block, from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Range<usize>> {
    let (start, end) = (data.headroom(), data.headroom() + data.bytes().len());
    let sum = data.sum.unwrap_or_else(|| checksum::sum(data.bytes()));
    let none = || io::Error::other("a block without room for headers");
    let first = start.checked_sub(udp::HEADERS).ok_or_else(none)?;
    let headers = data.room()[first..start].first_chunk_mut().ok_or_else(none)?;
    udp::write(headers, from, to, end - start, sum);
    Ok(first..end)
}

/// Returns whether the data of a block is as it was sent; `sum` is that of its first `copied` bytes.
pub fn is_whole(data: &Block, copied: usize, sum: u32) -> bool {
    // What was cut off is in the checksum as well.
    let sum = if copied < data.bytes().len() { checksum::sum(data.bytes()) } else { sum };
    udp::Datagram::is_whole(data.sum, sum)
}
