//! Measurements that need a privilege or a certain kernel, and can say "not here".
//!
//! - [`probe`] asks the kernel by trying, and leaves nothing behind.
//! - [`sampler`] takes call chains of a running process; [`symbols`] names
//!   their addresses; [`fold`] makes one [`model::profile::Profile`] of both. [`watch`] does all
//!   three for a program.
//! - [`machine`] passes on samples of every CPU while they are taken.
//! - [`counts`] counts events and calls exactly, by the best available mechanism.
//! - [`messages`] counts the messages of a program's sockets.
//! - [`owners`] finds the unit for which a sample's work is done.
//! - [`waits`] divides a thread's time off the CPU by cause.
//!
//! A refusal is a value ([`model::Refusal`]) and final: no module works around it.
//! All data of the kernel is parsed as untrusted bytes.

pub mod counts;
pub mod elsewhere;
pub mod fold;
pub mod kernel_names;
pub mod machine;
pub mod messages;
pub mod own_code;
pub mod owners;
mod perf;
pub mod probe;
mod readable;
pub mod sampler;
pub mod symbols;
pub mod system;
pub mod waits;
pub mod watch;

pub use bpf::Who;
