//! Watches a running woven study.

use model::woven::Slice;
use model::{Plan, TrialRecord};
use stats::instances::Instances;

use crate::stopping::Look;
use crate::studies::verdicts::sides;
use crate::table::TrialTable;
use crate::verdict::woven::{WovenSeries, WovenSide, looks};
use crate::verdict::{Comparison, Gate, Options, Sides, Values, Verdict, compare_gate};

/// Says after each block of instances whether every verdict is settled.
#[derive(Debug)]
pub struct WovenObserver {
    table: TrialTable,
    series: WovenSeries,
    looks: Vec<usize>,
    gate: Gate,
    options: Options,
}

impl WovenObserver {
    /// Nothing is seen yet; the verdicts are those of `gate`.
    pub fn new(plan: &Plan, gate: &Gate) -> Self {
        Self {
            table: TrialTable::for_plan(plan),
            series: WovenSeries::for_plan(plan),
            looks: looks(&plan.blocks),
            gate: gate.clone(),
            options: Options { threshold: gate.threshold, ..Options::of_arms(plan) },
        }
    }

    /// Sees a trial; one that failed changes nothing.
    pub fn push(&mut self, record: &TrialRecord) {
        let place = self.table.place(&record.cell);
        if let (Some(measured), Some(arm)) = (record.measured(), self.table.arm_of(record)) {
            let _ = self.table.push(place, arm, record, measured, |_| {});
        }
    }

    /// Sees the slices of an instance of a group, by its place in the plan.
    pub fn push_slices(&mut self, group: usize, instance: u32, slices: &[Slice]) {
        self.series.push(group, instance, slices);
    }

    /// Returns whether after `done` blocks a look finds every verdict settled: better, worse or equivalent.
    pub fn is_settled(&self, done: u32) -> bool {
        self.look(done).is_some_and(|look| look.is_enough)
    }

    /// The look after `done` blocks; `None` where there is none.
    pub fn look(&self, done: u32) -> Option<Look> {
        if !self.looks.contains(&(done as usize)) {
            return None;
        }
        let all: Vec<Sides> = self.candidates().map(|arm| sides(arm, &self.table, Some(WovenSide::of(&self.series, arm)))).collect();
        let compared = compare_gate(&all, &self.gate.metrics, &self.options);
        let (met, of) =
            compared.iter().flat_map(verdicts).fold((0, 0), |(met, of), verdict| (met + usize::from(is_settled(verdict)), of + 1));
        Some(Look { blocks: done, widest: self.widest(), met, of, is_enough: of > 0 && met == of })
    }

    /// The widest half of a plain interval of any cell in any arm by the first metric of the gate, as a share. `None`
    /// before two instances. For showing progress; it decides nothing.
    pub fn widest(&self) -> Option<f64> {
        let metric = *self.gate.metrics.first()?;
        let width = |values: &Values| {
            let logs: Vec<f64> = values.baseline.iter().filter_map(|(n, from)| Some((values.candidate.get(n)? / from).ln())).collect();
            Some(Instances::new(&logs)?.reach(self.options.confidence).exp_m1())
        };
        let all = self
            .candidates()
            .flat_map(|arm| sides(arm, &self.table, Some(WovenSide::so_far(&self.series, arm))).values(metric, self.options.design));
        all.filter_map(|values| width(&values)).reduce(f64::max)
    }

    fn candidates(&self) -> std::ops::Range<usize> {
        1..self.table.plan().arms.len()
    }
}

/// The verdicts of cells that have values.
fn verdicts(comparison: &Comparison) -> impl Iterator<Item = Verdict> {
    comparison.cells.iter().map(|cell| cell.verdict).filter(|verdict| !matches!(verdict, Verdict::NotEnoughBlocks { blocks: 0, .. }))
}

/// Returns whether a verdict is one that more instances do not change.
const fn is_settled(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse | Verdict::Equivalent)
}

#[cfg(test)]
mod tests {
    use model::{Arm, Plan, Test};
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    use super::WovenObserver;
    use crate::metric::{Direction, Metric};
    use crate::testing::{cell, run, slices};
    use crate::verdict::{Comparison, Design, Gate, Options, Values, Verdict, compare};

    const OPTIONS: Options = Options {
        threshold: crate::verdict::THRESHOLD,
        confidence: crate::verdict::CONFIDENCE,
        design: Design::Woven,
        looks: 4,
        first_look: 8,
        trust_single_runs: false,
        look: 0,
        chosen_among: 0,
    };

