//! Findings of the doctor: what this machine offers a study, and what it lacks.

use serde::{Deserialize, Serialize};

use crate::choice::choice;

choice! {
    /// The part of the machine that a check is about, in the order of a report.
    Area, "an area" {
        /// Processors.
        Cpu = "cpu",
        /// The clock that trials are timed with.
        Clock = "clock",
        /// Setting hosts apart, and joining them.
        Namespaces = "namespaces",
        /// Kinds of sockets and their options.
        Sockets = "sockets",
        /// Ways of sending and of receiving.
        Ways = "ways",
        /// Device features.
        Offloads = "offloads",
        /// Sampling and counting of events.
        Profiling = "profiling",
        /// Programs in the kernel.
        Bpf = "bpf",
        /// The queueing discipline that limits a link's rate.
        Queueing = "queueing",
        /// Limits set by the administrator, and room on the disk.
        Limits = "limits",
        /// Emulator and kernels of exact counts.
        Microscope = "microscope",
    }
}

choice! {
    /// Importance of what is checked.
    Need, "a need" {
        /// Without it the study `quick` cannot run.
        Required = "required",
        /// Without it a study says less, or less surely.
        Useful = "useful",
        /// Nothing of `quick` uses it; other studies do.
        Optional = "optional",
    }
}

/// Names of checks that a summary looks for.
pub const MACHINE: &str = "machine";
/// The frequency governor.
pub const GOVERNOR: &str = "frequency governor";
/// Counters of the processor.
pub const CYCLES: &str = "hardware cycles";
/// Everything that a receipt needs.
pub const RECEIPTS: &str = "receipts";

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Part of the machine.
    pub area: Area,
    /// Name of the attempt, in a few words; unique within its area.
    pub name: String,
    /// Importance.
    pub need: Need,
    /// Outcome.
    pub state: State,
}

/// Outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is there and can be used.
    Present {
        /// Details worth knowing; may be empty.
        detail: String,
    },
    /// It is not there, or not for this user.
    Absent {
        /// The attempt and the system's answer, with the errno's name.
        answer: String,
        /// Remedy, or what to do without it.
        remedy: String,
    },
}

impl Check {
    /// A check that found what it looked for.
    pub fn present(area: Area, name: &str, need: Need, detail: impl Into<String>) -> Self {
        Self { area, name: name.to_owned(), need, state: State::Present { detail: detail.into() } }
    }

    /// A check that did not. Neither text may be empty: an absence without a
    /// reason and a way on helps no user.
    pub fn absent(area: Area, name: &str, need: Need, answer: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { area, name: name.to_owned(), need, state: State::Absent { answer: answer.into(), remedy: remedy.into() } }
    }

    /// Returns whether what was looked for is there.
    pub const fn is_present(&self) -> bool {
        matches!(self.state, State::Present { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::{Area, Check, Need};

    #[test]
    fn a_check_is_stable_json() {
        let present = Check::present(Area::Clock, "monotonic clock", Need::Required, "1 ns");
        let json = r#"{"area":"clock","name":"monotonic clock","need":"required","state":{"present":{"detail":"1 ns"}}}"#;
        assert_eq!(serde_json::to_string(&present).unwrap(), json);
        let absent = Check::absent(Area::Bpf, "BTF", Need::Optional, "ENOENT", "rebuild");
        let back: Check = serde_json::from_str(&serde_json::to_string(&absent).unwrap()).unwrap();
        assert!(back == absent && !back.is_present() && present.is_present());
    }
}
