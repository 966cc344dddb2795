//! One metric over many runs of a study: where its level changed, and whether for the worse.
//!
//! A value is the median of a run's trials in a cell. Each cell's series is looked at by
//! [`stats::level_changes`]; Holm's procedure over the cells decides which of them changed at all,
//! so that the share of histories with a false change stays below [`LEVEL`] however many
//! cells there are.

use std::collections::HashMap;

use model::Cell;
use model::sorting::Order;
use serde::Serialize;
use stats::level_changes::{LEAST, Levels, Limits, levels};
use stats::{holm, median};

use crate::metric::Direction;
use crate::result::Metric;
use crate::table::TrialTable;

/// Share of histories without any change that may show one. Simulated with series of
/// independent values; 1.5 %, so that it is below 2 % with what a simulation can tell.
pub const LEVEL: f64 = 0.015;

/// Below this p neighbouring runs are said to be alike.
const ALIKE: f64 = 0.01;

/// Random orders that a limit is simulated from, at least and at most.
const ORDERS: [usize; 2] = [9_999, 199_999];
/// Random orders beyond the limit of the clearest of all cells: so many tell where it lies
/// within a seventh.
const BEYOND: f64 = 50.0;

/// The version of [`History`] as JSON.
pub const HISTORY_FORMAT: u32 = 1;

/// One run of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryRun {
    /// Its name.
    pub id: String,
    /// Its start, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// Kernel release of its hosts.
    pub kernel: String,
    /// Version and commit of nettoll.
    pub tool: String,
}

/// The history of a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// Version of this form.
    pub format: u32,
    /// Name of the study.
    pub study: String,
    /// Hardware of its hosts, in words.
    pub machine: String,
    /// The metric.
    pub metric: Metric,
    /// Its name for a person.
    pub title: &'static str,
    /// The runs, the earliest first.
    pub runs: Vec<HistoryRun>,
    /// The cells, those that changed first.
    pub cells: Vec<CellHistory>,
    /// Share of histories without a change that may show one.
    pub level: f64,
    /// The newest run is past a change for the worse.
    pub worse: bool,
}

/// The history of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellHistory {
    /// The arm; `None` in a study without.
    pub arm: Option<String>,
    /// The cell in words.
    pub name: String,
    /// The cell.
    pub cell: Cell,
    /// Places of the runs that have a value, in [`History::runs`].
    pub runs: Vec<usize>,
    /// The values, in the metric's unit.
    pub values: Vec<f64>,
    /// Of CPU time, the part of each that was billed before the ends ran.
    #[serde(skip)]
    pub billed: Vec<Option<f64>>,
    /// Its levels, the earliest first; one of a cell that did not change.
    pub levels: Vec<Level>,
    /// Probability of a change as clear by chance, over all cells (Holm); `None` of too few
    /// values or of equal ones.
    pub p: Option<f64>,
    /// Neighbouring runs are more alike than independent ones, so that changes by chance are
    /// more frequent than [`History::level`] says.
    pub alike: bool,
    /// The way the newest level is from the one before it.
    pub newest: Turn,
}

/// A level of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Place of its first run, in [`History::runs`].
    pub first: usize,
    /// Its median.
    pub value: f64,
    /// Of CPU time, the median of the part that was billed before the ends ran, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub billed: Option<f64>,
    /// Relative change from the level before; `None` of the first.
    pub change: Option<f64>,
    /// Probability of a change as clear between its neighbours by chance; `None` of the first.
    pub p: Option<f64>,
    /// The way it went.
    pub turn: Turn,
}

/// The way from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// There was none.
    None,
    /// For the worse.
    Worse,
    /// For the better.
    Better,
    /// Of a metric that is neither better nor worse.
    Other,
}

/// Collects the runs of a history, the earliest first.
#[derive(Debug)]
pub struct HistoryCollector {
    metric: Metric,
    runs: Vec<HistoryRun>,
    cells: Vec<CellHistory>,
    places: HashMap<(Option<String>, Cell), usize>,
}

impl HistoryCollector {
    /// The history of a metric, without runs.
    pub fn new(metric: Metric) -> Self {
        Self { metric, runs: Vec::new(), cells: Vec::new(), places: HashMap::new() }
    }