    fn compared(cells: &[Vec<f64>]) -> Comparison {
        let values = |logs: &Vec<f64>| Values::new((0..).zip(logs.iter().map(|_| 1.0)), (0..).zip(logs.iter().map(|log| log.exp())));
        compare(&cells.iter().map(values).collect::<Vec<_>>(), Direction::LowerIsBetter, &OPTIONS)
    }

    fn around(value: f64, scatter: f64, n: usize) -> Vec<f64> {
        (0..n).map(|place| value + scatter * if place % 2 == 0 { 1.0 } else { -1.0 }).collect()
    }

    #[test]
    fn each_of_the_verdicts() {
        let found = compared(&[around(0.1, 0.01, 8), around(-0.1, 0.01, 8), around(0.0, 0.003, 8), around(0.02, 0.1, 8)]);
        let verdicts: Vec<Verdict> = found.cells.iter().map(|cell| cell.verdict).collect();
        assert_eq!(verdicts[..3], [Verdict::Worse, Verdict::Better, Verdict::Equivalent]);
        assert!(matches!(verdicts[3], Verdict::Inconclusive { smallest } if smallest > 0.05), "{verdicts:?}");
        assert_eq!((found.needed, found.held_to), (8, 0.99));
    }

    #[test]
    fn before_the_first_look_there_is_no_verdict() {
        let found = compared(&[around(0.1, 0.01, 7)]);
        assert_eq!(found.cells[0].verdict, Verdict::NotEnoughBlocks { blocks: 7, missing: 1 });
    }

    /// An observer of so many instances of two arms, of which the second costs `shift` more, and up to `noise` more or less
    /// from instance to instance.
    fn observer(instances: u32, shift: f64, noise: f64) -> WovenObserver {
        let arms = Arm::parse_all(&["a".to_owned(), "b: sndbuf=64K".to_owned()]).unwrap();
        let blocks = model::plan::Blocks { least: 8, most: 48, interval: 0.05, confidence: 0.95 };
        let plan = Plan { arms, woven: true, blocks, ..run(vec![cell(Test::UdpStream, 64)], 9).plan };
        let mut observer = WovenObserver::new(&plan, &Gate { metrics: vec![Metric::SenderCpuPerMessageNs], ..Gate::default() });
        for instance in 0..instances {
            let slices = slices((shift + noise * (f64::from(instance % 3) - 1.0)).exp());
            observer.push_slices(0, instance, &slices);
        }
        observer
    }

    #[test]
    fn a_study_is_settled_at_a_look_alone() {
        assert!(observer(8, 0.1, 0.005).is_settled(8) && observer(8, 0.0, 0.005).is_settled(8));
        assert!(!observer(8, 0.02, 0.05).is_settled(8), "neither beyond the threshold nor within");
        assert!(!observer(7, 0.1, 0.005).is_settled(7) && !observer(9, 0.1, 0.005).is_settled(9));
        let (few, many) = (observer(3, 0.1, 0.005).widest().unwrap(), observer(30, 0.1, 0.005).widest().unwrap());
        assert!(many < few && few < 0.1, "{few} {many}");
        assert_eq!(observer(1, 0.1, 0.005).widest(), None);
    }

    proptest! {
        #[test]
        fn more_cells_never_make_a_cell_surer(values in prop::collection::vec(prop::collection::vec(-0.2..0.2f64, 8), 1..6)) {
            let all = compared(&values);
            for (place, cell) in values.iter().enumerate() {
                let (among, alone) = (all.cells[place], compared(std::slice::from_ref(cell)).cells[0]);
                prop_assert!(among.p_adjusted >= alone.p_adjusted);
                prop_assert_eq!(among.ratio.unwrap().value, alone.ratio.unwrap().value);
                prop_assert!(!among.verdict.is_shown() || alone.verdict == among.verdict);
            }
        }

        #[test]
        fn exchanged_arms_exchange_the_verdict(values in prop::collection::vec(-0.3..0.3f64, 8)) {
            let of = |values: Vec<f64>| compared(&[values]).cells[0].verdict;
            let turned = of(values.iter().map(|value| -value).collect());
            let expected = match of(values) {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                other => other,
            };
            prop_assert_eq!(std::mem::discriminant(&turned), std::mem::discriminant(&expected));
        }
    }
}
