//! The arms of one run against its baseline.

use analysis::answer::Answer;
use analysis::result::{Analysis, ArmVerdict, Estimate, Metric, Term};
use analysis::verdict::{
    Change, Coefficient, Coefficients, CoefficientsOutcome, Design, MetricComparison, SelfTest, SeriesVerdict, SideComparison,
};

use super::words;
use crate::document::{Block, Section, Table, Tone};
use crate::studies::cost;
use crate::studies::glance::MOST_ROWS;
use crate::words::{capital, plural};
use crate::{interval, number};

/// Everything, arm by arm; `None` without arms.
pub fn section(analysis: &Analysis) -> Option<Section> {
    let labels: Vec<String> = analysis.cells.iter().map(|cell| cell.label.clone()).collect();
    let shown = shown(analysis);
    // Of two arms the head of the report has the answer.
    let of_each = analysis::answer::arms(analysis);
    let answers = of_each.iter().map(|answer| Some(answer).filter(|_| of_each.len() > 1));
    let blocks: Vec<Block> =
        analysis.verdicts().iter().zip(answers).map(|(verdict, answer)| one(verdict, answer, &labels, &shown)).collect();
    let reason = analysis::answer::of(analysis).exit.map_or_else(String::new, |exit| format!("{}: ", capital(&exit.reason)));
    let finding = format!("{reason}every arm, each end, other metrics, and how changes were tested");
    (!blocks.is_empty()).then(|| Section::named("arms", "Arms", blocks).folded(finding))
}

/// Metrics that the table of the answer has at every size: none where it leaves a row out.
fn shown(analysis: &Analysis) -> Vec<Metric> {
    let answered = words::answered(analysis);
    let cells = || answered.iter().flat_map(|(_, metric)| &metric.comparison.cells);
    let whole = cells().count() <= MOST_ROWS && cells().all(|judged| judged.ratio.is_some());
    answered.iter().filter(|_| whole).map(|(_, metric)| metric.metric).collect()
}

fn one(verdict: &ArmVerdict, answer: Option<&Answer>, labels: &[String], shown: &[Metric]) -> Block {
    let names = [verdict.baseline.as_str(), verdict.candidate.as_str()];
    let figures = Figures { names, compared: &verdict.compared, labels, alike: &verdict.alike, shown };
    let notes = verdict.compared.self_test.iter().flat_map(self_test);
    Block::piece(
        figures.heading(),
        figures
            .blocks(answer)
            .into_iter()
            .chain(Block::sentences(notes).and_then(|notes| Block::behind("Differences that this machine can show", [notes]))),
    )
}

/// Figures of two arms, or of two runs, that were compared.
pub(super) struct Figures<'a> {
    /// Baseline and candidate.
    pub names: [&'a str; 2],
    /// Their comparison.
    pub compared: &'a SideComparison,
    /// Labels of the cells.
    pub labels: &'a [String],
    /// Cells that need no verdict.
    pub alike: &'a [usize],
    /// Metrics that the table of the answer has at every size.
    pub shown: &'a [Metric],
}

