//! The reference cell: traffic that is the same in every study, which measures how fast the machine is today.

use super::Plan;
use super::error::PlanError;
use super::resolve::value;
use crate::cell::Cell;
use crate::quantity::Bytes;
use crate::traffic::Test;

/// The reference cell: datagrams of 1 KiB. Their cost goes with the machine's speed as that of other traffic does, and
/// scatters least.
pub(super) fn cell() -> Cell {
    Cell::plain(Test::UdpStream, Bytes::new(1_024))
}

/// Puts the reference cell among the others, unless it is there: by its size in its series, otherwise last, so that reports
/// begin with the cells of the study.
pub(super) fn insert(cells: &mut Vec<Cell>, reference: &Cell) {
    let (series, size) = (reference.series(), reference.size);
    let place = match cells.iter().rposition(|cell| cell.series() == series && cell.size <= size) {
        Some(before) if cells[before] == *reference => return,
        Some(before) => before + 1,
        None => cells.iter().position(|cell| cell.series() == series).unwrap_or(cells.len()),
    };
    cells.insert(place, reference.clone());
}

/// Checks that a plan can have the reference cell that it has.
///
/// # Errors
/// Arms, ways of sending and pairs of a fleet, which have references of their own; a cell that the plan lacks.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    if plan.reference_cell.is_none() {
        return Ok(());
    }
    let reason = match () {
        () if !plan.arms.is_empty() => "arms are compared with the first of them: leave it out",
        () if plan.cells_by_way().iter().any(|alike| alike.len() > 1) => "ways of sending are compared with plain send: leave it out",
        () if plan.fleet.is_some() => "hosts of a fleet are compared with each other: leave it out",
        () if plan.reference_place().is_none() => "it is none of the cells",
        () => return Ok(()),
    };
    Err(value("reference_cell", true, reason))
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, PlanError, RawPlan, Unfit, check_stored, resolve, unfit};
    use crate::woven::SliceTimes;

    fn plan(more: &str, cells: &str) -> Result<Plan, PlanError> {
        let text = format!("name = \"one\"\nreference_cell = true\ntrial = {{ length = \"50ms\" }}\n{more}\n[[cells]]\n{cells}");
        resolve(&RawPlan::parse(&text)?, &[], 1).map(crate::plan::ApprovedPlan::into_plan)
    }

    #[test]
    fn the_reference_is_one_of_the_cells_and_each_is_once() {
        let sizes = plan("", "test = \"UDP_STREAM\"\nsize = [64, \"1K\"]").unwrap();
        assert_eq!((sizes.cells.len(), sizes.reference_place()), (2, Some(1)));
        let other = plan("", "test = \"TCP_RR\"\nsize = 64").unwrap();
        assert_eq!((other.cells.len(), other.reference_place()), (2, Some(1)));
        let between = plan("", "test = [\"UDP_STREAM\", \"TCP_RR\"]\nsize = [64, \"4K\"]").unwrap();
        assert_eq!((between.cells.len(), between.reference_place()), (5, Some(1)));
        assert!(check_stored(&other).is_ok() && check_stored(&Plan { cells: other.cells[..1].to_vec(), ..other }).is_err());
    }

    #[test]
    fn what_has_a_reference_of_its_own_takes_no_other() {
        let cell = "test = \"UDP_STREAM\"\nsize = 64";
        let arms = plan("arms = [\"a\", \"b: sndbuf=64K\"]", cell).unwrap_err().to_string();
        let ways = plan("", &format!("{cell}\napi = [\"send\", \"gso\"]")).unwrap_err().to_string();
        assert!(arms.contains("the first of them") && ways.contains("plain send"), "{arms} {ways}");
    }

    #[test]
    fn groups_are_around_the_reference_and_of_one_length_of_slices() {
        let text = "test = [\"UDP_STREAM\", \"TCP_STREAM\"]\nsize = \"64..4K:x2\"\n[[cells]]\ntest = \"TCP_CRR\"\nsize = 64";
        let plan = plan("", text).unwrap();
        assert_eq!(unfit(&plan), None);
        let (groups, reference) = (plan.groups(), plan.reference_place().unwrap());
        assert!(groups.iter().all(|group| group.reference().cell == reference && (2..=8).contains(&group.members.len())));
        let times: Vec<SliceTimes> = groups.iter().filter(|group| group.in_turn.is_none()).map(|group| plan.slice_times(group)).collect();
        assert_eq!(times.iter().filter(|times| times.measured == SliceTimes::SHORT.measured).count(), 1, "{times:?}");
        let mut others: Vec<usize> = groups.iter().flat_map(|group| &group.members[1..]).map(|member| member.cell).collect();
        others.sort_unstable();
        assert_eq!(others, (0..plan.cells.len()).filter(|cell| *cell != reference).collect::<Vec<_>>());
        let in_turn: Vec<_> = groups.iter().filter_map(|group| group.in_turn).collect();
        assert_eq!(in_turn, [Unfit::Connections]);
    }
}
