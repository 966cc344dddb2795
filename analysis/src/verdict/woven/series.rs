//! All instances of a woven study, cell by cell.

use std::collections::BTreeMap;

use model::plan::Blocks;
use model::woven::Slice;
use model::{Cell, Plan};
use stats::median;

use super::{Measure, Within, aging, doubts, levels, looks, within};
use crate::verdict::{Doubt, Side, Values};

/// One instance of a cell, by each of [`Measure::ALL`].
#[derive(Debug, Clone, Default)]
struct Instance {
    /// Median of the baseline's rounds.
    levels: [Option<f64>; Measure::ALL.len()],
    /// Shift of each candidate.
    shifts: Vec<[Option<Within>; Measure::ALL.len()]>,
    /// Shift of each arm from the first half of its slices to the second.
    ages: Vec<[Option<f64>; Measure::ALL.len()]>,
}

/// Everything that slices say so far.
#[derive(Debug, Clone)]
pub struct WovenSeries {
    blocks: Blocks,
    /// Each cell as each arm runs it.
    as_run: Vec<Vec<Cell>>,
    /// Instances of each cell by their numbers.
    cells: Vec<BTreeMap<u32, Instance>>,
}

impl WovenSeries {
    /// Of a plan, without an instance.
    pub fn for_plan(plan: &Plan) -> Self {
        let arms = |cell: &Cell| (0..plan.arms.len()).map(|arm| plan.cell_in(cell, arm).unwrap_or_else(|_| cell.clone())).collect();
        let as_run: Vec<Vec<Cell>> = plan.cells.iter().map(arms).collect();
        Self { blocks: plan.blocks, cells: vec![BTreeMap::new(); as_run.len()], as_run }
    }

    /// One more instance of a cell, by its place in the plan.
    pub fn push(&mut self, cell: usize, number: u32, slices: &[Slice]) {
        let Some((as_run, instances)) = self.as_run.get(cell).zip(self.cells.get_mut(cell)) else { return };
        let Some((baseline, candidates)) = as_run.split_first() else { return };
        let levels = Measure::ALL.map(|measure| median::median(&levels(baseline, slices, 0, measure)));
        let shift = |(arm, candidate): (u32, &Cell)| Measure::ALL.map(|measure| within([baseline, candidate], slices, [0, arm], measure));
        let age = |(arm, cell): (u32, &Cell)| Measure::ALL.map(|measure| aging(cell, slices, arm, measure));
        let (shifts, ages) = ((1..).zip(candidates).map(shift).collect(), (0..).zip(as_run).map(age).collect());
        instances.insert(number, Instance { levels, shifts, ages });
    }

    /// Instances that a verdict may be of: those up to the last look. Before the first, all.
    fn looked_at(&self) -> u32 {
        let done = self.cells.iter().filter_map(|cell| cell.keys().next_back()).max().map_or(0, |last| last.saturating_add(1));
        let last = looks(&self.blocks).into_iter().rfind(|look| *look <= done as usize);
        last.map_or(done, |look| look as u32)
    }
}

/// A candidate of woven arms against the baseline, as far as verdicts may see it.
#[derive(Debug, Clone, Copy)]
pub struct WovenSide<'a> {
    series: &'a WovenSeries,
    /// Number of the arm.
    arm: usize,
    /// Instances with lower numbers count.
    pub until: u32,
}

impl<'a> WovenSide<'a> {
    /// Of an arm, counted from 1 as candidates are, as of the last look: who looks more often finds more by chance.
    pub fn of(series: &'a WovenSeries, arm: usize) -> Self {
        Self { series, arm, until: series.looked_at() }
    }

    /// The same with all instances so far, for showing progress.
    pub const fn so_far(series: &'a WovenSeries, arm: usize) -> Self {
        Self { series, arm, until: u32::MAX }
    }

