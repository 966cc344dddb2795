//! Axes: what they measure and where their ticks stand.

use serde::Serialize;

use super::{Numbered, Trace};
use crate::number::{self, Axis};

/// The horizontal axis of charts over message size.
#[derive(Debug, Serialize)]
pub struct SizeAxis {
    /// What it measures, where that is not the size of messages in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    /// Whether it starts out logarithmic; the reader can switch it.
    pub log: bool,
    /// Ticks of the logarithmic axis, and what they say.
    pub log_ticks: Ticks,
    /// Ticks of the linear axis.
    pub linear_ticks: Ticks,
}

/// Places on an axis and their labels.
#[derive(Debug, Default, Serialize)]
pub struct Ticks {
    /// In bytes.
    pub at: Vec<f64>,
    /// As printed.
    pub text: Vec<String>,
}

/// One drawing area of a chart.
#[derive(Debug, Serialize)]
pub struct Panel {
    /// What its vertical axis measures.
    pub title: &'static str,
    /// Unit after an SI prefix; `%` for shares.
    pub unit: &'static str,
    /// Ticks of a logarithmic axis; `None` for a linear one.
    pub log_ticks: Option<Ticks>,
    /// Whether the vertical axis must show zero.
    pub zero: bool,
    /// Whether points of shares are joined by lines, as others are.
    #[serde(skip_serializing_if = "is_false")]
    pub joined: bool,
    /// Part of the chart's height.
    pub share: f64,
}

impl SizeAxis {
    /// An axis that holds every size of these series.
    pub fn of(groups: &[Numbered], log: bool) -> Self {
        let sizes = || groups.iter().flat_map(|(_, group)| &group.cells).map(|cell| cell.cell.size.get());
        let (least, most) = (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
        Self::over(least, most, log)
    }

    /// An axis from the least size to the most.
    pub fn over(least: u64, most: u64, log: bool) -> Self {
        Self { title: None, log, log_ticks: powers_of_four(least, most), linear_ticks: quarters(most) }
    }
}

impl SizeAxis {
    /// An axis of numbers of something else.
    pub fn of_numbers(title: &'static str, least: f64, most: f64, log: bool) -> Self {
        let text = |at: &[f64]| at.iter().map(|value| number::count(*value).replace(".00", "").replace(".0 ", " ")).collect();
        let decades = least.max(1.0).log10().floor() as i32..=most.max(1.0).log10().ceil() as i32;
        let steps: &[f64] = if most > 300.0 * least { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let at: Vec<f64> = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade))).collect();
        let log_ticks = Ticks { text: text(&at), at };
        let rough = (most / 5.0).max(1.0);
        let unit = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * unit).find(|step| *step >= rough).unwrap_or(rough);
        let at: Vec<f64> = (0..=6).map(|place| step * f64::from(place)).filter(|at| *at < most + step).collect();
        Self { title: Some(title), log, log_ticks, linear_ticks: Ticks { text: text(&at), at } }
    }
}

impl Ticks {
    /// Round numbers over the heights of these traces: powers of ten, or finer
    /// where they span few decades.
    pub fn over(traces: &[Trace], axis: Axis) -> Self {
        let heights = || traces.iter().flat_map(|trace| &trace.y).filter_map(|height| height.filter(|value| *value > 0.0));
        let (least, most) = (heights().fold(f64::INFINITY, f64::min), heights().fold(0.0, f64::max));
        if most == 0.0 {
            return Self::default();
        }
        let steps: &[f64] = match most / least {
            span if span > 300.0 => &[1.0],
            span if span > 10.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        };
        let decades = least.log10().floor() as i32 - 1..=most.log10().ceil() as i32 + 1;
        let at: Vec<f64> = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade))).collect();
        let text = at.iter().map(|value| number::tick(*value, axis)).collect();
        Self { at, text }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_false(choice: &bool) -> bool {
    !*choice
}

fn powers_of_four(least: u64, most: u64) -> Ticks {
    let powers = (0..32).map(|power| 1_u64 << (2 * power));
    // One tick beyond each end, so that an axis of one size has ticks as well.
    label(powers.filter(|size| size.saturating_mul(4) > least && *size < most.saturating_mul(4)).collect())
}

fn quarters(most: u64) -> Ticks {
    let step = (most / 4).next_power_of_two().max(1);
    label((0..=most.div_ceil(step)).map(|place| place * step).collect())
}

fn label(sizes: Vec<u64>) -> Ticks {
    let text = sizes.iter().map(|size| model::Bytes::new(*size).to_string()).collect();
    Ticks { at: sizes.into_iter().map(|size| size as f64).collect(), text }
}

#[cfg(test)]
mod tests {
    use super::{powers_of_four, quarters};

    #[test]
    fn ticks_are_sizes_that_a_reader_knows() {
        assert_eq!(powers_of_four(1, 16_384).text, ["1", "4", "16", "64", "256", "1K", "4K", "16K"]);
        assert_eq!(quarters(16_384).text, ["0", "4K", "8K", "12K", "16K"]);
        assert_eq!(quarters(1).text, ["0", "1"]);
        assert!(!powers_of_four(100, 100).at.is_empty());
    }
}
