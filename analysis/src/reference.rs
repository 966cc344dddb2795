//! CPU time relative to the reference cell, so that runs of different days can be compared: the speed of the machine
//! is in both.
//!
//! ```text
//! woven: slices of an instance -> log ratio of each round -> Hodges-Lehmann -> the ratio of that block
//! in turn: trials of one block and group -> their ratio
//! median over blocks -> the value of a run
//! ```

use std::collections::HashMap;

use model::plan::Group;
use model::woven::Slice;
use model::{Cell, Plan};
use serde::Serialize;
use stats::median;

use crate::figures::Figures;
use crate::metric::Metric;
use crate::table::{CellTrials, TrialTable};
use crate::verdict::woven::around_reference;

/// The slices of a woven sweep, as far as they say how cells cost relative to the reference cell.
#[derive(Debug)]
pub(crate) struct AroundReference {
    groups: Vec<Group>,
    cells: Vec<Cell>,
    /// By place of the cell and instance.
    ratios: HashMap<(usize, u32), f64>,
}

impl AroundReference {
    /// Of a plan, without an instance; `None` of one that is no woven sweep around a reference cell.
    pub fn for_plan(plan: &Plan) -> Option<Self> {
        let is_one = plan.woven && plan.reference_cell.is_some();
        is_one.then(|| Self { groups: plan.groups(), cells: plan.cells.clone(), ratios: HashMap::new() })
    }

    /// Adds an instance of a group of the plan, by its place.
    pub fn push(&mut self, group: usize, instance: u32, slices: &[Slice]) {
        let Some((reference, others)) = self.groups.get(group).and_then(|group| group.members.split_first()) else { return };
        for (arm, member) in (1..).zip(others) {
            let cells = [reference, member].map(|member| &self.cells[member.cell]);
            let ratio = around_reference(cells, slices, arm).map(f64::exp);
            self.ratios.extend(ratio.map(|ratio| ((member.cell, instance), ratio)));
        }
    }
}

/// Gives the trials of a run with a reference cell their CPU time relative to it.
pub(crate) fn relate(table: &mut TrialTable, woven: Option<&AroundReference>) {
    let Some(reference) = table.plan().reference_place() else { return };
    let cells = table.cells_without_arms();
    let of_reference = cells.get(reference).map_or(&[][..], |cell| &cell.figures).iter().filter(|trial| !trial.woven);
    let in_turn: HashMap<_, f64> = of_reference.filter_map(|trial| Some(((trial.block, trial.group), handled(trial)?))).collect();
    for (place, cell) in cells.iter_mut().enumerate().filter(|(place, _)| *place != reference) {
        for trial in &mut cell.figures {
            let ratio = match trial.woven {
                true => woven.and_then(|woven| woven.ratios.get(&(place, trial.block)).copied()),
                false => in_turn.get(&(trial.block, trial.group)).and_then(|base| Some(trial.get(Metric::CpuPerMessageNs)? / base)),
            };
            ratio.into_iter().for_each(|ratio| trial.set_reference_ratio(ratio));
        }
    }
}

/// CPU time of the reference cell per message that each end has handled, in ns: losses say nothing of the machine's speed.
fn handled(trial: &Figures) -> Option<f64> {
    let cost = trial.get(Metric::SenderCpuPerMessageNs)? + trial.get(Metric::ReceiverCpuPerMessageNs)?;
    (cost > 0.0).then_some(cost)
}

/// The reference cell of runs that all have the same, measured in the same way.
pub fn common<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Option<&'a Cell> {
    let mut plans = plans.into_iter();
    let first = plans.next()?;
    let alike = |plan: &Plan| plan.reference_cell == first.reference_cell && plan.woven == first.woven;
    first.reference_cell.as_deref().filter(|_| plans.all(alike))
}

/// CPU time of the reference cell in a run, of both ends per message that each has handled: the median over its trials, in ns.
pub(crate) fn level(trials: &CellTrials) -> Option<f64> {
    median::median(&trials.figures.iter().filter_map(handled).collect::<Vec<_>>())
}

