//! The slices of a receipt in which the samplers of its ends are on and off in turn: what watching costs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use engine::woven::Board;
use model::plan::{Group, TrialEnd, Unfit};
use model::schedule::{self, Block, Slot};
use model::trial::Outcome;
use model::warning::Warning;
use model::woven::{self, SAMPLED, Slice, sampled_in};
use model::{Cell, Pass, Plan, Refusal};

use super::pool::SessionKey;
use super::{Study, StudyError};
use crate::error::TrialError;
use crate::event::Event;
use crate::trial::TrialSpec;
use crate::trial::woven::{WovenArm, run};

/// What a study needs for these slices.
#[derive(Debug, Default)]
pub(super) struct SampledSlices {
    /// Memory that the ends share with their controller; `None` where none are woven.
    board: Option<Board>,
    groups: Vec<Group>,
    /// Places of groups that are not tried again.
    given_up: BTreeSet<usize>,
    /// What a host answered to the samplers of both ends, until the time pass is known to have its own.
    refused: Option<Warning>,
}

impl SampledSlices {
    /// Of a plan whose hosts are still to be made: they inherit the board. Without it the cost is that of passes apart, and
    /// the warning says so.
    pub fn of(plan: &Plan) -> (Self, Option<Warning>) {
        let groups = if plan.receipt.is_some() { plan.groups() } else { Vec::new() };
        if groups.iter().all(|group| group.in_turn.is_some()) {
            return (Self::default(), None);
        }
        match Board::new() {
            Ok(board) => (Self { board: Some(board), groups, ..Self::default() }, None),
            Err(answer) => (Self::default(), Some(warning("memory that they share (memfd_create)", answer))),
        }
    }

    /// The place of a slot's group, where its slices are to be woven before it.
    fn place(&self, plan: &Plan, slot: Slot) -> Option<usize> {
        let place = slot.cell * plan.arms.len().max(1) + slot.arm;
        let is_woven = self.groups.get(place).is_some_and(|group| group.in_turn.is_none());
        (slot.pass == Pass::Time && is_woven && !self.given_up.contains(&place)).then_some(place)
    }
}

/// The warning where the cost of watching is that of passes apart.
fn warning(of: &str, answer: impl ToString) -> Warning {
    let remedy = "The cost of watching is that of passes apart.";
    Warning::Absent(Refusal::new(format!("slices with the sampler on and off: {of}"), answer, remedy))
}

impl Study<'_> {
    /// Weaves the slices of a cell and arm that belong to a block, before the block's first time pass of them. Where that
    /// fails it is not tried again, and a warning says so. `Break`: the user wants no more.
    pub(super) fn weave_sampled(&mut self, key: SessionKey, block: &Block, slot: Slot) -> Result<ControlFlow<()>, StudyError> {
        let Some(place) = self.sampled.place(self.plan, slot).filter(|_| !self.refused.contains_key(&slot.pass)) else {
            return Ok(ControlFlow::Continue(()));
        };
        let cell = &self.plan.cells[slot.cell];
        if self.sessions.get(key).facts().iter().any(|facts| facts.irq_time_subtracted == Some(true)) {
            self.give_up(key, place, warning(&cell.to_string(), Unfit::InterruptTime));
            return Ok(ControlFlow::Continue(()));
        }
        for instance in sampled_in(block.index, self.plan.blocks.least) {
            let (_, came) = self.in_arm(key, slot, block.swapped, |study, as_run| study.instance(key, block, place, as_run, instance))?;
            match came {
                Ok(slices) if slices.iter().any(Slice::counts) => {
                    if self.tell(&Event::Slices { group: place, instance, slices: &slices })?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                // The machine was busy; the next begins at another time.
                Ok(_) => {}
                Err(error @ TrialError::NotObserved { .. }) => {
                    self.sampled.given_up.insert(place);
                    self.sampled.refused = Some(warning(&cell.to_string(), &error));
                    break;
                }
                Err(error) => {
                    self.give_up(key, place, warning(&cell.to_string(), &error));
                    let outcome = Outcome::Failed { error: error.to_string(), lost: error.is_loss_of_host() };
                    return self.recover(key, &outcome);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Warns that a host refused the samplers of both ends at once, after the time pass of one: where that was refused too
    /// it says so itself.
    pub(super) fn say_refused(&mut self, key: SessionKey, slot: Slot) {
        let warning = self.sampled.refused.take().filter(|_| !self.refused.contains_key(&slot.pass));
        self.sessions.get_mut(key).inherit(warning.into_iter().collect());
    }

    fn give_up(&mut self, key: SessionKey, place: usize, warning: Warning) {
        self.sampled.given_up.insert(place);
        self.sessions.get_mut(key).inherit(vec![warning]);
    }

    /// One instance: the slices of fresh ends.
    fn instance(&mut self, key: SessionKey, block: &Block, place: usize, cell: &Cell, instance: u32) -> Result<Vec<Slice>, TrialError> {
        let (Some(board), Some(group)) = (&self.sampled.board, self.sampled.groups.get(place)) else { return Ok(Vec::new()) };
        let (plan, member) = (self.plan, group.reference());
        let spec = TrialSpec {
            pass: Pass::Time,
            end: TrialEnd::Length(plan.instance_length(group)),
            arm: self.arms.settings(member.arm),
            seed: schedule::trial_seed(plan.seed, instance, member.cell),
            ..TrialSpec::clean(plan, cell, block.swapped)
        };
        let arm = WovenArm { session: self.sessions.get_mut(key), spec };
        let order = |round| woven::order(plan.seed, instance, round, SAMPLED.len());
        run(board, vec![arm], plan.slice_times(group), order).map(|woven| woven.slices).map_err(|torn| torn.error)
    }
}

#[cfg(test)]
mod tests {
    use model::plan::RawPlan;
    use model::schedule::Slot;
    use model::{Pass, Plan};

    use super::SampledSlices;

    fn plan(receipt: &str) -> Plan {
        let cells = "[[cells]]\ntest = [\"UDP_RR\", \"TCP_CRR\"]\nsize = 1";
        let text = format!("name = \"x\"\ntrial = {{ length = \"50ms\" }}\n{receipt}\n{cells}");
        model::plan::resolve(&RawPlan::parse(&text).unwrap(), &[], 7).unwrap().into_plan()
    }

    #[test]
    fn slices_come_before_a_time_pass_of_a_cell_that_can_be_woven() {
        let plan_of_receipts = plan("[receipt]");
        let (mut sampled, warning) = SampledSlices::of(&plan_of_receipts);
        assert!(sampled.board.is_some() && warning.is_none());
        let place = |sampled: &SampledSlices, cell, pass| sampled.place(&plan_of_receipts, Slot { cell, arm: 0, pass });
        assert_eq!(Pass::ALL.iter().filter_map(|pass| place(&sampled, 0, *pass)).collect::<Vec<_>>(), [0]);
        assert_eq!(place(&sampled, 1, Pass::Time), None, "connections that are set up have no slices");
        sampled.given_up.insert(0);
        assert_eq!(place(&sampled, 0, Pass::Time), None);
        assert!(SampledSlices::of(&plan("")).0.board.is_none());
    }
}
