//! Verdicts in words.

use analysis::agreement::Agreement;
use analysis::answer::notation;
pub use analysis::answer::notation::{title, unit};
use analysis::result::{Analysis, ArmVerdict, CellResult, Estimate, Metric};
use analysis::verdict::{
    CellVerdict, Comparison, Design, Doubt, Means, MetricComparison, RunScatter, Shape, Shift, Side, SideComparison, Verdict,
};
use model::sorting::Order;

use crate::document::{Head, Level, RowKind, Table};
use crate::series::shows_billed;
use crate::studies::receipt::figure::BILLED_SHORT;
use crate::words::{capital, plural, verb, writer};
use crate::{interval, number};

/// Names of cells among each other: their sizes, where they differ in nothing else.
pub fn subjects(cells: &[CellResult]) -> Vec<String> {
    let alike = is_series(cells);
    cells.iter().map(|cell| if alike { notation::size(cell.cell.size) } else { cell.label.clone() }).collect()
}

/// Returns whether cells differ in nothing but sizes.
pub fn is_series(cells: &[CellResult]) -> bool {
    cells.windows(2).all(|pair| pair[0].cell.series() == pair[1].cell.series())
}

/// A verdict in few words.
pub fn verdict(verdict: &Verdict, design: Design) -> String {
    match verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".to_owned(),
        Verdict::Mixed => "mixed".to_owned(),
        Verdict::Equivalent => "equivalent".to_owned(),
        Verdict::Inconclusive { smallest } => format!("open (≥{})", number::tight(&number::percent(smallest.abs()))),
        Verdict::NotEnoughBlocks { missing, .. } => format!("{} missing", plural(*missing as u64, unit(design))),
    }
}

/// Cells that changed and are part of the answer, those that changed most.
const MOST_CELLS: usize = 12;

/// Metrics that the table of the answer has cell by cell: those of the gate, and of two arms the time.
pub fn answered(analysis: &Analysis) -> Vec<(&ArmVerdict, &MetricComparison)> {
    let verdicts = analysis.verdicts();
    let mut answered = Vec::new();
    for verdict in verdicts {
        let all = &verdict.compared.metrics;
        let time = TIMES.into_iter().find_map(|wanted| all.iter().find(|metric| metric.metric == wanted && !metric.gate));
        let of_answer = all.iter().filter(|metric| metric.gate).chain(time.filter(|_| verdicts.len() == 1));
        answered.extend(of_answer.map(|metric| (verdict, metric)));
    }
    answered
}

/// Times, of which the first that was compared is part of the answer.
const TIMES: [Metric; 2] = [Metric::RoundTripP99Ns, Metric::TimePerMessageNs];

/// Returns whether a metric is a time that may be part of the answer.
pub fn is_time(metric: Metric) -> bool {
    TIMES.contains(&metric)
}

