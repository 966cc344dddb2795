//! Trials of several machines with one, carried out at once: one trial of them all.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::seen::{self, Cpus};
use super::{ClockOffset, Measured, Observed, Windows};
use crate::counts::{merge, sum};
use crate::end::{Counts, CpuTime, EndReport, FlowReport, InFlight, Schedule, Switches, TcpInfo, Window, ZeroCopy};
use crate::quantity::Nanos;
use crate::sorting::Gather;
use crate::traffic::Role;

/// One of several machines at an end of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its name in the plan.
    pub host: String,
    /// Its part.
    pub outcome: PeerOutcome,
}

/// Part of a machine in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerOutcome {
    /// It took part.
    Measured(PeerCounts),
    /// It took no part, or was lost: the trial's figures are those of the other machines.
    Missing {
        /// What was tried and what the system answered.
        error: String,
    },
}

/// Counts of one of several machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerCounts {
    /// Payload in bytes that its flows brought to their receiver within the window.
    pub bytes: u64,
    /// Messages of the same.
    pub messages: u64,
    /// Messages sent over the whole trial.
    pub sent: u64,
    /// Messages that arrived over the whole trial.
    pub arrived: u64,
    /// The receiver's window of its flows, on the clock of the host that all share.
    pub window: Window,
    /// CPU time of this machine's end within its own window.
    pub cpu_time: CpuTime,
}

impl Peer {
    fn new(host: &str, part: &Result<Measured, String>, many: Role) -> Self {
        let outcome = match part {
            Err(error) => PeerOutcome::Missing { error: error.clone() },
            Ok(part) => {
                let (sender, receiver) = (&part.sender, &part.receiver);
                let own = if many == Role::Sender { sender } else { receiver };
                let within = receiver.counts.in_window();
                PeerOutcome::Measured(PeerCounts {
                    bytes: within.bytes,
                    messages: within.messages,
                    sent: sender.total.messages,
                    arrived: receiver.total.messages,
                    window: receiver.window,
                    cpu_time: own.cpu_time,
                })
            }
        };
        Self { host: host.to_owned(), outcome }
    }

    /// Its counts; `None` of one that is missing.
    pub const fn counts(&self) -> Option<&PeerCounts> {
        match &self.outcome {
            PeerOutcome::Measured(counts) => Some(counts),
            PeerOutcome::Missing { .. } => None,
        }
    }
}

impl Measured {
    /// Time that the receivers' windows of all machines have in common, as a share of the time from the first one's start to
    /// the last one's end, 0 to 1: where one receives, by its clock alone. `None` of a trial between two machines, and of
    /// one of a number of messages. Windows of
    /// senders are left out: one that waits in a call at its window's end measures longer.
    pub fn peers_overlap(&self) -> Option<f64> {
        self.windows?;
        let windows = || self.peers.iter().filter_map(Peer::counts).map(|counts| counts.window);
        let all = around(windows())?;
        let (start, end) = common(windows())?;
        (all.length().get() > 0).then(|| (end - start).max(0) as f64 / all.length().get() as f64)
    }

