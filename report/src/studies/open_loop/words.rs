//! Rates in words.

use analysis::result::open_loop::OpenLoopSeries;
use analysis::result::{Analysis, Estimate};

use crate::interval;
use crate::number::{self, tight};
use crate::series::percentile;

/// Messages or transactions a second.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", number::significant(rate, 4))
}

/// Up to which rate the series kept to its schedule.
pub fn saturation(series: &OpenLoopSeries) -> String {
    let found = &series.saturation;
    let most = found.most_sent_per_s.map_or(String::new(), |most| {
        format!("; the most that was sent is {} {}", per_second(most.value), tight(&interval::plus_minus(&most)))
    });
    match (found.reached_per_s, found.missed_per_s) {
        (Some(reached), Some(missed)) if missed > reached => {
            format!("Kept up to {} and saturated at {}{most}.", per_second(reached), per_second(missed))
        }
        (Some(reached), _) => format!("Every rate was reached, up to {}: it saturates beyond.", per_second(reached)),
        (None, Some(missed)) => format!("Not even the smallest rate, {}, was reached{most}.", per_second(missed)),
        (None, None) => "Nothing was measured.".to_owned(),
    }
}

/// Where corrected times leave uncorrected ones.
pub fn knee(series: &OpenLoopSeries, analysis: &Analysis) -> Option<String> {
    let p99 = |place: usize| -> Option<[Estimate; 2]> {
        let cell = analysis.cells.get(place)?;
        Some([*percentile(cell.latency.as_ref(), 99.0)?, *percentile(cell.uncorrected.as_ref(), 99.0)?])
    };
    let at = series.rates.iter().find(|rate| Some(rate.offered_per_s) == series.knee_per_s);
    match at {
        Some(rate) => {
            let [due, sent] = p99(rate.cell)?;
            Some(format!(
                "From {} on the 99th percentile from when requests were due leaves the one from when they were sent: {} against {}. Beyond that \
                 rate requests queue, and a closed loop does not see it.",
                per_second(rate.offered_per_s),
                number::time(due.value),
                number::time(sent.value)
            ))
        }
        None => series.rates.iter().any(|rate| p99(rate.cell).is_some()).then(|| {
            "At no rate, or not up to the largest, is the 99th percentile from when requests were due shown to be beyond twice the one from when \
             they were sent."
                .to_owned()
        }),
    }
}
