//! Ways of handing messages to the kernel: a file each.

mod completions;
pub mod gso;
mod many_messages;
mod one_message;
pub mod send;
pub mod send_more;
pub mod sendfile;
pub mod sendmmsg;
pub mod sendmsg;
pub mod sendto;
pub mod splice;
pub mod uring;
pub mod writev;
pub mod zerocopy;
