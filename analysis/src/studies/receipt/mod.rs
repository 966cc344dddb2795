//! Receipts of a whole run: from trial records, one by one, to a
//! [`ReceiptStudy`].
//!
//! ```text
//! TrialRecord -> Receipts: KeptEnd of each cell, arm and end; names and chains once
//!             -> Known: what the rules say of each chain
//!             -> end: Receipt -> series, workloads, checksums -> ReceiptStudy
//! ```
//!
//! A chain takes 8 bytes in each trial that has it, so that 300 cells of 30
//! blocks, whose ends have 1,000 chains and 200 counted functions each, need some
//! 300 MB while they are gathered.

mod absences;
mod boundaries;
mod chains;
mod checksums;
mod compare;
mod end;
mod files;
mod kept;
mod known;
mod repeat;
mod result;
mod series;
mod softirq;
#[cfg(test)]
mod tests;
mod workloads;

use std::collections::HashMap;

use model::Unavailable;
use model::end::{Counts, EndReport};
use model::profile::Observation;
use model::trial::{Measured, Outcome};
use model::{Bytes, Cell, Plan, Role, TrialRecord};

use super::{Context, Study};
use crate::ends::{messages, segment_size};
use stats::median;

use absences::Absences;
use attribution::Rules;
use chains::Chains;
use kept::{Edges, KeptEnd, Unkept};
use known::Known;

use boundaries::Stack;
pub use compare::{compare_arms, compare_studies};
pub use result::*;
pub use workloads::WORKLOADS;

/// What [`ReceiptStudy::rules`] says of the rules that come with nettoll.
pub const BUILT_IN: &str = "built in";

/// The confidence asked for of the observer's cost over cells.
const CONFIDENCE: f64 = 0.95;

/// The study of a plan with receipts: what they need of each trial.
#[derive(Debug)]
pub(crate) struct Receipts {
    rules: Rules,
    source: String,
    chains: Chains,
    groups: Vec<Group>,
    places: HashMap<(Cell, Option<String>), usize>,
    absences: Absences,
}

/// What is kept of one cell in one arm.
#[derive(Debug)]
struct Group {
    /// The plan's cell.
    cell: Cell,
    arm: Option<String>,
    /// The cell as it is run in the arm.
    run: Cell,
    /// Sender and receiver.
    ends: [KeptEnd; 2],
    /// TCP's segment size.
    segment: Option<Bytes>,
}

impl Group {
    fn new(cell: &Cell, arm: Option<&str>) -> Self {
        Self { cell: cell.clone(), arm: arm.map(str::to_owned), run: cell.clone(), ends: Default::default(), segment: None }
    }

    fn label(&self) -> String {
        labelled(&self.cell.to_string(), self.arm.as_deref())
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
        let arms: Vec<Option<&str>> = match plan.arms.as_slice() {
            [] => vec![None],
            arms => arms.iter().map(|arm| Some(arm.name.as_str())).collect(),
        };
        let groups: Vec<Group> = plan.cells.iter().flat_map(|cell| arms.iter().map(|arm| Group::new(cell, *arm))).collect();
        let places = groups.iter().enumerate().map(|(place, group)| ((group.cell.clone(), group.arm.clone()), place)).collect();
        Some(Self {
            rules: Rules::builtin().ok()?,
            source: BUILT_IN.to_owned(),
            chains: Chains::default(),
            groups,
            places,
            absences: Absences::default(),
        })
    }

    fn push_record(&mut self, record: &TrialRecord) {
        let place = self.place(record);
        match &record.outcome {
            Outcome::Measured(measured) => {
                for role in [Role::Sender, Role::Receiver] {
                    self.push_end(place, record, measured, role);
                }
                let segment = &mut self.groups[place].segment;
                *segment = (*segment).max(segment_size(measured));
            }
            Outcome::Skipped { reason } => {
                self.missing(place);
                self.absences.push(&format!("{} passes", record.pass), reason, "See what `nettoll doctor` says of this machine");
            }
            Outcome::Failed { .. } => self.missing(place),
        }
    }