/// The table of some metrics: each with its mean, then cell by cell. Those that changed are the
/// answer. `labels` are the cells'; `alike` says which need no verdict; of metrics that are `shown` already it has
/// the mean alone, and what was billed. `None` without a row.
pub fn table(
    compared: &SideComparison,
    metrics: &[&MetricComparison],
    labels: &[String],
    alike: &[usize],
    shown: &[Metric],
) -> Option<Table> {
    let size = |judged: &CellVerdict| judged.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
    let all = || metrics.iter().flat_map(|metric| &metric.comparison.cells);
    let is_changed = |judged: &CellVerdict| matches!(judged.verdict, Verdict::Better | Verdict::Worse);
    let mut changed: Vec<f64> = all().filter(|judged| is_changed(judged)).map(size).collect();
    changed.order_by(|a, b| b.total_cmp(a));
    let least = changed.get(MOST_CELLS - 1).copied().unwrap_or(0.0);
    let (mut rows, mut row_kinds, mut row_levels) = (Vec::new(), Vec::new(), Vec::new());
    for metric in metrics {
        let comparison = &metric.comparison;
        let title = capital(title(metric.metric));
        let mut push = |row: Vec<String>, kind: RowKind, level: Level| {
            rows.push(row);
            row_kinds.push(kind);
            row_levels.push(level);
        };
        let write = writer(metric.metric);
        let judged_row = |label: String, judged: &CellVerdict| -> Vec<String> {
            let change = judged.ratio.map(|ratio| ratio.map(|ratio| ratio - 1.0));
            let p = judged.p_adjusted.map_or(number::NOTHING.to_owned(), p);
            row(label, judged.medians, change, write).into_iter().chain([p, verdict(&judged.verdict, comparison.design)]).collect()
        };
        let billed_row = |label: &str, place: usize| -> Option<Vec<String>> {
            let (medians, change) = (compared.billed(metric.metric, place)?.medians, billed_change(compared, metric, place)?);
            let row = row(format!("{label}, {BILLED_SHORT}"), Some(medians), Some(change), write);
            Some(row.into_iter().chain([number::NOTHING.to_owned(), String::new()]).collect())
        };
        let has_cells = !shown.contains(&metric.metric);
        if let [only] = comparison.cells.as_slice() {
            let billed = billed_row(&title, 0);
            let judged = has_cells.then(|| judged_row(title, only));
            judged.into_iter().chain(billed).for_each(|row| push(row, RowKind::Plain, Level::Answer));
            continue;
        }
        let mean = judged_row(format!("{title}, mean of {}", comparison.cells.len()), &comparison.overall.mean);
        push(mean, RowKind::Plain, Level::Answer);
        for (place, judged) in comparison.cells.iter().enumerate() {
            let same = if alike.contains(&place) { " (both arms run it alike)" } else { "" };
            let label = labels.get(place).map_or("", String::as_str);
            let level = if is_changed(judged) && size(judged) >= least { Level::Answer } else { Level::Usual };
            let row = has_cells.then(|| judged_row(format!("{label}{same}"), judged));
            row.into_iter().chain(billed_row(label, place)).for_each(|row| push(row, RowKind::Part, level));
        }
    }
    if rows.is_empty() {
        return None;
    }
    let confidence = metrics.first().map_or(String::new(), |metric| number::percent(metric.comparison.confidence));
    let heads = [("", 20), ("baseline", 4), ("candidate", 5), ("change", 8), ("interval", 7), ("p", 3), ("verdict", 9)];
    let heads = heads.map(|(head, rank)| Head::ranked(head, rank)).into();
    let mut table = Table::of_verdicts("", heads, rows);
    table.columns[5].level = Level::Usual;
    let label = format!("Changes with {confidence} intervals, and p with all cells taken into account (Holm)");
    Some(Table { row_kinds, row_levels, ..table }.labelled(&*label, &*label).styled("rows verdicts"))
}

/// A row up to the interval of its change.
fn row(label: String, medians: Option<[f64; 2]>, change: Option<Estimate>, write: fn(f64) -> String) -> [String; 5] {
    let median = |place: usize| medians.map_or(String::new(), |medians| number::tight(&write(medians[place])));
    let share = |share: f64| number::tight(&number::change(share));
    let ends = change.and_then(|change| change.interval);
    [
        label,
        median(0),
        median(1),
        change.map_or(number::NOTHING.to_owned(), |change| share(change.value)),
        ends.map_or(String::new(), |ends| format!("{} to {}", share(ends.low), share(ends.high))),
    ]
}

/// The part of the change of a CPU time in a cell that was billed before the ends ran, as a share of the baseline's CPU
/// time; `None` where it is shown of neither side.
pub fn billed_change(compared: &SideComparison, metric: &MetricComparison, cell: usize) -> Option<Estimate> {
    let (billed, cpu) = (compared.billed(metric.metric, cell)?, metric.comparison.cells.get(cell)?.medians?);
    let is_shown = billed.medians.iter().zip(cpu).any(|(billed, cpu)| shows_billed(billed / cpu));
    is_shown.then(|| billed.difference.map(|ns| ns / cpu[0]))
}

/// What a figure of [`billed_change`] means.
pub const BILLED_CHANGE: &str = "Billed: the part of the change that the clock charges for wake-ups, before the ends run.";

/// The table of what is neither better nor worse.
pub fn means(means: &Means, labels: &[String]) -> Table {
    let write = writer(means.metric);
    let row = |(place, moved): (usize, &Option<Shift>)| {
        let moved = moved.as_ref()?;
        let ends = interval::range(&moved.difference, signed);
        let label = labels.get(place).cloned().unwrap_or_default();
        Some(vec![label, signed(moved.difference.value), ends, write(moved.medians[0]), write(moved.medians[1])])
    };
    Table::of_figures(
        format!("{}: explains; not judged", capital(means.metric.title())),
        vec!["cell", "change", "interval", "baseline", "candidate"],
        means.cells.iter().enumerate().filter_map(row).collect(),
    )
}

/// With its sign.
fn signed(value: f64) -> String {
    format!("{}{}", if value > 0.0 { "+" } else { "" }, number::significant(value, 3))
}

/// A probability.
pub fn p(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { number::significant(p, 2) }
}