    /// The trials of several hosts with one, by the names of the several, as one trial: `many` is their role. Counts are
    /// added. A window reaches from the first one's start to the last one's end, so that no rate is overstated; times are
    /// by the clock of the shared host. `None` where no trial was measured.
    ///
    /// The counters of the shared host are those of its first trial: all of them are read before any message flows, and
    /// after the last has arrived.
    pub fn gathered(mut parts: Vec<(String, Result<Self, String>)>, many: Role) -> Option<Self> {
        parts.iter_mut().filter_map(|(_, part)| part.as_mut().ok()).for_each(|part| part.shift(many));
        let peers = parts.iter().map(|(host, part)| Peer::new(host, part, many)).collect();
        let all: Vec<Self> = parts.into_iter().filter_map(|(_, part)| part.ok()).collect();
        let first = all.first()?.clone();
        let overlap =
            common(all.iter().map(|part| part.receiver.window)).map(|(start, end)| i64::try_from(end - start).unwrap_or(i64::MIN));
        let several = |of: fn(&Self) -> crate::kernel::HostCounters| all.iter().map(of).reduce(|sum, other| sum.with(&other));
        let (mut sender_host, mut receiver_host) = (first.sender_host, first.receiver_host);
        match many {
            Role::Sender => sender_host = several(|part| part.sender_host)?,
            Role::Receiver => receiver_host = several(|part| part.receiver_host)?,
        }
        let by_count = first.windows.is_none();
        let end = |role: Role| gather(all.iter().map(|part| part.end(role)).collect(), role == many, by_count);
        let seen = |role: Role| {
            let parts = all.iter().enumerate().map(|(place, part)| {
                let machine = if role == many { place } else { 0 };
                Some(((machine, cpus(part.end(role))), part.observed.as_deref()?.of(role)))
            });
            parts.collect::<Option<Vec<_>>>().map(|parts| seen::gather(&parts))
        };
        let observed = seen(Role::Sender).zip(seen(Role::Receiver));
        Some(Self {
            sender: end(Role::Sender)?,
            receiver: end(Role::Receiver)?,
            sender_host,
            receiver_host,
            isolated: all.iter().all(|part| part.isolated),
            apart: all.iter().all(|part| part.apart),
            clock: all.iter().filter_map(|part| part.clock).max_by_key(|clock| clock.error_ns),
            windows: first.windows.map(|windows| Windows { overlap_ns: overlap.unwrap_or(i64::MIN), ..windows }),
            slices: 0,
            control: all.iter().filter_map(|part| part.control).max_by_key(|path| path.rtt),
            overhead: all.iter().map(|part| part.overhead).max().unwrap_or_default(),
            wire: None,
            conditions: None,
            observed: observed.map(|(sender, receiver)| Box::new(Observed { sender, receiver })),
            wakeups: first.wakeups,
            peers,
        })
    }

    /// The report of the end with a role.
    pub const fn end(&self, role: Role) -> &EndReport {
        match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        }
    }

    /// Puts the times of the end with this role on the other end's clock.
    fn shift(&mut self, role: Role) {
        let Some(clock) = self.clock else { return };
        let by = if role == Role::Sender { clock.offset_ns } else { clock.offset_ns.saturating_neg() };
        let end = if role == Role::Sender { &mut self.sender } else { &mut self.receiver };
        let at = |time: Nanos| Nanos::new(time.get().saturating_add_signed(by));
        for window in std::iter::once(&mut end.window).chain(&mut end.flow) {
            *window = Window { start: at(window.start), end: at(window.end) };
        }
        end.flows.iter_mut().for_each(|flow| flow.done = flow.done.map(at));
        self.clock = Some(ClockOffset { offset_ns: 0, ..clock });
    }
}

/// From the first start to the last end.
fn around(windows: impl Iterator<Item = Window>) -> Option<Window> {
    windows.reduce(|all, one| Window { start: all.start.min(one.start), end: all.end.max(one.end) })
}

/// The last start and the first end, in ns.
fn common(windows: impl Iterator<Item = Window>) -> Option<(i128, i128)> {
    let edges = windows.map(|one| (i128::from(one.start.get()), i128::from(one.end.get())));
    edges.reduce(|all, one| (all.0.max(one.0), all.1.min(one.1)))
}

