//! Groups of a woven study: the cells or arms that take turns in an instance, around a reference.
//!
//! ```text
//! arms: a cell in each arm around the first; ways of sending: cells that differ in their way alone around plain `send`
//!   -> groups of eight at most, each with the reference
//!   -> ways that cannot be woven: trials in turn, next to one of the reference
//! ```

use std::collections::{BTreeMap, HashMap};

use super::Plan;
use super::fitness::{Unfit, unfit_cell, unfit_sampled};
use crate::api::Api;
use crate::cell::Cell;
use crate::woven::{MOST_ARMS, SAMPLED};

/// A cell in an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Place of the cell in the plan.
    pub cell: usize,
    /// Number of the arm; 0 of a plan without arms.
    pub arm: usize,
}

/// What runs together in each block of a woven study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its members, the reference first: at least one, and [`MOST_ARMS`] of those that take turns at most.
    pub members: Vec<Member>,
    /// The reason for which they have trials of their own, in turn; `None` where they take turns of milliseconds.
    pub in_turn: Option<Unfit>,
}

impl Group {
    /// The member that the others are compared with.
    pub fn reference(&self) -> Member {
        self.members[0]
    }
}

/// The groups of a plan, whose arms or ways take turns; of one with receipts those of a cell's [`SAMPLED`] slices.
pub(super) fn of(plan: &Plan) -> Vec<Group> {
    if plan.receipt.is_some() {
        return sampled(plan);
    }
    match plan.arms.len() {
        0 | 1 => plan.cells_by_way().into_iter().flat_map(|alike| of_ways(plan, &alike)).collect(),
        arms => {
            let of_cell = |cell: usize| woven(Member { cell, arm: 0 }, &(1..arms).map(|arm| Member { cell, arm }).collect::<Vec<_>>());
            (0..plan.cells.len()).flat_map(of_cell).collect()
        }
    }
}

