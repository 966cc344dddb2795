//! What a stack in user space stands on: a TUN device, packets, checksums.

pub mod checksum;
pub mod place;
pub mod tun;
pub mod udp;