/// The reports of several processes as that of one end: of as many machines, or of one.
fn gather(reports: Vec<&EndReport>, machines: bool, by_count: bool) -> Option<EndReport> {
    let first = (*reports.first()?).clone();
    let all = || reports.iter().copied();
    let counts = |of: fn(&EndReport) -> Counts| all().map(of).fold(Counts::default(), sum);
    let account = |of: fn(&EndReport) -> Option<TcpInfo>| merge(all().filter_map(of));
    let add = |sum: Nanos, time: Option<Nanos>| Some(sum + time?);
    let mut drops = BTreeMap::<String, u64>::new();
    for (name, count) in all().flat_map(|report| &report.drops) {
        let sum = drops.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    Some(EndReport {
        threads: all().flat_map(|report| report.threads.iter().copied()).collect(),
        window: around(all().map(|report| report.window))?,
        flow: around(all().filter_map(|report| report.flow)),
        counts: counts(|report| report.counts),
        total: counts(|report| report.total),
        cpu_time: cpu_time(&reports, machines),
        user_cpu: all().map(|report| report.user_cpu).try_fold(Nanos::default(), add),
        switches: all().map(|report| report.switches).fold(Switches::default(), switches),
        run_delay: all().map(|report| report.run_delay).try_fold(Nanos::default(), add),
        tcp: account(|report| report.tcp),
        tcp_at_start: account(|report| report.tcp_at_start),
        in_flight: all()
            .filter_map(|report| report.in_flight)
            .reduce(|sum, other| InFlight { most: sum.most.max(other.most), looks: sum.looks.saturating_add(other.looks) }),
        latency: None,
        max_resident: all().map(|report| report.max_resident).max().unwrap_or_default(),
        flows: all().flat_map(|report| flows(report, by_count)).collect(),
        back: None,
        // Its times would have to be merged: the numbers alone are kept.
        schedule: all().filter_map(|report| report.schedule.as_ref()).fold(None, |sum: Option<Schedule>, other| {
            let sum = sum.unwrap_or_default();
            let (intended, behind) = (sum.intended.saturating_add(other.intended), sum.behind.saturating_add(other.behind));
            Some(Schedule { intended, behind, ..Schedule::default() })
        }),
        one_way: None,
        addresses: all().flat_map(|report| report.addresses.iter().copied()).collect(),
        drops,
        zero_copy: all().filter_map(|report| report.zero_copy).reduce(|mut sum: ZeroCopy, other| {
            sum.add(other);
            sum
        }),
        progress: Vec::new(),
        ..first
    })
}

fn switches(sum: Switches, other: Switches) -> Switches {
    Switches { voluntary: sum.voluntary.saturating_add(other.voluntary), involuntary: sum.involuntary.saturating_add(other.involuntary) }
}

/// The CPUs that the flows of an end are bound to.
fn cpus(report: &EndReport) -> BTreeSet<u32> {
    report.cpu.into_iter().chain(report.flows.iter().filter_map(|flow| flow.cpu)).into_set()
}

/// CPU time of several processes, of as many machines or of one. What the kernel does on a machine's CPUs is in each report
/// of these CPUs, and counts once.
fn cpu_time(reports: &[&EndReport], machines: bool) -> CpuTime {
    let mut of_cpus = BTreeMap::<Cpus, CpuTime>::new();
    for (place, report) in reports.iter().enumerate() {
        let sum = of_cpus.entry((if machines { place } else { 0 }, cpus(report))).or_default();
        let time = report.cpu_time;
        *sum = CpuTime {
            process: sum.process + time.process,
            irq: sum.irq.max(time.irq),
            kernel_threads: sum.kernel_threads.max(time.kernel_threads),
        };
    }
    let add = |a: Option<Nanos>, b: Option<Nanos>| a.zip(b).map(|(a, b)| a + b).or(a).or(b);
    of_cpus.into_values().fold(CpuTime::default(), |sum, time| CpuTime {
        process: sum.process + time.process,
        irq: add(sum.irq, time.irq),
        kernel_threads: add(sum.kernel_threads, time.kernel_threads),
    })
}

/// The flows of a report; one flow is the whole report.
fn flows(report: &EndReport, by_count: bool) -> Vec<FlowReport> {
    if !report.flows.is_empty() {
        return report.flows.clone();
    }
    vec![FlowReport {
        cpu: report.cpu,
        counts: report.counts,
        total: report.total,
        switches: report.switches,
        done: by_count.then_some(report.window.end),
        tcp: report.tcp,
        tcp_at_start: report.tcp_at_start,
    }]
}
