//! Doubts about figures. Warnings are values, declared in one table, a row each;
//! a report decides how to show them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quantity::Nanos;
use crate::refusal::Refusal;
use crate::traffic::Role;

/// Kind of a warning: warnings of one kind are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WarningKind {
    /// Place in the table: what speaks most against a run comes first.
    pub rank: usize,
    /// The end concerned, where it is about one.
    pub role: Option<Role>,
    /// Name of an option, of an error, or of what is missing; otherwise empty.
    pub name: String,
    /// True where it comes before all that do not, in however few trials it is:
    /// what it is about is wrong or missing, not inexact.
    pub comes_first: bool,
}

macro_rules! warnings {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident $(($inner:ident: $inner_type:ty))? = $code:literal $({
            $($(#[doc = $field_doc:literal])+ $(#[serde($($serde:tt)*)])? $field:ident: $type:ty,)*
        })? => {
            words: $words:expr,
            $(in_several($plain:ident): $several:expr,)?
            remedy: $remedy:expr,
            $(role: $role:expr,)?
            $(name: $name:expr,)?
            $(size: $size:expr,)?
            severity: $severity:expr,
            $(comes_first: $first:literal,)?
            $(disturbs: $disturbs:literal,)?
        }
    )+) => {
        /// A doubt about one trial or a whole run.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Warning {
            $(
                $(#[doc = $doc])+
                #[serde(rename = $code)]
                $variant $(($inner_type))? $({ $($(#[doc = $field_doc])+ $(#[serde($($serde)*)])? $field: $type,)* })?,
            )+
        }

        #[allow(unused_variables, reason = "a row uses the fields that it needs")]
        impl Warning {
            /// Codes of all warnings, as files have them; those that speak most
            /// against a run come first.
            pub const CODES: &'static [&'static str] = &[$($code,)+];

            /// Code, meaning, and the fields with theirs, of every warning, as docs/format.md has them.
            pub const ROWS: &'static [(&'static str, &'static str, &'static [(&'static str, &'static str)])] = &[$((
                $code,
                concat!($($doc),+).trim_ascii(),
                &[$($((stringify!($field), concat!($($field_doc),+).trim_ascii()),)*)?],
            ),)+];

            /// Code, as files have it.
            pub const fn code(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $code,)+ }
            }

            fn words(&self) -> String {
                match self { $(Self::$variant $(($inner))? $({ $($field,)* })? => $words,)+ }
            }

            /// Words for the worst of several trials, without passing it off as usual.
            pub fn in_several(&self) -> String {
                let words = self.words();
                match self {
                    $(Self::$variant $(($inner))? $({ $($field,)* })? => {
                        $(let $plain = &words; return $several;)?
                    })+
                }
                words
            }

            /// Sentence that says what to do about it.
            pub fn remedy(&self) -> String {
                match self { $(Self::$variant $(($inner))? $({ $($field,)* })? => ($remedy).to_owned(),)+ }
            }

            /// Kind under which it is counted.
            pub fn kind(&self) -> WarningKind {
                let rank = Self::CODES.iter().position(|code| *code == self.code()).unwrap_or(Self::CODES.len());
                match self {
                    $(Self::$variant $(($inner))? $({ $($field,)* })? => WarningKind {
                        rank,
                        role: None $(.or(Some($role)))?,
                        name: String::new() $(+ &$name)?,
                        comes_first: false $(|| $first)?,
                    },)+
                }
            }

            /// Size among warnings of its kind; the larger is the graver.
            pub fn size(&self) -> f64 {
                match self { $(Self::$variant $(($inner))? $({ $($field,)* })? => 0.0 $(+ $size)?,)+ }
            }

            /// Part of a trial that it puts into question, 0 to 1: the share of the
            /// time where it has one, and a rough weight where it has none.
            pub fn severity(&self) -> f64 {
                match self { $(Self::$variant $(($inner))? $({ $($field,)* })? => $severity,)+ }
            }

            /// Returns whether a trial's times are not those of the stack: the machine made its mark on them, or
            /// they are beyond their bounds.
            pub const fn disturbs(&self) -> bool {
                match self { $(Self::$variant { .. } => false $(|| $disturbs)?,)+ }
            }
        }
    };
}

