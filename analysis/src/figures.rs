//! The figures of one trial: every [`Metric`] that its counts can give.

use model::{TrialRecord, Warning};

use crate::ends::IrqPool;
use crate::metric::{Metric, Source, of_both_ends, sent_per_delivered};

/// The figures that interrupt time is a part of, of the sender and of the
/// receiver, in the order of [`IrqPool::shares`].
const WITH_IRQ: [[Metric; 3]; 2] = [
    [Metric::SenderCpuPerMessageNs, Metric::SenderCpuPerKibNs, Metric::SenderBusyShare],
    [Metric::ReceiverCpuPerMessageNs, Metric::ReceiverCpuPerKibNs, Metric::ReceiverBusyShare],
];

/// Every figure of a measured trial: its row in the trial table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The block it belongs to.
    pub block: u32,
    /// The group of a woven study that it ran in.
    pub group: Option<u32>,
    /// True where its measured part consists of slices.
    pub woven: bool,
    /// True where the hosts' roles were exchanged.
    pub swapped: bool,
    /// True where the machine disturbed it.
    pub disturbed: bool,
    /// True where its interrupt time stands apart, at the sender and the receiver.
    irq: [bool; 2],
    /// One place for each metric, in the order of [`Metric::ALL`]; not a number
    /// where the trial does not give it, which takes half the room of an option.
    values: [f64; Metric::ALL.len()],
    /// Those of [`WITH_IRQ`] with the interrupt time that the trial read itself.
    own: [[f64; 3]; 2],
    /// Messages that were sent for each that came: not a number where none did.
    sent_per_delivered: f64,
}

impl Figures {
    /// The figures of a trial, of which [`Self::get`] is without its interrupt
    /// time until that of the cell is added ([`Self::add_irq`]).
    pub fn new(record: &TrialRecord, source: &Source) -> Self {
        let mut values = [f64::NAN; Metric::ALL.len()];
        for (place, metric) in values.iter_mut().zip(Metric::ALL) {
            *place = metric.value(source).unwrap_or(f64::NAN);
        }
        let irq = [&source.measured.sender, &source.measured.receiver].map(|end| end.cpu_time.irq.is_some());
        let disturbed = record.warnings.iter().any(Warning::disturbs);
        let own = [[f64::NAN; 3]; 2];
        let sent_per_delivered = sent_per_delivered(source.measured, source.cell.test).unwrap_or(f64::NAN);
        let (block, group, swapped, woven) = (record.block, record.group, record.swapped, source.measured.slices > 0);
        let mut figures = Self { block, group, woven, swapped, disturbed, irq, values, own, sent_per_delivered };
        figures.own = figures.with_irq(&IrqPool::of_trial(source.measured, source.cell));
        figures
    }

    /// A figure, with the interrupt time that the trials of its cell share;
    /// `None` when the trial does not give it.
    pub const fn get(&self, metric: Metric) -> Option<f64> {
        number(self.values[metric as usize])
    }

    /// The sender's part of the CPU time of both ends per delivered message, in ns.
    pub fn sender_per_delivered(&self) -> Option<f64> {
        let sender = self.get(Metric::SenderCpuPerMessageNs)?;
        self.get(Metric::CpuPerMessageNs).map(|_| sender * self.sent_per_delivered)
    }

    /// The same with the interrupt time that the trial read itself: what is
    /// pooled over the trials of a cell would shift all its pairs with another
    /// cell or arm alike, and pass for a difference.
    pub fn own(&self, metric: Metric) -> Option<f64> {
        if metric == Metric::CpuPerMessageNs {
            return number(self.of_both_ends(&self.own));
        }
        let places = WITH_IRQ.iter().zip(&self.own).flat_map(|(metrics, values)| metrics.iter().zip(values));
        places.into_iter().find(|(known, _)| **known == metric).map_or_else(|| self.get(metric), |(_, value)| number(*value))
    }

    /// The standard error that the ticks of interrupt time bring to a figure of a cell;
    /// `None` of a figure without such time.
    pub fn tick_error(metric: Metric, pools: &[IrqPool; 2]) -> Option<f64> {
        if metric == Metric::CpuPerMessageNs {
            let sent = pools[0].over(&pools[1]).unwrap_or(1.0);
            let [sender, receiver] = pools.map(|pool| pool.errors()[0].unwrap_or(0.0));
            return Some((sender * sent).hypot(receiver)).filter(|error| *error > 0.0);
        }
        let places = WITH_IRQ.iter().zip(pools).flat_map(|(metrics, pool)| metrics.iter().zip(pool.errors()));
        places.into_iter().find(|(known, _)| **known == metric)?.1.filter(|error| *error > 0.0)
    }

    /// Adds the interrupt time that the trials of the cell share.
    pub fn add_irq(&mut self, pools: &[IrqPool; 2]) {
        let with = self.with_irq(pools);
        for (metric, value) in WITH_IRQ.as_flattened().iter().zip(with.as_flattened()) {
            self.values[*metric as usize] = *value;
        }
        self.values[Metric::CpuPerMessageNs as usize] = self.of_both_ends(&with);
    }

