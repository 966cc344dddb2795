//! What a reader must know before believing a figure. Warnings are values; a
//! report decides how to show them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::socket_option::OptionName;
use crate::traffic::Role;
use crate::unavailable::Unavailable;

/// A doubt about one trial or a whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// No link was crossed: both ends used loopback although a link was asked for.
    NoLink {
        /// What was tried and what the system answered.
        reason: String,
    },
    /// The traffic did not take the link asked for.
    WrongPath {
        /// Bytes of payload that arrived.
        payload: u64,
        /// Bytes that the link's counter saw.
        carried: u64,
    },
    /// Datagrams that neither arrived nor stand in a drop counter; negative
    /// when more arrived than were sent.
    Unaccounted {
        /// How many.
        datagrams: i64,
    },
    /// An endpoint waited for a CPU.
    Contended {
        /// Which.
        role: Role,
        /// Share of the measured time.
        share: f64,
    },
    /// The hypervisor gave the machine's time to somebody else.
    Stolen {
        /// Share of all CPU time.
        share: f64,
    },
    /// A CPU was slowed down for its heat.
    Throttled {
        /// How often.
        times: u64,
    },
    /// The tool's own loop, not the stack, took a visible share of the time.
    GeneratorLimit {
        /// At which end.
        role: Role,
        /// Share of the time per message.
        share: f64,
    },
    /// A socket option is not what was asked.
    OptionNotTaken {
        /// Which end.
        role: Role,
        /// The option.
        option: OptionName,
        /// What was asked.
        asked: String,
        /// What the kernel made of it.
        got: String,
    },
    /// Calls failed.
    CallsFailed {
        /// At which end.
        role: Role,
        /// How many.
        calls: u64,
        /// The last errno, in words.
        error: String,
    },
    /// Too few messages in the measured time to say much.
    FewMessages {
        /// How many.
        messages: u64,
    },
    /// The receiver's measured time reaches beyond the time in which the sender
    /// was sending.
    Misaligned {
        /// Share of the receiver's measured time.
        share: f64,
    },
    /// Requests without an answer: round-trip times are those of the others.
    AnswersLost {
        /// Share of the requests.
        share: f64,
    },
    /// An end could not send as fast as was asked.
    BehindSchedule {
        /// Which.
        role: Role,
        /// Messages whose time had come but that had not been sent.
        messages: u64,
        /// Share of those that the schedule has in the measured time.
        share: f64,
    },
    /// Both ends share one CPU.
    OneCpu,
    /// More pairs of other hosts than CPUs: they and the ends contend for them.
    Crowded {
        /// Pairs that sent.
        pairs: u32,
        /// CPUs of this machine.
        cpus: u32,
    },
    /// Two hosts that were given are one machine.
    SameMachine {
        /// The device that their messages take.
        device: String,
    },
    /// Trials of others may have run on a host at the same time.
    SharedHost {
        /// Which host.
        host: String,
    },
    /// The clocks of the two hosts moved against each other more than clocks do.
    ClockMoved {
        /// By how much, in ns.
        by_ns: u64,
        /// What drift and the inexactness of the estimates explain, in ns.
        most_ns: u64,
    },
    /// The run was stopped and gone on with later.
    Resumed {
        /// How many trials it had by then.
        trials: u64,
        /// What was different on the hosts since, though of no consequence.
        changed: Vec<String>,
    },
    /// An end could not be bound to its CPU.
    NotBound {
        /// What the system answered.
        reason: String,
    },
    /// A mechanism that this kernel or machine does not offer.
    Absent(Unavailable),
    /// A stored trial that cannot be read.
    BadLine {
        /// Line number in `trials.jsonl`, from 1.
        line: u64,
        /// Why.
        reason: String,
    },
    /// A trial that could not be carried out.
    TrialFailed {
        /// In words.
        error: String,
    },
}