warnings! {
    /// Datagrams that did not arrive and are in no drop counter.
    Unaccounted = "unaccounted" {
        /// Their number; negative: more arrived than were sent.
        datagrams: i64,
    } => {
        words: format!("{datagrams} datagrams unaccounted for"),
        in_several(plain): format!("datagrams are unaccounted for, up to {datagrams}"),
        remedy: "Something else uses these hosts, or a counter is missing: do not trust the loss of this trial.",
        size: datagrams.unsigned_abs() as f64,
        severity: 1.0,
        comes_first: true,
    }
    /// The traffic did not take the link that was asked for.
    WrongPath = "wrong_path" {
        /// Bytes of payload that arrived.
        payload: u64,
        /// Bytes that the link's counter counted.
        carried: u64,
    } => {
        words: format!("{payload} B of payload arrived but the link carried only {carried} B"),
        in_several(plain): format!("payload arrived that the link did not carry; in one {plain}"),
        remedy: "Check routes and addresses: this figure is of another path than the one asked for.",
        size: payload.saturating_sub(*carried) as f64,
        severity: 1.0,
        comes_first: true,
    }
    /// No link was crossed: both ends used loopback although a link was asked for.
    NoLink = "no_link" {
        /// The attempt and the system's answer.
        reason: String,
    } => {
        words: format!("no link was crossed, only loopback: {reason}"),
        remedy: "Run as root, or allow unprivileged user namespaces (`nettoll doctor` says which is missing).",
        severity: 1.0,
        comes_first: true,
    }
    /// A trial failed.
    TrialFailed = "trial_failed" {
        /// Its reason.
        error: String,
    } => {
        words: format!("a trial failed: {error}"),
        remedy: "Read the error (`nettoll report -v`): its cell has one replicate fewer. One that was lost with its host is measured again by `--resume`.",
        name: without_numbers(error),
        severity: 1.0,
        comes_first: true,
    }
    /// A stored trial cannot be read.
    BadLine = "bad_line" {
        /// Line number in `trials.jsonl`, from 1.
        line: u64,
        /// The cause.
        reason: String,
    } => {
        words: format!("trials.jsonl line {line} cannot be read: {reason}"),
        remedy: "The other trials are kept; the damaged one is lost.",
        severity: 1.0,
        comes_first: true,
    }
    /// A figure is larger than possible: its count is wrong.
    Impossible = "impossible" {
        /// Its name.
        figure: String,
        /// The figure over the largest possible one.
        share: f64,
    } => {
        words: format!("{figure} is {:.0} % of its upper bound", share * 100.0),
        in_several(plain): format!("{figure} is up to {:.0} % of its upper bound", share * 100.0),
        remedy: "The figure is left out. After a short measured part, measure longer: its edges are a visible part of it. Otherwise it was counted wrongly: please report it.",
        name: figure.clone(),
        size: *share,
        severity: 1.0,
        comes_first: true,
        disturbs: true,
    }
    /// The counts of a user's own program differ from those of the kernel.
    Claim = "claim" {
        /// The end.
        role: Role,
        /// The count of the program.
        says: String,
        /// The count of the kernel or the other end.
        counted: String,
    } => {
        words: format!("the {role}'s program says {says}, but {counted}"),
        remedy: "Do not use the figure: the program must count each message once, when its call has succeeded (`nettoll endpoint check`).",
        role: *role,
        severity: 1.0,
        comes_first: true,
    }
    /// A user's own program broke the contract, though its trial was measured.
    Program = "program" {
        /// The end.
        role: Role,
        /// The breach.
        did: String,
    } => {
        words: format!("the {role}'s program {did}"),
        remedy: "Try the program with `nettoll endpoint check`, which holds it to docs/endpoint.md step by step.",
        role: *role,
        name: without_numbers(did),
        severity: 0.2,
    }
    /// The measured part of a trial that ends after a number of messages was too short.
    ShortWindow = "short_window" {
        /// The end.
        role: Role,
        /// Length of the measured part.
        lasted: Nanos,
        /// Length that it should have.
        wanted: Nanos,
    } => {
        words: format!("the measured part of the {role} lasted {lasted}, less than the {wanted} that figures need"),
        in_several(plain): format!("the measured part of the {role} was short: at worst {lasted} of the {wanted} that figures need"),
        remedy: "Send more messages a trial (`--messages`, `--count`), or measure by time (`--length`).",
        role: *role,
        size: wanted.get() as f64 / lasted.get().max(1) as f64,
        severity: 0.1,
    }
    /// The CPU time of a user's own program is inexact, because another process read it.
    OutsideClock = "outside_clock" {
        /// The end.
        role: Role,
        /// The largest error of the CPU time.
        error: Nanos,
        /// The same as a share of the measured time.
        share: f64,
    } => {
        words: format!("another process read the CPU time of the {role}'s program, with an error of at most {error}, {:.1} % of the measured time", share * 100.0),
        in_several(plain): format!("another process read the CPU time of the {role}'s program, with an error of at most {} of the measured time", percent(*share)),
        remedy: "Lengthen the trial (`--length`) or quieten the machine: the process that reads the CPU time had to wait for a CPU.",
        role: *role,
        size: *share,
        severity: clamped(*share),
    }
    /// Both ends share one CPU.
    OneCpu = "one_cpu" => {
        words: "both ends share one CPU".to_owned(),
        remedy: "Compare only with runs on one CPU: the two ends took turns, and ksoftirqd's time belongs to neither.",
        severity: 0.5,
    }
    /// An end could not be bound to its CPU.
    NotBound = "not_bound" {
        /// The system's answer.
        reason: String,
    } => {
        words: format!("an end could not be bound to its CPU: {reason}"),
        remedy: "Give the tool at least two CPUs (cpuset, taskset) that it may choose from.",
        severity: 0.1,
    }
    /// A CPU was slowed down because of heat.
    Throttled = "throttled" {
        /// Number of times.
        times: u64,
    } => {
        words: format!("CPUs were slowed down for their heat {times} times"),
        in_several(plain): format!("CPUs were slowed down for their heat, up to {times} times"),
        remedy: "Cool the machine or fix its frequency: figures from before and after differ.",
        size: *times as f64,
        severity: 0.1,
        disturbs: true,
    }
    /// The hypervisor gave CPU time of this machine to another machine.
    Stolen = "stolen" {
        /// Share of all CPU time.
        share: f64,
    } => {
        words: format!("the hypervisor took {:.1} % of the CPU time", share * 100.0),
        in_several(plain): format!("the hypervisor took CPU time, up to {}", percent(*share)),
        remedy: "Use a machine of your own, or a quieter hour: block order spreads this, it does not remove it.",
        size: *share,
        severity: clamped(*share),
        disturbs: true,
    }
    /// An endpoint waited for a CPU.
    Contended = "contended" {
        /// The end.
        role: Role,
        /// Share of the measured time.
        share: f64,
    } => {
        words: format!("the {role} waited {:.1} % of the time for a CPU", share * 100.0),
        in_several(plain): format!("the {role} waited for a CPU, up to {} of the time", percent(*share)),
        remedy: "Stop what else runs on this machine, or pin the ends to idle CPUs (`--placement`).",
        role: *role,
        size: *share,
        severity: clamped(*share),
        disturbs: true,
    }
    /// The receiver measured beyond the time in which the sender sent.
    Misaligned = "misaligned" {
        /// Share of the receiver's measured time.
        share: f64,
    } => {
        words: format!("nothing was being sent in {:.1} % of the receiver's measured time", share * 100.0),
        in_several(plain): format!("nothing was being sent in up to {} of the receiver's measured time", percent(*share)),
        remedy: "Lengthen the trial (`--length`) or quieten the machine: an end started or stopped late.",
        size: *share,
        severity: clamped(*share),
        disturbs: true,
    }
    /// The two ends measured at different times.
    WindowsApart = "windows_apart" {
        /// Time that both measured, in ns; negative: a gap between the two.
        overlap_ns: i64,
        /// Length of the sender's measured time.
        sender: Nanos,
        /// Length of the receiver's measured time.
        receiver: Nanos,
    } => {
        words: match overlap_ns {
            0.. => format!("the ends measured for {sender} and {receiver}, and both at once for only {}", Nanos::new(overlap_ns.unsigned_abs())),
            _ => format!("the ends measured for {sender} and {receiver}, with a gap of {} between", Nanos::new(overlap_ns.unsigned_abs())),
        },
        in_several(plain): format!("the ends measured at different times; at worst {plain}"),
        remedy: "Do not compare the ends with each other: their figures cover different times. Use fewer flows, or more CPUs.",
        size: -(*overlap_ns as f64 / sender.max(receiver).get().max(1) as f64),
        severity: clamped(1.0 - *overlap_ns as f64 / sender.max(receiver).get().max(1) as f64),
        disturbs: true,
    }
    /// An end measured for a shorter time than planned.
    WindowCut = "window_cut" {
        /// The end.
        role: Role,
        /// Length of its measured time.
        length: Nanos,
        /// Planned length.
        asked: Nanos,
    } => {
        words: format!("the {role} measured for {length} of the {asked} asked for"),
        in_several(plain): format!("an end measured for too short a time; at worst {plain}"),
        remedy: "Do not use its rates: it was late to start, or its flows ended early. Use fewer flows, or more CPUs.",
        role: *role,
        size: 1.0 - length.get() as f64 / asked.get().max(1) as f64,
        severity: clamped(1.0 - length.get() as f64 / asked.get().max(1) as f64),
        disturbs: true,
    }
    /// Requests had no answer: percentiles count them as longer than all others.
    AnswersLost = "answers_lost" {
        /// Share of the requests.
        share: f64,
    } => {
        words: format!("{:.2} % of the requests got no answer in time", share * 100.0),
        in_several(plain): format!("requests got no answer in time, up to {:.2} %", share * 100.0),
        remedy: "Read a percentile marked ≥ as a lower bound: the lost requests count as longer than any that was answered.",
        size: *share,
        severity: clamped(*share),
    }
    /// An end could not send at the offered rate.
    BehindSchedule = "behind_schedule" {
        /// The end.
        role: Role,
        /// Messages that were due but not sent.
        messages: u64,
        /// Their share of the messages that were due in the measured time.
        share: f64,
    } => {
        words: format!("the {role} did not reach the rate offered: {messages} messages, {:.1} % of the schedule, were not sent in time", share * 100.0),
        in_several(plain): format!("the {role} did not reach the rate offered, up to {} of the schedule was not sent in time", percent(*share)),
        remedy: "Ask for a lower rate or more flows: the figures are of the rate reached, not of the rate offered. \
                 UDP_RR has at most 128 requests in flight with messages of 1 B, 65,536 with 4 B or more (`--size`).",
        role: *role,
        size: *share,
        severity: clamped(*share),
    }
    /// The tool's own loop, not the stack, took a visible share of the time.
    GeneratorLimit = "generator_limit" {
        /// The end.
        role: Role,
        /// Share of the time per message.
        share: f64,
    } => {
        words: format!("{:.1} % of the {role}'s time per message is the tool's own loop", share * 100.0),
        in_several(plain): format!("the tool's own loop took a part of the {role}'s time per message, up to {}", percent(*share)),
        remedy: "Read the time per message as an upper bound: part of it is the tool's own.",
        role: *role,
        size: *share,
        severity: clamped(*share),
    }
    /// A socket option has another value than the one asked for.
    OptionNotTaken = "option_not_taken" {
        /// The end.
        role: Role,
        /// The option.
        option: String,
        /// The value asked for.
        asked: String,
        /// The value that the kernel reports.
        got: String,
    } => {
        words: format!("{option} of the {role}: asked {asked}, got {got}"),
        remedy: match option.as_str() {
            "SO_SNDBUF" | "SO_RCVBUF" => "Raise the limit (net.core.rmem_max, net.core.wmem_max) or ask for what the kernel allows.",
            "TCP_CONGESTION" => "If the end is your own program, have it set TCP_CONGESTION to one that the kernel has (net.ipv4.tcp_available_congestion_control).",
            _ => "If the end is your own program, have it set the option. If it is nettoll's, this kernel changed the value: ask for that value.",
        },
        role: *role,
        name: option.clone(),
        severity: 0.02,
    }
    /// Calls failed.
    CallsFailed = "calls_failed" {
        /// The end.
        role: Role,
        /// Their number.
        calls: u64,
        /// The last errno, in words.
        error: String,
    } => {
        words: format!("{calls} calls of the {role} failed: {error}"),
        in_several(plain): format!("calls of the {role} failed, up to {calls}: {error}"),
        remedy: "See the errno: the counts leave failed calls out.",
        role: *role,
        size: *calls as f64,
        severity: 0.02,
    }
    /// The kernel copied messages that it should have sent without a copy.
    Copied = "copied" {
        /// The end.
        role: Role,
        /// Their share of the messages sent.
        share: f64,
    } => {
        words: match role {
            Role::Sender => format!("the kernel copied {} of what the {role} lent it", percent(clamped(*share))),
            Role::Receiver => format!("the kernel copied {} of the messages that the {role} wanted in place", percent(clamped(*share))),
        },
        in_several(plain): match role {
            Role::Sender => format!("the kernel copied messages that the {role} lent it, up to {}", percent(clamped(*share))),
            Role::Receiver => format!("the kernel copied messages that the {role} wanted in place, up to {}", percent(clamped(*share))),
        },
        remedy: "Loopback and virtual Ethernet always copy: read these figures as the price of asking, and measure on the device that is to carry the traffic.",
        role: *role,
        size: clamped(*share),
        severity: 0.0,
    }
    /// The measured time has too few messages.
    FewMessages = "few_messages" {
        /// Their number.
        messages: u64,
        /// Time between two messages of an offered rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due_every: Option<Nanos>,
    } => {
        words: format!("only {messages} messages in the measured time{}", due(*due_every)),
        in_several(plain): format!("there were few messages in the measured time, no more than {messages} in one{}", due(*due_every)),
        remedy: match due_every {
            Some(_) => "Lengthen the trial (`--length`), or offer a higher rate.",
            None => "Lengthen the trial (`--length`).",
        },
        size: -(*messages as f64),
        severity: 1.0 / (*messages as f64 + 1.0),
    }
    /// This kernel or machine lacks a mechanism; the fields are `what` is missing, the system's `answer` and the
    /// `remedy`.
    Absent(missing: Refusal) = "absent" => {
        words: format!("{} is not available: {}", missing.what, missing.answer),
        remedy: missing.remedy,
        name: missing.what.clone(),
        severity: 0.0,
    }
    /// The cost of sampling comes from separate trials, not from slices of one trial.
    NoSlices = "no_slices" {
        /// Index of the group.
        group: usize,
        /// The reason.
        reason: String,
        /// The remedy.
        remedy: String,
    } => {
        words: format!("the cost of sampling comes from separate trials, not from slices of one trial, because {reason}"),
        remedy: remedy,
        name: without_numbers(reason),
        severity: 0.0,
    }
    /// Hosts that were to take part in a trial of many did not: its figures are those of the others.
    MissingHosts = "missing_hosts" {
        /// Their names, with a space between any two.
        hosts: String,
        /// The answer of the first of them.
        error: String,
    } => {
        words: format!("without {hosts}: {error}"),
        in_several(plain): format!("hosts took no part in trials of many; in one {plain}"),
        remedy: "Do not take the figures for those of so many hosts; see the missing ones' agents, and run the study again.",
        name: hosts.clone(),
        severity: 1.0,
        comes_first: true,
        disturbs: true,
    }
    /// Trials of other controllers ran on a host at the same time.
    SharedHost = "shared_host" {
        /// The host.
        host: String,
        /// The most controllers at once.
        others: u32,
    } => {
        words: format!("up to {others} other controller{} had a trial on host {host} at the same time", if *others == 1 { "" } else { "s" }),
        remedy: "Where the question is not many at once: serve one controller at a time (an agent without `--at-once`), or run at another time.",
        name: host.clone(),
        severity: 0.1,
    }
    /// The clocks of the two hosts moved against each other by more than drift explains.
    ClockMoved = "clock_moved" {
        /// The movement, in ns.
        by_ns: u64,
        /// Movement that drift and the errors of the estimates explain, in ns.
        most_ns: u64,
    } => {
        words: format!("the hosts' clocks moved by {by_ns} ns against each other during the trial, where {most_ns} ns can be explained"),
        in_several(plain): format!("the clocks of the hosts moved against each other; in one {plain}"),
        remedy: "Do not use the one-way times of this trial: a machine was suspended, moved, or its clock is unsound.",
        size: *by_ns as f64,
        severity: 0.02,
    }
    /// Two of the given hosts are one machine.
    SameMachine = "same_machine" {
        /// The device that their messages take.
        device: String,
    } => {
        words: format!("both hosts are one machine; messages between them take {device}"),
        remedy: "Take the figures as one machine's: its CPUs, caches and memory are shared.",
        severity: 0.02,
    }
    /// The run was stopped and continued later.
    Resumed = "resumed" {
        /// Trials before the stop.
        trials: u64,
        /// Changes of the hosts since then, none of which affects trials.
        changed: Vec<String>,
    } => {
        words: {
            let since = if changed.is_empty() { String::new() } else { format!("; since then: {}", changed.join("; ")) };
            format!("the run was stopped after {trials} trials and resumed later{since}")
        },
        remedy: "Blocks from before and after may differ as the machine's mood does; each block is whole, or says so.",
        size: *trials as f64,
        severity: 0.02,
    }
    /// There are more pairs of other hosts than CPUs, so that they and the ends contend for CPUs.
    Crowded = "crowded" {
        /// Pairs that sent.
        pairs: u32,
        /// CPUs of this machine.
        cpus: u32,
    } => {
        words: format!("{pairs} pairs of other hosts and the two ends contended for {cpus} CPUs"),
        in_several(plain): format!("up to {pairs} pairs of other hosts and the two ends contended for {cpus} CPUs"),
        remedy: "Read the load as what its pairs really carried, which is stored with each trial; use a machine with more CPUs, or a slower link.",
        size: f64::from(*pairs),
        severity: 0.1,
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.words())
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The words for the time between two messages of a schedule.
fn due(every: Option<Nanos>) -> String {
    every.map_or_else(String::new, |every| format!(": at the rate offered one is due every {every}"))
}

/// A share that may come from a damaged file.
fn clamped(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 }
}

