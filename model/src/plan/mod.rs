//! A plan: what a study varies, how long, how often, over which link.
//!
//! [`raw`] is what a person wrote; [`Plan`] is what it means; [`ApprovedPlan`] is one that may be
//! carried out. Presets are TOML files in `plans/`, compiled in.

mod approval;
mod cells;
mod changes;
mod conditions;
mod describe;
mod error;
mod fitness;
mod fleet;
mod groups;
mod link_check;
mod many;
pub mod raw;
pub mod receipt;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::arm::{Arm, ArmError};
use crate::cell::Cell;
use crate::pass::Pass;
use crate::quantity::{Bytes, Nanos};
use crate::schedule::{Roles, Shape};
use crate::sorting::Order;
use crate::woven::{self, SliceTimes};

pub use crate::agent_address::{AGENT_PORT, HOST_NAMES, HostAddress, OnLoss, host_side};
pub use crate::cell::{Factor, Level, LevelError};
pub use crate::host_place::{CommandHost, HostPlace, HostPlaceError, Transport};
pub use crate::link::{Link, LinkKind, Offload};
pub use crate::schedule::LOOKS;
pub use approval::{Action, ApprovalError, ApprovedPlan};
pub use cells::{Levels, Override};
pub use error::PlanError;
pub use fitness::{Unfit, rather_in_turn, unfit};
pub use fleet::{FleetHost, FleetPlan, MOST_HOSTS, MOST_ROUNDS, RETRY_ROUNDS, is_host_name};
pub use groups::{Group, Member};
pub use raw::RawPlan;
pub use receipt::ReceiptPlan;
pub use resolve::{LOAD_OVERHEAD, Shortened, TRIAL_OVERHEAD, check_stored, resolve};

/// The presets: the name of each, and its text.
pub const PRESETS: &[(&str, &str)] = &[
    ("bidulock2007", include_str!("../../../plans/bidulock2007.toml")),
    ("buffers", include_str!("../../../plans/buffers.toml")),
    ("cabrera1984", include_str!("../../../plans/cabrera1984.toml")),
    ("host-load", include_str!("../../../plans/host-load.toml")),
    ("incast", include_str!("../../../plans/incast.toml")),
    ("jacobson1988", include_str!("../../../plans/jacobson1988.toml")),
    ("latency", include_str!("../../../plans/latency.toml")),
    ("link-load", include_str!("../../../plans/link-load.toml")),
    ("placement", include_str!("../../../plans/placement.toml")),
    ("priorities", include_str!("../../../plans/priorities.toml")),
    ("quick", include_str!("../../../plans/quick.toml")),
    ("receipt", include_str!("../../../plans/receipt.toml")),
    ("repetitions", include_str!("../../../plans/repetitions.toml")),
    ("runtimes", include_str!("../../../plans/runtimes.toml")),
    ("size", include_str!("../../../plans/size.toml")),
    ("waiting", include_str!("../../../plans/waiting.toml")),
    ("ways", include_str!("../../../plans/ways.toml")),
];

/// The text of a preset.
pub fn preset(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, text)| *text)
}

/// A plan with every default filled in and every limit checked.
///
/// A plan that [`resolve`] returns has at least one cell, no cell twice, `least <=
/// most`, every size at least 1, every datagram within the limit of its family.
/// One read from a run directory is taken as it was stored. A plan is data: only an
/// [`ApprovedPlan`] is carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The name of the study; letters, digits, `-` and `_`.
    pub name: String,
    /// One line for a person.
    pub title: String,
    /// The published study that it repeats, by name: published figures stand
    /// next to what was measured. Letters, digits, `-` and `_`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Description of what the study varies, measures and shows: a few sentences for someone who
    /// has never seen it; empty where its author wrote none.
    #[serde(rename = "about", default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// End of a trial.
    pub end: PlanEnd,
    /// The shortest measured part of a trial of a number of messages: it sends more of them
    /// until it lasts so long. 0: exactly as many as `end` says.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub least: Nanos,
    /// Time of traffic before the measured part.
    pub warmup: Nanos,
    /// Number of blocks, and the end of the study.
    pub blocks: Blocks,
    /// Link that joins the hosts.
    pub link: Link,
    /// The hosts that are other machines, by their names: `a`, `b` or both, and `a2`, `a3`, ... or `b2`, `b3`, ... where
    /// many send to one, or one to many. Empty: nettoll makes all on this machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, HostPlace>,
    /// The fleet whose pairs are measured, in place of `hosts`; `None` of a study of two hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlan>,
    /// Conduct when an agent vanishes.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub on_loss: OnLoss,
    /// The port that listeners are bound to; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_port: Option<u16>,
    /// Time between two reports of progress of the ends; `None`: they report none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Nanos>,
    /// The CPUs that the ends on a host are bound to, by the host's name, the
    /// first flow's first. A host that is not named chooses for itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpus: BTreeMap<String, Vec<u32>>,
    /// The seed of every random order.
    pub seed: u64,
    /// Hosts that send.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub roles: Roles,
    /// The breakdown of each cell's time; `None`: none is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptPlan>,
    /// Sets of settings that are compared with each other, the baseline first.
    /// Empty: nothing is compared. Otherwise at least two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<Arm>,
    /// True where all arms of a cell are alive and take turns of some milliseconds; see [`crate::woven`].
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub woven: bool,
    /// True where settings outside the hosts that nettoll makes may be changed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub host_wide: bool,
    /// Cells, in the order in which reports show them.
    pub cells: Vec<Cell>,
}

