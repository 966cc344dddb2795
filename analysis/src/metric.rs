//! The metric table: everything that is known of each figure of a trial. A row
//! is all that a new metric takes; its comment is what `nettoll help columns` says.

pub mod bounds;

use std::fmt;

use model::condition::Placement;
use model::end::{Counts, EndReport, FlowReport};
use model::plan::LinkKind;
use model::trial::Measured;
use model::{Cell, Nanos, Over, Pacing, Protocol, Role, Test};
use serde::Serialize;
use stats::fairness::jain;

use self::bounds::Bound;

use crate::ends::{TICK_NS, behind_share, cpu, cpus, messages, threads};
use crate::latency::RoundTrips;

use Direction::{HigherIsBetter, LowerIsBetter};

/// Busy ticks that a trial needs for a host-wide figure: one tick more or less
/// is then 1 %.
const LEAST_TICKS: u64 = 100;

/// The unit of a metric, which its name ends with and by which it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of things: `retransmits`.
    Count,
    /// Things a second: `_per_s`.
    PerSecond,
    /// Bits a second: `_bit_per_s`.
    BitsPerSecond,
    /// Nanoseconds: `_ns`.
    Nanoseconds,
    /// A share, 1 being all: `_share`.
    Share,
    /// Things for each message: `_per_message`.
    PerMessage,
    /// An index between 0 and 1: `_index`.
    Index,
    /// Bytes of memory: `_bytes`.
    Bytes,
}

/// The direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Times, costs, losses.
    LowerIsBetter,
    /// Rates.
    HigherIsBetter,
}

/// Cells that cannot give a figure whatever their ends counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exclusion {
    /// None.
    Never,
    /// Those whose ends both send: nothing says which way the time went.
    BothWays,
    /// Those, and those whose sender spins away what it does not need.
    BothWaysOrSpinning,
    /// Those whose ends both send, and those with bulk flows, whose frames the
    /// device counts as well.
    BothWaysOrBulk,
}

impl Exclusion {
    fn of_cell(self, cell: &Cell) -> bool {
        match self {
            Self::Never => false,
            Self::BothWays => cell.bidirectional,
            Self::BothWaysOrSpinning => cell.bidirectional || (cell.rate.is_some() && cell.pacing == Pacing::Spin),
            Self::BothWaysOrBulk => cell.bidirectional || cell.conditions.bulk > 0,
        }
    }
}

/// A measured trial, as metrics are computed from it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Counts of both ends and their hosts.
    pub measured: &'a Measured,
    /// The cell as it was run.
    pub cell: &'a Cell,
    /// The link that it crossed; `None` leaves the link's limit out.
    pub link: Option<&'a LinkKind>,
    /// Its round-trip times, where they can be read.
    pub round_trips: Option<&'a RoundTrips>,
}

/// A row of the metric table.
struct Row {
    /// The key in JSON, CSV and `--gate`; it ends with the unit.
    name: &'static str,
    unit: Unit,
    /// `None` for a figure that is neither better nor worse when it grows.
    better: Option<Direction>,
    absent: Exclusion,
    /// The interval of possible values: beyond it a figure is not used.
    bound: Bound,
    /// The row's comment, for help and docs.
    meaning: &'static str,
    /// The heading of a chart or of a row.
    title: &'static str,
    /// The heading of a column where there is space.
    head: &'static str,
    /// The same in two lines, for a terminal.
    column: [&'static str; 2],
    value: fn(&Source) -> Option<f64>,
}

impl Row {
    /// A metric that is neither better nor worse, and of any cell.
    const USUAL: Self = Self {
        name: "",
        unit: Unit::Count,
        better: None,
        absent: Exclusion::Never,
        bound: Bound::NotNegative,
        meaning: "",
        title: "",
        head: "",
        column: [""; 2],
        value: |_| None,
    };
}

/// A percentile needs transactions beyond it to be one: of the 99th percentile of a
/// trial 1,000 in all.
const LEAST_TRANSACTIONS: u64 = 1_000;

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $variant:ident { $($key:ident: $what:expr),* })*) => {
        /// A figure of a cell. Its name is the key in JSON and the value of the column `metric` in CSV.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Metric {
            /// Every metric, in the order of reports.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            #[allow(clippy::needless_update, reason = "some rows name every key")]
            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$variant => const { &Row { $($key: $what,)* meaning: concat!($($doc),+), ..Row::USUAL } },)*
                }
            }
        }
    };
}

