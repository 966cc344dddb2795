//! Comparisons that can be woven, and why others are not.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LinkKind, Plan, PlanEnd};
use crate::api::Api;
use crate::cell::Cell;
use crate::traffic::Test;
use crate::woven::{MOST_ARMS, SAMPLED, SliceTimes, TooShort};

/// Reason for which arms are compared in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// There are neither two arms nor two ways of sending.
    NoArms,
    /// Hosts are other machines, of the plan or of an arm.
    Machines,
    /// Receipts have passes of their own.
    Receipt,
    /// Settings change the whole machine.
    HostWide,
    /// Commands run around each trial, and may change the whole machine.
    Commands,
    /// The link is slow to drain.
    Link,
    /// Connections are set up.
    Connections,
    /// A cell has more flows than have a turn each in a slice.
    Flows,
    /// The ends are a network stack of their own, which counts time while it is stopped.
    OwnStack,
    /// A thread of the kernel's works for an end, whose time is in no edge.
    KernelThread,
    /// Trials are of a number of messages.
    Count,
    /// Other load runs next to the ends.
    Conditions,
    /// A slice has too few messages of the offered rate.
    Rate,
    /// Requests of an offered rate wait for their answers beyond their slice.
    Requests,
    /// The kernel takes interrupt time out of CPU time, in ticks.
    InterruptTime,
}

impl Unfit {
    /// In words that follow "because".
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoArms => "there are no two arms, or ways of sending, to compare",
            Self::Machines => "the hosts are other machines",
            Self::Receipt => "receipts have passes of their own",
            Self::HostWide => "an arm changes the whole machine",
            Self::Commands => "an arm runs commands, which may change the whole machine (--woven weaves it all the same)",
            Self::Link => "the link takes long to drain",
            Self::Connections => "a slice has no beginning of a connection",
            Self::Flows => "a cell has more flows than have a turn in each slice",
            Self::OwnStack => "the ends are a network stack of their own, whose timers run on while it is stopped",
            Self::KernelThread => "a thread of the kernel's sends for an end, in others' turns as well",
            Self::Count => "trials are of a number of messages",
            Self::Conditions => "a cell has load next to its ends",
            Self::Rate => "a slice has too few messages of the offered rate",
            Self::Requests => "requests of an offered rate wait for their answers beyond their slice",
            Self::InterruptTime => "this kernel keeps interrupt time apart, in ticks",
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.reason())
    }
}

/// Why a plan's arms, or ways of sending, cannot be woven, as far as the plan says; `None` where they can. Single ways that
/// cannot are no reason: they stay in turn.
pub fn unfit(plan: &Plan) -> Option<Unfit> {
    let are_ways = plan.arms.len() < 2;
    let of_plan = [
        (are_ways && plan.cells_by_way().iter().all(|alike| alike.len() < 2), Unfit::NoArms),
        (are_machines(plan), Unfit::Machines),
        (plan.receipt.is_some(), Unfit::Receipt),
        (!matches!(plan.end, PlanEnd::Length(_)), Unfit::Count),
        // Trials in turn run between the same hosts, next to nothing.
        (are_ways && plan.cells.iter().any(|cell| !cell.conditions.is_usual()), Unfit::Conditions),
    ];
    let arms = plan.arms.len().min(MOST_ARMS);
    let of_cells = || match are_ways {
        true => plan.groups().iter().map(|group| group.in_turn).reduce(|first, other| other.and(first))?,
        false => plan.cells_run().iter().find_map(|cell| unfit_cell(plan, cell, arms)),
    };
    of_plan.into_iter().find_map(|(is, why)| is.then_some(why)).or_else(of_cells)
}

/// Why a plan's arms are compared in turn unless the user has them woven; `None` where they are woven.
pub fn rather_in_turn(plan: &Plan) -> Option<Unfit> {
    let commands = || plan.arms.iter().any(|arm| arm.host_settings().has_commands()).then_some(Unfit::Commands);
    unfit(plan).or_else(commands)
}

/// Why the samplers of a cell's ends are not switched on and off in a trial of a receipt, as far as the plan says.
pub(super) fn unfit_sampled(plan: &Plan, cell: &Cell) -> Option<Unfit> {
    match () {
        () if are_machines(plan) => Some(Unfit::Machines),
        () if !matches!(plan.end, PlanEnd::Length(_)) => Some(Unfit::Count),
        () => unfit_cell(plan, cell, SAMPLED.len()),
    }
}

/// Hosts are other machines, of the plan or of an arm.
fn are_machines(plan: &Plan) -> bool {
    plan.fleet.is_some() || !plan.hosts.is_empty() || plan.arms.iter().any(|arm| !arm.host_settings().hosts.is_empty())
}