impl Plan {
    /// Returns the contents of every block.
    pub fn shape(&self) -> Shape<'_> {
        let passes = self.receipt.as_ref().map_or([Pass::Clean].as_slice(), |_| Pass::ALL);
        Shape { cells: self.cells.len(), arms: self.arms.len().max(1), passes, most: self.blocks.most, roles: self.roles }
    }

    /// The cell that the trials of a cell run in an arm: its settings stand over the
    /// cell. The cell itself where the plan has no such arm.
    ///
    /// # Errors
    /// A level that the cell cannot take. A plan that was resolved has none.
    pub fn cell_in(&self, cell: &Cell, arm: usize) -> Result<Cell, ArmError> {
        self.arms.get(arm).map_or_else(|| Ok(cell.clone()), |arm| arm.apply(cell))
    }

    /// Every cell in every arm, as its trials run it.
    fn in_arms(&self) -> impl Iterator<Item = Cell> {
        let arms = 0..self.arms.len().max(1);
        self.cells.iter().flat_map(move |cell| arms.clone().filter_map(move |arm| self.cell_in(cell, arm).ok()))
    }

    /// Every cell as some trial runs it, each once.
    pub fn cells_run(&self) -> BTreeSet<Cell> {
        self.in_arms().collect()
    }

    /// Returns the link that the trials of a cell as run cross: its own with
    /// the settings of the plan's, or the plan's.
    pub fn link_of(&self, cell: &Cell) -> Link {
        Link { kind: cell.conditions.link.unwrap_or(self.link.kind), ..self.link.clone() }
    }

    /// The links that trials cross: the plan's own first where one does, the
    /// others in the order of the cells. At least one.
    pub fn links(&self) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        for link in self.in_arms().map(|cell| self.link_of(&cell)) {
            if !links.contains(&link) {
                links.push(link);
            }
        }
        links.order_by_key(|link| *link != self.link);
        if links.is_empty() { vec![self.link.clone()] } else { links }
    }

    /// The most pairs of other hosts that a trial over a link needs.
    pub fn most_pairs(&self, link: &Link) -> u32 {
        let on_link = |cell: &Cell| self.link_of(cell) == *link;
        let pairs = |cell: &Cell| cell.conditions.link_load.pairs.max(cell.conditions.most_hosts().saturating_sub(1));
        self.cells_run().iter().filter(|cell| on_link(cell)).map(pairs).max().unwrap_or(0)
    }

    /// The groups of a woven plan: what runs together, around a reference. Of a plan with receipts each cell in each arm,
    /// once for each of [`woven::SAMPLED`].
    pub fn groups(&self) -> Vec<Group> {
        groups::of(self)
    }

    /// Places of the cells that are equal but for their way of sending and receiving; plain `send` first.
    pub fn cells_by_way(&self) -> Vec<Vec<usize>> {
        groups::by_way(&self.cells)
    }

    /// Times of the slices of a group: as long as the member needs that needs the longest.
    pub fn slice_times(&self, group: &Group) -> SliceTimes {
        let together = group.members.len();
        // Cells of a plan that is fit have them all.
        let of = |member: &Member| SliceTimes::of(&self.cell_in(self.cells.get(member.cell)?, member.arm).ok()?, together).ok();
        group.members.iter().filter_map(of).reduce(SliceTimes::max).unwrap_or(SliceTimes::LONG)
    }

    /// Length of an instance of a group.
    pub fn instance_length(&self, group: &Group) -> Nanos {
        self.slice_times(group).instance_length(&self.cells[group.reference().cell], group.members.len())
    }

    /// Time of a group in each block, with its start and its end.
    pub fn group_time(&self, group: &Group) -> Nanos {
        let length = if let PlanEnd::Length(length) = self.end { length } else { Nanos::default() };
        match group.in_turn {
            None => self.instance_length(group) + woven::OVERHEAD,
            Some(_) => Nanos::new((self.warmup + length + TRIAL_OVERHEAD).get().saturating_mul(group.members.len() as u64)),
        }
    }

    /// Time of all groups in each block.
    pub fn instances_time(&self) -> Nanos {
        self.groups().iter().fold(Nanos::default(), |sum, group| sum + self.group_time(group))
    }

    /// Time of all trials beyond their measured time and warm-up, for estimates.
    pub fn overheads(&self) -> Nanos {
        let loaded = self.in_arms().filter(|cell| !cell.conditions.load.is_usual()).count() as u64;
        let trials = (self.shape().passes.len() as u64).saturating_mul(self.blocks.most.into());
        let more = LOAD_OVERHEAD.get().saturating_mul(loaded).saturating_mul(trials);
        Nanos::new(TRIAL_OVERHEAD.get().saturating_mul(self.trials()).saturating_add(more)) + self.sampled_time()
    }

    /// Time of the instances of a receipt's [`woven::SAMPLED`] slices in all blocks; 0 of a plan without one.
    fn sampled_time(&self) -> Nanos {
        if self.receipt.is_none() {
            return Nanos::default();
        }
        let instances = woven::sampled_in_all(self.blocks.least, self.blocks.most);
        let woven = self.groups().into_iter().filter(|group| group.in_turn.is_none());
        woven.fold(Nanos::default(), |sum, group| sum + Nanos::new(self.group_time(&group).get().saturating_mul(instances.into())))
    }

    /// Trials of all blocks, if every block is run.
    pub fn trials(&self) -> u64 {
        let pairs = self.fleet.as_ref().map_or(1, |fleet| 2 * fleet.pairs() as u64);
        let of_groups = || self.groups().iter().map(|group| group.members.len()).sum();
        let each = if self.woven { of_groups() } else { self.shape().trials() };
        (each as u64).saturating_mul(u64::from(self.blocks.most)).saturating_mul(pairs)
    }
}