impl Warning {
    /// What to do about it: one sentence.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoLink { .. } => "Run as root, or allow unprivileged user namespaces (`nettoll doctor` says which is missing).",
            Self::WrongPath { .. } => "Check routes and addresses: this figure is of another path than the one asked for.",
            Self::Unaccounted { .. } => "Something else uses these hosts, or a counter is missing: do not trust the loss of this trial.",
            Self::Contended { .. } => "Stop what else runs on this machine, or pin the ends to idle CPUs.",
            Self::Stolen { .. } => "Use a machine of your own, or a quieter hour: block order spreads this, it does not remove it.",
            Self::Throttled { .. } => "Cool the machine or fix its frequency: figures from before and after differ.",
            Self::GeneratorLimit { .. } => "Read the time per message as an upper bound: part of it is the tool's own.",
            Self::OptionNotTaken { .. } => "Raise the limit (net.core.rmem_max, net.core.wmem_max) or ask for what the kernel allows.",
            Self::CallsFailed { .. } => "See the errno: the counts leave failed calls out.",
            Self::FewMessages { .. } => "Lengthen the trial (`--length`).",
            Self::Misaligned { .. } => "Lengthen the trial (`--length`) or quieten the machine: an end was late to start or to stop.",
            Self::AnswersLost { .. } => "Look at the loss beside every percentile: the lost ones would all stand in the tail.",
            Self::BehindSchedule { .. } => {
                "Ask for a lower rate or more flows: what was sent is what could be, not what was offered. \
                 UDP_RR has 128 requests under way at most with messages of 1 B, 65,536 with 4 B or more (`--size`)."
            }
            Self::OneCpu => "Compare only with runs on one CPU: the two ends took turns, and ksoftirqd's time belongs to neither.",
            Self::Crowded { .. } => "Read the load as what its pairs really carried, which is stored with each trial; use a machine with more CPUs, or a slower link.",
            Self::SameMachine { .. } => "Read the figures as those of one machine: the hosts share its CPUs, its caches and its memory.",
            Self::SharedHost { .. } => "Serve one controller at a time (an agent without `--share-host`), or run when nobody else does.",
            Self::ClockMoved { .. } => {
                "Do not use the one-way times of this trial: a machine was suspended, moved, or its clock is unsound."
            }
            Self::Resumed { .. } => "Blocks from before and after may differ as the machine's mood does; each block is whole, or says so.",
            Self::NotBound { .. } => "Give the tool at least two CPUs (cpuset, taskset) that it may choose from.",
            Self::Absent(absent) => return absent.remedy.clone(),
            Self::BadLine { .. } => "The other trials are kept; the damaged one is lost.",
            Self::TrialFailed { .. } => "The cell has one replicate fewer; see the error. One that was lost with its host is measured again by `nettoll study --resume`.",
        }
        .to_owned()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NoLink { reason } => write!(f, "no link was crossed, only loopback: {reason}"),
            Self::WrongPath { payload, carried } => write!(f, "{payload} B of payload arrived but the link carried only {carried} B"),
            Self::Unaccounted { datagrams } => write!(f, "{datagrams} datagrams unaccounted for"),
            Self::Contended { role, share } => write!(f, "the {role} waited {:.1} % of the time for a CPU", share * 100.0),
            Self::Stolen { share } => write!(f, "the hypervisor took {:.1} % of the CPU time", share * 100.0),
            Self::Throttled { times } => write!(f, "CPUs were slowed down for their heat {times} times"),
            Self::GeneratorLimit { role, share } => {
                write!(f, "{:.1} % of the {role}'s time per message is the tool's own loop", share * 100.0)
            }
            Self::OptionNotTaken { role, option, asked, got } => write!(f, "{option} of the {role}: asked {asked}, got {got}"),
            Self::CallsFailed { role, calls, error } => write!(f, "{calls} calls of the {role} failed: {error}"),
            Self::FewMessages { messages } => write!(f, "only {messages} messages in the measured time"),
            Self::Misaligned { share } => write!(f, "nothing was being sent in {:.1} % of the receiver's measured time", share * 100.0),
            Self::AnswersLost { share } => write!(f, "{:.2} % of the requests got no answer in time", share * 100.0),
            Self::BehindSchedule { role, messages, share } => {
                write!(
                    f,
                    "the {role} did not reach the rate offered: {messages} messages, {:.1} % of the schedule, were not sent in time",
                    share * 100.0
                )
            }
            Self::OneCpu => write!(f, "both ends share one CPU"),
            Self::Crowded { pairs, cpus } => write!(f, "{pairs} pairs of other hosts and the two ends contended for {cpus} CPUs"),
            Self::SameMachine { device } => write!(f, "both hosts are one machine; messages between them take {device}"),
            Self::SharedHost { host } => write!(f, "trials of others may have run on host {host} at the same time"),
            Self::ClockMoved { by_ns, most_ns } => {
                write!(f, "the hosts' clocks moved by {by_ns} ns against each other during the trial, where {most_ns} ns can be explained")
            }
            Self::Resumed { trials, changed } => {
                write!(f, "the run was stopped after {trials} trials and resumed later")?;
                if changed.is_empty() { Ok(()) } else { write!(f, "; since then: {}", changed.join("; ")) }
            }
            Self::NotBound { reason } => write!(f, "an end could not be bound to its CPU: {reason}"),
            Self::Absent(Unavailable { what, answer, .. }) => write!(f, "{what} is not available: {answer}"),
            Self::BadLine { line, reason } => write!(f, "trials.jsonl line {line} cannot be read: {reason}"),
            Self::TrialFailed { error } => write!(f, "a trial failed: {error}"),
        }
    }
}
