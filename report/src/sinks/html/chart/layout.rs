//! Places of everything in a chart: its panels, axes and marks, in the units of its drawing.
//!
//! Marks of one size stand next to each other, never on one another; one that still has no
//! room, since sizes lie too close on a linear axis, is drawn as a dot.

use model::order::Order;

use super::scale::{Scale, Tick, apart};
use crate::document::figure::{Figure, Trace, X};

/// Mean width of a letter of a tick, and room for the larger letters of a narrow screen.
pub const LETTER: f64 = 6.6;
pub const NARROW: f64 = 1.3;
/// Distance that two marks keep.
const APART: f64 = 7.0;
/// Room above a panel for its title, and below the last for ticks and their title.
const HEAD: f64 = 24.0;
const FOOT: f64 = 46.0;

/// Proportions of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One of two columns, or of a narrow screen.
    Column,
    /// The whole width of a page.
    Wide,
    /// The whole width, low enough for the first screen.
    Flat,
}

impl Shape {
    /// Width and height of a drawing with so many panels.
    const fn size(self, panels: usize) -> (f64, f64) {
        match (self, panels) {
            (Self::Column, 0 | 1) => (560.0, 330.0),
            (Self::Column, _) => (560.0, 440.0),
            (Self::Wide, 0 | 1) => (1080.0, 360.0),
            (Self::Wide, _) => (1080.0, 460.0),
            (Self::Flat, _) => (1080.0, 264.0),
        }
    }

    /// Word of its class.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Wide | Self::Flat => "wide",
        }
    }
}

/// A laid out figure.
pub struct Layout<'a> {
    /// Width of the drawing.
    pub width: f64,
    /// Height of the drawing.
    pub height: f64,
    /// Left and right end of the panels.
    pub ends: [f64; 2],
    /// Horizontal axis.
    pub x: Scale,
    /// Its ticks.
    pub ticks: Vec<Tick>,
    /// Names on it, where it has names.
    pub names: Vec<&'a str>,
    /// The panels, from the top.
    pub panels: Vec<Area>,
}

/// A panel.
pub struct Area {
    /// Upper end.
    pub top: f64,
    /// Height.
    pub height: f64,
    /// Vertical axis.
    pub y: Scale,
    /// Its ticks.
    pub ticks: Vec<Tick>,
}

/// A measured point.
pub struct Point {
    /// Its place.
    pub at: [f64; 2],
    /// Upper and lower end of its interval.
    pub ends: [f64; 2],
    /// Set where an end of the interval lies beyond the panel.
    pub cut: [bool; 2],
    /// It has room for a mark.
    pub room: bool,
    /// Index of the point in its trace.
    pub of: usize,
}

impl<'a> Layout<'a> {
    /// Lays out a figure, its axis of sizes logarithmic or not.
    pub fn of(figure: &'a Figure, shape: Shape, log: bool) -> Self {
        let (width, height) = shape.size(figure.panels.len());
        let names = names(figure);
        let x = match &figure.sizes {
            None => Scale::Names(names.len()),
            Some(_) => {
                let all = || figure.traces.iter().flat_map(|trace| sizes(&trace.x)).copied().filter(|at| !log || *at > 0.0);
                let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
                if log { Scale::log(least, most, 1.5) } else { Scale::linear(least, most, false) }
            }
        };
        let mut panels = panels(figure, names.len(), height);
        let letters = panels.iter().flat_map(|panel| &panel.ticks).map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let ends = [letters as f64 * LETTER * NARROW + 14.0, width - 16.0];
        for panel in &mut panels {
            // Not closer than lines of a narrow screen's letters.
            panel.ticks = apart(std::mem::take(&mut panel.ticks), |_| 20.0 / panel.height);
        }
        let ticks = match &figure.sizes {
            None => names.iter().enumerate().filter_map(|(at, name)| Some((x.place(at as f64)?, (*name).to_owned()))).collect(),
            Some(sizes) => {
                let known = x.known(if log { &sizes.log_ticks } else { &sizes.linear_ticks });
                apart(known, |text| (text.chars().count() as f64 + 1.0) * LETTER / (ends[1] - ends[0]))
            }
        };
        Self { width, height, ends, x, ticks, names, panels }
    }

    /// Horizontal place of a value.
    pub fn across(&self, value: f64) -> Option<f64> {
        Some(self.ends[0] + self.x.place(value)? * (self.ends[1] - self.ends[0]))
    }

    /// Horizontal places of the ticks.
    pub fn x_places(&self) -> Vec<f64> {
        self.ticks.iter().map(|(place, _)| self.ends[0] + place * (self.ends[1] - self.ends[0])).collect()
    }

    /// Horizontal places of a trace.
    pub fn places(&self, trace: &Trace) -> Vec<Option<f64>> {
        match &trace.x {
            X::Sizes(sizes) => sizes.iter().map(|size| self.across(*size)).collect(),
            X::Names(names) => names.iter().map(|name| self.across(self.names.iter().position(|known| known == name)? as f64)).collect(),
        }
    }