metrics! {
    /// Messages (transactions) per second at the receiver: the result.
    MessagesPerS { name: "messages_per_s", unit: Unit::PerSecond, bound: Bound::Received, better: Some(HigherIsBetter),
        title: "Messages/s at the receiver", head: "Messages/s", column: ["", "messages/s"],
        value: |trial| rate(&trial.measured.receiver, trial.received()) }
    /// Goodput: payload bits per second at the receiver.
    GoodputBitPerS { name: "goodput_bit_per_s", unit: Unit::BitsPerSecond, bound: Bound::Received, better: Some(HigherIsBetter),
        title: "Goodput", head: "Goodput", column: ["", "bit/s"],
        value: |trial| rate(&trial.measured.receiver, trial.measured.receiver.counts.in_window().bytes as f64).map(|bytes| bytes * 8.0) }
    /// Elapsed time per message at the receiver, 1 / (messages/s). For
    /// request/response the mean time of a transaction.
    TimePerMessageNs { name: "time_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::Received, better: Some(LowerIsBetter),
        title: "Time per message", head: "Time/message", column: ["", "time"],
        value: |trial| time_per_message(trial.measured, trial.cell) }
    /// Messages per second at the sender, shown if any message was lost.
    SentMessagesPerS { name: "sent_messages_per_s", unit: Unit::PerSecond, bound: Bound::Sent, better: Some(HigherIsBetter),
        title: "Messages/s at the sender", head: "Sent/s", column: ["", "sent/s"],
        value: |trial| rate(&trial.measured.sender, trial.sent()) }
    /// CPU time (service demand) of both ends together, per delivered message. The sender's part includes the
    /// datagrams that were lost.
    CpuPerMessageNs { name: "cpu_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::Sent, better: Some(LowerIsBetter), absent: Exclusion::BothWaysOrSpinning,
        title: "CPU of both ends per message", head: "CPU/message, both ends", column: ["CPU/message", "both ends"],
        value: |trial| {
            let [sender, receiver] = [Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs].map(|end| end.value(trial));
            Some(of_both_ends(sender?, receiver?, sent_per_delivered(trial.measured, trial.cell.test)?))
        } }
    /// Service demand of the sender: CPU time of its process, of interrupts and of ksoftirqd, per message
    /// that it sent. Absent if both ends send, and if the sender spins until its next message is due.
    SenderCpuPerMessageNs { name: "sender_cpu_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::Sent, better: Some(LowerIsBetter), absent: Exclusion::BothWaysOrSpinning,
        title: "Sender CPU per message", head: "Sender CPU/message", column: ["CPU/message", "sender"],
        value: |trial| per(cpu(&trial.measured.sender), trial.sent()) }
    /// Service demand of the receiver: the same CPU time of its end, per message that it received.
    ReceiverCpuPerMessageNs { name: "receiver_cpu_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::Received, better: Some(LowerIsBetter), absent: Exclusion::BothWays,
        title: "Receiver CPU per message", head: "Receiver CPU/message", column: ["CPU/message", "receiver"],
        value: |trial| per(cpu(&trial.measured.receiver), trial.received()) }
    /// The part of the sender's CPU time per message that the kernel bills before the sender runs. It is an
    /// estimate: a probe's time for one wake-up times the sender's wake-ups. Absent for streams at full speed,
    /// under load, and of ends on one core.
    SenderBilledPerMessageNs { name: "sender_billed_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, absent: Exclusion::BothWaysOrSpinning,
        title: "Sender's CPU time that was billed before it ran", head: "Sender billed/message", column: ["billed", "sender"],
        value: |trial| billed(trial, Role::Sender, trial.sent()) }
    /// The same part of the receiver's CPU time per message.
    ReceiverBilledPerMessageNs { name: "receiver_billed_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, absent: Exclusion::BothWays,
        title: "Receiver's CPU time that was billed before it ran", head: "Receiver billed/message", column: ["billed", "receiver"],
        value: |trial| billed(trial, Role::Receiver, trial.received()) }
    /// The same part of the CPU time of both ends, per delivered message.
    BilledPerMessageNs { name: "billed_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, absent: Exclusion::BothWaysOrSpinning,
        title: "CPU time of both ends that was billed before they ran", head: "Billed/message, both ends", column: ["billed", "both ends"],
        value: |trial| {
            let [sender, receiver] = [Metric::SenderBilledPerMessageNs, Metric::ReceiverBilledPerMessageNs].map(|end| end.value(trial));
            Some(of_both_ends(sender?, receiver?, sent_per_delivered(trial.measured, trial.cell.test)?))
        } }
    /// Service demand of the sender per KiB that it sent.
    SenderCpuPerKibNs { name: "sender_cpu_per_kib_ns", unit: Unit::Nanoseconds, bound: Bound::Sent, better: Some(LowerIsBetter), absent: Exclusion::BothWaysOrSpinning,
        title: "Sender CPU per KiB", head: "Sender CPU/KiB", column: ["CPU/KiB", "sender"],
        value: |trial| per_kib(&trial.measured.sender) }
    /// Service demand of the receiver per KiB that it received.
    ReceiverCpuPerKibNs { name: "receiver_cpu_per_kib_ns", unit: Unit::Nanoseconds, bound: Bound::Received, better: Some(LowerIsBetter), absent: Exclusion::BothWays,
        title: "Receiver CPU per KiB", head: "Receiver CPU/KiB", column: ["CPU/KiB", "receiver"],
        value: |trial| per_kib(&trial.measured.receiver) }
    /// Busy time of all CPUs of the machine per message received, which is netperf's figure. Absent for
    /// trials with fewer than 100 busy ticks.
    HostCpuPerMessageNs { name: "host_cpu_per_message_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, better: Some(LowerIsBetter), absent: Exclusion::BothWaysOrSpinning,
        title: "Busy time of all CPUs per message", head: "Host CPU/message", column: ["host CPU", "/message"],
        value: host_cpu }
    /// Busy share of the CPUs that the sender can use, in the measured time: the CPUs to which its flows are
    /// bound, or one for each thread that is not bound.
    SenderBusyShare { name: "sender_busy_share", unit: Unit::Share, bound: Bound::Busy(Role::Sender),
        title: "Sender busy", head: "Sender busy", column: ["busy", "sender"],
        value: |trial| busy(&trial.measured.sender) }
    /// Busy share of the CPUs that the receiver can use, in the measured time.
    ReceiverBusyShare { name: "receiver_busy_share", unit: Unit::Share, bound: Bound::Busy(Role::Receiver),
        title: "Receiver busy", head: "Receiver busy", column: ["busy", "receiver"],
        value: |trial| busy(&trial.measured.receiver) }
    /// Share of the measured time in which the sender was ready but waited for a CPU; with several flows
    /// their mean.
    SenderRunDelayShare { name: "sender_run_delay_share", unit: Unit::Share, bound: Bound::Wait(Role::Sender),
        title: "Sender waiting for a CPU", head: "Sender without CPU", column: ["no CPU", "sender"],
        value: |trial| waited(&trial.measured.sender) }
    /// Share of the measured time in which the receiver was ready but waited for a CPU.
    ReceiverRunDelayShare { name: "receiver_run_delay_share", unit: Unit::Share, bound: Bound::Wait(Role::Receiver),
        title: "Receiver waiting for a CPU", head: "Receiver without CPU", column: ["no CPU", "receiver"],
        value: |trial| waited(&trial.measured.receiver) }
    /// Lost datagrams (or answers) as a share of those sent, over the whole trial.
    LossShare { name: "loss_share", unit: Unit::Share, bound: Bound::Share, better: Some(LowerIsBetter),
        title: "Lost", head: "Lost", column: ["", "loss"],
        value: |trial| loss_share(trial.cell.test, &trial.measured.sender.total, &trial.measured.receiver.total) }
    /// Number of times that the receiver slept and was woken, per message received.
    ReceiverWakeupsPerMessage { name: "receiver_wakeups_per_message", unit: Unit::PerMessage, bound: Bound::NotNegative, absent: Exclusion::BothWays,
        title: "Receiver wake-ups per message", head: "Wake-ups/message", column: ["wake-ups", "/message"],
        value: |trial| per(trial.measured.receiver.switches.voluntary as f64, trial.received()) }
    /// Number of times that the sender slept and was woken, per message sent.
    SenderWakeupsPerMessage { name: "sender_wakeups_per_message", unit: Unit::PerMessage, bound: Bound::NotNegative, absent: Exclusion::BothWays,
        title: "Sender wake-ups per message", head: "Sender wake-ups/message", column: ["wake-ups", "sender"],
        value: |trial| per(trial.measured.sender.switches.voluntary as f64, trial.sent()) }
    /// Frames that the sender put on the link, per message, over the whole trial; a GSO packet counts once.
    FramesPerMessage { name: "frames_per_message", unit: Unit::PerMessage, bound: Bound::NotNegative, absent: Exclusion::BothWaysOrBulk,
        title: "Frames per message", head: "Frames/message", column: ["frames", "/message"],
        value: |trial| frames(trial.measured) }
    /// TCP segments sent again in the measured part of a trial. Absent if another protocol than the kernel's
    /// TCP carries the messages.
    Retransmits { name: "retransmits", unit: Unit::Count, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "Segments sent again per trial", head: "Resent", column: ["", "resent"],
        value: |trial| retransmits(trial.measured, trial.cell) }
    /// Median over trials of the trial's median round-trip time.
    RoundTripP50Ns { name: "round_trip_p50_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "Median round trip of a trial", head: "Median round trip", column: ["round trip", "median"],
        value: |trial| trial.round_trips?.percentile(50.0) }
    /// Median over trials of the trial's 99th percentile of round-trip times; only trials with 1,000
    /// transactions or more.
    RoundTripP99Ns { name: "round_trip_p99_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "99th percentile of the round trips of a trial", head: "99 % round trip", column: ["round trip", "99 %"],
        value: |trial| trial.round_trips.filter(|trips| trips.transactions() + trips.missing() >= LEAST_TRANSACTIONS)?.percentile(99.0) }
    /// Payload bits per second that the sender received, if both ends send.
    BackGoodputBitPerS { name: "back_goodput_bit_per_s", unit: Unit::BitsPerSecond, bound: Bound::ReceivedBack, better: Some(HigherIsBetter),
        title: "Goodput back", head: "Goodput back", column: ["", "back bit/s"],
        value: |trial| rate(&trial.measured.sender, trial.measured.sender.back?.counts.in_window().bytes as f64).map(|bytes| bytes * 8.0) }
    /// Offered rate in messages per second, of all flows together.
    OfferedMessagesPerS { name: "offered_messages_per_s", unit: Unit::PerSecond, bound: Bound::NotNegative,
        title: "Messages/s offered", head: "Offered/s", column: ["", "offered/s"],
        value: |trial| Some(trial.cell.rate?.messages_per_second(trial.cell.size) * f64::from(trial.cell.flows)) }
    /// Share of the messages of an offered rate that were not sent in time.
    BehindShare { name: "behind_share", unit: Unit::Share, bound: Bound::Share, better: Some(LowerIsBetter),
        title: "Share of the schedule sent late", head: "Sent late", column: ["", "sent late"],
        value: |trial| behind_share(&trial.measured.sender) }
    /// Smoothed difference between the one-way times of successive stamped datagrams (RFC 3550, section
    /// 6.4.1).
    JitterNs { name: "jitter_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "Jitter", head: "Jitter", column: ["", "jitter"],
        value: |trial| Some(trial.measured.receiver.one_way.as_ref()?.jitter as f64) }
    /// Share of the received stamped datagrams that arrived after a datagram with a higher number.
    ReorderedShare { name: "reordered_share", unit: Unit::Share, bound: Bound::Share, better: Some(LowerIsBetter),
        title: "Out of order", head: "Out of order", column: ["", "out of order"],
        value: |trial| trial.measured.receiver.one_way.as_ref().and_then(|way| per(way.out_of_order as f64, way.messages as f64)) }
    /// Shortest one-way time of a stamped datagram, corrected for the difference of the ends' clocks; its
    /// error is at most `clock_error_ns`.
    LeastWayNs { name: "least_way_ns", unit: Unit::Nanoseconds, bound: Bound::Any, better: Some(LowerIsBetter),
        title: "Shortest way of a datagram", head: "Shortest way", column: ["", "shortest way"],
        value: |trial| {
            let clock = trial.measured.clock.map_or(0.0, |clock| clock.offset_ns as f64);
            Some(trial.measured.receiver.one_way.as_ref()?.base as f64 - clock)
        } }
    /// Largest error of the difference of the ends' clocks; 0 if both read one clock.
    ClockErrorNs { name: "clock_error_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative,
        title: "Error of the clocks' difference", head: "Clock error", column: ["clock", "error"],
        value: |trial| {
            trial.measured.receiver.one_way.as_ref()?;
            Some(trial.measured.clock.map_or(0.0, |clock| clock.error_ns as f64))
        } }
    /// Fairness of the flows: Jain's index over the bytes that arrived from each in the measured time. It is
    /// 1 if all flows have the same share, 1/n if one flow of n has everything. Only for trials with several
    /// flows that end by time.
    FairnessIndex { name: "fairness_index", unit: Unit::Index, bound: Bound::Share, better: Some(HigherIsBetter),
        title: "Fairness of the flows (Jain)", head: "Fairness", column: ["", "fairness"],
        value: fairness }
    /// Time from the first sent message to the last arrived one. Only for cells with a number of messages
    /// (`count`), if all messages arrived. Between two machines, the error of their clocks is at most 2 % of it.
    CompletionNs { name: "completion_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "Time until all have arrived", head: "All arrived after", column: ["all", "arrived"],
        value: completion }
    /// Time from the first sent message until half of the flows had all their messages. Only for cells with a
    /// number of messages (`count`) and several flows.
    FlowCompletionNs { name: "flow_completion_ns", unit: Unit::Nanoseconds, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "Time until half of the flows have arrived", head: "Half of the flows after", column: ["half", "arrived"],
        value: flow_completion }
    /// Largest resident memory of the sender's process in the trial, with its message buffers.
    SenderResidentBytes { name: "sender_resident_bytes", unit: Unit::Bytes, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "Sender's largest resident memory", head: "Sender memory", column: ["memory", "sender"],
        value: |trial| resident(&trial.measured.sender) }
    /// Largest resident memory of the receiver's process in the trial.
    ReceiverResidentBytes { name: "receiver_resident_bytes", unit: Unit::Bytes, bound: Bound::NotNegative, better: Some(LowerIsBetter),
        title: "Receiver's largest resident memory", head: "Receiver memory", column: ["memory", "receiver"],
        value: |trial| resident(&trial.measured.receiver) }
    /// Payload rate of a link with a limited rate: the payload bits per second that it can carry with the
    /// counted frames and acknowledgements.
    LimitBitPerS { name: "limit_bit_per_s", unit: Unit::BitsPerSecond, bound: Bound::NotNegative,
        title: "Limit of the link", head: "Link's limit", column: ["link's", "limit"],
        value: limit }
    /// Goodput as a share of the link's payload rate.
    LimitShare { name: "limit_share", unit: Unit::Share, bound: Bound::Received,
        title: "Share of the link's limit", head: "Link share", column: ["of link's", "limit"],
        value: bounds::of_the_link }
}

