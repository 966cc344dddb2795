//! Figures of one trial by itself, and its answer. One trial has no interval: see
//! [`crate::Collector`] for what many of them show.

use std::collections::BTreeMap;

use model::{Role, TrialRecord};
use serde::Serialize;

use crate::answer::notation::{message, size, time};
use crate::answer::{Answer, Grade, Part};
use crate::figures::Figures;
pub use crate::latency::Spread;
use crate::latency::{RoundTrips, Times};
use crate::metric::{Metric, Source};

/// The figures of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TrialFigures {
    /// Every figure that its counts give.
    pub metrics: BTreeMap<Metric, f64>,
    /// Round-trip times; from the intended time of each request where a rate is offered.
    pub latency: Option<Spread>,
    /// Round-trip times from the actual time of each request, where a rate is offered.
    pub uncorrected: Option<Spread>,
    /// Time from the intended to the actual begin of each send.
    pub lateness: Option<Spread>,
    /// Time that each stamped datagram took beyond the shortest.
    pub beyond_least: Option<Spread>,
}

impl TrialFigures {
    /// Returns whether an end has rates: its clocks resolve its window, and the link carried them.
    pub fn has_rates(&self, role: Role) -> bool {
        let rate = match role {
            Role::Sender => Metric::SentMessagesPerS,
            Role::Receiver => Metric::GoodputBitPerS,
        };
        self.metrics.contains_key(&rate)
    }

    /// Returns whether an end has shares of CPU time.
    pub fn has_shares(&self, role: Role) -> bool {
        let share = match role {
            Role::Sender => Metric::SenderBusyShare,
            Role::Receiver => Metric::ReceiverBusyShare,
        };
        self.metrics.contains_key(&share)
    }
}

/// The figures of a trial; `None` of one that failed. A histogram that cannot
/// be read gives no times.
pub fn single(record: &TrialRecord) -> Option<TrialFigures> {
    let measured = record.measured()?;
    let cell = record.cell_as_run();
    let (times, _) = Times::of_trial(measured, cell.test);
    // What the link allows is told of many trials alone.
    let source = Source { measured, cell, link: None, round_trips: times.round_trips.as_ref() };
    let figures = Figures::new(record, &source);
    let finite = |metric: &Metric| figures.own(*metric).filter(|value| value.is_finite());
    let spread = |times: Option<RoundTrips>| times.and_then(|times| times.spread());
    Some(TrialFigures {
        metrics: Metric::ALL.iter().filter_map(|metric| Some((*metric, finite(metric)?))).collect(),
        latency: spread(times.round_trips),
        uncorrected: spread(times.uncorrected),
        lateness: spread(times.lateness),
        beyond_least: spread(times.beyond_least),
    })
}

/// The answer of one trial with its figures.
pub fn answer(record: &TrialRecord, figures: &TrialFigures) -> Answer {
    let cell = record.cell_as_run();
    let subject = format!("{} {}", size(cell.size), message(cell.test));
    let known = [Metric::CpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::TimePerMessageNs];
    let found = known.into_iter().find_map(|metric| Some((metric, *figures.metrics.get(&metric)?)));
    let headline = match found {
        Some((Metric::CpuPerMessageNs, ns)) => format!("A {subject} cost {} of CPU, both ends.", time(ns)),
        Some((Metric::ReceiverCpuPerMessageNs, ns)) => format!("A {subject} cost the receiver {} of CPU.", time(ns)),
        Some((_, ns)) => format!("A {subject} took {}.", time(ns)),
        None => format!("No {subject} was measured."),
    };
    let part = |(metric, value)| Part::figure(subject.as_str(), Some(metric), Some(cell.size), value);
    let parts = found.map(part).into_iter().collect();
    Answer { parts, ..Answer::new(format!("one trial, {subject}"), headline, Grade::Open, "one trial, no interval") }
}

#[cfg(test)]
mod tests {
    use super::single;
    use crate::metric::Metric;
    use crate::testing::{measured, record};
    use model::end::{Back, Counts, CpuTime, FlowReport, Schedule, Switches};
    use model::trial::Measured;
    use model::{Nanos, OfferedRate, Pacing, Test, TrialRecord, Warning};
    use testkit::made;

