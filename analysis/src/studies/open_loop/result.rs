//! Result of rates that were offered: cells that differ in their rate alone.

use model::{Bytes, OfferedRate, Pacing, Test};
use serde::Serialize;

use stats::estimate::Estimate;

/// Every series with a rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenLoopStudy {
    /// One for each series, size and way of pacing.
    pub series: Vec<OpenLoopSeries>,
}

impl OpenLoopStudy {
    /// Places of the cells that are compared here: those of several rates.
    pub fn variants(&self) -> impl Iterator<Item = usize> + '_ {
        self.series.iter().filter(|series| series.rates.len() > 1).flat_map(|series| &series.rates).map(|rate| rate.cell)
    }
}

/// Cells that differ in their rate alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenLoopSeries {
    /// The series in words, without the rate.
    pub series: String,
    /// Its test.
    pub test: Test,
    /// Message size.
    pub size: Bytes,
    /// The way in which its sender waits.
    pub pacing: Pacing,
    /// Place of the cell without a rate, where there is one.
    pub closed: Option<usize>,
    /// By rising rate; at least one. Their percentiles are those of the cells.
    pub rates: Vec<RateResult>,
    /// Rate that it can carry.
    pub saturation: Saturation,
    /// The smallest rate from which on the corrected 99th percentile is shown to
    /// have left the uncorrected one: beyond twice as long, their intervals apart.
    /// `None` where it does so at no rate up to the largest.
    pub knee_per_s: Option<f64>,
}

/// One rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateResult {
    /// Place of the cell.
    pub cell: usize,
    /// As the plan says it.
    pub rate: OfferedRate,
    /// Messages a second that this is, all flows together.
    pub offered_per_s: f64,
    /// Messages a second that were sent.
    pub sent_per_s: Option<Estimate>,
    /// Share of the schedule that was not sent in time.
    pub behind: Option<Estimate>,
    /// True where all but 1 % was sent in time, by the median trial; `None` without
    /// any trial.
    pub reached: Option<bool>,
    /// Round trips from the intended time of each request: percent and ns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrected: Vec<[f64; 2]>,
    /// From the actual time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncorrected: Vec<[f64; 2]>,
}

/// Rates that a series can carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Saturation {
    /// The largest rate that was reached, with all below it; `None`: not even the
    /// smallest was.
    pub reached_per_s: Option<f64>,
    /// The smallest that was not; `None`: all were.
    pub missed_per_s: Option<f64>,
    /// The most that was sent at any rate.
    pub most_sent_per_s: Option<Estimate>,
}

/// What a series of rates shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Claim {
    /// It saturates between two rates that were offered.
    Between {
        /// The largest rate that was reached, with all below it.
        reached: f64,
        /// The smallest that was not.
        missed: f64,
    },
    /// All of several rates were reached: where it saturates is not known.
    All {
        /// The largest.
        largest: f64,
    },
    /// The only rate was reached.
    One {
        /// It.
        rate: f64,
    },
    /// Rates up to this one were reached, and of a larger one no trial was measured.
    Up {
        /// The largest that was reached, with all below it.
        reached: f64,
    },
    /// The smallest rate was not reached.
    NoneReached {
        /// It.
        smallest: f64,
    },
    /// A rate was not reached, and of a smaller one no trial was measured.
    Missed {
        /// The smallest that was not.
        rate: f64,
    },
    /// No trial was measured.
    Nothing,
}

impl Saturation {
    /// The saturation of rates by rising rate, each of which was reached, was not, or was not measured.
    pub fn claim(&self, reached: &[Option<bool>]) -> Claim {
        match (self.reached_per_s, self.missed_per_s) {
            (Some(reached), Some(missed)) if missed > reached => Claim::Between { reached, missed },
            (Some(rate), _) if reached == [Some(true)] => Claim::One { rate },
            (Some(largest), _) if reached.iter().all(|reached| *reached == Some(true)) => Claim::All { largest },
            (Some(reached), _) => Claim::Up { reached },
            (None, Some(smallest)) if reached.first() == Some(&Some(false)) => Claim::NoneReached { smallest },
            (None, Some(rate)) => Claim::Missed { rate },
            (None, None) => Claim::Nothing,
        }
    }
}
