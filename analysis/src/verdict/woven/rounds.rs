//! Shifts within an instance.

use std::collections::BTreeMap;

use model::sorting::Gather;
use model::woven::{Reading, Slice};
use model::{Cell, Protocol};
use stats::instances::{hodges_lehmann, lag_one};
use stats::median;

use crate::metric::Metric;

/// Figure of a slice, per message that both ends have handled; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// CPU time of both ends.
    BothEnds,
    /// CPU time of the sender.
    Sender,
    /// CPU time of the receiver.
    Receiver,
    /// Time: of a closed loop of one it is the round trip.
    Time,
}

impl Measure {
    /// All of them, the headline first.
    pub const ALL: [Self; 4] = [Self::BothEnds, Self::Sender, Self::Receiver, Self::Time];

    /// The measure of a metric; `None` of one that slices do not give.
    pub fn of_metric(metric: Metric) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.metric() == metric)
    }

    /// The first that a cell has.
    pub(super) fn first_of(cell: &Cell) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| !measure.metric().is_absent(cell))
    }

    /// The metric whose values these are.
    const fn metric(self) -> Metric {
        match self {
            Self::BothEnds => Metric::CpuPerMessageNs,
            Self::Sender => Metric::SenderCpuPerMessageNs,
            Self::Receiver => Metric::ReceiverCpuPerMessageNs,
            Self::Time => Metric::TimePerMessageNs,
        }
    }

    /// Its value in nanoseconds a message; `None` of a slice in which none moved, and of a cell that has no such metric.
    fn of(self, cell: &Cell, slice: &Slice) -> Option<f64> {
        if self.metric().is_absent(cell) {
            return None;
        }
        let (sender, receiver) = (&slice.sender.whole, &slice.receiver.whole);
        // The receiver of a TCP stream knows bytes alone. Of a mix the sender knows how long messages were.
        let size = if cell.mix.is_some() { sender.bytes as f64 / sender.messages as f64 } else { cell.size.get() as f64 };
        let messages = |end: &Reading| match (cell.test.is_stream(), cell.protocol()) {
            (true, Protocol::Tcp) => end.bytes as f64 / size,
            _ => end.messages as f64,
        };
        let (sent, received) = (messages(sender), messages(receiver));
        // Of datagrams some are lost: each that came costs its share of all that were sent. Of a connection every
        // byte comes, but the edges of the two ends cut its buffers at different places.
        let lossy = cell.test.is_stream() && cell.protocol() == Protocol::Udp;
        let time = receiver.time.get() as f64;
        let [sender, receiver] = [sender, receiver].map(|end| end.cpu.get() as f64);
        let value = match self {
            Self::BothEnds => sender / if lossy { received } else { sent } + receiver / received,
            Self::Sender => sender / sent,
            Self::Receiver => receiver / received,
            Self::Time => time / received,
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }
}

/// Shift of a candidate against the baseline within one instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Within {
    /// The logarithm of their ratio.
    pub value: f64,
    /// Standard deviation from round to round, hardly moved by wild ones.
    pub deviation: f64,
    /// Correlation of neighbouring rounds; `None` of too few.
    pub lag_one: Option<f64>,
    /// Number of rounds.
    pub rounds: usize,
}

/// Log ratios of the rounds that both arms have, in the order of time.
fn log_ratios(cell: [&Cell; 2], slices: &[Slice], arms: [u32; 2], measure: Measure) -> Vec<f64> {
    let of = |side: usize| -> BTreeMap<u32, f64> {
        let its = slices.iter().filter(|slice| slice.arm == arms[side] && slice.counts());
        its.filter_map(|slice| Some((slice.round, measure.of(cell[side], slice)?.ln()))).into_map()
    };
    let (baseline, candidate) = (of(0), of(1));
    baseline.iter().filter_map(|(round, value)| Some(candidate.get(round)? - value)).collect()
}

/// The shift from an arm to another within an instance; `cells` are those that they run. `None` without a
/// round of both.
pub fn within(cells: [&Cell; 2], slices: &[Slice], arms: [u32; 2], measure: Measure) -> Option<Within> {
    let ratios = log_ratios(cells, slices, arms, measure);
    let value = hodges_lehmann(&ratios)?;
    Some(Within { value, deviation: median::deviation(&ratios).unwrap_or_default(), lag_one: lag_one(&ratios), rounds: ratios.len() })
}

/// Shift from the first half of an arm's slices to the second within an instance, as a logarithm: how far its level
/// depends on the age of a slice. `None` without a slice whose halves are known.
pub fn aging(cell: &Cell, slices: &[Slice], arm: u32, measure: Measure) -> Option<f64> {
    let its = slices.iter().filter(|slice| slice.arm == arm && slice.counts());
    let shift = |slice: &Slice| {
        let [first, second] = slice.halves()?;
        Some((measure.of(cell, &second)? / measure.of(cell, &first)?).ln())
    };
    let shifts: Vec<f64> = its.filter_map(shift).collect();
    hodges_lehmann(&shifts)
}

/// Values of an arm in all rounds of an instance that count, in ns a message.
pub fn levels(cell: &Cell, slices: &[Slice], arm: u32, measure: Measure) -> Vec<f64> {
    slices.iter().filter(|slice| slice.arm == arm && slice.counts()).filter_map(|slice| measure.of(cell, slice)).collect()
}

