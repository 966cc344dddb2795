//! The figures of one trial: every [`Metric`] that its counts can give.

use std::collections::BTreeSet;

use model::end::{Counts, CpuTime, EndReport};
use model::kernel::CpuTicks;
use model::plan::LinkKind;
use model::trial::Measured;
use model::{Bytes, Cell, Pacing, Protocol, Role, Test, TrialRecord, Warning};

use crate::latency::RoundTrips;
use crate::result::Metric;

/// Length of a tick of /proc/stat: USER_HZ is 100 on every Linux architecture
/// but alpha and ia64 (include/asm-generic/param.h).
const TICK_NS: f64 = 1e7;

/// Busy ticks that a trial needs for a host-wide figure: one tick more or less
/// is then 1 %.
const LEAST_TICKS: u64 = 100;

/// What is kept of a measured trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The block it belongs to.
    pub block: u32,
    /// Whether the hosts' roles were exchanged.
    pub swapped: bool,
    /// Whether the machine disturbed it.
    pub disturbed: bool,
    /// Whether its interrupt time stands apart, at the sender and the receiver.
    irq: [bool; 2],
    /// One place for each metric, in the order of [`Metric::ALL`].
    values: [Option<f64>; Metric::ALL.len()],
}

impl Figures {
    /// The figures of a trial, without its interrupt time: see [`Figures::add_irq`].
    pub fn of(record: &TrialRecord, measured: &Measured, round_trips: Option<&RoundTrips>) -> Self {
        let figure = |metric: &Metric| {
            let value = match metric {
                Metric::RoundTripP50Ns => round_trips.and_then(|trips| trips.percentile(50.0)),
                _ if hides(*metric, &record.cell) => None,
                _ => value(*metric, measured, &record.cell),
            };
            value.filter(|value| value.is_finite())
        };
        let mut values = [None; Metric::ALL.len()];
        for (place, metric) in values.iter_mut().zip(Metric::ALL) {
            *place = figure(metric);
        }
        let irq = [&measured.sender, &measured.receiver].map(|end| end.cpu_time.irq.is_some());
        Self { block: record.block, swapped: record.swapped, disturbed: record.warnings.iter().any(disturbs), irq, values }
    }

    /// A figure; `None` when the trial does not give it.
    pub const fn get(&self, metric: Metric) -> Option<f64> {
        // `Metric::ALL` lists the variants in the order of their declaration;
        // a test below holds it to that.
        self.values[metric as usize]
    }

    /// Adds what the link allows, where it is a wire of a rate.
    pub fn add_limit(&mut self, link: &LinkKind, measured: &Measured, cell: &Cell) {
        let limit = linksim::limit::of_trial(link, measured, cell).map(|bytes| bytes * 8.0);
        let goodput = self.get(Metric::GoodputBitPerS);
        self.values[Metric::LimitBitPerS as usize] = limit;
        self.values[Metric::LimitShare as usize] = goodput.zip(limit).map(|(goodput, limit)| goodput / limit);
    }

    /// Adds the interrupt time that the trials of the cell share.
    pub fn add_irq(&mut self, pools: &[IrqPool; 2]) {
        let metrics = [
            [Metric::SenderCpuPerMessageNs, Metric::SenderCpuPerKibNs, Metric::SenderBusyShare],
            [Metric::ReceiverCpuPerMessageNs, Metric::ReceiverCpuPerKibNs, Metric::ReceiverBusyShare],
        ];
        for (end, pool) in pools.iter().enumerate().filter(|(end, _)| self.irq[*end]) {
            for (metric, more) in metrics[end].iter().zip(pool.shares()) {
                let value = &mut self.values[*metric as usize];
                *value = value.zip(more).map(|(value, more)| value + more).or(*value);
            }
        }
    }
}

/// Whether a warning says that the machine, not the stack, made its mark on
/// the times of a trial.
pub const fn disturbs(warning: &Warning) -> bool {
    matches!(warning, Warning::Contended { .. } | Warning::Stolen { .. } | Warning::Throttled { .. } | Warning::Misaligned { .. })
}

