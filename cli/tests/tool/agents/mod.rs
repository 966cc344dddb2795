//! Agents with addresses of their own, reached over a router: point 5 of what
//! a study between machines must be, and every fault between them.

pub mod roles;
pub mod support;

pub mod arms;
pub mod capabilities;
pub mod clocks;
pub mod commands;
pub mod commands_faults;
pub mod fleet;
pub mod incast;
pub mod killed;
pub mod many;
pub mod oneshot;
pub mod paths;
pub mod peers;
pub mod slow;
pub mod strangers;
pub mod studies;
pub mod turns;
