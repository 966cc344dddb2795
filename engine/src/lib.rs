//! The traffic endpoints and their hot path.
//!
//! An [`endpoint`] is a fresh process for each trial. Its main thread talks to
//! the host and times the parts of the trial; one traffic thread, bound to its CPU, runs one
//! of the loops in [`traffic`] over one of the ways to call the kernel in
//! [`api`]. From the start of the traffic to its end that thread allocates
//! nothing, takes no lock and prints nothing; in stream tests it reads no clock
//! between the edges of the measured part.

pub mod api;
pub mod channel;
pub mod endpoint;
pub mod injection;
pub mod probe;
pub mod replay;
pub mod scheduling;
pub mod stage;
pub mod tcp_info;
pub mod traffic;
pub mod ways;
pub mod woven;

mod deadline;
mod edge;
mod error;
mod external;
mod flow_threads;
mod modes;
mod part;
mod progress;
mod recorder;
mod report;
mod socket;
#[cfg(test)]
mod testing;
mod timekeeper;
mod wake;
mod watch;

pub use external::{CONTRACT as ENDPOINT_CONTRACT, lines as endpoint_lines};
pub use socket::cookie;
pub use socket::{End, pair};