/// Places of the cells that are equal but for their way of sending and receiving, in the plan's order; plain `send` first.
pub(super) fn by_way(cells: &[Cell]) -> Vec<Vec<usize>> {
    let (mut groups, mut known): (Vec<Vec<usize>>, HashMap<Cell, usize>) = Default::default();
    for (place, cell) in cells.iter().enumerate() {
        let group = *known.entry(cell.without_way()).or_insert(groups.len());
        match groups.get_mut(group) {
            Some(members) if (cell.api, cell.receive) == (Api::Send, None) => members.insert(0, place),
            Some(members) => members.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// The reference and the others, in as few groups as hold them, much alike in size.
fn woven(reference: Member, others: &[Member]) -> Vec<Group> {
    let groups = others.len().div_ceil(MOST_ARMS - 1).max(1);
    let each = others.chunks(others.len().div_ceil(groups).max(1));
    each.map(|others| Group { members: [&[reference], others].concat(), in_turn: None }).collect()
}

/// Each cell in each arm, by the cell's place and then by the arm's.
fn sampled(plan: &Plan) -> Vec<Group> {
    let group = |(cell, arm): (usize, usize)| {
        let as_run = plan.cell_in(&plan.cells[cell], arm);
        let in_turn = as_run.map_or(Some(Unfit::Receipt), |as_run| unfit_sampled(plan, &as_run));
        Group { members: vec![Member { cell, arm }; SAMPLED.len()], in_turn }
    };
    let arms = plan.arms.len().max(1);
    (0..plan.cells.len()).flat_map(|cell| (0..arms).map(move |arm| (cell, arm))).map(group).collect()
}

fn of_ways(plan: &Plan, alike: &[usize]) -> Vec<Group> {
    let member = |cell: usize| Member { cell, arm: 0 };
    let Some((reference, others)) = alike.split_first() else { return Vec::new() };
    let why = |cell: usize| unfit_cell(plan, &plan.cells[cell], MOST_ARMS);
    let (of_reference, mut fit, mut unfit) = (why(*reference), Vec::new(), BTreeMap::<Unfit, Vec<Member>>::new());
    for other in others {
        match of_reference.or_else(|| why(*other)) {
            None => fit.push(member(*other)),
            Some(why) => unfit.entry(why).or_default().push(member(*other)),
        }
    }
    if others.is_empty() {
        unfit.insert(of_reference.unwrap_or(Unfit::NoArms), Vec::new());
    }
    let in_turn = |(why, others): (Unfit, Vec<Member>)| Group { members: [vec![member(*reference)], others].concat(), in_turn: Some(why) };
    woven(member(*reference), &fit).into_iter().chain(unfit.into_iter().map(in_turn)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Group, Member};
    use crate::plan::{Plan, RawPlan, Unfit, preset, resolve};
    use crate::woven::{MOST_ARMS, sampled_in_all};

    fn plan(text: &str) -> Plan {
        resolve(&RawPlan::parse(text).unwrap(), &[], 1).unwrap().into_plan()
    }

    #[test]
    fn many_arms_are_rounds_around_the_first() {
        let arms = |count: usize| {
            let names: Vec<String> = (0..count).map(|arm| format!("\"a{arm}\"")).collect();
            let text = "trial = { length = \"50ms\" }\n[[cells]]\ntest = \"UDP_RR\"\nsize = [64, 1024]";
            plan(&format!("name = \"one\"\narms = [{}]\n{text}", names.join(","))).groups()
        };
        assert_eq!(arms(2).iter().map(|group| group.members.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(arms(8).iter().map(|group| group.members.len()).collect::<Vec<_>>(), [8, 8]);
        let nine = arms(9);
        assert_eq!(nine.iter().map(|group| group.members.len()).collect::<Vec<_>>(), [5, 5, 5, 5]);
        assert!(nine.iter().all(|group| group.reference().arm == 0 && group.in_turn.is_none()));
        assert_eq!(nine[3].members[4], Member { cell: 1, arm: 8 });
    }

    #[test]
    fn ways_are_rounds_around_plain_send_and_each_is_in_one_of_them() {
        let plan = plan(preset("ways").unwrap());
        let groups = plan.groups();
        let mut seen = vec![0; plan.cells.len()];
        for Group { members, in_turn } in &groups {
            let reference = &plan.cells[members[0].cell];
            assert_eq!((reference.api.name(), reference.receive), ("send", None));
            assert!(members.len() > 1 && (in_turn.is_some() || members.len() <= MOST_ARMS));
            assert!(members.iter().all(|member| plan.cells[member.cell].without_way() == *reference));
            members[1..].iter().for_each(|member| seen[member.cell] += 1);
        }
        let plain = |cell: &crate::Cell| cell.without_way() == *cell;
        assert!(plan.cells.iter().zip(seen).all(|(cell, times)| times == usize::from(!plain(cell))));
        // One is sent by a thread of the kernel's.
        let in_turn: Vec<_> = groups.iter().filter(|group| group.in_turn.is_some()).collect();
        assert!(in_turn.iter().all(|group| group.in_turn == Some(Unfit::KernelThread) && group.members.len() == 2));
        assert_eq!(in_turn.len(), 14, "seven sizes of each test");
    }

    #[test]
    fn each_cell_of_a_receipt_takes_turns_with_itself() {
        let text = "name = \"one\"\ntrial = { length = \"50ms\" }\narms = [\"a\", \"b: sndbuf=64K\"]\n[receipt]\n[[cells]]\n";
        let plan = plan(&format!("{text}test = [\"UDP_RR\", \"TCP_CRR\"]\nsize = 64"));
        let groups = plan.groups();
        let members = |group: &Group| (group.members.len(), group.reference().cell, group.reference().arm, group.in_turn);
        let crr = Some(Unfit::Connections);
        assert_eq!(groups.iter().map(members).collect::<Vec<_>>(), [(3, 0, 0, None), (3, 0, 1, None), (3, 1, 0, crr), (3, 1, 1, crr)]);
        let instances = sampled_in_all(plan.blocks.least, plan.blocks.most);
        assert_eq!(plan.sampled_time().get(), 2 * u64::from(instances) * plan.group_time(&groups[0]).get());
    }

    #[test]
    fn a_cell_alone_is_in_turn() {
        let groups = plan("name = \"one\"\ntrial = { length = \"50ms\" }\n[[cells]]\ntest = \"UDP_RR\"\nsize = 64").groups();
        assert_eq!(groups, [Group { members: vec![Member { cell: 0, arm: 0 }], in_turn: Some(Unfit::NoArms) }]);
    }
}