/// CPU times per message, each with its part that was billed before the ends ran.
const BILLED: [[Metric; 2]; 3] = [
    [Metric::CpuPerMessageNs, Metric::BilledPerMessageNs],
    [Metric::SenderCpuPerMessageNs, Metric::SenderBilledPerMessageNs],
    [Metric::ReceiverCpuPerMessageNs, Metric::ReceiverBilledPerMessageNs],
];

impl Metric {
    /// The name in JSON and CSV.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Its unit.
    pub const fn unit(self) -> Unit {
        self.row().unit
    }

    /// The direction in which it is better; `None` of one that is neither: how
    /// busy an end is, how often it was woken and how many frames a message took
    /// are means, not ends, and what was offered and how well clocks agree are
    /// no end's merit.
    pub const fn better(self) -> Option<Direction> {
        self.row().better
    }

    /// Its meaning in sentences, for a person.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning.trim_ascii()
    }

    /// The title of a row, for a person.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// The head of a column, for a person.
    pub const fn head(self) -> &'static str {
        self.row().head
    }

    /// The same in two short lines, for a narrow column.
    pub const fn column(self) -> [&'static str; 2] {
        self.row().column
    }

    /// The part of a CPU time per message that was billed before the ends ran.
    pub fn billed(self) -> Option<Self> {
        BILLED.iter().find(|[cpu, _]| *cpu == self).map(|[_, billed]| *billed)
    }

    /// The CPU time per message that this is the billed part of.
    pub fn billed_of(self) -> Option<Self> {
        BILLED.iter().find(|[_, billed]| *billed == self).map(|[cpu, _]| *cpu)
    }

    /// The bound that its figures keep.
    pub const fn bound(self) -> Bound {
        self.row().bound
    }

    /// Returns whether a cell cannot give the figure whatever its ends counted.
    pub(crate) fn is_absent(self, cell: &Cell) -> bool {
        self.row().absent.of_cell(cell)
    }

    /// The figure of a trial, without its interrupt time; `None` when the trial
    /// does not give it, or one beyond its bound. Infinite is a percentile of round
    /// trips that is one of the missing, and nothing else.
    pub(crate) fn value(self, trial: &Source) -> Option<f64> {
        self.unbounded(trial).filter(|value| self.bound().holds(trial, *value))
    }

    /// The same whatever its bound.
    pub(crate) fn unbounded(self, trial: &Source) -> Option<f64> {
        let row = self.row();
        if self.is_absent(trial.cell) {
            return None;
        }
        let may_be_missing = matches!(self, Self::RoundTripP50Ns | Self::RoundTripP99Ns);
        (row.value)(trial).filter(|value| value.is_finite() || (may_be_missing && *value == f64::INFINITY))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Source<'_> {
    fn sent(&self) -> f64 {
        messages(&self.measured.sender, &self.measured.sender.counts.in_window(), self.cell)
    }

    fn received(&self) -> f64 {
        messages(&self.measured.receiver, &self.measured.receiver.counts.in_window(), self.cell)
    }
}

