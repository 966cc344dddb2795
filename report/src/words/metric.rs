//! The way in which a metric's figures are written.

use analysis::result::{Metric, Unit};

use crate::number;

/// Writes a figure of the metric with its unit.
pub const fn writer(metric: Metric) -> fn(f64) -> String {
    match metric.unit() {
        Unit::Count | Unit::PerSecond => number::count,
        Unit::BitsPerSecond => number::bits,
        Unit::Nanoseconds => number::time,
        Unit::Share => number::percent,
        Unit::PerMessage => ratio,
    }
}

fn ratio(value: f64) -> String {
    number::significant(value, 2)
}