    /// Adds a run with its trials.
    pub fn push(&mut self, run: HistoryRun, trials: &TrialTable) {
        let place = self.runs.len();
        self.runs.push(run);
        for (arm, name) in trials.arm_names().into_iter().enumerate() {
            // Under the plan's cell: what an arm changes there is the arm's.
            for (cell, trials) in trials.cells().iter().zip(trials.arm(arm)) {
                let middle =
                    |metric: Metric| median::median(&trials.figures.iter().filter_map(|figures| figures.get(metric)).collect::<Vec<_>>());
                let Some(value) = middle(self.metric) else { continue };
                let billed = self.metric.billed().and_then(middle);
                let series = self.series(name, cell);
                series.runs.push(place);
                series.values.push(value);
                series.billed.push(billed);
            }
        }
    }

    fn series(&mut self, arm: Option<&str>, cell: &Cell) -> &mut CellHistory {
        let arm = arm.map(str::to_owned);
        let place = *self.places.entry((arm.clone(), cell.clone())).or_insert(self.cells.len());
        if place == self.cells.len() {
            let name = arm.as_ref().map_or_else(|| cell.to_string(), |arm| format!("{cell} in {arm}"));
            let (runs, values, billed, levels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            let cell = cell.clone();
            self.cells.push(CellHistory { arm, name, cell, runs, values, billed, levels, p: None, alike: false, newest: Turn::None });
        }
        &mut self.cells[place]
    }

    /// The history of what was pushed.
    pub fn finish(self, study: String, machine: String) -> History {
        let orders = (BEYOND * self.cells.len() as f64 / LEVEL) as usize;
        self.judged(study, machine, &mut Limits::new(orders.clamp(ORDERS[0], ORDERS[1])))
    }

    fn judged(self, study: String, machine: String, limits: &mut Limits) -> History {
        let Self { metric, runs, mut cells, .. } = self;
        let found: Vec<Option<Levels>> = cells.iter().map(|cell| levels(&cell.values, LEVEL, limits)).collect();
        let known: Vec<usize> = (0..cells.len()).filter(|at| found[*at].is_some()).collect();
        let adjusted = holm::holm(&known.iter().filter_map(|at| found[*at].as_ref().map(|levels| levels.p)).collect::<Vec<_>>());
        for (at, p) in known.iter().zip(&adjusted) {
            cells[*at].p = Some(*p);
        }
        for (cell, found) in cells.iter_mut().zip(&found) {
            cell.alike = found.as_ref().and_then(|found| found.p_neighbours).is_some_and(|p| p < ALIKE);
            let changed = cell.p.is_some_and(|p| p <= LEVEL);
            cell.levels = of_cell(cell, found.as_ref().filter(|_| changed), metric);
            cell.newest = cell.levels.last().map_or(Turn::None, |level| level.turn);
        }
        // Stable: within each kind the plan's order stays.
        cells.order_by_key(|cell| match cell.newest {
            Turn::Worse => 0,
            Turn::Better | Turn::Other => 1,
            Turn::None => 2,
        });
        let worse = cells.iter().any(|cell| cell.newest == Turn::Worse);
        History { format: HISTORY_FORMAT, study, machine, metric, title: metric.title(), runs, cells, level: LEVEL, worse }
    }
}

impl History {
    /// Number of runs from which on a change can be shown.
    pub const LEAST_RUNS: usize = LEAST;
}

/// The levels of a cell; `found` where it changed.
fn of_cell(cell: &CellHistory, found: Option<&Levels>, metric: Metric) -> Vec<Level> {
    let changes = found.map_or(&[][..], |found| &found.changes);
    let Some(first) = cell.runs.first() else { return Vec::new() };
    let whole = median::median(&cell.values).unwrap_or_default();
    let value = changes.first().map_or(whole, |change| change.levels[0]);
    let billed = |from: usize, to: usize| median::median(&cell.billed.get(from..to)?.iter().flatten().copied().collect::<Vec<_>>());
    let ends = || changes.iter().map(|change| change.before).chain([cell.runs.len()]);
    let of_first = billed(0, ends().next().unwrap_or_default());
    let mut all = vec![Level { first: *first, value, billed: of_first, change: None, p: None, turn: Turn::None }];
    all.extend(changes.iter().zip(ends().skip(1)).map(|(change, end)| {
        let [before, after] = change.levels;
        let turn = match metric.better() {
            None => Turn::Other,
            Some(Direction::LowerIsBetter) if after > before => Turn::Worse,
            Some(Direction::HigherIsBetter) if after < before => Turn::Worse,
            Some(_) => Turn::Better,
        };
        let moved = (before != 0.0).then(|| after / before - 1.0);
        let billed = billed(change.before, end);
        Level { first: cell.runs[change.before], value: after, billed, change: moved, p: Some(change.p), turn }
    }));
    all
}

#[cfg(test)]
mod tests;
