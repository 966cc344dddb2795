//! Receipts of a whole run: from trial records, one by one, to a
//! [`ReceiptStudy`].
//!
//! ```text
//! TrialRecord -> Receipts: KeptEnd of each cell, arm and end; names and chains once
//!             -> Known: what the rules say of each chain
//!             -> end: Receipt -> series -> ReceiptStudy
//! ```
//!
//! A chain takes 8 bytes in each trial that has it, so that 300 cells of 30
//! blocks, whose ends have 1,000 chains and 200 counted functions each, need some
//! 300 MB while they are gathered.

pub(crate) mod chain_attributes;
pub(crate) mod chains;
mod compare;
pub(crate) mod end;
mod files;
pub(crate) mod kept;
mod refusals;
mod result;
mod series;
mod slices;
#[cfg(test)]
mod tests;

use model::Refusal;
use model::end::Counts;
use model::profile::Observation;
use model::trial::{Measured, Outcome};
use model::woven::Slice;
use model::{Bytes, Cell, Nanos, Plan, Role, TrialRecord};

use super::{Context, Study};
use crate::ends::messages;
use stats::median;

use attribution::Rules;
use chain_attributes::ChainAttributes;
use chains::Chains;
use kept::{Edges, KeptEnd, Unkept};
use refusals::Refusals;
use slices::GroupSlices;

pub use compare::compare_studies;
pub use result::*;

/// Name in [`ReceiptStudy::rules`] of the rules that come with nettoll.
pub const BUILT_IN: &str = "built in";

/// The confidence asked for of the observer's cost over cells.
const CONFIDENCE: f64 = 0.95;

/// The study of a plan with receipts: the part of each trial that they need.
#[derive(Debug)]
pub(crate) struct Receipts {
    rules: Rules,
    source: String,
    chains: Chains,
    /// The names of the arms; of a plan without, one that has none.
    arms: Vec<Option<String>>,
    /// By the place of the cell, then by arm.
    groups: Vec<Group>,
    /// The same of the plan's cells.
    slices: Vec<GroupSlices>,
    absences: Refusals,
}

/// The trials of one cell in one arm.
#[derive(Debug)]
struct Group {
    /// The plan's cell in words, with the arm.
    label: String,
    /// By [`Role`].
    ends: [KeptEnd; 2],
}

impl Group {
    fn new(cell: &Cell, arm: Option<&str>) -> Self {
        Self { label: labelled(&cell.to_string(), arm), ends: Default::default() }
    }

    fn any(&self) -> bool {
        self.ends.iter().any(|end| end.passes != Default::default())
    }
}

/// A name with its arm behind it.
fn labelled(name: &str, arm: Option<&str>) -> String {
    arm.map_or_else(|| name.to_owned(), |arm| format!("{name}, {arm}"))
}

impl Study for Receipts {
    type Result = ReceiptStudy;

    /// By the rules that come with nettoll, which a test reads.
    fn for_plan(plan: &Plan) -> Option<Self> {
        plan.receipt?;
        let arms = if plan.arms.is_empty() { vec![None] } else { plan.arms.iter().map(|arm| Some(arm.name.clone())).collect() };
        let mut receipts = Self {
            rules: Rules::builtin().ok()?,
            source: BUILT_IN.to_owned(),
            chains: Chains::default(),
            arms,
            groups: Vec::new(),
            slices: plan.groups().iter().map(|group| GroupSlices::of_group(plan, group)).collect(),
            absences: Refusals::default(),
        };
        plan.cells.iter().for_each(|cell| receipts.add_cell(cell));
        Some(receipts)
    }

    fn push_record(&mut self, record: &TrialRecord, place: usize, arm: usize) {
        let group = place * self.arms.len() + arm;
        while group >= self.groups.len() {
            self.add_cell(&record.cell);
        }
        match &record.outcome {
            Outcome::Measured(measured) => {
                for role in [Role::Sender, Role::Receiver] {
                    self.push_end(group, record, measured, role);
                }
            }
            Outcome::Skipped { reason } => {
                self.missing(group);
                let (what, remedy) = (format!("{} passes", record.pass), "See what `nettoll doctor` says of this machine");
                self.absences.push(record.pass.samples(), &what, reason, remedy);
            }
            Outcome::Failed { .. } => self.missing(group),
        }
    }

    fn push_slices(&mut self, group: usize, instance: u32, slices: &[Slice]) {
        if let Some(of_group) = self.slices.get_mut(group) {
            of_group.push(instance, slices);
        }
    }

