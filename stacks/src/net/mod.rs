//! What a stack in user space stands on: a TUN device or AF_XDP, packets, checksums.

pub mod arp;
pub mod checksum;
mod device;
pub mod frames;
pub mod place;
pub mod tun;
pub mod udp;
pub mod xdp;