impl Figures<'_> {
    /// What is against what.
    pub fn heading(&self) -> String {
        format!("{} against {}", self.names[1], self.names[0])
    }

    /// The answer where it is not the report's, and the metrics of the gate, then the tables and notes behind them.
    pub fn blocks(&self, answer: Option<&Answer>) -> Vec<Block> {
        let Self { names, compared, labels, alike, shown } = *self;
        let conclusion = |answer: &Answer| {
            let tone = match answer.exit.as_ref().map(|exit| exit.code) {
                Some(0) => Tone::Good,
                Some(3) => Tone::Bad,
                _ => Tone::Open,
            };
            let grade = std::iter::once(answer.grade_line())
                .chain(answer.next_line())
                .chain(answer.command().map(str::to_owned))
                .collect::<Vec<_>>()
                .join(" ");
            [Block::Conclusion(tone, answer.headline.clone()), Block::Aside(grade.into())]
        };
        let mut blocks: Vec<Block> = answer.map(conclusion).into_iter().flatten().collect();
        let (gate, others): (Vec<&MetricComparison>, Vec<&MetricComparison>) = compared.metrics.iter().partition(|metric| metric.gate);
        let tables = |metrics: &[&MetricComparison]| words::table(compared, metrics, labels, alike, shown).filter(|_| !labels.is_empty());
        blocks.extend(tables(&gate).map(Block::from));
        let mut usual: Vec<Block> = tables(&others).map(Block::from).into_iter().collect();
        // What was billed stands below its CPU time.
        let explaining = compared.means.iter().filter(|means| means.metric.billed_of().is_none());
        usual.extend(explaining.map(|means| words::means(means, labels).into()));
        usual.extend(coefficients(&compared.coefficients).into_iter().map(Block::from));
        let mut notes = Vec::new();
        if let Some(first) = compared.metrics.first() {
            blocks.push(Block::Aside(words::design(first.comparison.design).into()));
            notes.push(words::method(&first.comparison));
        }
        for metric in &compared.metrics {
            notes.extend(metric.scatter.iter().map(|scatter| words::scatter(metric.metric, scatter)));
            notes.extend(metric.doubts.iter().map(|doubt| words::doubt(doubt, labels, names)));
        }
        notes.extend(compared.coefficients.iter().filter_map(not_compared));
        usual.extend(Block::sentences(notes));
        blocks.extend(Block::behind("Other metrics, cost models, and how the changes were tested", usual));
        blocks
    }
}

/// A table for each series and quantity whose coefficients were compared.
fn coefficients(series: &[SeriesVerdict]) -> Vec<Table> {
    let table = |series: &SeriesVerdict| match &series.outcome {
        CoefficientsOutcome::Compared(compared) => Some(Table::of_verdicts(
            format!("{}, {}: {}", series.series, cost::name(series.quantity), told(compared)),
            vec!["coefficient", "change", "interval", "baseline", "candidate", "p", "verdict"],
            compared
                .coefficients
                .iter()
                .map(|coefficient| row(coefficient, is_in_pieces(&compared.coefficients), compared.design))
                .collect(),
        )),
        CoefficientsOutcome::NotCompared { .. } => None,
    };
    series.iter().filter_map(table).collect()
}

/// Tells if the model has several pieces.
fn is_in_pieces(coefficients: &[Coefficient]) -> bool {
    coefficients.iter().any(|coefficient| coefficient.from != coefficients[0].from)
}

/// Changes in a sentence, piece by piece.
fn told(compared: &Coefficients) -> String {
    let coefficients = &compared.coefficients;
    let pieces = is_in_pieces(coefficients);
    let one = |coefficient: &Coefficient| {
        let what = format!("the cost per {}{}", cost::term(coefficient.term), sizes(coefficient, pieces));
        match coefficient.change {
            Change::Rose => format!("{what} rose by {}", amount(coefficient)),
            Change::Fell => format!("{what} fell by {}", amount(coefficient)),
            Change::NotShown { .. } => format!("no change of {what} is shown"),
            Change::NotEnoughBlocks { .. } => format!("too few {}s for {what}", words::unit(compared.design)),
        }
    };
    // A full segment says what its bytes say.
    let own = coefficients.iter().filter(|coefficient| coefficient.term != Term::FullSegment);
    own.map(one).collect::<Vec<_>>().join("; ")
}

fn sizes(coefficient: &Coefficient, pieces: bool) -> String {
    match pieces {
        true => format!(", {} to {} B", number::whole(coefficient.from.get()), number::whole(coefficient.to.get())),
        false => String::new(),
    }
}

