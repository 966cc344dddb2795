//! Measurements that need a privilege or a certain kernel, and can say "not here".
//!
//! - [`probe`] asks the kernel by trying, and leaves nothing behind.
//! - [`sampler`] takes call chains of a running process; [`symbols`] names
//!   their addresses; [`fold`] makes one [`model::profile::Profile`] of both. [`watch`] does all
//!   that for a program.
//! - [`machine`] hands over samples of every CPU while they are taken.
//! - [`counts`] counts events and calls exactly, by the best way there is.
//! - [`messages`] counts what a program's sockets take and give.
//! - [`owners`] tells for whom the work of a sample is done.
//! - [`waits`] tells where a thread's time off the CPU went.
//!
//! A refusal is final and a value ([`model::Refusal`]): no part looks for a way round
//! it. Whatever the kernel hands out is parsed as foreign bytes.

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