/// End of the trials of a plan, those excepted whose cell has a count of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEnd {
    /// After this much measured time.
    Length(Nanos),
    /// After this many messages beyond the warm-up; at least 1.
    Messages(u64),
    /// After this much payload beyond the warm-up, in whole messages; at least 1.
    Bytes(Bytes),
}

impl PlanEnd {
    /// The longest measured time, and the longest warm-up.
    pub const LONGEST: Nanos = Nanos::from_millis(86_400_000);

    /// Returns the end of a trial of a cell.
    pub fn of(self, cell: &Cell) -> TrialEnd {
        match (cell.count, self) {
            (Some(count), _) | (None, Self::Messages(count)) => TrialEnd::Messages(count),
            (None, Self::Length(length)) => TrialEnd::Length(length),
            (None, Self::Bytes(bytes)) => TrialEnd::Messages(bytes.get().div_ceil(cell.size.get().max(1)).max(1)),
        }
    }
}

/// End of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialEnd {
    /// After this much measured time.
    Length(Nanos),
    /// After this many messages beyond the warm-up; at least 1.
    Messages(u64),
}

impl TrialEnd {
    /// Messages sent before those that a trial of `messages` messages measures:
    /// a tenth as many, at least one; none without a warm-up. Both ends know
    /// the number beforehand, which they would not know of a time.
    pub const fn warmup_messages(messages: u64, warmup: Nanos) -> u64 {
        match (warmup.get(), messages / 10) {
            (0, _) => 0,
            (_, 0) => 1,
            (_, tenth) => tenth,
        }
    }
}

/// Number of blocks, and what ends them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// No fewer than this.
    pub least: u32,
    /// No more than this.
    pub most: u32,
    /// Wanted half-width of every cell's interval, as a share of its median.
    pub interval: f64,
    /// Confidence level of every interval, between 0.5 and 0.999.
    pub confidence: f64,
}
