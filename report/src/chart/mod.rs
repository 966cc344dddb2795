//! Charts as data: what is drawn, said once here; how it is drawn is in
//! `assets/report.js`.
//!
//! Figures are in base units (seconds, bits, shares); texts on hovering are
//! ready, so that numbers are written by [`crate::number`] alone.

mod axis;
mod cost;
mod latency;
mod rate;
mod trace;

use std::borrow::Cow;

use serde::Serialize;

use crate::series::Group;
pub use axis::{Panel, SizeAxis, Ticks};
pub use trace::{Trace, X, escape};

/// One chart.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// Name of its element in the page.
    pub id: Cow<'static, str>,
    /// What it shows.
    pub title: Cow<'static, str>,
    /// How to read it.
    pub caption: String,
    /// What one would see, for who cannot see it.
    pub alt: String,
    /// The horizontal axis, when it is of message sizes; else names.
    pub sizes: Option<SizeAxis>,
    /// Below each other, sharing the horizontal axis.
    pub panels: Vec<Panel>,
    /// What is drawn into them.
    pub traces: Vec<Trace>,
}

/// Every chart that these series have data for.
pub fn all(groups: &[Group]) -> Vec<Chart> {
    let (streams, trips): (Vec<_>, Vec<_>) = groups.iter().enumerate().partition(|(_, group)| group.test.is_stream());
    // Side by side on a wide screen: two of one height in each row.
    let charts =
        [rate::messages(&streams), rate::goodput(&streams), cost::elapsed(&streams), cost::demand(&streams), latency::percentiles(&trips)];
    charts.into_iter().map(placeable).filter(|chart| chart.traces.iter().any(|trace| !trace.is_empty())).collect()
}

/// Without heights that a logarithmic axis has no place for.
pub fn placeable(mut chart: Chart) -> Chart {
    for trace in chart.traces.iter_mut().filter(|trace| chart.panels[trace.panel].log_ticks.is_some()) {
        for height in &mut trace.y {
            *height = height.filter(|value| *value > 0.0);
        }
    }
    chart
}

/// A series and its place among all, which gives it the same colour and mark in every chart.
type Numbered<'a> = (usize, &'a Group<'a>);
