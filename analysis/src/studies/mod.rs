//! Studies: each turns the trial table, and what it kept of trials beyond it,
//! into one result of a run.
//!
//! A new study is a folder here with a type that implements [`Study`], and a
//! line in the list at the end of this file.

pub mod arms;
pub mod buffers;
pub mod fleet;
pub mod hand_over;
pub mod levels;
pub mod open_loop;
pub mod order;
pub mod peers;
pub mod published;
pub mod receipt;
pub mod repetitions;
pub mod roles;
pub mod verdicts;
pub mod ways;

use model::host::HostFacts;
use model::woven::Slice;
use model::{Plan, Run, TrialRecord};
use serde::ser::SerializeMap;
use stats::bootstrap::Batches;

use crate::cells::CellResult;
use crate::confidence::Confidence;
use crate::conservation::{Balance, Ledger};
use crate::cost::{self, CostModel};
use crate::findings::{Disturbed, Finding};
use crate::paths::Paths;
use crate::table::{Trial, TrialTable};
use crate::timeline::TrialPoint;

/// The version of [`Analysis`] as JSON.
pub const ANALYSIS_FORMAT: u32 = 1;

/// Everything that a run shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// [`ANALYSIS_FORMAT`].
    pub format: u32,
    /// The run.
    pub run: Run,
    /// Its hosts before the run.
    pub hosts: Vec<HostFacts>,
    /// Blocks with at least one trial.
    pub blocks: u32,
    /// Trials that were measured.
    pub trials: u64,
    /// Trials that failed.
    pub failed: u64,
    /// One entry a cell, in the plan's order; of a study with arms, in the first
    /// of them.
    pub cells: Vec<CellResult>,
    /// Every doubt, equal ones counted together, the gravest first.
    pub findings: Vec<Finding>,
    /// The number of trials that the machine disturbed.
    pub disturbed: Disturbed,
    /// True where interrupt time came in ticks and was pooled over the trials of
    /// each cell.
    pub irq_pooled: bool,
    /// Every trial without an observer, by the time at which it began; JSON leaves them out.
    pub timeline: Vec<TrialPoint>,
    /// The results of the studies that the run has any of, in the order of their
    /// list.
    pub studies: Vec<StudyResult>,
}

/// The input of a study that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The analysis so far: all but the results of later studies.
    pub analysis: &'a Analysis,
    /// The trials of the run.
    pub table: &'a TrialTable,
    /// The confidence of its intervals.
    pub confidence: Confidence,
    /// The batches by which its blocks are resampled.
    pub batches: &'a Batches,
    /// Facts about its links.
    pub paths: &'a Paths,
}

impl<'a> Context<'a> {
    /// The plan of the run.
    pub const fn plan(&self) -> &'a Plan {
        &self.analysis.run.plan
    }

    /// The context of cost models.
    pub const fn cost(&self) -> cost::Context<'a> {
        cost::Context { confidence: self.confidence, batches: self.batches, paths: self.paths, seed: self.plan().seed }
    }
}

/// A kind of result that a run may have.
pub(crate) trait Study: Sized {
    /// Its result.
    type Result;

    /// The study of a plan; `None` of one that gives it nothing to do.
    fn for_plan(plan: &Plan) -> Option<Self>;

    /// Keeps what the study needs of a trial beyond its row in the table.
    fn push(&mut self, _trial: &Trial) {}

    /// Keeps what it needs of any record, those of other passes than the clean
    /// one and of trials that failed among them. `place` and `arm` are those of the
    /// table.
    fn push_record(&mut self, _record: &TrialRecord, _place: usize, _arm: usize) {}

    /// Keeps the slices of an instance of a group of the plan, by its place.
    fn push_slices(&mut self, _group: usize, _instance: u32, _slices: &[Slice]) {}

    /// The result; `None` where the trials show none.
    fn finish(self, context: &Context) -> Option<Self::Result>;
}

/// The cost models of every run.
#[derive(Debug)]
pub(crate) struct Models;

impl Study for Models {
    type Result = Vec<CostModel>;

    fn for_plan(_: &Plan) -> Option<Self> {
        Some(Self)
    }

    fn finish(self, context: &Context) -> Option<Vec<CostModel>> {
        Some(cost::models(context.table.arm(0), &context.cost())).filter(|models| !models.is_empty())
    }
}

impl Study for Ledger {
    type Result = Balance;

    fn for_plan(_: &Plan) -> Option<Self> {
        Some(Self::default())
    }

    fn push(&mut self, trial: &Trial) {
        self.add(trial.measured, trial.cell);
    }

    fn finish(self, _: &Context) -> Option<Balance> {
        self.any().then(|| self.balance())
    }
}

/// A result's type: one, or a list of some.
macro_rules! result {
    ([$item:ty]) => { Vec<$item> };
    ($one:ty) => { $one };
}

