//! The notation of the tables of answers: few rows, one unit a column, three digits with their interval.

use analysis::answer::notation::{self, digits};
use analysis::result::Estimate;
use model::sorting::Order;

use crate::document::{Cut, Keeps};
use crate::interval;
use crate::number::NOTHING;

/// Rows of a table of an answer.
pub const MOST_ROWS: usize = 11;

/// What stays of names that name rows.
pub const NAME: Cut = Cut { least: 14, keeps: Keeps::Start };

/// The unit of a column of times: that of its middle.
pub fn unit(values: &[f64]) -> (f64, &'static str) {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.order_by(f64::total_cmp);
    notation::unit_of(sorted.get(sorted.len() / 2).copied().unwrap_or(0.0))
}

/// `7.14 (5.99–9.83)`, with a mark where the ends are more than a factor of two apart.
pub fn figure(found: Option<&Estimate>, factor: f64) -> String {
    found.map_or_else(|| NOTHING.to_owned(), |found| within(found.value, found.interval.map(|ends| [ends.low, ends.high]), factor))
}

/// The same of a value and both ends of its interval.
pub fn within(value: f64, interval: Option<[f64; 2]>, factor: f64) -> String {
    let ends = interval.map_or_else(|| NOTHING.to_owned(), |ends| ends.map(|end| short(end / factor)).join("–"));
    let wide = interval.is_some_and(|[low, high]| interval::is_wide(value, low, high));
    format!("{} ({ends}){}", short(value / factor), if wide { "?" } else { "" })
}

/// Three digits, below 1 two: a column is as wide as its widest figure.
pub fn short(value: f64) -> String {
    if (0.095..0.995).contains(&value) { format!("{value:.2}") } else { digits(value) }
}

/// Places of the rows that are shown: all, or some from the first to the last.
pub fn places(count: usize, most: usize) -> Vec<usize> {
    match count <= most {
        true => (0..count).collect(),
        false => (0..most).map(|step| step * (count - 1) / (most - 1)).collect(),
    }
}