/// Whether a cell cannot give a figure whatever its ends counted: CPU time of
/// two directions, and of a sender that spins away what it does not need.
fn hides(metric: Metric, cell: &Cell) -> bool {
    let spins = cell.rate.is_some() && cell.pacing == Pacing::Spin;
    match metric {
        Metric::SenderCpuPerMessageNs | Metric::SenderCpuPerKibNs | Metric::HostCpuPerMessageNs => cell.bidirectional || spins,
        Metric::ReceiverCpuPerMessageNs
        | Metric::ReceiverCpuPerKibNs
        | Metric::SenderWakeupsPerMessage
        | Metric::ReceiverWakeupsPerMessage => cell.bidirectional,
        // The device's frames are then other flows' as well.
        Metric::FramesPerMessage => cell.bidirectional || cell.conditions.bulk > 0,
        _ => false,
    }
}

/// CPUs that the flows of an end are bound to; flows that are free to move
/// have one each.
pub fn cpus(end: &EndReport) -> f64 {
    let bound: BTreeSet<u32> = end.flows.iter().filter_map(|flow| flow.cpu).collect();
    let free = end.flows.iter().filter(|flow| flow.cpu.is_none()).count();
    (bound.len() + free).max(1) as f64
}

/// Threads of an end.
pub fn threads(end: &EndReport) -> f64 {
    end.flows.len().max(1) as f64
}

/// Interrupt time of one end over the trials of a cell, and what it was for.
///
/// The kernel counts it in ns but shows it in ticks of 10 ms, so that a trial
/// of 150 ms reads 0, 1 or 2 ticks by chance. The sum over trials is right to
/// a tick for each; a median of it would not be.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IrqPool {
    ns: f64,
    messages: f64,
    bytes: f64,
    seconds: f64,
}

impl IrqPool {
    /// Adds one end of a trial; nothing where interrupt time does not stand apart.
    pub fn add(&mut self, end: &EndReport, cell: &Cell) {
        let Some(irq) = end.cpu_time.irq else { return };
        self.ns += irq.get() as f64;
        self.messages += messages(end, &end.counts, cell);
        self.bytes += end.counts.bytes as f64;
        self.seconds += end.window.length().as_secs_f64() * cpus(end);
    }

    /// Whether any time is in it.
    pub fn any(&self) -> bool {
        self.ns > 0.0
    }

    /// Per message in ns, per KiB in ns, and as a share of the time.
    fn shares(&self) -> [Option<f64>; 3] {
        [(1.0, self.messages), (1024.0, self.bytes), (1e-9, self.seconds)]
            .map(|(factor, by)| (by > 0.0).then(|| self.ns * factor / by).filter(|share| share.is_finite()))
    }
}

/// Nanoseconds per message (or transaction) at the receiver; `None` when none
/// came in the measured time.
pub fn time_per_message(measured: &Measured, cell: &Cell) -> Option<f64> {
    let receiver = &measured.receiver;
    per(seconds(receiver)? * 1e9, messages(receiver, &receiver.counts, cell))
}

/// Length of the measured part; `None` of an empty one.
fn seconds(end: &EndReport) -> Option<f64> {
    let length = end.window.length().as_secs_f64();
    (length > 0.0).then_some(length)
}

/// Messages of an end. The receiver of a TCP stream sees bytes, which hold a
/// part of a message too: the whole ones alone would be up to one too few.
pub fn messages(end: &EndReport, counts: &Counts, cell: &Cell) -> f64 {
    // Those of a mix were counted with what the sender knew.
    let bytes = end.role == Role::Receiver && cell.test.is_stream() && cell.protocol() == Protocol::Tcp && cell.mix.is_none();
    if bytes { counts.bytes as f64 / cell.size.get().max(1) as f64 } else { counts.messages as f64 }
}

fn per(amount: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| amount / count)
}

/// CPU time of an end without the interrupt time that is pooled.
fn cpu(end: &EndReport) -> f64 {
    CpuTime { irq: None, ..end.cpu_time }.sum().get() as f64
}

