//! Cells that belong into one table: those that differ in message size alone.

use std::collections::HashSet;

use analysis::answer::notation;
use analysis::group_by;
use analysis::result::{Analysis, CellResult, CostModel, Estimate, FitOutcome, Latency, Limit, Metric, Percentile, Quantity, Term};
use model::Test;
use model::cell::Series;
use model::sorting::Order;

/// Cells of one series, in the order of the plan.
pub struct Group<'a> {
    /// The series in words, such as `TCP_STREAM (nodelay)`; in a run with arms as the first
    /// runs it, with the arm's name.
    pub name: String,
    /// The test that all of them run.
    pub test: Test,
    /// Its cells; at least one.
    pub cells: Vec<&'a CellResult>,
    /// Its cost models.
    pub models: Vec<&'a CostModel>,
}

impl Group<'_> {
    /// The model of one quantity.
    pub fn model(&self, quantity: Quantity) -> Option<&CostModel> {
        self.models.iter().copied().find(|model| model.quantity == quantity)
    }
}

/// Every series of an analysis, streams first, else in the order of the plan;
/// except those that stand next to each other elsewhere ([`variants`]).
pub fn groups(analysis: &Analysis) -> Vec<Group<'_>> {
    let places = summed_up(analysis);
    grouped(analysis, |place| !places.contains(&place))
}

/// The series of levels, counts and rates that a part of the report of their own
/// sums up.
pub fn variants(analysis: &Analysis) -> Vec<Group<'_>> {
    let places = summed_up(analysis);
    grouped(analysis, |place| places.contains(&place))
}

/// Places of the cells that the section of a study sums up, so that their tables and models
/// need not lead.
fn summed_up(analysis: &Analysis) -> HashSet<usize> {
    let levels = analysis.levels().into_iter().flat_map(|study| study.variants());
    let counts = analysis.repetitions().into_iter().flat_map(|study| study.variants());
    let rates = analysis.open_loop().into_iter().flat_map(|study| study.variants());
    levels.chain(counts).chain(rates).collect()
}

fn grouped(analysis: &Analysis, belongs: impl Fn(usize) -> bool) -> Vec<Group<'_>> {
    let cells = analysis.cells.iter().enumerate().filter(|(place, _)| belongs(*place)).map(|(_, cell)| cell);
    let plan = &analysis.run.plan;
    // Figures of a run with arms are those of the first, which may set what the series names.
    let name = |series: &Series, cell: &CellResult| match (plan.arms.first(), plan.cell_in(&cell.cell, 0)) {
        (Some(arm), Ok(as_run)) => format!("{}, arm {}", as_run.series(), arm.name),
        _ => series.to_string(),
    };
    let group = |(series, cells): (Series, Vec<_>)| {
        let models = analysis.models().iter().filter(|model| model.series == series).collect();
        let first: &CellResult = cells[0];
        Group { name: name(&series, first), test: series.test(), cells, models }
    };
    let mut groups: Vec<Group> = group_by(cells, |cell| cell.cell.series()).into_iter().map(group).collect();
    // What a map of buffers shows needs no table of its own.
    let mapped = |group: &Group| match group.cells.as_slice() {
        [only] => analysis.buffers().iter().any(|map| map.place_of(&only.cell).is_some()),
        _ => false,
    };
    groups.retain(|group| !mapped(group));
    groups.order_by_key(|group| !group.test.is_stream());
    groups
}

/// A metric of a cell, if it was measured and is a number.
pub fn metric(cell: &CellResult, metric: Metric) -> Option<&Estimate> {
    cell.metrics.get(&metric).filter(|estimate| estimate.value.is_finite())
}

/// Tells if any kind of times lacks some that did not end.
pub fn missing_any(group: &Group) -> bool {
    let round_trips: Times = ("", |cell| cell.latency.as_ref());
    let lacks = |cell: &CellResult| OTHER_TIMES.iter().chain([&round_trips]).any(|(_, of)| of(cell).is_some_and(|times| times.missing > 0));
    group.cells.iter().any(|cell| lacks(cell))
}

/// Tells if anything was lost on the way in any cell of a one-way stream: then
/// what was sent stands next to what arrived.
pub fn lost_any(group: &Group) -> bool {
    let lost = |estimate: &Estimate| estimate.value > 0.0 || estimate.interval.is_some_and(|ends| ends.high > 0.0);
    group.cells.iter().filter_map(|cell| metric(cell, Metric::LossShare)).any(lost)
}

/// The least share of CPU time that is shown as billed before an end ran.
const LEAST_BILLED: f64 = 0.02;

/// Returns whether a share of CPU time that was billed before an end ran is shown.
pub fn shows_billed(share: f64) -> bool {
    share >= LEAST_BILLED
}

/// Such shares of several CPU times, in a sentence; `None` where none of them is shown.
pub fn billed_words(shares: impl IntoIterator<Item = f64>, of: &str) -> Option<String> {
    let [least, most] = shares.into_iter().fold([f64::INFINITY, 0.0], |[least, most], share| [share.min(least), share.max(most)]);
    let [low, high] = [least, most].map(notation::amount);
    let range = if low == high { high } else { format!("{low} to {high}") };
    shows_billed(most).then(|| format!("The clock bills {range} % of {of} for wake-ups, before the ends run."))
}

/// Tells if any cell of the group has a figure of this metric; of what was billed, one that is shown.
pub fn has(group: &Group, name: Metric) -> bool {
    let is_shown = |cell: &CellResult, found: &Estimate| match name.billed_of() {
        Some(cpu) => metric(cell, cpu).is_some_and(|cpu| shows_billed(found.value / cpu.value)),
        None => true,
    };
    group.cells.iter().any(|cell| metric(cell, name).is_some_and(|found| is_shown(cell, found)))
}

/// Times of a cell that are not round trips, each with what they are called.
pub type Times = (&'static str, fn(&CellResult) -> Option<&Latency>);

/// Every kind of times of a cell besides its round trips: the name in words.
pub const OTHER_TIMES: [Times; 3] = [
    ("uncorrected", |cell| cell.uncorrected.as_ref()),
    ("late by", |cell| cell.lateness.as_ref()),
    ("beyond least", |cell| cell.beyond_least.as_ref()),
];

/// Tells if a cost model of the series counts wake-ups.
pub fn counts_wakeups(group: &Group) -> bool {
    let fits = group.models.iter().filter_map(|model| match &model.outcome {
        FitOutcome::Fitted(fit) => Some(fit),
        FitOutcome::NotALine { .. } => None,
    });
    fits.flat_map(|fit| &fit.pieces).flat_map(|piece| &piece.terms).any(|entry| entry.term == Term::Wakeup)
}

/// A percentile of a cell's times.
pub fn percentile(latency: Option<&Latency>, percent: f64) -> Option<&Percentile> {
    latency?.percentiles.iter().find(|entry| (entry.percent - percent).abs() < 1e-6)
}

/// The limit of a cell in one word.
pub const fn limit(limit: Option<Limit>) -> &'static str {
    match limit {
        Some(Limit::SenderCpu) => "sender",
        Some(Limit::ReceiverCpu) => "receiver",
        Some(Limit::BothCpus) => "both",
        Some(Limit::NoCpu) => "no CPU",
        Some(Limit::Waiting) => "waiting",
        Some(Limit::Rate) => "rate",
        None => crate::number::NOTHING,
    }
}
