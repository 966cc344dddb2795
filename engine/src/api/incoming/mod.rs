//! Ways of taking messages from the kernel: a file each.

pub mod gro;
pub mod lowat;
mod many_messages;
pub mod multishot;
mod one_room;
pub mod recv;
pub mod recvfrom;
pub mod recvmmsg;
pub mod recvmsg;
pub mod splice;
pub mod trunc;
pub mod waitall;
