//! What a stopped woven run has already, and where it goes on.

use std::collections::{BTreeMap, BTreeSet};

use model::plan::Group;
use model::sorting::Gather;
use model::trial::Outcome;
use model::woven::exchange;
use model::{Plan, TrialRecord};

use super::place_of;
use crate::study::StudyError;

/// What is left of a woven run: from a block on, without the groups that this block has already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    /// Number of the block.
    pub block: u32,
    /// Places of the groups that it has, each with a trial of every member.
    pub done: BTreeSet<usize>,
    /// Lines of trials before the rest. Those behind are of an instance that was cut short, or of a block of nothing but
    /// failures, which ended the study: they are measured again.
    pub lines: u64,
    /// A trial was measured or left out.
    pub worked: bool,
}

/// The last block so far.
#[derive(Debug, Default)]
struct Last {
    number: u32,
    /// Lines before it.
    before: u64,
    /// Members of each group that have a trial, by the group's place, and the line behind the last.
    groups: BTreeMap<usize, (BTreeSet<usize>, u64)>,
    /// Anything was measured or left out.
    works: bool,
    /// The same of the blocks before it.
    worked: bool,
}

impl Rest {
    /// After the lines of a run's trials; `None` is a line that cannot be read.
    ///
    /// # Errors
    /// [`StudyError::OtherTrials`]: a trial that the plan does not have where it is, or has there twice.
    pub fn after(plan: &Plan, trials: &mut dyn Iterator<Item = Option<TrialRecord>>) -> Result<Self, StudyError> {
        let groups = plan.groups();
        let mut last = Last::default();
        let mut lines = 0;
        for record in trials {
            lines += 1;
            let Some(record) = record else { continue };
            let other = StudyError::OtherTrials { block: record.block, position: record.position };
            let Some((group, member)) = planned(plan, &groups, &record) else { return Err(other) };
            if record.block < last.number {
                return Err(other);
            }
            if record.block > last.number {
                let worked = last.worked || last.works;
                last = Last { number: record.block, before: lines - 1, worked, ..Last::default() };
            }
            let (members, end) = last.groups.entry(group).or_default();
            if !members.insert(member) {
                return Err(other);
            }
            *end = lines;
            last.works |= !matches!(record.outcome, Outcome::Failed { .. });
        }
        Ok(last.rest(&groups))
    }

    /// Returns whether an instance of a group is before the rest.
    pub fn has(&self, group: usize, instance: u32) -> bool {
        instance < self.block || instance == self.block && self.done.contains(&group)
    }
}

impl Last {
    fn rest(self, groups: &[Group]) -> Rest {
        // Behind the first that lacks a trial none counts: what is cut off is cut to the end.
        let in_order: BTreeMap<u64, (usize, usize)> =
            self.groups.into_iter().map(|(group, (members, end))| (end, (group, members.len()))).into_map();
        let whole = in_order.into_iter().take_while(|(_, (group, members))| *members == groups[*group].members.len());
        let (mut done, mut lines) = (BTreeSet::new(), self.before);
        for (end, (group, _)) in whole {
            done.insert(group);
            lines = end;
        }
        let (block, done, lines) = match done.len() == groups.len() {
            true if !self.works => (self.number, BTreeSet::new(), self.before),
            true => (self.number + 1, BTreeSet::new(), lines),
            false => (self.number, done, lines),
        };
        Rest { block, done, lines, worked: self.worked || self.works }
    }
}

/// The place of a trial's group, and its member of that group; `None` where the plan has no such trial.
fn planned(plan: &Plan, groups: &[Group], record: &TrialRecord) -> Option<(usize, usize)> {
    let place = record.group? as usize;
    let group = groups.get(place)?;
    let is_it = |arm: usize, cell: usize| plan.cells[cell] == record.cell && plan.arms.get(arm).map(|arm| &arm.name) == record.arm.as_ref();
    let member = group.members.iter().position(|member| is_it(member.arm, member.cell))?;
    let swapped = exchange(plan.seed, place_of(record.block, place), group.members.len()).swapped;
    (record.block < plan.blocks.most && swapped == record.swapped).then_some((place, member))
}

#[cfg(test)]
mod tests {
    use model::plan::RawPlan;
    use model::trial::Outcome;
    use model::woven::{exchange, order};
    use model::{Plan, TrialRecord};

    use super::Rest;
    use crate::testing::measured;
    use crate::woven::place_of;

