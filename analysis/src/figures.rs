//! The figures of one trial: every [`Metric`] that its counts can give.

use model::end::{Counts, EndReport};
use model::kernel::CpuTicks;
use model::trial::Measured;
use model::{Bytes, Cell, Protocol, Test, TrialRecord};

use crate::latency::RoundTrips;
use crate::result::Metric;

/// Length of a tick of /proc/stat: USER_HZ is 100 on every Linux architecture
/// but alpha and ia64 (include/asm-generic/param.h).
const TICK_NS: f64 = 1e7;

/// What is kept of a measured trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The block it belongs to.
    pub block: u32,
    /// Whether the hosts' roles were exchanged.
    pub swapped: bool,
    /// One place for each metric, in the order of [`Metric::ALL`].
    values: [Option<f64>; Metric::ALL.len()],
}

impl Figures {
    /// The figures of a trial.
    pub fn of(record: &TrialRecord, measured: &Measured, round_trips: Option<&RoundTrips>) -> Self {
        let figure = |metric: &Metric| {
            let value = match metric {
                Metric::RoundTripP50Ns => round_trips.and_then(|trips| trips.percentile(50.0)),
                _ => value(*metric, measured, &record.cell),
            };
            value.filter(|value| value.is_finite())
        };
        let mut values = [None; Metric::ALL.len()];
        for (place, metric) in values.iter_mut().zip(Metric::ALL) {
            *place = figure(metric);
        }
        Self { block: record.block, swapped: record.swapped, values }
    }

    /// A figure; `None` when the trial does not give it.
    pub const fn get(&self, metric: Metric) -> Option<f64> {
        // `Metric::ALL` lists the variants in the order of their declaration;
        // a test below holds it to that.
        self.values[metric as usize]
    }
}

/// Nanoseconds per message (or transaction) at the receiver; `None` when none
/// came in the measured time.
pub fn time_per_message(measured: &Measured) -> Option<f64> {
    per(seconds(&measured.receiver)? * 1e9, measured.receiver.counts.messages)
}

/// Length of the measured part; `None` of an empty one.
fn seconds(end: &EndReport) -> Option<f64> {
    let length = end.window.length().as_secs_f64();
    (length > 0.0).then_some(length)
}

fn per(amount: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| amount / count as f64)
}

fn cpu(end: &EndReport) -> f64 {
    end.cpu_time.sum().get() as f64
}

fn value(metric: Metric, measured: &Measured, cell: &Cell) -> Option<f64> {
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let kib = |end: &EndReport| (end.counts.bytes > 0).then(|| cpu(end) * 1024.0 / end.counts.bytes as f64);
    let busy = |end: &EndReport| Some(cpu(end) / 1e9 / seconds(end)?);
    let rate = |end: &EndReport, count: u64| Some(count as f64 / seconds(end)?);
    match metric {
        Metric::MessagesPerS => rate(receiver, receiver.counts.messages),
        Metric::GoodputBitPerS => rate(receiver, receiver.counts.bytes).map(|bytes| bytes * 8.0),
        Metric::TimePerMessageNs => time_per_message(measured),
        Metric::SentMessagesPerS => rate(sender, sender.counts.messages),
        Metric::SenderCpuPerMessageNs => per(cpu(sender), sender.counts.messages),
        Metric::ReceiverCpuPerMessageNs => per(cpu(receiver), receiver.counts.messages),
        Metric::SenderCpuPerKibNs => kib(sender),
        Metric::ReceiverCpuPerKibNs => kib(receiver),
        Metric::HostCpuPerMessageNs => host_cpu(&measured.receiver_host.cpu, &receiver.total),
        Metric::SenderBusyShare => busy(sender),
        Metric::ReceiverBusyShare => busy(receiver),
        Metric::LossShare => loss_share(cell.test, &sender.total, &receiver.total),
        Metric::ReceiverWakeupsPerMessage => per(receiver.switches.voluntary as f64, receiver.counts.messages),
        Metric::SenderWakeupsPerMessage => per(sender.switches.voluntary as f64, sender.counts.messages),
        Metric::FramesPerMessage => frames(measured),
        Metric::Retransmits => retransmits(measured, cell.protocol()),
        Metric::RoundTripP50Ns => None,
    }
}

/// The busy time of all CPUs is of the whole trial, so it is divided by all
/// messages. `None` where there are no ticks at all.
fn host_cpu(ticks: &CpuTicks, total: &Counts) -> Option<f64> {
    if ticks.all() == 0 { None } else { per(ticks.busy() as f64 * TICK_NS, total.messages) }
}

/// The share of datagrams, or of requests, that was lost over the whole trial.
fn loss_share(test: Test, sender: &Counts, receiver: &Counts) -> Option<f64> {
    match test {
        Test::UdpStream => per(sender.messages as f64 - receiver.messages as f64, sender.messages),
        Test::UdpRr => per(sender.lost as f64, sender.messages.saturating_add(sender.lost)),
        Test::TcpStream | Test::TcpMaerts | Test::TcpRr => None,
    }
}

/// A link that carried nothing was not looked at; that is no figure.
fn frames(measured: &Measured) -> Option<f64> {
    let packets = measured.sender_host.link.tx_packets;
    if packets == 0 { None } else { per(packets as f64, measured.sender.total.messages) }
}

/// TCP's own count; the namespace's where it is missing and nobody else's.
fn retransmits(measured: &Measured, protocol: Protocol) -> Option<f64> {
    if protocol != Protocol::Tcp {
        return None;
    }
    let of_host = measured.isolated.then_some(measured.sender_host.tcp.retrans_segs as f64);
    measured.sender.tcp.map(|tcp| f64::from(tcp.total_retrans)).or(of_host)
}

/// The largest segment that TCP sent, when it tells.
pub fn segment_size(measured: &Measured) -> Option<Bytes> {
    measured.sender.tcp.map(|tcp| Bytes::new(tcp.snd_mss.into())).filter(|size| size.get() > 0)
}

#[cfg(test)]
mod tests {
    use crate::result::Metric;

    #[test]
    fn metrics_are_listed_in_the_order_of_their_declaration() {
        assert!(Metric::ALL.iter().enumerate().all(|(place, metric)| *metric as usize == place));
    }
}
