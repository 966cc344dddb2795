//! Orders trials: makes hosts and links, starts endpoints, talks to them.
//!
//! ```text
//! study::run -> session::Session (two hosts, joined) -> trial::run -> TrialRecord -> Event
//!                        |                                  |
//!                 keeper process (host)  ...  endpoint process (engine)
//! ```
#![forbid(unsafe_code)]

pub mod event;
pub mod study;

pub mod remote;
pub mod session;
pub mod trial;

mod endpoint_process;
pub mod keeper;

pub mod doctor;
pub mod host;

pub use event::{Event, Listener, Wish};