fn value(metric: Metric, measured: &Measured, cell: &Cell) -> Option<f64> {
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let (sent, received) = (messages(sender, &sender.counts, cell), messages(receiver, &receiver.counts, cell));
    let kib = |end: &EndReport| per(cpu(end) * 1024.0, end.counts.bytes as f64);
    let busy = |end: &EndReport| Some(cpu(end) / 1e9 / seconds(end)? / cpus(end));
    let waited = |end: &EndReport| Some(end.run_delay?.as_secs_f64() / seconds(end)? / threads(end));
    let rate = |end: &EndReport, count: f64| Some(count / seconds(end)?);
    match metric {
        Metric::MessagesPerS => rate(receiver, received),
        Metric::GoodputBitPerS => rate(receiver, receiver.counts.bytes as f64).map(|bytes| bytes * 8.0),
        Metric::TimePerMessageNs => time_per_message(measured, cell),
        Metric::SentMessagesPerS => rate(sender, sent),
        Metric::SenderCpuPerMessageNs => per(cpu(sender), sent),
        Metric::ReceiverCpuPerMessageNs => per(cpu(receiver), received),
        Metric::SenderCpuPerKibNs => kib(sender),
        Metric::ReceiverCpuPerKibNs => kib(receiver),
        Metric::HostCpuPerMessageNs => host_cpu(&measured.receiver_host.cpu, messages(receiver, &receiver.total, cell)),
        Metric::SenderBusyShare => busy(sender),
        Metric::ReceiverBusyShare => busy(receiver),
        Metric::SenderRunDelayShare => waited(sender),
        Metric::ReceiverRunDelayShare => waited(receiver),
        Metric::LossShare => loss_share(cell.test, &sender.total, &receiver.total),
        Metric::ReceiverWakeupsPerMessage => per(receiver.switches.voluntary as f64, received),
        Metric::SenderWakeupsPerMessage => per(sender.switches.voluntary as f64, sent),
        Metric::FramesPerMessage => frames(measured),
        Metric::Retransmits => retransmits(measured, cell.protocol()),
        Metric::RoundTripP50Ns | Metric::LimitBitPerS | Metric::LimitShare => None,
        Metric::BackGoodputBitPerS => rate(sender, sender.back?.counts.bytes as f64).map(|bytes| bytes * 8.0),
        Metric::OfferedMessagesPerS => Some(cell.rate?.messages_per_second(cell.size) * f64::from(cell.flows)),
        Metric::BehindShare => behind_share(sender),
        Metric::JitterNs => receiver.one_way.as_ref().map(|way| way.jitter as f64),
        Metric::LeastWayNs => {
            receiver.one_way.as_ref().map(|way| (way.base as f64) - measured.clock.map_or(0.0, |clock| clock.offset_ns as f64))
        }
        Metric::ClockErrorNs => receiver.one_way.as_ref().map(|_| measured.clock.map_or(0.0, |clock| clock.error_ns as f64)),
        Metric::ReorderedShare => receiver.one_way.as_ref().and_then(|way| per(way.out_of_order as f64, way.messages as f64)),
    }
}

/// The share of the schedule that was not sent in time; `None` without a schedule.
pub fn behind_share(end: &EndReport) -> Option<f64> {
    let schedule = end.schedule.as_ref()?;
    per(schedule.behind as f64, schedule.intended as f64)
}

/// The busy time of all CPUs is of the whole trial, so it is divided by all
/// messages. `None` where there are too few ticks to say anything.
fn host_cpu(ticks: &CpuTicks, messages: f64) -> Option<f64> {
    if ticks.busy() < LEAST_TICKS { None } else { per(ticks.busy() as f64 * TICK_NS, messages) }
}

/// The share of datagrams, or of requests, that was lost over the whole trial.
fn loss_share(test: Test, sender: &Counts, receiver: &Counts) -> Option<f64> {
    match test {
        Test::UdpStream => per(sender.messages as f64 - receiver.messages as f64, sender.messages as f64),
        Test::UdpRr => per(sender.lost as f64, sender.messages as f64 + sender.lost as f64),
        Test::TcpStream | Test::TcpMaerts | Test::TcpRr | Test::TcpCrr => None,
    }
}

/// A link that carried nothing was not looked at; that is no figure.
fn frames(measured: &Measured) -> Option<f64> {
    let packets = measured.sender_host.link.tx_packets;
    if packets == 0 { None } else { per(packets as f64, measured.sender.total.messages as f64) }
}

