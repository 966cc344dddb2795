//! Slices in which the sampler of an end is on and off in turn.

use std::collections::BTreeMap;

use attribution::SampledSlices;
use model::plan::{Group, Unfit};
use model::warning::Warning;
use model::woven::{SAMPLED, Slice, USABLE_SAMPLED};
use model::{Cell, Plan, Role};

use crate::verdict::woven::{Measure, within};

/// Slices of one cell in one arm.
#[derive(Debug)]
pub struct GroupSlices {
    /// The cell as its trials run it.
    as_run: Cell,
    /// The reason why the plan has none.
    unfit: Option<Unfit>,
    /// By [`Role`], then by the number of the instance: the logarithm of CPU time per message with the sampler on over
    /// that with it off.
    shifts: [BTreeMap<u32, f64>; 2],
    /// An instance was stored, whether its slices are usable or not.
    is_stored: bool,
}

impl GroupSlices {
    /// A group of a plan, without an instance.
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

    /// Slices of each end, by [`Role`]. `refusal` is the reason why no further instance was measured.
    pub fn of_ends(&self, refusal: Option<&str>) -> [SampledSlices; 2] {
        let not_stored = (!self.is_stored).then_some("no trial of slices is stored");
        let reason = self.unfit.map(Unfit::reason).or(refusal).or(not_stored);
        self.shifts.each_ref().map(|shifts| match reason {
            Some(reason) if shifts.len() < USABLE_SAMPLED as usize => SampledSlices::Absent(reason.to_owned()),
            _ => SampledSlices::Shifts(shifts.values().copied().collect()),
        })
    }
}

/// The reason in a run's warnings why a group has no further instance.
pub fn refusal(warnings: &[Warning], number: usize) -> Option<&str> {
    warnings.iter().find_map(|warning| match warning {
        Warning::NoSlices { group, reason, .. } if *group == number => Some(reason.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use attribution::SampledSlices;
    use model::Test;
    use model::plan::Unfit;
    use model::warning::Warning;

    use super::{GroupSlices, refusal};
    use crate::testing::cell;

    #[test]
    fn a_refusal_is_the_reason_unless_enough_was_measured_before() {
        let (reason, remedy) = ("memory is short".to_owned(), String::new());
        let warnings = [Warning::OneCpu, Warning::NoSlices { group: 2, reason: reason.clone(), remedy }];
        assert_eq!([1, 2].map(|group| refusal(&warnings, group)), [None, Some("memory is short")]);
        let of_ends = |counts: [u32; 2], unfit| {
            let shifts = counts.map(|count| (0..count).map(|instance| (instance, 0.02)).collect());
            let slices = GroupSlices { as_run: cell(Test::UdpStream, 64), unfit, shifts, is_stored: true };
            slices.of_ends(refusal(&warnings, 2))
        };
        assert_eq!(of_ends([8, 7], None), [SampledSlices::Shifts(vec![0.02; 8]), SampledSlices::Absent(reason)]);
        assert_eq!(of_ends([0, 0], Some(Unfit::Rate))[0], SampledSlices::Absent(Unfit::Rate.reason().to_owned()));
    }
}