    fn finish(mut self, context: &Context) -> Option<ReceiptStudy> {
        let stack = Stack::of(&context.analysis.run, &context.analysis.hosts, context.paths.clone());
        self.groups.iter_mut().flat_map(|group| &mut group.ends).for_each(KeptEnd::sort);
        let files = files::names(&self.groups);
        let mut known = Known::new(&self.chains, &self.rules);
        // Each cell's trials are let go when its receipts are made.
        let kept = self.groups.into_iter().zip(files).filter(|(group, _)| group.any());
        let (cells, segments): (Vec<CellReceipt>, Vec<Option<Bytes>>) = kept
            .map(|(group, file)| {
                let [sender, receiver] = [Role::Sender, Role::Receiver]
                    .map(|role| end::end(&group.run, role, &group.ends[usize::from(role == Role::Receiver)], &mut known));
                let cell = CellReceipt { cell: group.cell.clone(), label: group.label(), arm: group.arm.clone(), file, sender, receiver };
                (cell, group.segment)
            })
            .unzip();
        let series = series::series(&cells, &segments, &stack);
        Some(ReceiptStudy {
            rules: self.source,
            rule_count: self.rules.len(),
            observer: median::estimate(&observers(&cells), CONFIDENCE),
            workloads: workloads::workloads(&cells, &series),
            checksums: checksums::checksums(&cells, &stack),
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

    fn place(&mut self, record: &TrialRecord) -> usize {
        let key = (record.cell.clone(), record.arm.clone());
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        self.groups.push(Group::new(&record.cell, record.arm.as_deref()));
        self.places.insert(key, self.groups.len() - 1);
        self.groups.len() - 1
    }

    fn missing(&mut self, place: usize) {
        self.groups[place].ends.iter_mut().for_each(|end| end.passes.missing += 1);
    }

    fn push_end(&mut self, place: usize, record: &TrialRecord, measured: &Measured, role: Role) {
        let report = if role == Role::Sender { &measured.sender } else { &measured.receiver };
        let seen = measured.observed.as_ref().map(|observed| observed.of(role));
        seen.iter().for_each(|seen| self.refused(seen));
        let group = &mut self.groups[place];
        if group.run != *record.cell_as_run() {
            group.run.clone_from(record.cell_as_run());
        }
        let [measured, whole] = [&report.counts, &report.total].map(|counts: &Counts| messages(report, counts, &group.run));
        let edges = edges(record.block, report, measured);
        let end = &mut group.ends[usize::from(role == Role::Receiver)];
        if let Err(why) = end.push(record.pass, edges, whole, seen, &mut self.chains) {
            end.passes.missing += 1;
            // Who refused to look has said why.
            if why != Unkept::Unseen {
                let remedy = "The other trials are used without it";
                self.absences.push(&format!("a {} pass of {}, {role}", record.pass, group.label()), &why.to_string(), remedy);
            }
        }
    }

    fn refused(&mut self, seen: &Observation) {
        for Unavailable { what, answer, remedy } in &seen.refused {
            self.absences.push(what, answer, remedy);
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
            let text = |(end, role): (&KeptEnd, Role)| Some((format!("{file}.{role}.folded"), end::folded(end, &self.chains)?));
            let texts: Vec<_> = group.ends.iter().zip([Role::Sender, Role::Receiver]).filter_map(text).collect();
            texts
        })
    }
}

fn edges(block: u32, report: &EndReport, messages: f64) -> Edges {
    Edges { block, wall: report.window.length(), cpu: report.cpu_time, messages }
}

/// What watching each end of each cell cost.
fn observers(cells: &[CellReceipt]) -> Vec<f64> {
    let receipts = cells.iter().flat_map(CellReceipt::receipts);
    receipts.filter_map(|receipt| Some(receipt.observer?.ratio.value)).collect()
}
