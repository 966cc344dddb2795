//! Points with intervals, and lines of models.

use analysis::result::{Estimate, FitOutcome, Piece, Quantity, Term};
use serde::Serialize;

use crate::series::Group;
use crate::{interval, number};

/// One set of points or one line in a chart.
#[derive(Debug, Default, Serialize)]
pub struct Trace {
    /// Its name in the legend.
    pub name: String,
    /// The place of its series among all: colour and mark.
    pub series: usize,
    /// The place of its panel.
    pub panel: usize,
    /// Whether it is the line of a model instead of measured points.
    pub model: bool,
    /// Whether it is an area that is stacked upon those before it in its panel.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub area: bool,
    /// Whether the legend names it; a series is named once a chart.
    pub legend: bool,
    /// Horizontal places.
    pub x: X,
    /// Heights, in base units; `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// From each height to the upper end of its interval.
    pub up: Vec<f64>,
    /// From each height to the lower end.
    pub down: Vec<f64>,
    /// What hovering says, as plotly's markup.
    pub hover: Vec<String>,
}

/// Horizontal places: sizes or names.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum X {
    /// Bytes.
    Sizes(Vec<f64>),
    /// Names, such as `p99`.
    Names(Vec<String>),
}

impl Default for X {
    fn default() -> Self {
        Self::Sizes(Vec::new())
    }
}

/// A measured point on its way into a trace.
pub struct Point {
    /// Message size in bytes.
    pub size: u64,
    /// In the unit of its formatter.
    pub estimate: Estimate,
}

impl Trace {
    /// An empty trace of a series.
    pub fn of(series: usize, group: &Group, panel: usize) -> Self {
        Self { name: escape(&group.name), series, panel, legend: panel == 0, ..Self::default() }
    }

    /// An empty trace of something that is no series of cells.
    pub fn named(name: &str, series: usize, panel: usize) -> Self {
        Self { name: escape(name), series, panel, legend: panel == 0, ..Self::default() }
    }

    /// Whether it has nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.y.iter().all(Option::is_none)
    }

    /// Measured points over size. `scale` turns the estimate's unit into the
    /// chart's base unit; `write` is for hovering.
    pub fn measured(mut self, points: Vec<Point>, scale: f64, write: fn(f64) -> String) -> Self {
        let mut sizes = Vec::new();
        for point in points {
            let head = format!("{} · {} B", self.name, number::whole(point.size));
            sizes.push(point.size as f64);
            self.push(&point.estimate, scale, &head, write);
        }
        self.x = X::Sizes(sizes);
        self
    }

    /// Adds a height with its interval.
    pub fn push(&mut self, estimate: &Estimate, scale: f64, head: &str, write: fn(f64) -> String) {
        let distance =
            |end: f64, sign: f64| Some((end - estimate.value) * sign * scale).filter(|far| far.is_finite() && *far > 0.0).unwrap_or(0.0);
        self.y.push(Some(estimate.value * scale).filter(|value| value.is_finite()));
        self.up.push(estimate.interval.map_or(0.0, |ends| distance(ends.high, 1.0)));
        self.down.push(estimate.interval.map_or(0.0, |ends| distance(ends.low, -1.0)));
        let known = format!("{} · n = {}", interval::range(estimate, write), estimate.n);
        let known = if estimate.interval.is_some() { known } else { interval::range(estimate, write) };
        self.hover.push(format!("{head}<br><b>{}</b><br>{known}", write(estimate.value)));
    }

    /// The line of a cost model, in seconds over size; `None` without a fit.
    pub fn fitted(mut self, group: &Group, quantity: Quantity) -> Option<Self> {
        let FitOutcome::Fitted(fit) = &group.model(quantity)?.outcome else { return None };
        let mut sizes = Vec::new();
        for piece in &fit.pieces {
            let line = curve(piece).unwrap_or_else(|| {
                let within = fit.points.iter().filter(|point| (piece.from..=piece.to).contains(&point.size));
                within.map(|point| (point.size.get() as f64, point.fitted)).collect()
            });
            for (size, nanoseconds) in line.into_iter().filter(|(_, y)| y.is_finite()) {
                sizes.push(size);
                self.y.push(Some(nanoseconds * 1e-9));
                self.hover.push(format!(
                    "{} · model at {} B<br><b>{}</b>",
                    self.name,
                    number::whole(size as u64),
                    number::time(nanoseconds)
                ));
            }
            // A gap: pieces do not touch.
            sizes.push(piece.to.get() as f64);
            self.y.push(None);
            self.hover.push(String::new());
        }
        (self.x, self.model, self.legend) = (X::Sizes(sizes), true, false);
        Some(self)
    }
}

/// Text for plotly, which takes some tags for markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Steps of a model's line: enough to be smooth on a logarithmic axis.
const STEPS: u32 = 32;

/// A piece in so many points, when it depends on the size alone.
fn curve(piece: &Piece) -> Option<Vec<(f64, f64)>> {
    let of = |term: Term| piece.terms.iter().find(|entry| entry.term == term).map_or(0.0, |entry| entry.estimate.value);
    if piece.terms.iter().any(|entry| matches!(entry.term, Term::Frame | Term::Wakeup)) {
        return None;
    }
    let (from, to) = (piece.from.get() as f64, piece.to.get() as f64);
    let size = |step: u32| (from * (to / from).powf(f64::from(step) / f64::from(STEPS))).round().clamp(from, to);
    Some((0..=STEPS).map(size).map(|size| (size, of(Term::Message) + of(Term::Byte) * size)).collect())
}
