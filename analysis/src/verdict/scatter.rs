//! Scatter of whole runs next to that of the blocks within them.

use serde::Serialize;
use stats::median;

use crate::figures::Figures;
use crate::metric::Metric;

/// How runs of one side scatter among themselves, in the middling cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunScatter {
    /// Runs of the baseline and of the candidate.
    pub runs: [usize; 2],
    /// Standard deviation of runs beyond what their blocks explain, as a share; 0 where
    /// blocks explain the whole scatter.
    pub between: f64,
    /// Standard deviation of the blocks of one run, as a share.
    pub within: f64,
}

/// The variance of a median over that of a mean, of many normal values.
const MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// The scatter of one metric; `None` where no cell has two runs on a side.
pub(super) fn scatter(cells: &[[Vec<&[Figures]>; 2]], metric: Metric) -> Option<RunScatter> {
    let (between, within): (Vec<f64>, Vec<f64>) = cells.iter().filter_map(|sides| of_cell(sides, metric)).unzip();
    let runs = [0, 1].map(|side| cells.iter().map(|sides| sides[side].len()).max().unwrap_or_default());
    Some(RunScatter { runs, between: median::median(&between)?.sqrt(), within: median::median(&within)?.sqrt() })
}

/// Variances between the runs of a cell, and between the blocks of its runs.
fn of_cell(sides: &[Vec<&[Figures]>; 2], metric: Metric) -> Option<(f64, f64)> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    let (mut within, mut sampling) = (Vec::new(), Vec::new());
    for side in sides {
        let runs = side.iter().filter_map(|trials| {
            let logs: Vec<f64> = trials.iter().filter_map(|trial| Some(trial.get(metric)?.ln())).filter(|log| log.is_finite()).collect();
            let variance = median::deviation(&logs)?.powi(2);
            Some((median::median(&logs)?, variance, logs.len() as f64))
        });
        let runs: Vec<(f64, f64, f64)> = runs.collect();
        let mean = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
        squares += runs.iter().map(|run| (run.0 - mean).powi(2)).sum::<f64>();
        freedom += runs.len().saturating_sub(1) as f64;
        within.extend(runs.iter().map(|run| run.1));
        sampling.extend(runs.iter().map(|run| MEDIAN * run.1 / run.2));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (freedom > 0.0).then(|| ((squares / freedom - mean(&sampling)).max(0.0), mean(&within)))
}