/// Whether two ways of measuring the same arms agree: a sentence, then the changes that differ.
pub fn agreement(changes: &[Agreement], labels: &[&str], ways: [&str; 2]) -> Vec<String> {
    let differ: Vec<&Agreement> = changes.iter().filter(|change| !change.agrees).collect();
    let agree = changes.len() - differ.len();
    let first = format!(
        "{agree} of {} {} within their intervals, {} and {}",
        plural(changes.len() as u64, "change"),
        verb(agree as u64, "agrees", "agree"),
        ways[0],
        ways[1]
    );
    let of = |change: &Agreement, place: usize| number::change(change.ratios[place].value - 1.0);
    let differ = differ.into_iter().map(|change| {
        format!(
            "{}, {} of {}: {} {}, {} {}",
            change.candidate,
            title(change.metric),
            labels.get(change.cell).copied().unwrap_or("a cell"),
            of(change, 0),
            ways[0],
            of(change, 1),
            ways[1],
        )
    });
    std::iter::once(first).chain(differ).collect()
}

/// How a design protects against drift.
pub const fn design(design: Design) -> &'static str {
    match design {
        Design::Paired => "Changes compare trials next to each other.",
        Design::Woven => "Changes are of arms that take turns of milliseconds, each warm after another's turn.",
        Design::Separate => "Separate runs have no drift protection: arms of one study do (--arm).",
        Design::Runs => "Separate runs: take those of the two sides in turns, against drift.",
    }
}

/// How runs of one side scatter, in a sentence.
pub fn scatter(metric: Metric, scatter: &RunScatter) -> String {
    let [baseline, candidate] = scatter.runs;
    format!(
        "{}: runs of one side scatter by {} of themselves (standard deviation, {baseline} and {candidate} runs), the blocks of a run by {}.",
        capital(metric.title()),
        number::percent(scatter.between),
        number::percent(scatter.within),
    )
}

/// A doubt in a sentence.
pub fn doubt(doubt: &Doubt, labels: &[String], names: [&str; 2]) -> String {
    let cell = doubt.cell.map_or("the machine as a whole", |place| labels.get(place).map_or("a cell", String::as_str));
    let side = match doubt.side {
        Some(Side::Baseline) => format!(" in {}", names[0]),
        Some(Side::Candidate) => format!(" in {}", names[1]),
        None => String::new(),
    };
    format!("{}{side} {}; p = {}", capital(cell), shape(&doubt.shape), p(doubt.p))
}

/// The shape of a series that a doubt is about.
pub fn shape(shape: &Shape) -> String {
    match *shape {
        Shape::WarmingUp { blocks, by } => format!("warmed up over {} ({})", plural(blocks as u64, "block"), number::change(by)),
        Shape::Stepped { at, by } => format!("changed its level at block {at} ({})", number::change(by)),
        Shape::Drifting { by } => format!("drifted from the first block to the last ({})", number::change(by)),
        Shape::Bimodal { modes: [low, high], upper } => {
            format!(
                "has two modes, {} and {}, the upper in {} of blocks: the median lies between",
                number::significant(low, 3),
                number::significant(high, 3),
                number::percent(upper)
            )
        }
        Shape::RoundsGoTogether { lag_one } => {
            format!("has rounds that go together (correlation {}): what differs belongs to connections", number::significant(lag_one, 2))
        }
        Shape::InstancesDiffer { ratio } => {
            format!("differs between instances {} times as much as rounds let expect", number::significant(ratio, 2))
        }
        Shape::LevelByAge { by } => {
            format!("changes within slices ({} in the second half): its level depends on their length", number::change(by))
        }
    }
}

/// A method and what stands behind it.
pub fn method(comparison: &Comparison) -> String {
    let design = match comparison.design {
        Design::Paired => "pairs of one block, sign-flip test on log ratios",
        Design::Woven => "Student's t over instances, each the Hodges-Lehmann estimate of its rounds' log ratios",
        Design::Separate => "labels dealt again over both runs' blocks, on logarithms",
        Design::Runs => "Welch's t on the logarithms of each run's median",
    };
    let side = if comparison.design == Design::Runs { " on each side" } else { "" };
    let needed = format!("{}{side}", plural(comparison.needed as u64, unit(comparison.design)));
    let method = comparison.cells.iter().find_map(|judged| judged.ratio?.interval).map_or("", |ends| interval::method(ends.method));
    let by = if method.is_empty() { String::new() } else { format!("; intervals by {method}") };
    format!(
        "Better and worse need a difference that is sure and beyond {}: {design}; {needed} at least{by}. 'equivalent': the interval at {} \
         lies within that on both sides. 'open (≥...)', 'misses below': neither; a true difference of that size is shown in four runs of five.",
        number::percent(comparison.threshold),
        number::percent(1.0 - 2.0 * (1.0 - comparison.held_to)),
    )
}
