//! Ratios beyond a factor of two.

use model::plan::Factor;
use model::sorting::Order;

use stats::estimate::Estimate;

use super::{Level, LevelFinding, LevelMetric, SeriesLevels};

/// A ratio from which on, or below whose inverse, it is reported by itself.
pub const FAR: f64 = 2.0;

/// Those of one series, one for each level and figure. What has no interval is
/// none, nor is one whose interval holds 1: that may be no difference at all.
pub fn findings(factor: Factor, series: &SeriesLevels) -> Vec<LevelFinding> {
    let compared = |level: &Level, compared: LevelMetric| -> Option<LevelFinding> {
        let figure = level.figures.get(&compared)?;
        let sizes = series.sizes.iter().zip(&figure.by_size).filter_map(|(size, figure)| Some((*size, figure.against_base?)));
        let sizes: Vec<_> = sizes.filter(|(_, ratio)| ratio.interval.is_some()).collect();
        let far = |shown: bool| sizes.iter().filter(move |(_, ratio)| is_far(ratio, shown));
        let shown = far(true).next().is_some();
        let (size, ratio) = far(shown).max_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)))?;
        Some(LevelFinding {
            factor,
            level: level.name.clone(),
            base: series.base().to_owned(),
            series: series.series.clone(),
            test: series.test,
            compared,
            size: *size,
            ratio: *ratio,
            sizes: far(shown).filter(|(_, other)| (other.value > 1.0) == (ratio.value > 1.0)).count(),
            of: sizes.len(),
            shown,
        })
    };
    // What says the same in other words is said once: the time of a message is the
    // inverse of the throughput where nothing is lost, as a round trip is of the rate.
    let is_told = |compared: &LevelMetric| match compared {
        // Of several hosts it is shorter because there are several.
        LevelMetric::SenderTime => series.test == model::Test::UdpStream && !factor.is_of_hosts(),
        LevelMetric::Throughput => series.test.is_stream(),
        // More hosts send more.
        LevelMetric::Completion => false,
        other => !other.is_difference(),
    };
    let compared_by =
        |level: &Level| LevelMetric::ALL.iter().filter(|of| is_told(of)).filter_map(|of| compared(level, *of)).collect::<Vec<_>>();
    series.levels.iter().skip(1).flat_map(compared_by).collect()
}

/// Returns whether a ratio is beyond a factor of two: its whole interval, or its
/// estimate alone with an interval that leaves 1 out.
fn is_far(ratio: &Estimate, wholly: bool) -> bool {
    let Some(ends) = ratio.interval else { return false };
    match wholly {
        true => ends.low >= FAR || ends.high <= 1.0 / FAR,
        false => (ratio.value >= FAR && ends.low > 1.0) || (ratio.value <= 1.0 / FAR && ends.high < 1.0),
    }
}

fn distance(ratio: &Estimate) -> f64 {
    ratio.value.ln().abs()
}

/// Sorts what is shown first, then the farthest.
pub fn sort(findings: &mut [LevelFinding]) {
    findings.order_by(|a, b| b.shown.cmp(&a.shown).then(distance(&b.ratio).total_cmp(&distance(&a.ratio))));
}