/// Length of the measured part; `None` of an empty one.
fn seconds(end: &EndReport) -> Option<f64> {
    let length = end.window.length().as_secs_f64();
    (length > 0.0).then_some(length)
}

fn per(amount: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| amount / count)
}

fn rate(end: &EndReport, count: f64) -> Option<f64> {
    Some(count / seconds(end)?)
}

/// What an end's wake-ups are billed before it runs, per message: no more than its CPU time. The probe wakes a thread
/// on an idle CPU: it says nothing of streams at full speed, whose ends sleep too shortly, nor of a CPU that others use.
fn billed(trial: &Source, role: Role, messages: f64) -> Option<f64> {
    let Cell { test, rate, conditions, .. } = trial.cell;
    if test.is_stream() && rate.is_none() || *conditions.load.of(role) > 0 || conditions.placement == Placement::SameCore {
        return None;
    }
    let end = trial.measured.end(role);
    let cost = trial.measured.wakeups[role as usize]?.steady()?.get() as f64;
    per((end.switches.voluntary as f64 * cost).min(cpu(end)), messages)
}

fn per_kib(end: &EndReport) -> Option<f64> {
    per(cpu(end) * 1024.0, end.counts.in_window().bytes as f64)
}

fn busy(end: &EndReport) -> Option<f64> {
    Some(cpu(end) / 1e9 / seconds(end)? / cpus(end))
}

