//! How exactly the slices of woven arms or ways take turns.

use model::sorting::Order;
use model::woven::Slice;
use model::{Nanos, Plan};
use serde::Serialize;

use super::{Context, Study};

/// The most by which a slice may end after its planned time and not count as late.
pub const LATE: Nanos = Nanos::new(200_000);

/// Hand-overs of all slices, and the lateness of their ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HandOver {
    /// Slices.
    pub slices: u64,
    /// Time from the mark that ends a slice to the stop of its ends, without the drain: half of the slices take no longer.
    pub p50_ns: u64,
    /// 99 of 100 take no longer.
    pub p99_ns: u64,
    /// Share of slices that ended more than [`LATE`] late.
    pub late_share: f64,
}

/// The study of a woven plan.
#[derive(Debug, Default)]
pub(crate) struct HandOvers {
    times: Vec<u64>,
    late: usize,
}

impl Study for HandOvers {
    type Result = HandOver;

    fn for_plan(plan: &Plan) -> Option<Self> {
        plan.woven.then(Self::default)
    }

    fn push_slices(&mut self, _group: usize, _instance: u32, slices: &[Slice]) {
        self.times.extend(slices.iter().map(|slice| slice.hand_over.get()));
        self.late += slices.iter().filter(|slice| slice.late > LATE).count();
    }

    fn finish(mut self, _: &Context) -> Option<HandOver> {
        self.times.order();
        let slices = self.times.len();
        let at = |percent: usize| self.times.get((slices * percent).div_ceil(100).checked_sub(1)?).copied();
        Some(HandOver { slices: slices as u64, p50_ns: at(50)?, p99_ns: at(99)?, late_share: self.late as f64 / slices as f64 })
    }
}

#[cfg(test)]
mod tests {
    use model::woven::Slice;
    use model::{Nanos, Test};

    use super::{HandOver, LATE};
    use crate::Collector;
    use crate::testing::{cell, run};

    #[test]
    fn hand_overs_and_late_slices_are_counted_over_all_instances() {
        let mut run = run(vec![cell(Test::UdpRr, 64)], 9);
        // Slices of a receipt's cells are no turns of arms.
        let mut receipt = Collector::new(run.clone(), Vec::new());
        run.plan.woven = true;
        let mut woven = Collector::new(run.clone(), Vec::new());
        let slice = |number: u64| {
            let late = LATE + Nanos::new(u64::from(number >= 198));
            Slice { hand_over: Nanos::new(1_000 * number), late, ..Slice::default() }
        };
        let slices: Vec<Slice> = (1..=200).rev().map(slice).collect();
        for (instance, half) in (0..).zip(slices.chunks(100)) {
            woven.push_slices(0, instance, half);
            receipt.push_slices(0, instance, half);
        }
        let found = HandOver { slices: 200, p50_ns: 100_000, p99_ns: 198_000, late_share: 0.015 };
        assert_eq!(woven.finish().hand_over(), Some(&found));
        assert_eq!(receipt.finish().hand_over(), None);
        assert_eq!(Collector::new(run, Vec::new()).finish().hand_over(), None, "without a slice there is nothing to say");
    }
}
