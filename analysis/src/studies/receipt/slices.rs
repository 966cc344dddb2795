//! Slices in which the sampler of an end was on and off in turn.

use std::collections::BTreeMap;

use attribution::SampledSlices;
use model::plan::{Group, Unfit};
use model::woven::{SAMPLED, Slice};
use model::{Cell, Plan, Role};

use crate::verdict::woven::{Measure, within};

/// What the slices of one cell in one arm say of each end.
#[derive(Debug)]
pub struct GroupSlices {
    /// The cell as its trials run it.
    as_run: Cell,
    /// The reason for which there are none.
    unfit: Option<Unfit>,
    /// By [`Role`], then by the number of the instance: the logarithm of CPU time per message sampled over not.
    shifts: [BTreeMap<u32, f64>; 2],
    /// An instance was stored, whether its slices are usable or not.
    is_stored: bool,
}

impl GroupSlices {
    /// Of a group of a plan, without an instance.
    pub fn of_group(plan: &Plan, group: &Group) -> Self {
        let member = group.reference();
        let cell = &plan.cells[member.cell];
        let as_run = plan.cell_in(cell, member.arm).unwrap_or_else(|_| cell.clone());
        Self { as_run, unfit: group.in_turn, shifts: Default::default(), is_stored: false }
    }

    /// Adds an instance. One that is measured again takes the place of the first.
    pub fn push(&mut self, instance: u32, slices: &[Slice]) {
        self.is_stored = true;
        for (state, role) in (0..).zip(SAMPLED).filter_map(|(state, role)| Some((state, role?))) {
            let measure = if role == Role::Sender { Measure::Sender } else { Measure::Receiver };
            if let Some(found) = within([&self.as_run, &self.as_run], slices, [0, state], measure) {
                self.shifts[role as usize].insert(instance, found.value);
            }
        }
    }

    /// Those of an end, for its receipt.
    pub fn of_end(&self, role: Role) -> SampledSlices {
        let shifts: Vec<f64> = self.shifts[role as usize].values().copied().collect();
        match self.unfit {
            Some(why) if shifts.is_empty() => SampledSlices::Absent(why.reason()),
            None if !self.is_stored => SampledSlices::Absent("no trial of slices was stored"),
            _ => SampledSlices::Shifts(shifts),
        }
    }
}