    /// Values of a cell, one an instance: the baseline's median over rounds, and that times the instance's ratio.
    pub fn values(&self, cell: usize, measure: Measure) -> Values {
        let place = measure as usize;
        let instances = self.series.cells.get(cell).into_iter().flat_map(|instances| instances.range(..self.until));
        let value = |(number, instance): (&u32, &Instance)| {
            let shift = instance.shifts.get(self.arm.checked_sub(1)?)?[place]?;
            let level = instance.levels[place]?;
            Some(((*number, level), (*number, level * shift.value.exp())))
        };
        let (baseline, candidate): (Vec<_>, Vec<_>) = instances.filter_map(value).unzip();
        Values::new(baseline, candidate)
    }

    /// Doubts about the changes by a measure, and about the levels of both sides.
    pub fn doubts(&self, measure: Measure) -> Vec<Doubt> {
        let of_cell = |(cell, instances): (usize, &BTreeMap<u32, Instance>)| {
            let seen = || instances.range(..self.until).map(|(_, instance)| instance);
            let shift = |instance: &Instance| instance.shifts.get(self.arm.checked_sub(1)?)?[measure as usize];
            let ages = |arm: usize| -> Vec<f64> { seen().filter_map(|instance| instance.ages.get(arm)?[measure as usize]).collect() };
            let mut found = doubts::of_shift(cell, &seen().filter_map(shift).collect::<Vec<_>>());
            let sides = [(Side::Baseline, 0), (Side::Candidate, self.arm)];
            found.extend(sides.into_iter().filter_map(|(side, arm)| doubts::of_level(cell, side, &ages(arm))));
            found
        };
        self.series.cells.iter().enumerate().flat_map(of_cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::plan::Blocks;
    use model::woven::{Reading, Slice, SliceEnd};
    use model::{Arm, Nanos, Plan, Test};

    use super::{WovenSeries, WovenSide};
    use crate::testing::{cell, run};
    use crate::verdict::woven::Measure;

    #[test]
    fn verdicts_see_instances_up_to_the_last_look() {
        let arms = Arm::parse_all(&["a".to_owned(), "b: sndbuf=64K".to_owned()]).unwrap();
        let blocks = Blocks { least: 8, most: 48, interval: 0.05, confidence: 0.95 };
        let plan = Plan { arms, woven: true, blocks, ..run(vec![cell(Test::UdpStream, 64)], 9).plan };
        let mut series = WovenSeries::for_plan(&plan);
        let seen = |series: &WovenSeries| WovenSide::of(series, 1).values(0, Measure::Sender).baseline.len();
        for instance in 0..19 {
            let slice = |arm, round, cpu| {
                let whole = Reading { time: Nanos::new(10), cpu: Nanos::new(cpu), messages: 10, bytes: 640, ..Reading::default() };
                let end = SliceEnd { whole, ..SliceEnd::default() };
                Slice { arm, round, sender: end, receiver: end, ..Slice::default() }
            };
            let slices: Vec<Slice> = (0..5).flat_map(|round| [slice(0, round, 1_000), slice(1, round, 1_200)]).collect();
            series.push(0, instance, &slices);
            let expected = [7, 15, 19].into_iter().zip([instance as usize + 1, 8, 16]).find(|(until, _)| instance < *until);
            assert_eq!(Some(seen(&series)), expected.map(|(_, seen)| seen), "{instance}");
        }
        let values = WovenSide::of(&series, 1).values(0, Measure::Sender);
        assert!((values.candidate[&3] / values.baseline[&3] - 1.2).abs() < 1e-12 && values.baseline[&3] == 100.0);
        // A block that is no instance of the plan changes nothing.
        series.push(7, 0, &[]);
        assert!(WovenSide::of(&series, 2).values(0, Measure::Sender).baseline.is_empty());
        let all = WovenSide::so_far(&series, 1);
        assert_eq!(all.values(0, Measure::Sender).baseline.len(), 19);
        assert_eq!(all.doubts(Measure::Sender), [], "rounds that are all alike say nothing");
    }
}
