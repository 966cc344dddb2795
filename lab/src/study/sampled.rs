//! Slices of a receipt in which the samplers of its ends are on and off in turn: what sampling costs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use engine::woven::Board;
use model::plan::{Group, TrialEnd, Unfit};
use model::schedule::{self, Block, Slot};
use model::trial::Outcome;
use model::warning::Warning;
use model::woven::{self, SAMPLED, Slice, sampled_in};
use model::{Cell, Pass, Plan};
use sys::errno_name;

use super::pool::SessionKey;
use super::{Study, StudyError};
use crate::error::TrialError;
use crate::event::Event;
use crate::trial::TrialSpec;
use crate::trial::woven::{WovenArm, run};

/// Remedy where there is none but to measure again.
const REPEAT: &str = "Repeat the study: slices give a narrower interval.";

/// Groups of a study whose slices are sampled.
#[derive(Debug, Default)]
pub(super) struct SampledGroups {
    /// Memory that the ends share with their controller; `None` where none are woven.
    board: Option<Board>,
    groups: Vec<Group>,
    /// Places of groups that are not tried again.
    given_up: BTreeSet<usize>,
    /// Refusal of a host to sample both ends at once: a warning only if it samples one of them in the time pass.
    refused: Option<Warning>,
}

impl SampledGroups {
    /// Those of a plan whose hosts are still to be made: they inherit the board. Without a board the warnings say why.
    pub fn of_plan(plan: &Plan) -> (Self, Vec<Warning>) {
        let groups = if plan.receipt.is_some() { plan.groups() } else { Vec::new() };
        let woven: Vec<usize> = (0..groups.len()).filter(|group| groups[*group].in_turn.is_none()).collect();
        if woven.is_empty() {
            return (Self::default(), Vec::new());
        }
        match Board::new() {
            Ok(board) => (Self { board: Some(board), groups, ..Self::default() }, Vec::new()),
            Err(error) => {
                let reason = format!("memory that ends share is not available: memfd_create: {}", errno_name(&error));
                let warning = |group| Warning::NoSlices { group, reason: reason.clone(), remedy: REPEAT.to_owned() };
                (Self::default(), woven.into_iter().map(warning).collect())
            }
        }
    }

    /// The place of a slot's group, where its slices are to be woven before the slot's trial.
    fn place(&self, plan: &Plan, slot: Slot) -> Option<usize> {
        let place = slot.cell * plan.arms.len().max(1) + slot.arm;
        let is_woven = self.groups.get(place).is_some_and(|group| group.in_turn.is_none());
        (slot.pass == Pass::Time && is_woven && !self.given_up.contains(&place)).then_some(place)
    }
}

impl Study<'_> {
    /// Weaves the slices of a cell and arm that belong to a block, before the block's time pass of them. After a failure
    /// it is not tried again, and a warning has the reason. `Break`: the user wants no more.
    pub(super) fn weave_sampled(&mut self, key: SessionKey, block: &Block, slot: Slot) -> Result<ControlFlow<()>, StudyError> {
        let Some(group) = self.sampled.place(self.plan, slot).filter(|_| !self.refused.contains_key(&slot.pass)) else {
            return Ok(ControlFlow::Continue(()));
        };
        let no_slices = |reason: String, remedy: &str| Warning::NoSlices { group, reason, remedy: remedy.to_owned() };
        if self.sessions.get(key).facts().iter().any(|facts| facts.irq_time_subtracted == Some(true)) {
            let remedy = "Read the ratio of passes: it includes interrupt time.";
            self.give_up(key, group, no_slices(Unfit::InterruptTime.to_string(), remedy));
            return Ok(ControlFlow::Continue(()));
        }
        for instance in sampled_in(block.index, self.plan.blocks.least) {
            let (_, came) = self.in_arm(key, slot, block.swapped, |study, as_run| study.instance(key, block, group, as_run, instance))?;
            match came {
                Ok(slices) if slices.iter().any(Slice::counts) => {
                    if self.tell(&Event::Slices { group, instance, slices: &slices })?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                // The machine was busy; the next begins at another time.
                Ok(_) => {}
                Err(TrialError::NotObserved { refused, .. }) => {
                    self.sampled.given_up.insert(group);
                    self.sampled.refused =
                        Some(no_slices(format!("{} is not available: {}", refused.what, refused.answer), &refused.remedy));
                    break;
                }
                Err(error) => {
                    self.give_up(key, group, no_slices(error.to_string(), REPEAT));
                    let outcome = Outcome::Failed { error: error.to_string(), lost: error.is_loss_of_host() };
                    return self.recover(key, &outcome);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Warns that a host refused to sample both ends at once, after the time pass of one: a refusal of that pass says so
    /// itself.
    pub(super) fn warn_of_refusal(&mut self, key: SessionKey, slot: Slot) {
        let warning = self.sampled.refused.take().filter(|_| !self.refused.contains_key(&slot.pass));
        self.sessions.get_mut(key).inherit(warning.into_iter().collect());
    }

    fn give_up(&mut self, key: SessionKey, group: usize, warning: Warning) {
        self.sampled.given_up.insert(group);
        self.sessions.get_mut(key).inherit(vec![warning]);
    }

    /// One instance: the slices of fresh ends.
    fn instance(&mut self, key: SessionKey, block: &Block, group: usize, cell: &Cell, instance: u32) -> Result<Vec<Slice>, TrialError> {
        let (Some(board), Some(group)) = (&self.sampled.board, self.sampled.groups.get(group)) else { return Ok(Vec::new()) };
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

    use super::SampledGroups;

    fn plan(receipt: &str) -> Plan {
        let cells = "[[cells]]\ntest = [\"UDP_RR\", \"TCP_CRR\"]\nsize = 1";
        let text = format!("name = \"x\"\ntrial = {{ length = \"50ms\" }}\n{receipt}\n{cells}");
        model::plan::resolve(&RawPlan::parse(&text).unwrap(), &[], 7).unwrap().into_plan()
    }

    #[test]
    fn slices_come_before_a_time_pass_of_a_cell_that_can_be_woven() {
        let plan_of_receipts = plan("[receipt]");
        let (mut sampled, warnings) = SampledGroups::of_plan(&plan_of_receipts);
        assert!(sampled.board.is_some() && warnings.is_empty());
        let place = |sampled: &SampledGroups, cell, pass| sampled.place(&plan_of_receipts, Slot { cell, arm: 0, pass });
        assert_eq!(Pass::ALL.iter().filter_map(|pass| place(&sampled, 0, *pass)).collect::<Vec<_>>(), [0]);
        assert_eq!(place(&sampled, 1, Pass::Time), None, "connections that are set up have no slices");
        sampled.given_up.insert(0);
        assert_eq!(place(&sampled, 0, Pass::Time), None);
        assert!(SampledGroups::of_plan(&plan("")).0.board.is_none());
    }
}