#[cfg(test)]
mod tests {
    use model::woven::{Reading, Slice, SliceEnd};
    use model::{Bytes, Cell, Mix, Nanos, Pacing, Test};
    use proptest::prelude::{prop, prop_assert, proptest};

    use super::{Measure, aging, levels, within};

    fn slice(arm: u32, round: u32, sender: u64, receiver: u64) -> Slice {
        let end = |cpu| {
            let whole =
                Reading { time: Nanos::new(10_000_000), cpu: Nanos::new(cpu), messages: 1_000, bytes: 1_000_000, ..Reading::default() };
            SliceEnd { whole, ..SliceEnd::default() }
        };
        Slice { arm, round, sender: end(sender), receiver: end(receiver), ..Slice::default() }
    }

    #[test]
    fn both_ends_are_summed_first_and_losses_cost() {
        let cell = Cell::plain(Test::UdpStream, Bytes::new(1_000));
        let mut one = slice(0, 1, 4_000_000, 2_000_000);
        assert_eq!(Measure::BothEnds.of(&cell, &one), Some(6_000.0));
        one.receiver.whole.messages = 500;
        assert_eq!(Measure::BothEnds.of(&cell, &one), Some(12_000.0));
        assert_eq!(Measure::Time.of(&cell, &one), Some(20_000.0));
        assert_eq!(Measure::Sender.of(&cell, &one), Some(4_000.0));
        one.not_drained = true;
        assert!(levels(&cell, &[one], 0, Measure::BothEnds).is_empty());
        let stream = Cell::plain(Test::TcpStream, Bytes::new(1_000));
        // Its receiver knows bytes alone.
        let mut tcp = slice(0, 1, 4_000_000, 2_000_000);
        tcp.receiver.whole.messages = 0;
        assert_eq!(Measure::BothEnds.of(&stream, &tcp), Some(6_000.0));
        assert_eq!(Measure::BothEnds.of(&stream, &Slice::default()), None);
        // Of a mix a message is as long as those that were sent in the slice.
        let mix = stream.of_mix(Mix::new("x", 1, &[(100, 0.5), (4_000, 0.5)]).unwrap());
        tcp.sender.whole.messages = 500;
        assert_eq!(Measure::BothEnds.of(&mix, &tcp), Some(12_000.0));
    }

    #[test]
    fn what_a_cell_does_not_tell_slices_do_not_tell_either() {
        let plain = Cell::plain(Test::UdpStream, Bytes::new(1_000));
        let told = |cell: &Cell| Measure::ALL.map(|measure| measure.of(cell, &slice(0, 1, 4_000_000, 2_000_000)).is_some());
        assert_eq!(told(&plain), [true; 4]);
        assert_eq!(told(&Cell { bidirectional: true, ..plain.clone() }), [false, false, false, true]);
        let spinning = Cell { rate: Some(model::OfferedRate::Messages(9_000)), pacing: Pacing::Spin, ..plain };
        assert_eq!(told(&spinning), [false, false, true, true]);
    }

    #[test]
    fn a_level_that_moves_within_slices_is_seen() {
        let cell = Cell::plain(Test::UdpRr, Bytes::new(64));
        let aged = |round: u32, of: u64| {
            let half = Reading { time: Nanos::new(5_000_000), cpu: Nanos::new(of), messages: 500, bytes: 500_000, ..Reading::default() };
            let mut one = slice(0, round, 4_000_000, 2_000_000);
            (one.sender.half, one.receiver.half) = (half, half);
            one
        };
        // Of 6 ms, 2.4 + 2.4 in the first half, 1.2 in the second.
        let slices: Vec<Slice> = (0..5).map(|round| aged(round, 2_400_000)).collect();
        let found = aging(&cell, &slices, 0, Measure::Sender).unwrap();
        assert!((found - (1.6f64 / 2.4).ln()).abs() < 1e-9, "{found}");
        assert_eq!(aging(&cell, &slices[..1], 0, Measure::Sender), None, "the first round does not count");
        assert_eq!(aging(&cell, &[slice(0, 1, 1, 1); 9], 0, Measure::Sender), None);
    }

    proptest! {
        #[test]
        fn a_known_ratio_is_found_whatever_the_machine_does(
            drift in prop::collection::vec(0.5..2.0f64, 3..40), ratio in 0.5..2.0f64, wild in 0usize..40
        ) {
            let cell = Cell::plain(Test::UdpRr, Bytes::new(64));
            let slices: Vec<Slice> = drift.iter().enumerate().flat_map(|(round, speed)| {
                let cost = 8e6 * speed;
                // One round of the candidate is disturbed.
                let disturbed = if round == wild && drift.len() > 8 { 10.0 } else { 1.0 };
                [slice(0, round as u32, cost as u64, 0), slice(1, round as u32, (cost * ratio * disturbed) as u64, 0)]
            }).collect();
            let found = within([&cell, &cell], &slices, [0, 1], Measure::BothEnds).unwrap();
            prop_assert!((found.value - ratio.ln()).abs() < 1e-5, "{} for {}", found.value, ratio.ln());
            prop_assert!(found.rounds == drift.len() - 1);
            let back = within([&cell, &cell], &slices, [1, 0], Measure::BothEnds).unwrap();
            prop_assert!((back.value + found.value).abs() < 1e-9);
        }
    }
}
