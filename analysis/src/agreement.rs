//! Whether two comparisons of the same arms, measured in different ways, say the same.

use stats::estimate::Estimate;

use crate::metric::Metric;
use crate::studies::verdicts::ArmVerdict;

/// One change, by two ways of measuring it.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The candidate.
    pub candidate: String,
    /// The metric.
    pub metric: Metric,
    /// The place of the cell.
    pub cell: usize,
    /// The candidate over the baseline, by either way.
    pub ratios: [Estimate; 2],
    /// True where the two differ by no more than their intervals explain together.
    pub agrees: bool,
}

/// Every change by a metric of the gate that both have.
pub fn agreements(first: &[ArmVerdict], second: &[ArmVerdict]) -> Vec<Agreement> {
    let mut found = Vec::new();
    for (one, other) in first.iter().filter_map(|one| Some((one, second.iter().find(|other| other.candidate == one.candidate)?))) {
        for metric in one.compared.metrics.iter().filter(|metric| metric.gate) {
            let Some(same) = other.compared.metrics.iter().find(|other| other.metric == metric.metric) else { continue };
            for (cell, (a, b)) in metric.comparison.cells.iter().zip(&same.comparison.cells).enumerate() {
                let Some((ratios, agrees)) = a.ratio.zip(b.ratio).and_then(|(a, b)| Some(([a, b], agree(&a, &b)?))) else { continue };
                found.push(Agreement { candidate: one.candidate.clone(), metric: metric.metric, cell, ratios, agrees });
            }
        }
    }
    found
}

/// Of two independent estimates the difference scatters by both errors, which add as squares. `None` without intervals.
fn agree(a: &Estimate, b: &Estimate) -> Option<bool> {
    let apart = (b.value / a.value).ln();
    // From the lower one up, from the higher one down.
    let reach = |of: &Estimate, up: bool| {
        let ends = of.interval?;
        Some((if up { ends.high } else { ends.low } / of.value).ln().powi(2))
    };
    let reach = (reach(a, apart > 0.0)? + reach(b, apart < 0.0)?).sqrt();
    Some(apart.abs() <= reach)
}

#[cfg(test)]
mod tests {
    use stats::estimate::{Estimate, Interval, Method};

    use super::agree;

    #[test]
    fn estimates_agree_within_both_errors_together() {
        let of = |value: f64, half: f64| {
            let interval = Interval { low: value / (1.0 + half), high: value * (1.0 + half), confidence: 0.95, method: Method::Instances };
            Estimate { value, interval: Some(interval), n: 8 }
        };
        assert_eq!(agree(&of(1.0, 0.03), &of(1.048, 0.04)), Some(true));
        assert_eq!(agree(&of(1.0, 0.03), &of(1.052, 0.04)), Some(false));
        assert_eq!(agree(&of(1.052, 0.04), &of(1.0, 0.03)), Some(false));
        assert_eq!(agree(&of(1.0, 0.03), &Estimate { interval: None, ..of(1.0, 0.0) }), None);
    }
}