    fn of(change: impl Fn(&mut TrialRecord, &mut Measured)) -> (TrialRecord, super::TrialFigures) {
        let mut trial = measured(Test::UdpStream, 1024);
        let mut record = record(Test::UdpStream, 1024, 0, trial.clone());
        change(&mut record, &mut trial);
        record.outcome = model::trial::Outcome::Measured(Box::new(trial));
        let found = single(&record).unwrap();
        (record, found)
    }

    #[test]
    fn interrupt_time_is_in_the_cpu_time_of_a_single_trial() {
        let (_, found) = of(|_, trial| {
            trial.sender.cpu_time = CpuTime { process: Nanos::from_millis(50), irq: Some(Nanos::from_millis(25)), kernel_threads: None };
        });
        assert_eq!(found.metrics[&Metric::SenderCpuPerMessageNs], 1_500.0);
    }

    #[test]
    fn both_ways_have_no_cpu_per_message() {
        let (_, found) = of(|record, trial| {
            record.cell.bidirectional = true;
            trial.sender.back =
                Some(Back { counts: Counts { bytes: 15_000_000, ..Counts::default() }, total: Counts::default(), ..Back::default() });
        });
        assert!((found.metrics[&Metric::BackGoodputBitPerS] - 8e8).abs() < 1.0);
        for metric in [Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerKibNs] {
            assert_eq!(found.metrics.get(&metric), None);
        }
    }

    #[test]
    fn a_sender_that_spins_has_no_cpu_per_message_but_its_receiver_has() {
        let (_, found) = of(|record, _| (record.cell.rate, record.cell.pacing) = (Some(OfferedRate::Messages(100)), Pacing::Spin));
        assert_eq!(found.metrics.get(&Metric::SenderCpuPerMessageNs), None);
        assert!(found.metrics.contains_key(&Metric::ReceiverCpuPerMessageNs));
        assert_eq!(found.metrics[&Metric::OfferedMessagesPerS], 100.0);
    }

    #[test]
    fn several_flows_share_the_busy_time_of_their_cpus() {
        let flow = |cpu| FlowReport {
            cpu: Some(cpu),
            counts: Counts::default(),
            total: Counts::default(),
            switches: Switches::default(),
            done: None,
            tcp: None,
            tcp_at_start: None,
        };
        let (record, found) = of(|record, trial| {
            record.cell.flows = 4;
            trial.sender.flows = [0, 1, 0, 1].map(flow).to_vec();
            // Each waited 3 % of the 150 ms, which is no disturbance; the sum of them would be.
            trial.sender.run_delay = Some(Nanos::from_millis(18));
            trial.sender.cpu_time.process = Nanos::from_millis(150);
        });
        assert_eq!(found.metrics[&Metric::SenderBusyShare], 0.5);
        assert_eq!(crate::audit::warnings(&record, 1.0, &made::plan("test", Vec::new())), []);
    }

    #[test]
    fn a_rate_out_of_reach_is_told_and_one_that_is_kept_is_no_limit_of_the_tool() {
        let paced = |behind| {
            of(|record, trial| {
                record.cell.rate = Some(OfferedRate::Messages(400_000));
                trial.sender.schedule = Some(Schedule { intended: 60_000, behind, ..Schedule::default() });
            })
        };
        // A loop of 1 µs would be a third of the time of each message.
        assert_eq!(crate::audit::warnings(&paced(0).0, 1_000.0, &made::plan("test", Vec::new())), []);
        let (record, found) = paced(10_000);
        let doubts = crate::audit::warnings(&record, 1_000.0, &made::plan("test", Vec::new()));
        assert!(matches!(&doubts[..], [_, Warning::BehindSchedule { messages: 10_000, .. }, _]), "{doubts:?}");
        assert!((found.metrics[&Metric::BehindShare] - 1.0 / 6.0).abs() < 1e-12);
    }
}
