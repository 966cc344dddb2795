//! The types that all crates of nettoll share: units, plans, records and formats.
//!
//! It reads no clock, file or socket. Data flows through these modules in this order:
//!
//! ```text
//! plan.toml -> Plan -> [Cell x block] -> Trial -> Command / Reply -> TrialRecord -> run directory
//! ```
#![forbid(unsafe_code)]

pub mod address_list;
pub mod api;
pub mod over;
pub mod program;
pub mod quantity;
pub mod rate;
pub mod receive;
pub mod size;
pub mod tos;
pub mod traffic;
pub mod ways;

pub mod adjust;
pub mod agent_address;
pub mod arm;
pub mod cell;
pub mod condition;
pub mod host_place;
pub mod link;
pub mod mix;
pub mod pass;
pub mod plan;
pub mod schedule;
pub mod silence;

pub mod control;
pub mod frame;
pub mod json;

pub mod attach;
pub mod check;
pub mod counts;
pub mod end;
pub mod host;
pub mod kernel;
pub mod printable;
pub mod profile;
pub mod program_workload;
pub mod proof;
pub mod recording;
pub mod refusal;
pub mod replay;
pub mod run;
pub mod sorting;
pub mod top;
pub mod trial;
pub mod wakeups;
pub mod warning;
pub mod words;
pub mod woven;

mod choice;

/// Returns whether a field has the value that it has when it is left out of a file.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns whether a count has its usual value, 1.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_one(count: &u32) -> bool {
    *count == 1
}

pub use address_list::Addresses;
pub use api::Api;
pub use arm::Arm;
pub use cell::Cell;
pub use choice::{UnknownChoice, nearest, suggestion};
pub use condition::Conditions;
pub use mix::Mix;
pub use over::Over;
pub use pass::Pass;
pub use plan::Plan;
pub use program::Program;
pub use quantity::{BitRate, Bytes, Nanos};
pub use rate::OfferedRate;
pub use receive::Receive;
pub use refusal::Refusal;
pub use run::{Run, Summary};
pub use tos::Tos;
pub use traffic::{Arrivals, Family, Pacing, Protocol, Role, Test, Waiting};
pub use trial::TrialRecord;
pub use warning::Warning;
pub use ways::Ways;