/// Errors that differ in a port or a process alone are one.
fn without_numbers(error: &str) -> String {
    error.split(|letter: char| letter.is_ascii_digit()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("#")
}

#[cfg(test)]
mod tests {
    use super::Warning;
    use crate::traffic::Role;

    #[test]
    fn every_warning_is_stored_under_its_code() {
        let one = Warning::FewMessages { messages: 3, due_every: None };
        assert_eq!(serde_json::to_string(&one).unwrap(), "{\"kind\":\"few_messages\",\"messages\":3}");
        assert_eq!(serde_json::from_str::<Warning>("{\"kind\":\"one_cpu\"}").unwrap(), Warning::OneCpu);
    }

    #[test]
    fn limits_of_buffers_are_advised_on_for_buffers_alone() {
        let remedy = |option: &str| {
            let (asked, got) = ("1".to_owned(), "0".to_owned());
            Warning::OptionNotTaken { role: Role::Sender, option: option.into(), asked, got }.remedy()
        };
        assert!(["SO_SNDBUF", "SO_RCVBUF"].iter().all(|option| remedy(option).contains("net.core.rmem_max")));
        assert!(remedy("TCP_CONGESTION").contains("tcp_available_congestion_control"));
        assert!(["TCP_CONGESTION", "TCP_NODELAY"].iter().all(|option| !remedy(option).contains("net.core")));
    }
}