    /// The measured points of a panel, trace by trace, and whether they stand so close that
    /// bands tell more than bars.
    pub fn points<'t>(&self, traces: &[&'t Trace], panel: usize) -> (Vec<(&'t Trace, Vec<Point>)>, bool) {
        let area = &self.panels[panel];
        let mut columns: Vec<f64> = traces.iter().flat_map(|trace| self.places(trace)).flatten().collect();
        columns.order_by(f64::total_cmp);
        // What no eye tells apart is one place.
        columns.dedup_by(|a, b| (*a - *b).abs() < 0.5);
        let gap = columns.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min).min(self.ends[1] - self.ends[0]);
        let steps = traces.len().saturating_sub(1) as f64;
        let room = gap * 0.75;
        let crowded = room < (6.5 * steps).max(APART);
        let step = if steps > 0.0 { ((APART + 1.0) * steps).min(room) / steps } else { 0.0 };
        let mut taken: Vec<[f64; 2]> = Vec::new();
        let mut laid = Vec::new();
        for (place, trace) in traces.iter().enumerate() {
            let shift = (place as f64 - steps / 2.0) * step;
            let mut points = Vec::new();
            for (of, at) in self.places(trace).into_iter().enumerate() {
                let Some((at, value)) = at.zip(trace.y.get(of).copied().flatten()) else { continue };
                let Some(height) = area.down(value) else { continue };
                let at = [at + shift, height];
                let room = taken.iter().all(|other| (other[0] - at[0]).hypot(other[1] - at[1]) >= APART);
                taken.extend(room.then_some(at));
                let end = |far: Option<&f64>, sign: f64| far.filter(|far| **far > 0.0).map(|far| area.down(value + sign * far));
                // An end that a logarithmic axis has no place for lies beyond it.
                let ends = [end(trace.up.get(of), 1.0), end(trace.down.get(of), -1.0)];
                let beyond = [area.top, area.top + area.height];
                let far = [0, 1].map(|side| ends[side].map_or(at[1], |end| end.unwrap_or(beyond[side])));
                let held = far.map(|end| end.clamp(beyond[0], beyond[1]));
                let cut = [0, 1].map(|side| ends[side].is_some_and(|end| end.is_none_or(|end| (end - held[side]).abs() > 0.5)));
                points.push(Point { at, ends: held, cut, room, of });
            }
            laid.push((*trace, points));
        }
        (laid, crowded)
    }
}

impl Area {
    /// Vertical place of a value.
    pub fn down(&self, value: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.y.place(value)?) * self.height)
    }
}

fn sizes(x: &X) -> &[f64] {
    match x {
        X::Sizes(sizes) => sizes,
        X::Names(_) => &[],
    }
}

/// Every name on the horizontal axis, in the order met.
fn names(figure: &Figure) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for trace in &figure.traces {
        if let X::Names(names) = &trace.x {
            for name in names {
                if !all.contains(&name.as_str()) {
                    all.push(name);
                }
            }
        }
    }
    all
}

fn panels(figure: &Figure, columns: usize, height: f64) -> Vec<Area> {
    let count = figure.panels.len().max(1) as f64;
    let room = height - FOOT - HEAD * count;
    let whole: f64 = figure.panels.iter().map(|panel| panel.share).sum();
    let mut top = 0.0;
    let mut areas = Vec::new();
    for (place, panel) in figure.panels.iter().enumerate() {
        let height = room * if whole > 0.0 { panel.share / whole } else { 1.0 / count };
        let [least, most] = heights(figure, place, columns);
        let (y, ticks) = match &panel.log_ticks {
            Some(known) => {
                let y = Scale::log(least, most, 1.2);
                let ticks = y.known(known);
                (y, ticks)
            }
            None => {
                let y = Scale::linear(least, most, panel.zero && panel.unit != "%");
                let ticks = y.round(height, panel.unit);
                (y, ticks)
            }
        };
        areas.push(Area { top: top + HEAD, height, y, ticks });
        top += HEAD + height;
    }
    areas
}

/// The least and the most of a panel. An interval that is much longer than the points lie apart
/// does not squeeze them: it is cut.
fn heights(figure: &Figure, panel: usize, columns: usize) -> [f64; 2] {
    let traces = || figure.traces.iter().filter(move |trace| trace.panel == panel);
    if traces().any(|trace| trace.stacked) {
        let most = sums(traces(), columns.max(1)).into_iter().fold(0.0, f64::max);
        return [0.0, most];
    }
    let log = figure.panels[panel].log_ticks.is_some();
    let values = || traces().flat_map(|trace| &trace.y).flatten().copied().filter(|value| !log || *value > 0.0);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let far = |of: fn(&Trace) -> &Vec<f64>, sign: f64| {
        traces().flat_map(move |trace| trace.y.iter().zip(of(trace)).filter_map(move |(value, far)| Some((*value)? + sign * far)))
    };
    let low = far(|trace| &trace.down, -1.0).filter(|value| !log || *value > 0.0).fold(least, f64::min);
    let high = far(|trace| &trace.up, 1.0).fold(most, f64::max);
    if log {
        return [low.max(least / 3.0), high.min(most * 3.0)];
    }
    let zero = figure.panels[panel].zero && figure.panels[panel].unit != "%";
    let base = if zero { least.min(0.0) } else { least };
    let length = if most > base { most - base } else { most.abs() };
    let low = if zero { base } else { low.max(least - 0.6 * length) };
    [low, high.min(most + 0.6 * length)]
}

/// Heights of the stacks of a panel, by their place.
fn sums<'t>(traces: impl Iterator<Item = &'t Trace>, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for trace in traces {
        for (sum, height) in sums.iter_mut().zip(&trace.y) {
            *sum += height.unwrap_or(0.0).max(0.0);
        }
    }
    sums
}
