//! All instances of a woven study, group by group.

use std::collections::BTreeMap;

use model::plan::{Blocks, Group, Member};
use model::sorting::Gather;
use model::woven::Slice;
use model::{Cell, Plan};
use stats::median;

use super::{Measure, Within, aging, doubts, levels, looks, within};
use crate::verdict::{Doubt, Side, Values};

/// One instance of a group, by each of [`Measure::ALL`].
#[derive(Debug, Clone, Default)]
struct Instance {
    /// Median of the reference's rounds.
    levels: [Option<f64>; Measure::ALL.len()],
    /// Shift of each other member.
    shifts: Vec<[Option<Within>; Measure::ALL.len()]>,
    /// Shift of each member from the first half of its slices to the second.
    ages: Vec<[Option<f64>; Measure::ALL.len()]>,
}

/// A group with its instances by their numbers.
#[derive(Debug, Clone)]
struct Woven {
    members: Vec<Member>,
    /// The cell that each runs.
    as_run: Vec<Cell>,
    instances: BTreeMap<u32, Instance>,
}

/// Everything that slices say so far.
#[derive(Debug, Clone)]
pub struct WovenSeries {
    blocks: Blocks,
    cells: usize,
    groups: Vec<Woven>,
}

impl WovenSeries {
    /// Of a plan, without an instance.
    pub fn for_plan(plan: &Plan) -> Self {
        let group = |group: Group| {
            let as_run = |member: &Member| {
                let cell = &plan.cells[member.cell];
                plan.cell_in(cell, member.arm).unwrap_or_else(|_| cell.clone())
            };
            Woven { as_run: group.members.iter().map(as_run).collect(), members: group.members, instances: BTreeMap::new() }
        };
        Self { blocks: plan.blocks, cells: plan.cells.len(), groups: plan.groups().into_iter().map(group).collect() }
    }

    /// One more instance of a group, by its place in the plan.
    pub fn push(&mut self, group: usize, number: u32, slices: &[Slice]) {
        let Some(Woven { as_run, instances, .. }) = self.groups.get_mut(group) else { return };
        let Some((baseline, candidates)) = as_run.split_first() else { return };
        let levels = Measure::ALL.map(|measure| median::median(&levels(baseline, slices, 0, measure)));
        let shift = |(arm, candidate): (u32, &Cell)| Measure::ALL.map(|measure| within([baseline, candidate], slices, [0, arm], measure));
        let age = |(arm, cell): (u32, &Cell)| Measure::ALL.map(|measure| aging(cell, slices, arm, measure));
        let (shifts, ages) = ((1..).zip(candidates).map(shift).collect(), (0..).zip(as_run.iter()).map(age).collect());
        instances.insert(number, Instance { levels, shifts, ages });
    }

    /// The logarithm of a cell's value over that of its reference, by instance: without an arm.
    pub fn shifts(&self, cell: usize, measure: Measure) -> BTreeMap<u32, f64> {
        let found = self.find(cell, 0).into_iter().flat_map(|(place, group)| group.instances.iter().map(move |one| (place, one)));
        found.filter_map(|(place, (number, instance))| Some((*number, instance.shift(place, measure)?.value))).into_map()
    }

    /// Doubts about these shifts, of all instances so far.
    pub fn doubts_of_shift(&self, cell: usize, measure: Measure) -> Vec<Doubt> {
        let Some((place, group)) = self.find(cell, 0) else { return Vec::new() };
        let shifts: Vec<Within> = group.instances.values().filter_map(|instance| instance.shift(place, measure)).collect();
        doubts::of_shift(cell, &shifts)
    }

    /// The place of a cell in an arm in the group that it is compared in.
    fn find(&self, cell: usize, arm: usize) -> Option<(usize, &Woven)> {
        let place = |group: &Woven| group.members.iter().skip(1).position(|member| *member == Member { cell, arm });
        self.groups.iter().find_map(|group| Some((place(group)? + 1, group)))
    }

    /// Instances that a verdict may be of: those up to the last look. Before the first, all.
    fn looked_at(&self) -> u32 {
        let done = self.groups.iter().filter_map(|group| group.instances.keys().next_back()).max().map_or(0, |last| last.saturating_add(1));
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
        let Some((place, group)) = self.series.find(cell, self.arm) else { return Values::default() };
        let value = |(number, instance): (&u32, &Instance)| {
            let level = instance.levels[measure as usize]?;
            Some(((*number, level), (*number, level * instance.shift(place, measure)?.value.exp())))
        };
        let (baseline, candidate): (Vec<_>, Vec<_>) = group.instances.range(..self.until).filter_map(value).unzip();
        Values::new(baseline, candidate)
    }

    /// Doubts about the changes by a measure, and about the levels of both sides.
    pub fn doubts(&self, measure: Measure) -> Vec<Doubt> {
        let of_cell = |cell: usize| {
            let Some((place, group)) = self.series.find(cell, self.arm) else { return Vec::new() };
            let seen = || group.instances.range(..self.until).map(|(_, instance)| instance);
            let ages = |member: usize| -> Vec<f64> { seen().filter_map(|instance| instance.ages.get(member)?[measure as usize]).collect() };
            let shifts: Vec<Within> = seen().filter_map(|instance| instance.shift(place, measure)).collect();
            let sides = [(Side::Baseline, 0), (Side::Candidate, place)];
            let levels = sides.into_iter().filter_map(|(side, member)| doubts::of_level(cell, side, &ages(member)));
            doubts::of_shift(cell, &shifts).into_iter().chain(levels).collect()
        };
        (0..self.series.cells).flat_map(of_cell).collect()
    }
}

impl Instance {
    /// The shift of a member, by its place in its group.
    fn shift(&self, place: usize, measure: Measure) -> Option<Within> {
        self.shifts.get(place.checked_sub(1)?)?[measure as usize]
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
