//! From trial records, one by one, to an [`Analysis`].

use std::collections::BTreeSet;

use attribution::Rules;
use model::host::HostFacts;
use model::trial::{Measured, Outcome};
use model::woven::Slice;
use model::{Refusal, Run, TrialRecord, Warning};
use stats::bootstrap::Batches;

use crate::cells::CellResult;
use crate::confidence::Confidence;
use crate::ends::IrqPool;
use crate::findings::{Disturbed, Findings};
use crate::metric::Metric;
use crate::paths::Paths;
use crate::studies::{ANALYSIS_FORMAT, Analysis, Studies};
use crate::table::TrialTable;
use crate::timeline::Timeline;
use crate::verdict::Gate;

/// Collects trials and says at the end what they show. It keeps some 350 bytes
/// of each trial, and of round-trip times what occurred in each of at most 30
/// batches of blocks, as of lateness and one-way times.
#[derive(Debug)]
pub struct Collector {
    run: Run,
    hosts: Vec<HostFacts>,
    table: TrialTable,
    studies: Studies,
    /// Blocks with at least one trial.
    blocks: BTreeSet<u32>,
    failed: u64,
    findings: Findings,
    disturbed: Disturbed,
    timeline: Timeline,
}

impl Collector {
    /// A run on these hosts, with the warnings it carries and no trial yet.
    pub fn new(run: Run, hosts: Vec<HostFacts>) -> Self {
        let mut findings = Findings::default();
        run.warnings.iter().for_each(|warning| findings.push_run(warning));
        if let Some(name) = run.plan.reference.as_ref().filter(|name| literature::Study::named(name).is_none()) {
            findings.push_run(&no_study(name));
        }
        Self {
            table: TrialTable::for_plan(&run.plan),
            studies: Studies::for_plan(&run.plan),
            run,
            hosts,
            blocks: BTreeSet::new(),
            failed: 0,
            findings,
            disturbed: Disturbed::default(),
            timeline: Timeline::default(),
        }
    }

    /// Classifies samples by other rules than those that come with nettoll;
    /// `source` names their file. Without receipts it changes nothing.
    #[must_use]
    pub fn with_rules(mut self, source: String, rules: Rules) -> Self {
        if let Some(receipts) = &mut self.studies.receipt {
            receipts.set_rules(source, rules);
        }
        self
    }

    /// Draws the conclusion on arms from this gate, in place of the usual one. Without arms it changes nothing.
    #[must_use]
    pub fn with_gate(mut self, gate: &Gate) -> Self {
        if let Some(verdicts) = &mut self.studies.verdicts {
            verdicts.set_gate(gate);
        }
        self
    }

    /// The folded stacks of each cell and end of a study with receipts: the name
    /// of a file for the run's `stacks/`, and what belongs into it. One after the
    /// other, since all of them together may be large.
    pub fn stacks(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.studies.receipt.iter().flat_map(|receipts| receipts.stacks())
    }

    /// Adds a doubt about the whole run, such as a stored line that cannot be read.
    pub fn push_warning(&mut self, warning: Warning) {
        self.findings.push_run(&warning);
    }

    /// Adds a trial. One of a cell that the plan does not have gets a cell of
    /// its own, after the plan's.
    pub fn push(&mut self, record: &TrialRecord) {
        let place = self.table.place(&record.cell);
        let arm = self.table.arm_of(record);
        if let Some(arm) = arm {
            self.studies.push_record(record, place, arm);
        }
        self.blocks.insert(record.block);
        let own = match &record.outcome {
            // The observer that another pass switches on changes a trial's times.
            Outcome::Measured(measured) if record.pass.is_clean() => self.push_measured(place, arm, record, measured),
            Outcome::Measured(_) | Outcome::Skipped { .. } => Vec::new(),
            Outcome::Failed { error, .. } => {
                self.failed += 1;
                self.timeline.push(record, place, arm.unwrap_or(0), None);
                vec![Warning::TrialFailed { error: error.clone() }]
            }
        };
        self.findings.push_trial(place, record.arm.as_deref(), record.warnings.iter().chain(&own));
    }

    /// Adds the slices of an instance of a group of the plan, by its place. Of a plan that is neither woven nor of receipts it
    /// changes nothing.
    pub fn push_slices(&mut self, group: usize, instance: u32, slices: &[Slice]) {
        self.studies.push_slices(group, instance, slices);
    }

    /// Keeps a measured trial, and returns the doubts that its record does not have.
    /// Nothing is known of an arm that the plan does not have, and nothing of it is kept.
    fn push_measured(&mut self, place: usize, arm: Option<usize>, record: &TrialRecord, measured: &Measured) -> Vec<Warning> {
        let (studies, timeline) = (&mut self.studies, &mut self.timeline);
        let mut own = arm.map_or_else(Vec::new, |arm| {
            self.table.push(place, arm, record, measured, |trial| {
                timeline.push(record, place, trial.arm, trial.figures.get(Metric::TimePerMessageNs));
                studies.push(trial);
            })
        });
        own.retain(|warning| !record.warnings.iter().any(|known| known.kind() == warning.kind()));
        self.disturbed.count(record.warnings.iter().chain(&own));
        own
    }

    /// The trials alone, without an analysis.
    pub fn into_table(mut self) -> TrialTable {
        self.table.pool_irq();
        self.table
    }

    /// The analysis of all of it.
    pub fn finish(self) -> Analysis {
        self.finish_with_table().0
    }

    /// The analysis and the trials that it is of, for comparisons with other runs.
    pub fn finish_with_table(mut self) -> (Analysis, TrialTable) {
        self.table.pool_irq();
        let (plan, table) = (&self.run.plan, self.table);
        let confidence = Confidence::new(&plan.blocks);
        let batches = Batches::from_blocks(table.measured_blocks().iter().copied());
        let paths = Paths::new(&self.run, &self.hosts);
        let cells: Vec<CellResult> = table.arm(0).iter().map(|cell| CellResult::from_trials(cell, confidence, plan.seed)).collect();
        let labels: Vec<String> = cells.iter().map(|cell| cell.label.clone()).collect();
        let mut analysis = Analysis {
            format: ANALYSIS_FORMAT,
            blocks: self.blocks.len() as u32,
            trials: table.trials(),
            failed: self.failed,
            cells,
            findings: self.findings.finish(&labels),
            disturbed: self.disturbed,
            irq_pooled: table.arm(0).iter().flat_map(|cell| &cell.irq).any(IrqPool::any),
            run: self.run,
            hosts: self.hosts,
            timeline: self.timeline.finish(),
            studies: Vec::new(),
        };
        self.studies.finish(&mut analysis, &table, confidence, &batches, &paths);
        (analysis, table)
    }
}

fn no_study(name: &str) -> Warning {
    Warning::Absent(Refusal {
        what: format!("the published study '{name}'"),
        answer: "nettoll has no tables of it".to_owned(),
        remedy: "Name one of those that `nettoll reference` lists, or leave `reference` out of the plan.".to_owned(),
    })
}
