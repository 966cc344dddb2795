//! Events of a study that runs, a line of JSON each, for a program that follows it.

use std::collections::BTreeMap;

use analysis::result::Metric;
use analysis::single::single;
use analysis::stopping::Look;
use model::plan::Blocks;
use model::run::{Status, Summary};
use model::trial::Outcome;
use model::woven::Slice;
use model::{Pass, Plan, Run, TrialRecord, Warning};
use serde::Serialize;

use super::json::{compact, for_terminal};

/// Version of the lines, which the first one has.
pub const EVENTS_FORMAT: u32 = 1;

/// An event: a line.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent<'a> {
    /// The run has a directory, and its hosts are there.
    Begin {
        /// [`EVENTS_FORMAT`].
        format: u32,
        /// Version of nettoll.
        nettoll: &'a str,
        /// Name of the run.
        run: &'a str,
        /// Its directory.
        directory: String,
        /// Start of the run, in milliseconds since 1970 (UTC).
        started_ms: u64,
        /// Name of the plan.
        study: &'a str,
        /// Whether its arms or ways are woven.
        woven: bool,
        /// The cells in words, by place.
        cells: Vec<String>,
        /// Names of the arms.
        arms: Vec<&'a str>,
        /// Least and most blocks.
        blocks: [u32; 2],
        /// The most trials.
        trials: u64,
        /// Trials that the run had before it was gone on with.
        done: u64,
    },
    /// An instance of a woven group has ended.
    Slices {
        /// Place of the group.
        group: usize,
        /// Number of the instance.
        instance: u32,
        /// Slices of each member.
        slices: Vec<usize>,
    },
    /// A trial has ended.
    Trial {
        /// Block.
        block: u32,
        /// Place of the cell.
        cell: Option<usize>,
        /// Name of the arm.
        #[serde(skip_serializing_if = "Option::is_none")]
        arm: Option<&'a str>,
        /// Pass, of a study with receipts.
        #[serde(skip_serializing_if = "is_clean")]
        pass: Pass,
        /// Its result.
        #[serde(flatten)]
        result: TrialResult<'a>,
        /// Codes of its warnings.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<&'static str>,
    },
    /// A block is complete.
    Block {
        /// Blocks so far.
        blocks: u32,
    },
    /// A look was taken.
    Look {
        /// Blocks so far.
        blocks: u32,
        /// The widest half of an interval, as a share.
        widest: Option<f64>,
        /// The half that the plan asks for; `None` of woven arms.
        wanted: Option<f64>,
        /// Intervals that are narrow enough, or settled verdicts.
        met: usize,
        /// Of so many.
        of: usize,
        /// The study ends with it.
        enough: bool,
    },
    /// The study waits, or looks for a host that was lost.
    Delay {
        /// The reason.
        reason: String,
    },
    /// The run, and with it the command, has ended; a check's run follows.
    End {
        /// Name of the run; `None` where none was begun.
        run: Option<&'a str>,
        /// How the run ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'a Status>,
        /// Exit code.
        exit: u8,
        /// The failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
        /// Trials that were measured, since `begin`.
        trials: u64,
        /// Trials that failed.
        failed: u64,
        /// The answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        answer: Option<BriefAnswer<'a>>,
    },
}

/// The result of a trial.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TrialResult<'a> {
    /// It was measured.
    Measured {
        /// Its figures.
        metrics: BTreeMap<Metric, f64>,
    },
    /// It was left out.
    Skipped {
        /// Why.
        error: &'a str,
    },
    /// It failed.
    Failed {
        /// Why.
        error: &'a str,
    },
}

/// The answer of a run in words.
#[derive(Debug, Serialize)]
pub struct BriefAnswer<'a> {
    headline: &'a str,
    grade: &'a str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'a str>,
}

impl<'a> RunEvent<'a> {
    /// The beginning of a run, after `done` trials.
    pub fn begin(run: &'a Run, directory: String, done: u64) -> Self {
        let plan = &run.plan;
        let Blocks { least, most, .. } = plan.blocks;
        Self::Begin {
            format: EVENTS_FORMAT,
            nettoll: &run.tool,
            run: &run.id,
            directory,
            started_ms: run.started_ms,
            study: &plan.name,
            woven: plan.woven,
            cells: plan.cells.iter().map(ToString::to_string).collect(),
            arms: plan.arms.iter().map(|arm| arm.name.as_str()).collect(),
            blocks: [least, most],
            trials: plan.trials(),
            done,
        }
    }

    /// A trial of a plan.
    pub fn trial(plan: &Plan, record: &'a TrialRecord) -> Self {
        let result = match &record.outcome {
            Outcome::Measured(_) => TrialResult::Measured { metrics: single(record).unwrap_or_default().metrics },
            Outcome::Skipped { reason } => TrialResult::Skipped { error: reason },
            Outcome::Failed { error, .. } => TrialResult::Failed { error },
        };
        Self::Trial {
            block: record.block,
            cell: plan.cells.iter().position(|cell| *cell == record.cell),
            arm: record.arm.as_deref(),
            pass: record.pass,
            result,
            warnings: record.warnings.iter().map(Warning::code).collect(),
        }
    }

    /// An instance of a group of a plan.
    pub fn slices(plan: &Plan, group: usize, instance: u32, slices: &[Slice]) -> Self {
        let members = plan.groups().get(group).map_or(0, |group| group.members.len());
        let count = |member| slices.iter().filter(|slice| slice.arm as usize == member).count();
        Self::Slices { group, instance, slices: (0..members).map(count).collect() }
    }

    /// A look at a plan's figures.
    pub fn look(plan: &Plan, look: &Look) -> Self {
        let Look { blocks, widest, met, of, is_enough } = *look;
        Self::Look { blocks, widest, wanted: (!plan.woven).then_some(plan.blocks.interval), met, of, enough: is_enough }
    }

    /// The line of the event.
    pub fn line(&self) -> String {
        for_terminal(&compact(self)) + "\n"
    }
}

impl<'a> BriefAnswer<'a> {
    /// The answer of a summary.
    pub fn of(summary: &'a Summary) -> Self {
        Self { headline: &summary.headline, grade: &summary.grade, reason: &summary.reason, next: summary.next.as_deref() }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_clean(pass: &Pass) -> bool {
    pass.is_clean()
}