/// The type by which it is read: a list that a run has nothing of is empty.
macro_rules! read {
    ([$item:ty]) => { &[$item] };
    ($one:ty) => { Option<&$one> };
}

macro_rules! found {
    ([$item:ty], $found:expr) => {
        $found.map_or(&[], Vec::as_slice)
    };
    ($one:ty, $found:expr) => {
        $found
    };
}

macro_rules! studies {
    ($($(#[$doc:meta])* $key:ident: $study:ty => $variant:ident($($result:tt)+);)*) => {
        /// The result of a study.
        #[derive(Debug, Clone, PartialEq)]
        pub enum StudyResult {
            $($(#[$doc])* $variant(result!($($result)+)),)*
        }

        impl StudyResult {
            pub(crate) fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $(Self::$variant(result) => map.serialize_entry(stringify!($key), result),)* }
            }
        }

        /// The studies that a plan has anything for.
        #[derive(Debug)]
        pub(crate) struct Studies {
            $(pub $key: Option<$study>,)*
        }

        impl Studies {
            /// The studies of a plan, without trials.
            pub fn for_plan(plan: &Plan) -> Self {
                Self { $($key: Study::for_plan(plan),)* }
            }

            /// Tells every study of a trial that has its row in the table.
            pub fn push(&mut self, trial: &Trial) {
                $(if let Some(study) = &mut self.$key { study.push(trial); })*
            }

            /// Tells every study of a record.
            pub fn push_record(&mut self, record: &TrialRecord, place: usize, arm: usize) {
                $(if let Some(study) = &mut self.$key { study.push_record(record, place, arm); })*
            }

            /// Tells every study of the slices of an instance.
            pub fn push_slices(&mut self, group: usize, instance: u32, slices: &[Slice]) {
                $(if let Some(study) = &mut self.$key { study.push_slices(group, instance, slices); })*
            }

            /// Adds the results to an analysis, each study knowing those before it.
            pub fn finish(self, analysis: &mut Analysis, table: &TrialTable, confidence: Confidence, batches: &Batches, paths: &Paths) {
                $(
                    let context = Context { analysis, table, confidence, batches, paths };
                    let result = self.$key.and_then(|study| study.finish(&context));
                    analysis.studies.extend(result.map(StudyResult::$variant));
                )*
            }
        }

        impl Analysis {
            $(
                $(#[$doc])*
                pub fn $key(&self) -> read!($($result)+) {
                    let found = self.studies.iter().find_map(|study| match study {
                        StudyResult::$variant(result) => Some(result),
                        _ => None,
                    });
                    found!($($result)+, found)
                }
            )*
        }
    };
}

studies! {
    /// Cost models, one for each series of stream cells and each quantity.
    models: Models => Models([CostModel]);
    /// The effect of exchanging the hosts' roles; `None` without any block that
    /// was measured.
    roles: roles::RoleStudy => Roles(roles::Roles);
    /// The balance of the datagrams of all UDP trials; `None` without any.
    datagrams: Ledger => Datagrams(Balance);
    /// The receipts of the run's cells; `None` of a study without.
    receipt: receipt::Receipts => Receipt(receipt::ReceiptStudy);
    /// Goodput over socket buffers; empty of a study that varies none.
    buffers: buffers::Buffers => Buffers([buffers::BufferMap]);
    /// The published study that the run repeats, next to its own figures.
    published: published::Repeated => Published(published::Published);
    /// Every arm but the first.
    arms: arms::Arms => Arms([arms::ArmResult]);
    /// Each of them compared with the first.
    verdicts: verdicts::Verdicts => Verdicts([verdicts::ArmVerdict]);
    /// How exactly slices take turns; `None` of arms and ways in turn.
    hand_over: hand_over::HandOvers => HandOver(hand_over::HandOver);
    /// Conditions next to their base level; `None` of a plan that varies none.
    levels: levels::Levels => Levels(levels::LevelStudy);
    /// Counts side by side; `None` where no cells differ in their count alone.
    repetitions: repetitions::Repetitions => Repetitions(repetitions::RepetitionStudy);
    /// Rates side by side; `None` where none was offered.
    open_loop: open_loop::OpenLoop => OpenLoop(open_loop::OpenLoopStudy);
    /// The order of the blocks of a run without arms; `None` where it shows nothing.
    order: order::Order => Order(order::OrderStudy);
    /// Ways of sending side by side; `None` of a plan that has one.
    ways: ways::Ways => Ways(ways::WayStudy);
    /// Machines at the end that is several, each by itself; empty where each end is on one.
    peers: peers::Peers => Peers([peers::CellPeers]);
    /// Hosts and pairs of a fleet; `None` of a study of two hosts.
    fleet: fleet::Fleet => Fleet(fleet::FleetResult);
}