/// The part of a wait that began before the window, which the kernel books whole when it is over,
/// no more than the window.
pub fn waited(end: &EndReport) -> Option<f64> {
    Some((end.run_delay?.as_secs_f64() / seconds(end)? / threads(end)).min(1.0))
}

/// Nanoseconds per message (or transaction) at the receiver; `None` when none
/// came in the measured time.
pub fn time_per_message(measured: &Measured, cell: &Cell) -> Option<f64> {
    let receiver = &measured.receiver;
    per(seconds(receiver)? * 1e9, messages(receiver, &receiver.counts.in_window(), cell))
}

/// The busy time of all CPUs is of the whole trial, so it is divided by all
/// messages. `None` where there are too few ticks to say anything.
fn host_cpu(trial: &Source) -> Option<f64> {
    let (ticks, receiver) = (&trial.measured.receiver_host.cpu, &trial.measured.receiver);
    // While a trial is woven, the machine works for other arms as well.
    if ticks.busy() < LEAST_TICKS || trial.measured.slices > 0 {
        return None;
    }
    per(ticks.busy() as f64 * TICK_NS, messages(receiver, &receiver.total, trial.cell))
}

/// The share of datagrams, or of requests, that was lost over the whole trial.
fn loss_share(test: Test, sender: &Counts, receiver: &Counts) -> Option<f64> {
    match test {
        Test::UdpStream => per(sender.messages as f64 - receiver.messages as f64, sender.messages as f64),
        Test::UdpRr => per(sender.lost as f64, sender.messages as f64 + sender.lost as f64),
        Test::TcpStream | Test::TcpMaerts | Test::TcpRr | Test::TcpCrr => None,
    }
}

