//! Services of the kernel that all crates use, each in one place.

pub mod clock;
pub mod cpu;
pub mod device;
pub mod file;
pub mod file_owner;
pub mod mapping;
pub mod netlink;
pub mod process;
pub mod refusal;
pub mod shared;
pub mod socket;

pub use mapping::{Access, Mapping, page_size};
pub use refusal::{KernelRefusal, errno_name, refused_call};
