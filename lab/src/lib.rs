//! Runs trials in order: makes hosts and links, starts endpoints, talks to them.
//!
//! ```text
//! study::run -> session::Session (two hosts, joined) -> trial::run -> TrialRecord -> Event
//!                        |                                  |
//!                 host process           ...  endpoint process (engine)
//! ```
#![forbid(unsafe_code)]

pub mod error;
pub mod event;
pub mod fleet;
pub mod greeting;
pub mod hex;
pub mod reach;
pub mod refusal;
pub mod study;

mod clock;
pub mod host_diff;
pub mod remote;
pub mod session;
pub mod trial;
pub mod woven;

pub mod agent;
pub mod arm;
pub mod attach;
pub mod background;
mod bounded;
pub mod congestion;
pub mod connection;
pub mod detach;

pub mod host_process;
pub mod keeper;
pub mod lacking;
pub mod load;
mod pass_duration;
mod process;
mod profiler;
pub mod relay;

pub mod doctor;
pub mod host;
pub mod proof;
pub mod top;

mod threads;

#[cfg(test)]
mod testing;

pub use event::{Event, Listener};
pub use process::{set_tool, tool};
pub use threads::Stop;