/// CPU time of both ends per delivered message, of that of the sender per message sent.
pub fn of_both_ends(sender: f64, receiver: f64, sent_per_delivered: f64) -> f64 {
    sender.mul_add(sent_per_delivered, receiver)
}

/// Datagrams that were sent for each that came, over the whole trial; 1 of what is not lost or is asked for
/// again. `None` where none came.
pub fn sent_per_delivered(measured: &Measured, test: Test) -> Option<f64> {
    if test != Test::UdpStream {
        return Some(1.0);
    }
    let lost = loss_share(test, &measured.sender.total, &measured.receiver.total)?;
    // A network may deliver a datagram twice.
    (lost < 1.0).then(|| 1.0 / (1.0 - lost.max(0.0)))
}

/// A link that carried nothing was not looked at; that is no figure.
fn frames(measured: &Measured) -> Option<f64> {
    let packets = measured.sender_host.link.tx_packets;
    if packets == 0 { None } else { per(packets as f64, measured.sender.total.messages as f64) }
}

/// TCP's own count of the measured part; the namespace's, of the whole trial,
/// where it is missing, and no other one's. What another protocol or another stack sends again,
/// nothing here counts.
fn retransmits(measured: &Measured, cell: &Cell) -> Option<f64> {
    let of_kernel = matches!(cell.api.over(), Over::Link | Over::Mptcp | Over::Ktls) && !cell.is_apart();
    if cell.protocol() != Protocol::Tcp || !of_kernel {
        return None;
    }
    let alone = measured.isolated && measured.conditions.as_ref().is_none_or(|taken| taken.bulk.is_none());
    let of_host = alone.then_some(measured.sender_host.tcp.retrans_segs as f64);
    measured.sender.tcp.map(|tcp| f64::from(tcp.resent_since(measured.sender.tcp_at_start))).or(of_host)
}

