//! Trust in a run: how many cells are known as well as was asked for, what disturbed
//! them, what to do.

use analysis::result::{Analysis, CellResult, Estimate, Finding, Metric};
use model::Warning;

use crate::document::{Tone, Trust};
use crate::interval;
use crate::number;
use crate::series::metric;
use crate::words::plural;

/// A run with fewer disturbed trials than one in this many is not called disturbed.
const WORTH_A_WORD: u64 = 10;

/// Blocks beyond which more are no remedy.
const MOST_BLOCKS: f64 = 200.0;

/// The trust that a run deserves. Unreliable: half of its trials were disturbed, more than
/// half of its cells missed their precision, or in a tenth of the trials something is wrong,
/// such as datagrams that are unaccounted for.
pub fn trust(analysis: &Analysis) -> Trust {
    let warnings = analysis.findings.len();
    let remedy =
        |text: String| if text.is_empty() { analysis.findings.first().map_or(String::new(), |first| first.remedy.clone()) } else { text };
    if analysis.trials == 0 {
        let text = "UNRELIABLE: no trial was measured.".to_owned();
        return Trust { tone: Tone::Bad, text, remedy: remedy(String::new()), warnings };
    }
    let cells = Cells::of(analysis);
    let found = analysis.disturbed;
    let disturbed = (found.trials * WORTH_A_WORD >= analysis.trials && found.trials > 0).then(|| disturbance(analysis));
    let first = analysis.findings.first();
    // Wrong in few trials leaves the others as they are.
    let wide = |trials: u64| trials == 0 || trials * WORTH_A_WORD >= analysis.trials;
    let wrong = first.filter(|first| first.warning.kind().comes_first && wide(first.trials));
    // What the machine did is counted over all trials.
    let named = first.filter(|first| !first.warning.disturbs() || first.warning.kind().comes_first);
    let half = found.trials * 2 >= analysis.trials && found.trials > 0;
    let tone = if half || cells.met * 2 < cells.all || wrong.is_some() {
        Tone::Bad
    } else if cells.met < cells.all || warnings > 0 {
        Tone::Open
    } else {
        Tone::Good
    };
    let word = match tone {
        Tone::Bad => "UNRELIABLE",
        Tone::Open => "Usable with care",
        Tone::Good => "Reliable",
    };
    let parts = [Some(cells.text(analysis)), named.map(in_short), disturbed];
    let text = format!("{word}: {}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; "));
    let more = if named.is_none() && !half { cells.remedy(analysis) } else { String::new() };
    let remedy = if tone == Tone::Good { String::new() } else { remedy(more) };
    Trust { tone, text, remedy, warnings }
}

/// A finding without the details behind its first colon; of lines that cannot be read, and of an arm without a trial, the
/// reason is what matters.
fn in_short(found: &Finding) -> String {
    let head = found.text.split_once(": ").map_or(found.text.as_str(), |(head, _)| head);
    match found.warning {
        Warning::BadLine { .. } => found.text.chars().take(LONGEST_REASON).collect(),
        Warning::TrialFailed { .. } if found.is_of_whole_arm => found.text.chars().take(LONGEST_REASON).collect(),
        _ => head.to_owned(),
    }
}

/// Characters of a finding that stand in the first line.
const LONGEST_REASON: usize = 160;

/// The ways in which most of the disturbed trials were disturbed.
pub fn disturbance(analysis: &Analysis) -> String {
    let found = analysis.disturbed;
    let ways = [
        (found.waited, "an end waited for a CPU"),
        (found.stolen, "the hypervisor took CPU time"),
        (found.throttled, "a CPU was slowed down for its heat"),
        (found.misaligned, "an end was late to start or to stop"),
        (found.impossible, "a figure was beyond what there is"),
    ];
    // What hit a few trials besides is among the warnings.
    let usual = ways.iter().filter(|(trials, _)| trials * 4 >= found.trials).map(|(_, way)| *way);
    let usual = usual.collect::<Vec<_>>().join(", or ");
    format!("in {} of {} {usual}", number::whole(found.trials), plural(analysis.trials, "trial"))
}

/// Precision of all cells' time per message.
struct Cells {
    all: usize,
    met: usize,
    /// The cell known worst, with its interval.
    worst: Option<(Estimate, String)>,
}

impl Cells {
    fn of(analysis: &Analysis) -> Self {
        let wanted = analysis.run.plan.blocks.interval;
        let time = |cell: &CellResult| metric(cell, Metric::TimePerMessageNs).copied();
        let known = analysis.cells.iter().filter_map(|cell| time(cell).and_then(|one| Some((one.half_width()?, one, cell.label.clone()))));
        let known: Vec<(f64, Estimate, String)> = known.collect();
        let met = known.iter().filter(|(width, ..)| *width <= wanted).count();
        let worst = known.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, one, label)| (one, label));
        Self { all: analysis.cells.len(), met, worst }
    }

    /// How many are known as well as was asked for.
    fn text(&self, analysis: &Analysis) -> String {
        let wanted = number::percent(analysis.run.plan.blocks.interval);
        let Some((worst, label)) = &self.worst else {
            let verb = if analysis.blocks == 1 { "is" } else { "are" };
            return format!("no cell has an interval, {} {verb} too few", plural(u64::from(analysis.blocks), "block"));
        };
        match (self.met, self.all) {
            (1, 1) => format!("the cell is known within ±{wanted}"),
            (met, all) if met == all => format!("all {all} cells are known within ±{wanted}"),
            (_, 1) => format!("time per message known within {}, the aim is ±{wanted}", interval::plus_minus(worst)),
            (met, all) => format!("{met} of {all} cells within ±{wanted}, the worst {} ({label})", interval::plus_minus(worst)),
        }
    }

    /// The blocks that the worst cell would need: intervals shrink with their square root.
    fn remedy(&self, analysis: &Analysis) -> String {
        let wanted = analysis.run.plan.blocks.interval;
        let wider = self.worst.as_ref().and_then(|(one, _)| one.half_width()).filter(|width| *width > wanted);
        let Some(width) = wider else { return String::new() };
        let blocks = (f64::from(analysis.blocks) * (width / wanted).powi(2)).ceil();
        match blocks <= MOST_BLOCKS {
            true => format!("Some {blocks} blocks would narrow the widest to what was asked for: --blocks {blocks}."),
            false => "Measure longer trials (--length) on a quieter machine, or ask for less precision.".to_owned(),
        }
    }
}