    fn plan() -> Plan {
        let text = "name = \"x\"\ntrial = { length = \"50ms\" }\narms = [\"a\", \"b\"]\n[[cells]]\ntest = \"UDP_RR\"\nsize = [1, 2]";
        model::plan::resolve(&RawPlan::parse(text).unwrap(), &[], 7).unwrap().weave([3, 3]).unwrap().into_plan()
    }

    /// The trials of a whole run: three blocks of two groups with two members each.
    fn trials(plan: &Plan) -> Vec<TrialRecord> {
        let groups = plan.groups();
        let mut all = Vec::new();
        for block in 0..3 {
            for (place, group) in order(plan.seed, u32::MAX, block, 2).into_iter().map(|place| (place, &groups[place])) {
                all.extend(group.members.iter().map(|member| TrialRecord {
                    block,
                    group: Some(place as u32),
                    swapped: exchange(plan.seed, place_of(block, place), 2).swapped,
                    arm: Some(plan.arms[member.arm].name.clone()),
                    ..TrialRecord::new(plan.cells[member.cell].clone(), Outcome::Measured(Box::new(measured())))
                }));
            }
        }
        all
    }

    fn after(plan: &Plan, trials: &[TrialRecord]) -> Option<Rest> {
        Rest::after(plan, &mut trials.iter().cloned().map(Some)).ok()
    }

    #[test]
    fn a_run_goes_on_with_the_first_instance_that_lacks_a_trial() {
        let plan = plan();
        let all = trials(&plan);
        for stored in 0..=all.len() {
            let rest = after(&plan, &all[..stored]).unwrap();
            let whole = stored / 2;
            assert_eq!((rest.block, rest.done.len(), rest.lines), (whole as u32 / 2, whole % 2, whole as u64 * 2), "{stored}");
            let has = |record: &TrialRecord| rest.has(record.group.unwrap() as usize, record.block);
            assert_eq!(all.iter().filter(|record| has(record)).count(), whole * 2);
        }
    }

    #[test]
    fn a_block_of_failures_alone_is_measured_again() {
        let plan = plan();
        let mut all = trials(&plan);
        let fail = |record: &mut TrialRecord| record.outcome = Outcome::Failed { error: String::new(), lost: false };
        all[4..7].iter_mut().for_each(fail);
        assert_eq!(after(&plan, &all[..8]).map(|rest| (rest.block, rest.lines)), Some((2, 8)));
        fail(&mut all[7]);
        assert_eq!(after(&plan, &all[..8]).map(|rest| (rest.block, rest.lines)), Some((1, 4)));
    }

    #[test]
    fn a_run_of_failures_alone_has_not_worked() {
        let plan = plan();
        let mut all = trials(&plan);
        let worked = |trials: &[TrialRecord]| after(&plan, trials).unwrap().worked;
        assert!(!worked(&[]) && worked(&all[..1]));
        all[..5].iter_mut().for_each(|record| record.outcome = Outcome::Failed { error: String::new(), lost: false });
        // Half a block, a block, and more than one.
        assert_eq!([2, 4, 5, 6].map(|stored| worked(&all[..stored])), [false, false, false, true]);
        all[5].outcome = Outcome::Skipped { reason: String::new() };
        assert!(worked(&all[..6]));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_counted_and_trials_of_another_plan_are_refused() {
        let plan = plan();
        let all = trials(&plan);
        // The first group of the last block lacks a trial, and the second is behind it.
        let lines = all[..4].iter().cloned().map(Some).chain([None]).chain(all[5..8].iter().cloned().map(Some));
        let rest = Rest::after(&plan, &mut lines.collect::<Vec<_>>().into_iter()).unwrap();
        // A damaged line stays: the report names it.
        assert_eq!((rest.block, rest.done.len(), rest.lines), (1, 0, 5));
        let lines = all[..4].iter().cloned().map(Some).chain([None]).chain(all[4..6].iter().cloned().map(Some));
        let rest = Rest::after(&plan, &mut lines.collect::<Vec<_>>().into_iter()).unwrap();
        assert_eq!((rest.block, rest.done.len(), rest.lines), (1, 1, 7));
        for change in [
            (|records| records[5].swapped ^= true) as fn(&mut Vec<TrialRecord>),
            |records| records[5].block = 3,
            |records| records[5].group = Some(2),
            |records| records[5].group = None,
            |records| records[5].arm = None,
            |records| records[5] = records[4].clone(),
            |records| records[5] = records[1].clone(),
        ] {
            let mut records = all.clone();
            change(&mut records);
            assert_eq!(after(&plan, &records), None);
        }
    }
}