/// `None` where `/proc` did not say.
fn resident(end: &EndReport) -> Option<f64> {
    (end.max_resident.get() > 0).then(|| end.max_resident.get() as f64)
}

/// Jain's index of the bytes of each flow in the window; `None` of a number of messages, of which each flow has
/// the same.
fn fairness(trial: &Source) -> Option<f64> {
    trial.measured.windows?;
    let flows = &trial.measured.receiver.flows;
    let bytes: Vec<f64> = flows.iter().map(|flow| flow.counts.in_window().bytes as f64).collect();
    jain(&bytes)
}

/// From the sender's first message to the receiver's last, where a number of them is all that a trial has.
fn completion(trial: &Source) -> Option<f64> {
    trial.cell.count?;
    let Measured { sender, receiver, .. } = trial.measured;
    // What is lost is never there: the last that did arrive is not the end.
    if receiver.total.bytes < sender.total.bytes {
        return None;
    }
    since_first(trial.measured, receiver.window.end)
}

/// The share of a time by two clocks that their difference may be wrong by.
const MOST_OF_CLOCKS: f64 = 0.02;

/// From the sender's first message to a time by the receiver's clock; `None` where the clocks do not tell.
fn since_first(measured: &Measured, at: Nanos) -> Option<f64> {
    let (offset, error) = measured.clock.map_or((0, 0), |clock| (clock.offset_ns, clock.error_ns));
    let length = Nanos::new(at.get().saturating_add_signed(offset.saturating_neg())).since(measured.sender.window.start).get() as f64;
    (length > 0.0 && error as f64 <= MOST_OF_CLOCKS * length).then_some(length)
}

/// The median of what `completion` is the most of.
fn flow_completion(trial: &Source) -> Option<f64> {
    completion(trial)?;
    let after = |flow: &FlowReport| since_first(trial.measured, flow.done?);
    stats::median::median(&trial.measured.receiver.flows.iter().map(after).collect::<Option<Vec<f64>>>()?)
}

/// The limit of the link, where it is a wire of a rate.
fn limit(trial: &Source) -> Option<f64> {
    linksim::limit::of_trial(trial.link?, trial.measured, trial.cell).map(|bytes| bytes * 8.0)
}

#[cfg(test)]
mod tests {
    use super::{Metric, Source, Unit};
    use crate::testing::{cell, measured};
    use model::condition::{PerEnd, Placement};
    use model::end::{Counts, Window};
    use model::trial::Measured;
    use model::wakeups::WakeupCost;
    use model::{Bytes, Cell, Conditions, Nanos, Role, Test};
    use testkit::made;

