//! Ways of handing messages to the kernel, those of one kind in one file.

mod completions;
pub mod gso;
pub mod many_messages;
pub mod one_message;
pub mod packet_ring;
pub mod raw;
pub mod shm;
pub mod tun;
pub mod uring;
pub mod xdp;

pub use completions::Completions;
pub use one_message::send_lent;