/// The reference cell of a comparison of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReferenceChange {
    /// The cell in words.
    pub cell: String,
    /// Its CPU time per message on the baseline's side and on the candidate's, losses apart, in ns: medians over runs.
    pub cpu_ns: [f64; 2],
    /// Reasons for which the CPU time itself decides: differences of hosts or settings, with which the reference cell may
    /// have changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absolute_for: Vec<String>,
}

impl ReferenceChange {
    /// That of two sides whose runs all have it; `differences` are those that may change the reference cell itself.
    pub fn between(sides: [&[&TrialTable]; 2], differences: Vec<String>) -> Option<Self> {
        let cell = common(sides.iter().copied().flatten().map(|table| table.plan()))?.to_string();
        let level = |table: &&TrialTable| level(table.arm(0).get(table.plan().reference_place()?)?);
        let middle = |side: &[&TrialTable]| median::median(&side.iter().filter_map(level).collect::<Vec<_>>());
        Some(Self { cell, cpu_ns: [middle(sides[0])?, middle(sides[1])?], absolute_for: differences })
    }

    /// True where the conclusion follows from changes relative to it.
    pub fn decides(&self) -> bool {
        self.absolute_for.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use model::trial::Measured;
    use model::{Cell, Nanos, Plan, Test, TrialRecord};
    use testkit::made;

    use super::common;
    use crate::Collector;
    use crate::metric::Metric;
    use crate::runs::{Demands, FiguresCompared, compare_runs};
    use crate::table::TrialTable;
    use crate::testing::{cell, generator, measured, normal, record, slices};
    use crate::verdict::{Conclusion, GATE};
    use stats::median;

    const REFERENCE: u64 = 1_024;
    const OTHER: u64 = 64;

    fn plan(woven: bool) -> Plan {
        let cells: Vec<Cell> = [OTHER, REFERENCE].map(|size| cell(Test::UdpStream, size)).to_vec();
        Plan { reference_cell: Some(Box::new(cells[1].clone())), woven, ..made::plan("sweep", cells) }
    }

    fn costing(size: u64, block: u32, cost: f64) -> TrialRecord {
        let mut trial = measured(Test::UdpStream, size);
        trial.sender.cpu_time.process = Nanos::new((75e6 * cost) as u64);
        trial.receiver.cpu_time.process = trial.sender.cpu_time.process;
        record(Test::UdpStream, size, block, trial)
    }

    /// A run on a machine that takes `speed` times its usual time, and wanders by 10 % from block to block; the cell costs
    /// `cost` times the reference. Trials scatter by 2 %.
    fn run(seed: u64, speed: f64, cost: f64) -> TrialTable {
        let mut random = generator(seed);
        let mut collector = Collector::new(made::run(plan(false)), Vec::new());
        for block in 0..9 {
            let now = speed * (0.1 * normal(&mut random)).exp();
            for (size, cost) in [(OTHER, cost), (REFERENCE, 1.0)] {
                collector.push(&costing(size, block, now * cost * (0.02 * normal(&mut random)).exp()));
            }
        }
        collector.into_table()
    }

    fn value(table: &TrialTable, metric: Metric) -> f64 {
        let values: Vec<f64> = table.arm(0)[0].figures.iter().filter_map(|trial| trial.get(metric)).collect();
        median::median(&values).unwrap()
    }

    /// Days on which the machine is up to 40 % slower or faster.
    fn speeds(seed: u64) -> impl Iterator<Item = f64> {
        let mut random = generator(seed);
        std::iter::repeat_with(move || (0.2 * normal(&mut random)).exp())
    }

    #[test]
    fn runs_of_a_machine_whose_speed_wanders_scatter_less_relative_to_the_reference() {
        let runs: Vec<TrialTable> = speeds(1).take(24).enumerate().map(|(seed, speed)| run(seed as u64, speed, 0.5)).collect();
        let scatter = |metric| {
            let logs: Vec<f64> = runs.iter().map(|table| value(table, metric).ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            (mean.exp(), (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() - 1) as f64).sqrt())
        };
        let [(_, absolute), (level, relative)] = [Metric::CpuPerMessageNs, Metric::CpuReferenceRatio].map(scatter);
        assert!(absolute > 0.12 && relative < 0.02, "{absolute} {relative}");
        assert!((level - 0.5).abs() < 0.005, "{level}");
        // The reference cell has none.
        assert!(runs[0].arm(0)[1].figures.iter().all(|trial| trial.get(Metric::CpuReferenceRatio).is_none()));
    }

    fn compared(sides: [&[TrialTable]; 2], of_machine: &[String]) -> FiguresCompared {
        let [a, b] = sides.map(|side| side.iter().collect::<Vec<_>>());
        let demands = Demands { threshold: 0.02, confidence: 0.95, gate: &GATE, trust_single_runs: false, of_machine };
        compare_runs([&a, &b], &[], &demands)
    }

    /// Three runs a side, equal but for the machine's speed, 300 times; and the same with a change of 10 %.
    #[test]
    fn intervals_of_runs_hold_the_truth_and_a_change_is_found() {
        let mut speeds = speeds(7);
        let (mut held, mut found, pairs) = (0, 0, 300);
        for pair in 0..pairs {
            let mut side = |cost: f64, from: u64| -> Vec<TrialTable> {
                (0..3).zip(speeds.by_ref()).map(|(place, speed)| run(9 * pair + from + place, speed, cost)).collect()
            };
            let (first, same, slow) = (side(0.5, 0), side(0.5, 3), side(0.55, 6));
            let equal = compared([&first, &same], &[]);
            let gate = &equal.compared.metrics[0];
            assert_eq!((gate.metric, gate.gate), (Metric::CpuReferenceRatio, true));
            let interval = gate.comparison.cells[0].ratio.unwrap().interval.unwrap();
            held += u32::from(interval.low <= 1.0 && 1.0 <= interval.high);
            found += u32::from(compared([&first, &slow], &[]).compared.conclusion == Conclusion::Against);
        }
        assert!(held >= 279 && found >= 270, "held {held} of {pairs}, found {found}");
    }

    #[test]
    fn where_the_reference_may_have_changed_the_cpu_time_decides() {
        let side = |speed: f64| [0, 1, 2].map(|seed| run(seed, speed, 0.5));
        let (usual, slow) = (side(1.0), side(1.2));
        let relative = compared([&usual, &slow], &[]);
        let change = |found: &FiguresCompared| found.compared.metrics[0].comparison.cells[0].ratio.unwrap().value;
        assert!((change(&relative) - 1.0).abs() < 1e-6, "{relative:?}");
        let own = relative.reference_cell.as_ref().unwrap();
        assert!(own.decides() && (own.cpu_ns[1] / own.cpu_ns[0] - 1.2).abs() < 0.01, "{own:?}");
        let kernel = ["host a: kernel was 6.1, is 6.18".to_owned()];
        let absolute = compared([&usual, &slow], &kernel);
        assert_eq!(absolute.compared.metrics[0].metric, Metric::CpuPerMessageNs);
        assert!((change(&absolute) - 1.2).abs() < 1e-6, "{absolute:?}");
        assert!(!absolute.reference_cell.unwrap().decides());
        // Both figures are there either way.
        let metrics = |found: &crate::verdict::Compared| {
            found.metrics.iter().map(|one| one.metric).filter(|metric| metric.name().starts_with("cpu")).count()
        };
        assert_eq!((metrics(&relative.compared), metrics(&absolute.compared)), (2, 2));
    }

    #[test]
    fn a_woven_run_has_the_ratio_of_each_instance() {
        let mut collector = Collector::new(made::run(plan(true)), Vec::new());
        for block in 0..3 {
            collector.push_slices(0, block, &slices(1.2 + 0.1 * f64::from(block)));
            for size in [OTHER, REFERENCE] {
                let mut trial: Measured = measured(Test::UdpStream, size);
                trial.slices = 5;
                collector.push(&record(Test::UdpStream, size, block, trial));
            }
        }
        assert!((value(&collector.into_table(), Metric::CpuReferenceRatio) - 1.3).abs() < 1e-9);
    }

    #[test]
    fn runs_have_a_common_reference_where_all_have_the_same() {
        let none = Plan { reference_cell: None, ..plan(false) };
        assert!(common([&plan(false), &plan(false)]).is_some());
        assert!(common([&plan(false), &plan(true)]).is_none() && common([&plan(false), &none]).is_none());
        assert!(common([&none, &none]).is_none() && common([]).is_none());
    }
}
