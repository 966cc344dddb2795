//! Ways of handing messages to the kernel: a file each.

pub mod gso;
mod one_message;
pub mod send;
pub mod send_more;
pub mod sendmmsg;
pub mod sendmsg;
pub mod sendto;
pub mod uring;
pub mod writev;