/// TCP's own count of the measured part; the namespace's, of the whole trial,
/// where it is missing and nobody else's.
fn retransmits(measured: &Measured, protocol: Protocol) -> Option<f64> {
    if protocol != Protocol::Tcp {
        return None;
    }
    let alone = measured.isolated && measured.conditions.as_ref().is_none_or(|taken| taken.bulk.is_none());
    let of_host = alone.then_some(measured.sender_host.tcp.retrans_segs as f64);
    measured.sender.tcp.map(|tcp| f64::from(tcp.resent_since(measured.sender.tcp_at_start))).or(of_host)
}

/// The largest segment that TCP sent, when it tells.
pub fn segment_size(measured: &Measured) -> Option<Bytes> {
    measured.sender.tcp.map(|tcp| Bytes::new(tcp.snd_mss.into())).filter(|size| size.get() > 0)
}

#[cfg(test)]
mod tests {
    use super::{Figures, IrqPool};
    use crate::result::Metric;
    use crate::testing::{measured, record};
    use model::end::CpuTime;
    use model::trial::Measured;
    use model::{Nanos, Test};
    use proptest::prelude::{prop, prop_assert, proptest};

    #[test]
    fn metrics_are_listed_in_the_order_of_their_declaration() {
        assert!(Metric::ALL.iter().enumerate().all(|(place, metric)| *metric as usize == place));
    }

    fn of(test: Test, size: u64, trial: Measured) -> Figures {
        let record = record(test, size, 0, trial);
        Figures::of(&record, record.measured().unwrap(), None)
    }

    #[test]
    fn a_receiver_of_a_tcp_stream_has_parts_of_messages() {
        let mut trial = measured(Test::TcpStream, 1_000);
        (trial.receiver.counts.bytes, trial.receiver.counts.messages) = (150_500, 150);
        let found = of(Test::TcpStream, 1_000, trial).get(Metric::MessagesPerS).unwrap();
        assert!((found - 150.5 / 0.15).abs() < 1e-6, "{found}");
    }

    #[test]
    fn few_ticks_are_no_figure_of_the_host() {
        let mut trial = measured(Test::TcpStream, 64);
        (trial.receiver_host.cpu.system, trial.receiver_host.cpu.user) = (90, 9);
        assert_eq!(of(Test::TcpStream, 64, trial.clone()).get(Metric::HostCpuPerMessageNs), None);
        trial.receiver_host.cpu.user = 10;
        assert_eq!(of(Test::TcpStream, 64, trial).get(Metric::HostCpuPerMessageNs), Some(20_000.0));
    }

    proptest! {
        /// A counter that runs on in ns but is read in ticks: trial by trial it
        /// says 0 or a tick too much, pooled it is right to one tick in all.
        #[test]
        fn pooled_interrupt_time_is_right_to_a_tick(trials in prop::collection::vec(0u64..9_000_000, 5..40), phase in 0u64..10_000_000) {
            const TICK: u64 = 10_000_000;
            let (mut counter, mut pools, mut figures) = (phase, [IrqPool::default(); 2], Vec::new());
            for irq in &trials {
                let shown = ((counter + irq) / TICK - counter / TICK) * TICK;
                counter += irq;
                let mut trial = measured(Test::UdpStream, 64);
                trial.sender.cpu_time = CpuTime { process: Nanos::from_millis(75), irq: Some(Nanos::new(shown)), kernel_threads: None };
                let record = record(Test::UdpStream, 64, 0, trial);
                let trial = record.measured().unwrap();
                pools[0].add(&trial.sender, &record.cell);
                pools[1].add(&trial.receiver, &record.cell);
                figures.push(Figures::of(&record, trial, None));
            }
            let messages = 50_000.0 * trials.len() as f64;
            let truth = 75e6 / 50_000.0 + trials.iter().sum::<u64>() as f64 / messages;
            for trial in &mut figures {
                trial.add_irq(&pools);
                let found = trial.get(Metric::SenderCpuPerMessageNs).unwrap();
                prop_assert!((found - truth).abs() <= TICK as f64 / messages + 1e-9, "{found} {truth}");
                // The other end has none apart.
                prop_assert!((trial.get(Metric::ReceiverCpuPerMessageNs).unwrap() - 1_500.0).abs() < 1e-9);
            }
        }
    }
}