/// By how much, without its sign, and the interval.
fn amount(coefficient: &Coefficient) -> String {
    let (estimate, write): (Estimate, fn(f64) -> String) = match coefficient.ratio {
        Some(ratio) => (ratio, |ratio| number::percent((ratio - 1.0).abs())),
        None => (coefficient.difference_ns, |ns| format!("{} ns", number::significant(ns.abs(), 3))),
    };
    let ends = estimate.interval.map_or(String::new(), |ends| {
        let (near, far) = if coefficient.change == Change::Fell { (ends.high, ends.low) } else { (ends.low, ends.high) };
        format!(" ({} to {})", write(near), write(far))
    });
    format!("{}{ends}", write(estimate.value))
}

fn row(coefficient: &Coefficient, pieces: bool, design: Design) -> Vec<String> {
    let ns = |value: f64| format!("{} ns", number::significant(value, 3));
    let change = coefficient.ratio.as_ref().map_or_else(|| ns(coefficient.difference_ns.value), |ratio| number::change(ratio.value - 1.0));
    let ends = match (&coefficient.ratio, coefficient.difference_ns.interval) {
        (Some(ratio), _) if ratio.interval.is_some() => interval::range(ratio, |ratio| number::change(ratio - 1.0)),
        (None, Some(_)) => interval::range(&coefficient.difference_ns, |ns| format!("{} ns", number::significant(ns, 3))),
        _ => number::NOTHING.to_owned(),
    };
    let verdict = match coefficient.change {
        Change::Rose => "rose".to_owned(),
        Change::Fell => "fell".to_owned(),
        Change::NotShown { smallest_ns } => format!("none shown (≥{})", ns(smallest_ns.abs())),
        Change::NotEnoughBlocks { missing, .. } => format!("{} missing", plural(missing as u64, words::unit(design))),
    };
    vec![
        format!("per {}{}", cost::term(coefficient.term), sizes(coefficient, pieces)),
        change,
        ends,
        ns(coefficient.baseline_ns),
        ns(coefficient.candidate_ns),
        words::p(coefficient.p_adjusted),
        verdict,
    ]
}

fn not_compared(series: &SeriesVerdict) -> Option<String> {
    match &series.outcome {
        CoefficientsOutcome::NotCompared { reason } => {
            Some(format!("No coefficients of {}, {}: {reason}", series.series, cost::name(series.quantity)))
        }
        CoefficientsOutcome::Compared(_) => None,
    }
}

fn self_test(test: &SelfTest) -> Vec<String> {
    let shown = |share: Option<f64>| share.map_or_else(|| "nothing".to_owned(), number::percent);
    let mut notes = vec![format!(
        "A ratio of one block scatters by {} in the median cell, {} in the noisiest, {} in the mean of all; a block takes {} s.",
        number::percent(test.noise),
        number::percent(test.worst_noise),
        number::percent(test.mean_noise),
        number::significant(test.seconds_per_block, 2),
    )];
    notes.extend(test.outlooks.iter().map(|outlook| {
        format!(
            "{} ({} min) would find {} in each of all cells, {} in one cell alone, {} in the mean of all, in four runs of five.",
            plural(outlook.blocks as u64, "block"),
            number::significant(outlook.minutes, 2),
            shown(outlook.each_cell),
            shown(outlook.one_cell),
            shown(outlook.mean),
        )
    }));
    let threshold = number::percent(test.comparison.threshold);
    let enough = test.for_threshold.map_or_else(
        || format!("No reasonable number of blocks shows equal arms to be equivalent within {threshold} in the noisiest cell"),
        |outlook| {
            let (blocks, minutes) = (plural(outlook.blocks as u64, "block"), number::significant(outlook.minutes, 2));
            format!(
                "{blocks} ({minutes} min) show equal arms to be equivalent within {threshold} in the noisiest cell, in four runs of five"
            )
        },
    );
    notes.push(format!("{enough}. A true difference of {threshold} is found in half of all runs at most, however many blocks they have."));
    notes
}
