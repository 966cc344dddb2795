//! Orders trials: makes hosts and links, starts endpoints, talks to them.
//!
//! ```text
//! study::run -> session::Session (two hosts, joined) -> trial::run -> TrialRecord -> Event
//!                        |                                  |
//!                 keeper process (host)  ...  endpoint process (engine)
//! ```
#![forbid(unsafe_code)]

pub mod event;
pub mod resume;
pub mod study;

mod clock;
pub mod likeness;
pub mod remote;
pub mod session;
pub mod trial;

pub mod agent;
pub mod arm;
pub mod beside;
pub mod wire;

mod effort;
mod endpoint_process;
pub mod keeper;
pub mod load;
mod observer;
pub mod relay;

pub mod doctor;
pub mod host;

mod tool;

#[cfg(test)]
mod testing;

pub use event::{Event, Listener, Wish};
pub use tool::{set_tool, tool};