    /// CPU time of both ends per delivered message, of figures in the order of [`WITH_IRQ`].
    fn of_both_ends(&self, ends: &[[f64; 3]; 2]) -> f64 {
        of_both_ends(ends[0][0], ends[1][0], self.sent_per_delivered)
    }

    fn with_irq(&self, pools: &[IrqPool; 2]) -> [[f64; 3]; 2] {
        let mut with = WITH_IRQ.map(|metrics| metrics.map(|metric| self.values[metric as usize]));
        for (end, pool) in pools.iter().enumerate().filter(|(end, _)| self.irq[*end]) {
            for (value, more) in with[end].iter_mut().zip(pool.shares()) {
                *value += more.unwrap_or(0.0);
            }
        }
        with
    }
}

/// A number; `None` of what is none.
const fn number(value: f64) -> Option<f64> {
    if value.is_nan() { None } else { Some(value) }
}

#[cfg(test)]
mod tests {
    use super::Figures;
    use crate::ends::IrqPool;
    use crate::metric::Metric;
    use crate::testing::{figures, measured, record};
    use model::end::CpuTime;
    use model::trial::Measured;
    use model::{Nanos, Test};
    use proptest::prelude::{prop, prop_assert, proptest};
    use rand::RngExt;
    use stats::noise::{generator, normal};

    fn of(test: Test, size: u64, trial: Measured) -> Figures {
        figures(&record(test, size, 0, trial))
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

    /// The stated interval holds the true cost although each trial reads its interrupt
    /// time in ticks: nine trials of 150 ms with 5 to 30 ms of it, as `quick` has.
    #[test]
    fn intervals_hold_the_cost_in_spite_of_ticks() {
        const TICK: f64 = 1e7;
        let (mut random, mut held, studies) = (generator(12), 0, 400);
        for study in 0..studies {
            let irq = 5e6 + 25e6 * f64::from(study % 20) / 20.0;
            let (mut pools, mut all) = ([IrqPool::default(); 2], Vec::new());
            for _ in 0..9 {
                let phase = TICK * random.random::<f64>();
                let shown = ((phase + irq) / TICK).floor() * TICK;
                let mut trial = measured(Test::UdpStream, 64);
                let own = 75e6 * (1.0 + 0.005 * normal(&mut random));
                trial.sender.cpu_time =
                    CpuTime { process: Nanos::new(own as u64), irq: Some(Nanos::new(shown as u64)), kernel_threads: None };
                let record = record(Test::UdpStream, 64, 0, trial);
                IrqPool::add(&mut pools, record.measured().unwrap(), &record.cell);
                all.push(figures(&record));
            }
            all.iter_mut().for_each(|trial| trial.add_irq(&pools));
            let values: Vec<f64> = all.iter().filter_map(|trial| trial.get(Metric::SenderCpuPerMessageNs)).collect();
            let estimate = stats::median::estimate(&values, 0.95).unwrap();
            let error = Figures::tick_error(Metric::SenderCpuPerMessageNs, &pools).unwrap();
            let interval = estimate.interval.unwrap().widened(estimate.value, error);
            let truth = (75e6 + irq) / 50_000.0;
            held += u32::from(interval.low <= truth && truth <= interval.high);
        }
        let share = f64::from(held) / f64::from(studies);
        assert!(share >= 0.95, "{share}");
        assert!(Figures::tick_error(Metric::LossShare, &[IrqPool::default(); 2]).is_none());
    }

    proptest! {
        /// A counter that runs on in ns but is read in ticks: trial by trial it
        /// says 0 or a tick too much, pooled it is right to one tick in all.
        #[test]
        fn pooled_interrupt_time_is_right_to_a_tick(trials in prop::collection::vec(0u64..9_000_000, 5..40), phase in 0u64..10_000_000) {
            const TICK: u64 = 10_000_000;
            let (mut counter, mut pools, mut all) = (phase, [IrqPool::default(); 2], Vec::new());
            for irq in &trials {
                let shown = ((counter + irq) / TICK - counter / TICK) * TICK;
                counter += irq;
                let mut trial = measured(Test::UdpStream, 64);
                trial.sender.cpu_time = CpuTime { process: Nanos::from_millis(75), irq: Some(Nanos::new(shown)), kernel_threads: None };
                let record = record(Test::UdpStream, 64, 0, trial);
                IrqPool::add(&mut pools, record.measured().unwrap(), &record.cell);
                all.push(figures(&record));
            }
            let messages = 50_000.0 * trials.len() as f64;
            let truth = 75e6 / 50_000.0 + trials.iter().sum::<u64>() as f64 / messages;
            for trial in &mut all {
                trial.add_irq(&pools);
                let found = trial.get(Metric::SenderCpuPerMessageNs).unwrap();
                prop_assert!((found - truth).abs() <= TICK as f64 / messages + 1e-9, "{found} {truth}");
                // The other end has none apart.
                prop_assert!((trial.get(Metric::ReceiverCpuPerMessageNs).unwrap() - 1_500.0).abs() < 1e-9);
                let both = trial.get(Metric::CpuPerMessageNs).unwrap();
                prop_assert!((both - found - 1_500.0).abs() < 1e-6, "{both} {found}");
            }
        }
    }
}