    fn finish(mut self, context: &Context) -> Option<ReceiptStudy> {
        let warnings = &context.analysis.run.warnings;
        for (number, (group, slices)) in self.groups.iter_mut().zip(&self.slices).enumerate() {
            let ends = group.ends.iter_mut().zip(slices.of_ends(slices::refusal(warnings, number)));
            ends.for_each(|(end, sampled)| end.sampled = sampled);
        }
        self.groups.iter_mut().flat_map(|group| &mut group.ends).for_each(KeptEnd::sort);
        let files = files::names(&self.groups);
        let mut known = ChainAttributes::new(&self.chains, &self.rules);
        // Each cell's trials are let go when its receipts are made.
        let kept = self.groups.into_iter().zip(files).enumerate().filter(|(_, (group, _))| group.any());
        let (cells, segments): (Vec<CellReceipt>, Vec<Option<Bytes>>) = kept
            .map(|(number, (group, file))| {
                let (place, arm) = (number / self.arms.len(), number % self.arms.len());
                let trials = &context.table.arm(arm)[place];
                let [sender, receiver] =
                    [Role::Sender, Role::Receiver].map(|role| end::end(&trials.as_run, role, &group.ends[role as usize], &mut known));
                let cell = context.table.cells()[place].clone();
                (CellReceipt { cell, label: group.label, arm: self.arms[arm].clone(), file, sender, receiver }, trials.segment)
            })
            .unzip();
        let series = series::series(&cells, &segments, context.paths);
        Some(ReceiptStudy {
            rules: self.source,
            rule_count: self.rules.len(),
            observer: median::estimate(&observers(&cells), CONFIDENCE),
            absences: self.absences.finish(),
            series,
            cells,
        })
    }
}

impl Receipts {
    /// Classifies by other rules; `source` names their file.
    pub fn set_rules(&mut self, source: String, rules: Rules) {
        (self.source, self.rules) = (source, rules);
    }

    fn add_cell(&mut self, cell: &Cell) {
        self.groups.extend(self.arms.iter().map(|arm| Group::new(cell, arm.as_deref())));
    }

    fn missing(&mut self, group: usize) {
        self.groups[group].ends.iter_mut().for_each(|end| end.passes.missing += 1);
    }

    fn push_end(&mut self, group: usize, record: &TrialRecord, measured: &Measured, role: Role) {
        let report = measured.end(role);
        let seen = measured.observed.as_ref().map(|observed| observed.of(role));
        seen.iter().for_each(|seen| self.refused(seen));
        let group = &mut self.groups[group];
        let ticks = if role == Role::Sender { measured.sender_host.cpu } else { measured.receiver_host.cpu };
        let [moved, whole] = [&report.counts, &report.total].map(|counts: &Counts| messages(report, counts, &record.cell));
        let edges = Edges {
            block: record.block,
            wall: Nanos::new(report.window.length().get().saturating_mul(report.threads.len().max(1) as u64)),
            cpu: report.cpu_time,
            messages: moved,
            stolen: ticks.stolen(),
            wakeups: measured.wakeups[role as usize].map(|cost| (report.switches.voluntary, cost)),
        };
        let end = &mut group.ends[role as usize];
        if let Err(why) = end.push((record.pass, role), edges, whole, seen, &mut self.chains) {
            end.passes.missing += 1;
            // Who refused to look has said why.
            if why != Unkept::Unseen {
                let remedy = "The other trials are used without it";
                self.absences.push(false, &format!("a {} pass of {}, {role}", record.pass, group.label), &why.to_string(), remedy);
            }
        }
    }

    fn refused(&mut self, seen: &Observation) {
        for Refusal { what, answer, remedy } in &seen.refused {
            self.absences.push(false, what, answer, remedy);
        }
        if let Some(counts) = &seen.counts {
            self.absences.push_uncounted(&counts.refused);
        }
    }

    /// The folded stacks of each cell and end that has any: the name of a file
    /// for `stacks/`, and what belongs into it. One after the other, since all of
    /// them together may be large.
    pub fn stacks(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let files = files::names(&self.groups);
        self.groups.iter().zip(files).flat_map(|(group, file)| {
            let text = |role: &Role| Some((format!("{file}.{role}.folded"), end::folded(&group.ends[*role as usize], &self.chains)?));
            Role::ALL.iter().filter_map(text).collect::<Vec<_>>()
        })
    }
}

/// The cost of sampling each end of each cell.
fn observers(cells: &[CellReceipt]) -> Vec<f64> {
    let receipts = cells.iter().flat_map(CellReceipt::receipts);
    receipts.filter_map(|receipt| Some(receipt.observer.as_ref()?.ratio.value)).collect()
}
