//! The answer to the question that a result is of: a headline in figures, how well the question is
//! answered, which figures are not to be used, and the next command.
//!
//! ```text
//! Analysis, RunComparison, Attached, ... -> Answer -> terminal | html | markdown | json
//! ```
//!
//! It is made here for every kind of result; sinks print it and decide nothing. Two
//! things are kept apart: a figure that is invalid is not to be used ([`Invalid`]); of valid ones the
//! [`Grade`] says how well they answer what was asked. Width, a virtual machine and CPUs that
//! others use widen what is compared side by side and do not make it invalid.

pub mod notation;

mod arms;
mod attached;
mod buffers;
mod exact;
mod fleet;
mod history;
pub mod invalid;
mod latency;
mod levels;
pub(crate) mod next;
mod pair;
mod places;
mod receipt;
mod repetitions;
mod runs;
mod sweep;
#[cfg(test)]
mod tests;
mod ways;

pub use arms::each as arms;
pub use attached::attached;
pub use buffers::grade as of_buffers;
pub use exact::exact;
pub use history::history;
pub use next::Next;
pub use runs::{between, each as each_run};

use std::fmt;

use model::{Bytes, choice};
use serde::{Serialize, Serializer};

use crate::metric::Metric;
use crate::studies::Analysis;

choice! {
    /// How well a question is answered.
    Grade, "a grade" {
        /// As well as it was asked.
        Settled = "settled",
        /// In part, or less narrowly.
        Rough = "rough",
        /// Not yet.
        Open = "open",
        /// No figure of the result is valid.
        DoNotUse = "do not use",
    }
}

impl Grade {
    /// The grade of several comparisons together, and why.
    fn of_all(answers: &[Answer]) -> (Self, String) {
        let settled = answers.iter().filter(|one| one.grade == Self::Settled).count();
        let grade = match settled {
            all if all == answers.len() => Self::Settled,
            0 if answers.iter().all(|one| one.grade == Self::Open) => Self::Open,
            _ => Self::Rough,
        };
        (grade, format!("{settled} of {} settled", notation::plural(answers.len() as u64, "comparison")))
    }
}

/// The answer to the question that a result is of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The question in a few words, for a list of results: `send | batch, UDP 256 B`.
    pub question: String,
    /// The answer in one or two sentences with its figures.
    pub headline: String,
    /// The same in a few words, for a list of results.
    pub brief: String,
    /// The figures that the headline is of.
    pub parts: Vec<Part>,
    /// How well the question is answered.
    pub grade: Grade,
    /// The reason for the grade, in a few words.
    pub reason: String,
    /// Figures that are not to be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub do_not_use: Vec<Invalid>,
    /// What to do next; `None` where nothing is left to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// What else a reader of single figures has to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// The exit code of a comparison, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Ending>,
}

/// One figure of a headline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// What it is of: an arm, a way, a program.
    pub subject: String,
    /// What that is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The metric; `None` of what is no metric of trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// The size of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// The figure: a change as a share, or a figure in the metric's unit.
    pub value: f64,
    /// Both ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// The direction of a change.
    pub direction: Direction,
}

impl Part {
    /// A figure by itself, without an interval.
    pub(crate) fn figure(subject: impl Into<String>, metric: Option<Metric>, size: Option<Bytes>, value: f64) -> Self {
        Self { subject: subject.into(), against: None, metric, size, value, interval: None, direction: Direction::Figure }
    }
}

/// The direction of a figure of a headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Better than what it is compared with.
    Better,
    /// Worse.
    Worse,
    /// The same within the threshold.
    Same,
    /// The interval allows more than one of these.
    Open,
    /// A figure by itself.
    Figure,
}

/// A figure that is not to be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invalid {
    /// The figure.
    pub figure: InvalidFigure,
    /// Why.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

/// The figures that are not to be used; JSON has them in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidFigure {
    /// All of a result.
    Every,
    /// All of some cells.
    OfCells {
        /// Labels of a few.
        labels: Vec<String>,
        /// Places of all, in the order of the plan's cells.
        places: Vec<usize>,
    },
    /// One, by its name: `the loss`.
    Named(String),
}

impl InvalidFigure {
    /// Returns whether all figures of a cell are among them, by its place in the plan.
    pub fn bars_cell(&self, cell: usize) -> bool {
        match self {
            Self::Every => true,
            Self::OfCells { places, .. } => places.contains(&cell),
            Self::Named(_) => false,
        }
    }
}

impl fmt::Display for InvalidFigure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Every => f.write_str("every figure"),
            Self::OfCells { labels, places } => {
                let more = places.len().saturating_sub(labels.len());
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(f, "figures of {}{more}", labels.join(", "))
            }
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl Serialize for InvalidFigure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The exit code that a comparison ends with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// 0, 3 or 4.
    pub code: u8,
    /// The verdict that it follows from, with its metric.
    pub reason: String,
}

impl Answer {
    /// An answer without figures, invalid ones and a next step.
    pub(crate) fn new(question: impl Into<String>, headline: impl Into<String>, grade: Grade, reason: impl Into<String>) -> Self {
        let headline: String = headline.into();
        Self {
            question: question.into(),
            brief: headline.clone(),
            headline,
            parts: Vec::new(),
            grade,
            reason: reason.into(),
            do_not_use: Vec::new(),
            next: None,
            caveat: None,
            exit: None,
        }
    }

    /// The grade with its reason, and the figures that are not to be used.
    pub fn grade_line(&self) -> String {
        let reason = if self.reason.is_empty() { String::new() } else { format!(": {}", self.reason) };
        let red: Vec<&InvalidFigure> =
            self.do_not_use.iter().map(|one| &one.figure).filter(|figure| **figure != InvalidFigure::Every).collect();
        let red = match red.as_slice() {
            [] => String::new(),
            [one] => format!("; do not use {one}"),
            more => format!("; do not use {} figures", more.len()),
        };
        format!("{}{reason}{red}.", self.grade)
    }

    /// The purpose of the next command, with its time: it stands above the command. Without a command a sentence of its own.
    pub fn next_line(&self) -> Option<String> {
        self.next.as_ref().map(Next::words)
    }

    /// The command that is next, where there is one.
    pub fn command(&self) -> Option<&str> {
        self.next.as_ref()?.command.as_deref()
    }

    /// With figures that are not to be used; where that is every figure, there is no grade but that.
    fn without(mut self, invalid: Vec<Invalid>) -> Self {
        if let Some(all) = invalid.iter().find(|one| one.figure == InvalidFigure::Every) {
            self.grade = Grade::DoNotUse;
            self.headline = format!("No figure of this run is to be used: {}.", all.reason);
            self.brief = all.reason.clone();
            self.parts = Vec::new();
            self.reason = String::new();
            self.next = (!all.remedy.is_empty()).then(|| Next::advice(all.remedy.clone()));
        }
        self.do_not_use = invalid;
        self
    }
}

/// The answer of a run.
pub fn of(analysis: &Analysis) -> Answer {
    let answer = match () {
        () if analysis.fleet().is_some() => fleet::of(analysis),
        () if !analysis.verdicts().is_empty() => arms::of(analysis),
        () if analysis.ways().is_some() => ways::of(analysis),
        () if analysis.receipt().is_some() => receipt::of(analysis),
        () if !analysis.buffers().is_empty() => buffers::of(analysis),
        () if latency::is_asked(analysis) => latency::of(analysis),
        () if analysis.levels().is_some() => levels::of(analysis),
        () => match analysis.repetitions() {
            Some(study) => repetitions::of(analysis, study),
            None => sweep::of(analysis),
        },
    };
    answer.without(invalid::of(analysis))
}
