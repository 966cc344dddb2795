//! The next step: a command that can be pasted, with the time that it takes by what this run took;
//! or the lever that is left where no command is worth its time.

use std::collections::BTreeMap;

use model::Bytes;
use model::sorting::Order;
use serde::Serialize;
use stats::median;

use super::notation::{duration, plural};
use crate::studies::Analysis;

/// The longest command that is proposed, in seconds.
pub const LONGEST: f64 = 600.0;

/// The precision wanted of a figure where nothing else is asked.
pub const WANTED: f64 = 0.1;

/// The next step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// What it is for, behind "to"; without a command a sentence of its own.
    pub aim: String,
    /// The command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The time that it takes, by this run's own; `None` where that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Next {
    /// A command.
    pub fn command(aim: impl Into<String>, command: impl Into<String>, seconds: Option<f64>) -> Self {
        Self { aim: aim.into(), command: Some(command.into()), seconds }
    }

    /// What to do where there is no command for it, in a sentence.
    pub fn advice(sentence: impl Into<String>) -> Self {
        Self { aim: sentence.into(), command: None, seconds: None }
    }

    /// The words in front of the command.
    pub(super) fn words(&self) -> String {
        match (&self.command, self.seconds) {
            (None, _) => self.aim.clone(),
            (Some(_), Some(seconds)) => format!("To {}, in {}:", self.aim, duration(seconds)),
            (Some(_), None) => format!("To {}:", self.aim),
        }
    }
}

/// The blocks that narrow an interval from `reach` to `wanted`, with those that there are: an interval shrinks
/// with the root of their number.
pub fn blocks_for(now: u32, reach: f64, wanted: f64) -> f64 {
    (f64::from(now.max(1)) * (reach / wanted).powi(2)).ceil().max(f64::from(now) + 1.0)
}

/// More blocks of a run, of these sizes alone where there are any named: `more` are added to those that there are.
/// Beyond ten minutes there is another lever.
pub fn again(analysis: &Analysis, aim: &str, sizes: &[Bytes], more: f64) -> Next {
    let cells = &analysis.run.plan.cells;
    let part = match sizes {
        [] => 1.0,
        sizes => cells.iter().filter(|cell| sizes.contains(&cell.size)).count() as f64 / cells.len().max(1) as f64,
    };
    let seconds = seconds_per_block(analysis).map(|seconds| seconds * part * more);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > LONGEST) {
        let lever = "Use a quieter machine, fewer sizes, or accept a wider interval.";
        return Next::advice(format!("To {aim} takes {} more ({}). {lever}", plural(more as u64, "block"), duration(seconds)));
    }
    let sizes: Vec<String> = sizes.iter().map(|size| size.get().to_string()).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!(" --size {}", sizes.join(",")) };
    let aim = format!("{aim} with {}", plural(more as u64, "more block"));
    Next::command(aim, format!("nettoll study --again {}{sizes} --blocks {}", quoted(short(&analysis.run.id)), more as u64), seconds)
}

/// Four times the blocks, which halve an interval.
pub fn halve(analysis: &Analysis, aim: &str) -> Next {
    again(analysis, aim, &[], 3.0 * f64::from(analysis.blocks.max(1)))
}

/// The blocks that a run lacks of those that an answer needs.
pub fn missing(analysis: &Analysis, needed: usize) -> Next {
    let more = needed.saturating_sub(analysis.blocks as usize).max(1);
    again(analysis, "have enough for an answer", &[], more as f64)
}

/// A word of a command as a shell takes it for one: what is stored may come from another machine.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:@=,%+".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The end of a run's name, by which commands find it.
pub fn short(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

/// The seconds that a block of a run took, from its first trial to the next block's; of a run of one block its
/// trials by the time from one to the next. `None` where nothing says it.
pub fn seconds_per_block(analysis: &Analysis) -> Option<f64> {
    let mut begun: BTreeMap<u32, u64> = BTreeMap::new();
    for point in &analysis.timeline {
        let first = begun.entry(point.block).or_insert(point.started_ms);
        *first = (*first).min(point.started_ms);
    }
    let seconds = |pair: [u64; 2]| pair[1].saturating_sub(pair[0]) as f64 / 1e3;
    let known: Vec<(u32, u64)> = begun.into_iter().collect();
    let blocks: Vec<f64> = known.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0).map(|pair| seconds([pair[0].1, pair[1].1])).collect();
    median::median(&blocks).or_else(|| by_trials(analysis)).filter(|seconds| *seconds > 0.0)
}

fn by_trials(analysis: &Analysis) -> Option<f64> {
    let mut begun: Vec<u64> = analysis.timeline.iter().map(|point| point.started_ms).collect();
    begun.order();
    let between: Vec<f64> = begun.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e3).collect();
    Some(median::median(&between)? * analysis.run.plan.shape().trials() as f64)
}
