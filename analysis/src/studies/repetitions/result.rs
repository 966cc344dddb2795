//! Result of repetitions: the messages that a trial needs, from cells that differ
//! in their count alone.

use model::{Bytes, Test};
use serde::Serialize;

use stats::estimate::Estimate;

/// Every series whose cells have counts of their own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepetitionStudy {
    /// The precision that the count to use is for, as a share: 0.01 is 1 %.
    pub precision: f64,
    /// The runs whose mean is to have it, at 95 %.
    pub runs: usize,
    /// One for each series and size.
    pub series: Vec<RepetitionSeries>,
}

impl RepetitionStudy {
    /// Places of the cells that are summed up here: all but those of the largest
    /// count.
    pub fn variants(&self) -> impl Iterator<Item = usize> + '_ {
        self.series.iter().flat_map(|series| series.counts.iter().rev().skip(1)).map(|count| count.cell)
    }
}

/// Cells that differ in their count alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepetitionSeries {
    /// The series in words, without the count.
    pub series: String,
    /// Its test.
    pub test: Test,
    /// Message size.
    pub size: Bytes,
    /// By rising count; at least two.
    pub counts: Vec<CountResult>,
    /// Total time against the count.
    pub line: CountLine,
    /// The spread against the count; `None` where too few counts have one.
    pub law: Option<SpreadLaw>,
    /// The smallest count from which on no spread is shown to be larger than
    /// that of the largest count; `None` where the spreads cannot be compared.
    pub settled: Option<u64>,
    /// The count to use.
    pub advice: Advice,
}

/// Trials of one count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CountResult {
    /// Measured messages of each trial.
    pub count: u64,
    /// Place of the cell.
    pub cell: usize,
    /// Elapsed time of all measured messages at the receiver, in ns.
    pub total_ns: Option<Estimate>,
    /// Spread of the trials, as a share of their median: 1.4826 times the median
    /// absolute deviation, the standard deviation of normal noise.
    pub spread: Option<Estimate>,
    /// Trials left out because not all of their messages arrived.
    pub short: usize,
}

/// Total time against count, or why there is no line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountLine {
    /// total = fixed + count · per message.
    Fitted {
        /// Time of one message in ns: the slope.
        per_message_ns: Estimate,
        /// Time in ns whatever the count: the intercept. It may be negative: the
        /// receiver's clock starts at the first measured message.
        fixed_ns: Estimate,
        /// The worst miss of a count's median, as a share of the line.
        worst_residual: f64,
    },
    /// There is none.
    None {
        /// Why, in a sentence.
        reason: String,
    },
}

/// spread = at_thousand · (count / 1000)^-exponent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpreadLaw {
    /// 0 where the count does not matter, 0.5 where messages scatter each by itself.
    pub exponent: Estimate,
    /// The spread at 1,000 messages by the law, as a share.
    pub at_thousand: Estimate,
}

/// The spread as the count rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// It falls, but too slowly.
    Falls,
    /// It stays: the whole interval of the exponent lies within [`Trend::FLAT`] of 0.
    Stays,
    /// Neither is shown.
    Open,
}

impl Trend {
    /// Over twice as many messages a spread that goes as count^-k changes by 7 % with
    /// this k: that is none to measure more messages for.
    pub const FLAT: f64 = 0.1;

    /// By the law of the spread; open without one.
    pub fn of(law: Option<&SpreadLaw>) -> Self {
        match law.and_then(|law| law.exponent.interval) {
            Some(ends) if ends.low > 0.0 => Self::Falls,
            Some(ends) if ends.low >= -Self::FLAT && ends.high <= Self::FLAT => Self::Stays,
            _ => Self::Open,
        }
    }
}

/// The count to use for the precision asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// The smallest count measured is enough.
    Least {
        /// It.
        count: u64,
        /// True where the whole interval of its spread is enough, not its estimate alone.
        shown: bool,
    },
    /// By the law of the spread.
    Count {
        /// Messages; with its interval where the law has one.
        count: Estimate,
        /// True where it is beyond what was measured.
        beyond: bool,
    },
    /// No count is shown to be enough: more runs are needed.
    MoreRuns {
        /// The spread, as a share: the median over counts; where it falls, that of the largest.
        spread: f64,
        /// What it does as the count rises.
        trend: Trend,
        /// Runs that are needed.
        runs: usize,
    },
    /// There is no spread to tell it from.
    Unknown,
}
