//! Ways of handing messages to the kernel: a file each.

mod completions;
pub mod gso;
mod many_messages;
mod one_message;
pub mod other_transport;
pub mod packet_ring;
pub mod pipe;
pub mod raw;
pub mod send;
pub mod send_more;
pub mod sendfile;
pub mod sendmmsg;
pub mod sendmsg;
pub mod sendto;
pub mod shm;
pub mod splice;
pub mod tun;
pub mod unix;
pub mod uring;
pub mod writev;
pub mod xdp;
pub mod zerocopy;

pub use completions::Completions;
pub use zerocopy::send_lent;