    /// TCP's counters say nothing of what another protocol, another stack or a pipe carries.
    #[test]
    fn what_cannot_be_counted_is_no_zero() {
        let end = |role| made::end(role, Window::default(), Counts::default());
        let measured = made::measured(end(Role::Sender), end(Role::Receiver));
        let resent = |api: &str| {
            let cell = Cell { api: api.parse().unwrap(), ..Cell::plain(Test::TcpStream, Bytes::new(64)) };
            Metric::Retransmits.value(&Source { measured: &measured, cell: &cell, link: None, round_trips: None })
        };
        for api in ["sctp", "pipe", "unix-stream", "quinn", "smoltcp"] {
            assert_eq!(resent(api), None, "{api}");
        }
        for api in ["send", "mptcp", "ktls", "exec:x", "tokio"] {
            assert_eq!(resent(api), Some(0.0), "{api}");
        }
    }

    /// Of ten datagrams seven came: each of these costs the sender ten sevenths.
    #[test]
    fn a_delivered_message_pays_for_the_lost() {
        let counts = |messages| Counts { messages, ..Counts::default() };
        let lost = |sent, came| {
            let [mut sender, mut receiver] =
                [Role::Sender, Role::Receiver].map(|role| made::end(role, Window::default(), Counts::default()));
            (sender.total, receiver.total) = (counts(sent), counts(came));
            super::sent_per_delivered(&made::measured(sender, receiver), Test::UdpStream)
        };
        assert_eq!((lost(10, 5), lost(10, 10), lost(10, 11), lost(10, 0)), (Some(2.0), Some(1.0), Some(1.0), None));
        assert_eq!(super::of_both_ends(600.0, 300.0, 2.0), 1_500.0);
    }

    /// A probe wakes a thread on an idle CPU: two wake-ups of 4 µs a message at the sender, one at the receiver.
    #[test]
    fn wake_ups_like_those_of_the_probe_are_billed() {
        let cost = WakeupCost { low: Nanos::new(3_900), median: Nanos::new(4_000), high: Nanos::new(4_100) };
        let mut trial = measured(Test::UdpRr, 64);
        (trial.sender.switches.voluntary, trial.receiver.switches.voluntary) = (100_000, 50_000);
        trial.wakeups = [Some(cost); 2];
        for end in [&mut trial.sender, &mut trial.receiver] {
            end.cpu_time.process = Nanos::from_millis(1_000);
        }
        let billed = |trial: &Measured, cell: &Cell| {
            [Metric::BilledPerMessageNs, Metric::SenderBilledPerMessageNs, Metric::ReceiverBilledPerMessageNs]
                .map(|metric| metric.value(&Source { measured: trial, cell, link: None, round_trips: None }))
        };
        let plain = cell(Test::UdpRr, 64);
        assert_eq!(billed(&trial, &plain), [Some(12_000.0), Some(8_000.0), Some(4_000.0)]);
        let on = |conditions: Conditions| billed(&trial, &Cell { conditions, ..plain.clone() });
        let load = PerEnd { sender: 1, receiver: 0 };
        assert_eq!(on(Conditions { load, ..Conditions::USUAL }), [None, None, Some(4_000.0)]);
        assert_eq!(on(Conditions { placement: Placement::SameCore, ..Conditions::USUAL }), [None; 3]);
        assert_eq!(billed(&trial, &cell(Test::UdpStream, 64)), [None; 3]);
        // Ends of a paced stream sleep before each message.
        let paced = Cell { rate: Some(model::rate::OfferedRate::Messages(1_000)), ..cell(Test::UdpStream, 64) };
        assert!(billed(&trial, &paced).iter().all(Option::is_some));
        trial.wakeups = [None; 2];
        assert_eq!(billed(&trial, &plain), [None; 3]);
    }

    #[test]
    fn a_name_is_that_of_json_and_ends_with_its_unit() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
            let end = match metric.unit() {
                Unit::Count => "s",
                Unit::PerSecond => "_per_s",
                Unit::Index => "_index",
                Unit::Bytes => "_bytes",
                Unit::BitsPerSecond => "_bit_per_s",
                Unit::Nanoseconds => "_ns",
                Unit::Share => "_share",
                Unit::PerMessage => "_per_message",
            };
            assert!(metric.name().ends_with(end), "{metric}");
            assert!(![metric.title(), metric.head(), metric.column()[1]].contains(&""), "{metric}");
        }
    }
}