/// Why a cell is not woven with others, so many with it.
pub(super) fn unfit_cell(plan: &Plan, cell: &Cell, together: usize) -> Option<Unfit> {
    let reasons = [
        (!matches!(plan.link_of(cell).kind, LinkKind::Veth | LinkKind::Loopback), Unfit::Link),
        (cell.test == Test::TcpCrr, Unfit::Connections),
        (cell.is_apart(), Unfit::OwnStack),
        (cell.api == Api::UringSqpoll, Unfit::KernelThread),
        (cell.count.is_some(), Unfit::Count),
        (!cell.conditions.is_usual(), Unfit::Conditions),
        (cell.rate.is_some() && !cell.test.is_stream(), Unfit::Requests),
    ];
    let too_short = || match SliceTimes::of(cell, together).err()? {
        TooShort::Flows => Some(Unfit::Flows),
        TooShort::Rate => Some(Unfit::Rate),
    };
    reasons.into_iter().find_map(|(is, why)| is.then_some(why)).or_else(too_short)
}

#[cfg(test)]
mod tests {
    use super::{Unfit, rather_in_turn, unfit};
    use crate::Mix;
    use crate::plan::{Plan, RawPlan, resolve};

    fn plan(more: &str) -> Plan {
        let text = format!("name = \"one\"\n{more}");
        resolve(&RawPlan::parse(&text).unwrap(), &[], 1).unwrap().into_plan()
    }

    #[test]
    fn each_reason_is_found() {
        let arms = "arms = [\"a\", \"b: sndbuf=64K\"]";
        let cell = |cell: &str| plan(&format!("trial = {{ length = \"50ms\" }}\n{arms}\n[[cells]]\n{cell}"));
        assert_eq!(unfit(&cell("test = \"UDP_STREAM\"\nsize = 64")), None);
        assert_eq!(unfit(&cell("test = \"TCP_CRR\"\nsize = 64")), Some(Unfit::Connections));
        for fit in ["flows = 4", "bidirectional = true", "rate = \"10000/s\""] {
            assert_eq!(unfit(&cell(&format!("test = \"UDP_STREAM\"\nsize = 64\n{fit}"))), None, "{fit}");
        }
        let mut mixed = cell("test = \"TCP_STREAM\"\nsize = 64");
        mixed.cells[0] = mixed.cells[0].of_mix(Mix::new("W1", 1, &[(64, 0.5), (1_000, 0.5)]).unwrap());
        assert_eq!(unfit(&mixed), None);
        assert_eq!(unfit(&cell("test = \"UDP_RR\"\nsize = 64\nflows = 19")), Some(Unfit::Flows));
        assert_eq!(unfit(&cell("test = \"UDP_STREAM\"\nsize = 64\nrate = \"100/s\"")), Some(Unfit::Rate));
        assert_eq!(unfit(&cell("test = \"UDP_RR\"\nsize = 64\nrate = \"10000/s\"")), Some(Unfit::Requests));
        assert_eq!(unfit(&plan("trial = { length = \"50ms\" }\n[[cells]]\ntest = \"UDP_RR\"\nsize = 64")), Some(Unfit::NoArms));
        let ways = |more: &str| plan(&format!("trial = {{ length = \"50ms\" }}\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\n{more}"));
        assert_eq!(unfit(&ways("api = [\"send\", \"gso\", \"uring-sqpoll\"]")), None);
        assert_eq!(unfit(&ways("api = [\"send\", \"uring-sqpoll\"]")), Some(Unfit::KernelThread));
        assert_eq!(unfit(&ways("api = [\"send\", \"gso\"]\nrate = \"100/s\"")), Some(Unfit::Rate));
        assert_eq!(unfit(&ways("api = [\"exec:a\", \"exec:b -x\"]")), None);
        assert_eq!(unfit(&ways("api = [\"tpi-sockets\", \"tpi-streams\"]")), Some(Unfit::OwnStack));
        assert_eq!(unfit(&cell("test = \"UDP_STREAM\"\nsize = 64\napi = \"uring-sqpoll\"")), Some(Unfit::KernelThread));
        let commands = plan("trial = { length = \"50ms\" }\narms = [\"a\", \"b: before=true\"]\n[[cells]]\ntest = \"UDP_RR\"\nsize = 64");
        assert_eq!((unfit(&commands), rather_in_turn(&commands)), (None, Some(Unfit::Commands)));
        let slow = plan(&format!(
            "trial = {{ length = \"50ms\" }}\n{arms}\nlink = {{ kind = \"ethernet 10M\" }}\n[[cells]]\ntest = \"UDP_RR\"\nsize = 64"
        ));
        assert_eq!(unfit(&slow), Some(Unfit::Link));
        let counted = plan(&format!("trial = {{ messages = 50 }}\n{arms}\n[[cells]]\ntest = \"UDP_RR\"\nsize = 64"));
        assert_eq!(unfit(&counted), Some(Unfit::Count));
    }
}
