//! The smallest difference that woven arms show in some time, by how instances scattered before.

use model::{Cell, Nanos, Plan};
use stats::distribution::student_critical;
use stats::instances::Instances;
use stats::power::found_in_four_of_five;

use super::{Measure, WovenSeries, WovenSide};
use crate::verdict::CONFIDENCE;

/// Time of a woven comparison for which the smallest difference is given.
pub const WOVEN_TIME: Nanos = Nanos::from_millis(10_000);

/// Sizes up to so many times as large are of one kind.
const SIZES: u64 = 4;

/// How instances of earlier runs scatter.
#[derive(Debug, Clone, Default)]
pub struct Scatter {
    seen: Vec<ArmScatter>,
    runs: usize,
}

/// How the shifts of an arm scatter in a cell of a run.
#[derive(Debug, Clone)]
struct ArmScatter {
    run: usize,
    cell: Cell,
    freedom: f64,
    /// Variance from instance to instance.
    variance: f64,
}

/// The smallest difference that woven arms show.
#[derive(Debug, Clone, PartialEq)]
pub struct Smallest {
    /// Time of the instances of a cell.
    pub time: Nanos,
    /// Half-width of the plain interval of a change, as a share.
    pub half_width: f64,
    /// The true difference that they show in four runs of five.
    pub difference: f64,
    /// The cell that shows the least.
    pub cell: Cell,
    /// Earlier runs with cells of its kind.
    pub runs: usize,
}

impl Scatter {
    /// Adds a run.
    pub fn add(&mut self, plan: &Plan, series: &WovenSeries) {
        let (run, before) = (self.runs, self.seen.len());
        for (place, cell) in plan.cells.iter().enumerate() {
            let Some(measure) = Measure::first_of(cell) else { continue };
            for arm in 1..plan.arms.len() {
                let values = WovenSide::so_far(series, arm).values(place, measure);
                let shift = |(instance, from): (&u32, &f64)| Some((values.candidate.get(instance)? / from).ln());
                let shifts: Vec<f64> = values.baseline.iter().filter_map(shift).collect();
                let scatter = Instances::new(&shifts).map(|found| (found.freedom(), found.deviation().powi(2)));
                self.seen.extend(scatter.map(|(freedom, variance)| ArmScatter { run, cell: cell.clone(), freedom, variance }));
            }
        }
        self.runs += usize::from(self.seen.len() > before);
    }

    /// The smallest difference that [`WOVEN_TIME`] of each cell shows where a verdict needs more than `threshold`, in the
    /// cell of a plan that shows the least. `None`
    /// where no run had a cell of such a kind.
    pub fn smallest(&self, plan: &Plan, threshold: f64) -> Option<Smallest> {
        plan.cells
            .iter()
            .filter_map(|cell| self.of_cell(plan, cell, threshold))
            .max_by(|one, other| one.half_width.total_cmp(&other.half_width))
    }

    fn of_cell(&self, plan: &Plan, cell: &Cell, threshold: f64) -> Option<Smallest> {
        let alike = || self.seen.iter().filter(|seen| are_alike(&seen.cell, cell));
        let freedom: f64 = alike().map(|seen| seen.freedom).sum();
        let variance = alike().map(|seen| seen.freedom * seen.variance).sum::<f64>() / freedom;
        let group = plan.groups().into_iter().find(|group| plan.cells.get(group.reference().cell) == Some(cell))?;
        let instance = plan.group_time(&group);
        let instances = (WOVEN_TIME.get() / instance.get().max(1)).max(2) as f64;
        let error = (variance / instances).sqrt();
        let half_width = (student_critical(CONFIDENCE, instances - 1.0) * error).exp_m1();
        let difference = found_in_four_of_five(error, CONFIDENCE, instances - 1.0, threshold.ln_1p()).exp_m1();
        let mut runs: Vec<usize> = alike().map(|seen| seen.run).collect();
        // Those of a run follow one another.
        runs.dedup();
        half_width.is_finite().then(|| Smallest { time: WOVEN_TIME, half_width, difference, cell: cell.clone(), runs: runs.len() })
    }
}

/// Returns whether two cells are of one kind: how they scatter depends on the test, on how many threads there are, and
/// on whether messages are small or large.
fn are_alike(one: &Cell, other: &Cell) -> bool {
    let kind = |cell: &Cell| (cell.test, cell.threads() > 1, cell.bidirectional, cell.rate.is_some(), cell.mix.is_some(), cell.waiting);
    let [small, large] = [one.size.min(other.size), one.size.max(other.size)];
    kind(one) == kind(other) && large.get() <= small.get().saturating_mul(SIZES)
}

#[cfg(test)]
mod tests {
    use model::{Arm, Plan, Test};

    use super::{Scatter, WOVEN_TIME};
    use crate::testing::{cell, run, slices};
    use crate::verdict::THRESHOLD;
    use crate::verdict::woven::WovenSeries;

    fn plan(test: Test, sizes: &[u64]) -> Plan {
        let arms = Arm::parse_all(&["a".to_owned(), "b: sndbuf=64K".to_owned()]).unwrap();
        Plan { arms, woven: true, ..run(sizes.iter().map(|size| cell(test, *size)).collect(), 9).plan }
    }

    /// Instances whose shifts are `by` more or less in turn.
    fn series(plan: &Plan, by: f64, instances: u32) -> WovenSeries {
        let mut series = WovenSeries::for_plan(plan);
        for instance in 0..instances {
            let shift = if instance % 2 == 0 { by } else { -by };
            let slices = slices(shift.exp());
            (0..plan.cells.len()).for_each(|cell| series.push(cell, instance, &slices));
        }
        series
    }

    #[test]
    fn stored_runs_of_such_cells_say_what_ten_seconds_show() {
        let stored = plan(Test::UdpStream, &[1_024]);
        let mut scatter = Scatter::default();
        assert_eq!(scatter.smallest(&stored, THRESHOLD), None);
        scatter.add(&stored, &series(&stored, 0.02, 10));
        scatter.add(&stored, &series(&stored, 0.02, 10));
        // Without two instances there is no scatter.
        scatter.add(&stored, &series(&stored, 0.02, 1));
        // 20 instances of 480 ms: 2.086 * 0.0211 / sqrt(20).
        let found = scatter.smallest(&stored, THRESHOLD).unwrap();
        assert!((found.half_width - 0.0099).abs() < 1e-4, "{found:?}");
        assert_eq!((found.runs, found.time), (2, WOVEN_TIME));
        // The noisier runs are pooled, and another kind of cell says nothing.
        assert_eq!(scatter.smallest(&plan(Test::UdpStream, &[64]), THRESHOLD), None);
        assert_eq!(scatter.smallest(&plan(Test::UdpRr, &[1_024]), THRESHOLD), None);
        let both = plan(Test::UdpStream, &[64, 2_048]);
        scatter.add(&both, &series(&both, 0.1, 10));
        let wider = scatter.smallest(&both, THRESHOLD).unwrap();
        assert!(wider.half_width > 0.04 && wider.cell.size.get() == 64 && wider.runs == 1, "{wider:?}");
    }
}
