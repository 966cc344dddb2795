//! Figures as data: what is drawn is said once here; how it is drawn is in
//! `sinks::html::chart`.
//!
//! Heights are in base units (seconds, bits, shares); texts on hovering are
//! ready, so that numbers are written by [`crate::number`] alone.

use std::borrow::Cow;

use analysis::result::Estimate;
use model::sorting::Order;
use serde::Serialize;

use crate::number;
use crate::{interval, words};

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Name of its element in the page.
    pub id: Cow<'static, str>,
    /// Title.
    pub title: Cow<'static, str>,
    /// Caption: a hint for reading it.
    pub caption: String,
    /// Description for readers who cannot see it.
    pub alt: String,
    /// The horizontal axis, when it is of message sizes; else names.
    pub sizes: Option<SizeAxis>,
    /// Below each other, sharing the horizontal axis.
    pub panels: Vec<Panel>,
    /// Points and lines drawn into the panels.
    pub traces: Vec<Trace>,
}

impl Figure {
    /// The least and the most that was measured in a panel that may be logarithmic; `None` of another.
    fn range(&self, place: usize) -> Option<[f64; 2]> {
        let panel = &self.panels[place];
        let traces = || self.traces.iter().filter(move |trace| trace.panel == place);
        if panel.scale == Scale::Linear || panel.unit == "%" || !panel.zero || traces().any(|trace| trace.stacked) {
            return None;
        }
        let measured = || traces().filter(|trace| !trace.model).flat_map(|trace| &trace.y).flatten().copied();
        let [least, most] = [measured().fold(f64::INFINITY, f64::min), measured().fold(0.0, f64::max)];
        (least > 0.0 && most > 0.0).then_some([least, most])
    }

    /// It has the form of a figure that is repeated.
    pub fn repeats(&self) -> bool {
        self.panels.iter().all(|panel| panel.scale != Scale::Fitting)
    }
}

/// Series that one chart draws; its table has the others.
const MOST_SERIES: usize = 4;
/// Ratio of the highest point to the lowest beyond which a vertical axis is logarithmic.
const SPAN: f64 = 4.0;

/// Gives panels of one quantity in charts next to each other one kind of scale: where the points of one span much, all are
/// logarithmic.
pub fn share_scales<'a>(figures: impl Iterator<Item = &'a mut Figure>) {
    let mut all: Vec<&mut Figure> = figures.filter(|figure| !figure.repeats()).collect();
    let spans = |figure: &Figure, place: usize| figure.range(place).is_some_and(|[least, most]| most > SPAN * least);
    let wide: Vec<(&str, &str)> = all
        .iter()
        .flat_map(|figure| {
            figure.panels.iter().enumerate().filter(|(place, _)| spans(figure, *place)).map(|(_, panel)| (panel.title, panel.unit))
        })
        .collect();
    for panel in all.iter_mut().flat_map(|figure| &mut figure.panels) {
        panel.log = wide.contains(&(panel.title, panel.unit));
    }
}

/// The figure as it is drawn: at most four series, vertical axes that suit their points, ticks at
/// measured sizes. `None` where there is nothing to see: no point at all, or points above one place of
/// the horizontal axis.
pub fn drawable(mut figure: Figure) -> Option<Figure> {
    let repeats = figure.repeats();
    number_series(&mut figure, if repeats { usize::MAX } else { MOST_SERIES });
    for place in 0..figure.panels.len() {
        let Some([least, most]) = figure.range(place) else { continue };
        let panel = &mut figure.panels[place];
        if most > SPAN * least || panel.log || panel.scale == Scale::Log {
            panel.log_ticks = Some(Ticks::over(least, most, panel.unit));
        }
    }
    for trace in figure.traces.iter_mut().filter(|trace| figure.panels[trace.panel].log_ticks.is_some()) {
        for height in &mut trace.y {
            // A logarithmic axis has no place for it.
            *height = height.filter(|value| *value > 0.0);
        }
    }
    let measured = || figure.traces.iter().filter(|trace| !trace.model && !trace.is_empty());
    let Some(axis) = &mut figure.sizes else { return measured().next().is_some().then_some(figure) };
    let mut places: Vec<f64> = measured().flat_map(Trace::places).collect();
    places.order_by(f64::total_cmp);
    places.dedup();
    if axis.title.is_none() && axis.log_ticks.at.is_empty() && !repeats {
        let text = places.iter().map(|size| number::size(*size as u64)).collect();
        axis.log_ticks = Ticks { at: places.clone(), text };
    }
    (places.len() > 1).then_some(figure)
}

/// Numbers the series of a figure for their colours, the baseline first, and leaves out those beyond the
/// most. Stacks keep the colours of what they are made of.
fn number_series(figure: &mut Figure, most: usize) {
    let mut order: Vec<usize> = Vec::new();
    for trace in figure.traces.iter().filter(|trace| !trace.stacked && !trace.base && !trace.is_empty()) {
        if !order.contains(&trace.series) {
            order.push(trace.series);
        }
    }
    let base = figure.traces.iter().find(|trace| trace.base).map(|trace| trace.series);
    let most = most - usize::from(base.is_some());
    let scattered = figure.panels.iter().any(|panel| panel.unit == "%" && !panel.joined) && figure.panels.len() == 1;
    let left = if scattered { 0 } else { order.len().saturating_sub(most) };
    order.truncate(order.len() - left);
    figure.traces.retain(|trace| trace.stacked || base == Some(trace.series) || order.contains(&trace.series));
    for trace in figure.traces.iter_mut().filter(|trace| !trace.stacked) {
        trace.series = order.iter().position(|series| *series == trace.series).map_or(0, |place| place + 1);
    }
    if left > 0 {
        figure.caption += &format!(" The table has {}.", words::plural(left as u64, "more line"));
    }
}

/// The horizontal axis of charts over message size.
#[derive(Debug, Clone, Serialize)]
pub struct SizeAxis {
    /// Quantity it measures; `None` for message sizes in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    /// Starts out logarithmic; the reader can switch it.
    pub log: bool,
    /// Ticks of the logarithmic axis, and what they say; without any there is no such axis.
    pub log_ticks: Ticks,
    /// Ticks of the linear axis; without any there is no such axis.
    pub linear_ticks: Ticks,
    /// Sizes at which a stack changes its ways.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub landmarks: Vec<Landmark>,
}

/// A size that is marked on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Landmark {
    /// Its name: `MTU`.
    pub name: String,
    /// In bytes.
    pub at: f64,
    /// Explanation for readers who point at it.
    pub hint: String,
}

/// Span of an axis of sizes beyond which it starts out logarithmic.
const DECADE: u64 = 10;

/// Places on an axis and their labels.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Ticks {
    /// In bytes.
    pub at: Vec<f64>,
    /// As printed.
    pub text: Vec<String>,
}

/// One drawing area of a figure.
#[derive(Debug, Clone, Serialize)]
pub struct Panel {
    /// Quantity of its vertical axis.
    pub title: &'static str,
    /// Unit after an SI prefix; `%` for shares.
    pub unit: &'static str,
    /// Ticks of a logarithmic axis; `None` for a linear one.
    pub log_ticks: Option<Ticks>,
    /// The vertical axis must show zero.
    pub zero: bool,
    /// The scale of its vertical axis.
    #[serde(skip)]
    pub scale: Scale,
    /// It is logarithmic because a chart next to it is.
    #[serde(skip)]
    pub log: bool,
    /// Points of shares are joined by lines, as others are.
    #[serde(skip_serializing_if = "is_false")]
    pub joined: bool,
    /// Part of the chart's height.
    pub share: f64,
}

/// Scale of a vertical axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Linear, or logarithmic where the points span much.
    #[default]
    Fitting,
    /// Linear, as in a figure that is repeated, with all of its lines.
    Linear,
    /// Logarithmic, likewise.
    Log,
}

impl SizeAxis {
    /// An axis from the least size to the most, logarithmic where they span a decade.
    pub fn over(least: u64, most: u64) -> Self {
        let log = most / least.max(1) >= DECADE;
        // Sizes that were measured are the ticks of the logarithmic axis.
        Self { title: None, log, log_ticks: Ticks::default(), linear_ticks: quarters(most), landmarks: Vec::new() }
    }

    /// An axis of percentiles on which each further nine is as far from the last.
    pub fn of_percentiles() -> Self {
        let named = [(0.0, "0"), (50.0, "50"), (90.0, "90"), (99.0, "99"), (99.9, "99.9"), (99.99, "99.99"), (99.999, "99.999")];
        let (at, text) = named.iter().map(|(percent, text)| (Self::nines(*percent), (*text).to_owned())).unzip();
        Self { title: Some("percentile"), log: true, log_ticks: Ticks { at, text }, linear_ticks: Ticks::default(), landmarks: Vec::new() }
    }

    /// Place of a percentile on such an axis: one in so many is slower.
    pub fn nines(percent: f64) -> f64 {
        1.0 / (1.0 - percent / 100.0).max(1e-9)
    }

    /// The axes that there are ticks of: logarithmic ones are true.
    pub fn axes(&self) -> Vec<bool> {
        let there = |ticks: &Ticks| !ticks.at.is_empty();
        [(true, there(&self.log_ticks)), (false, there(&self.linear_ticks))]
            .into_iter()
            .filter(|(_, there)| *there)
            .map(|(log, _)| log)
            .collect()
    }

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
        Self { title: Some(title), log, log_ticks, linear_ticks: Ticks { text: text(&at), at }, landmarks: Vec::new() }
    }
}

impl Panel {
    /// A panel that shows zero unless its points span so much that it is drawn logarithmic.
    pub const fn of(title: &'static str, unit: &'static str) -> Self {
        Self { title, unit, log_ticks: None, zero: true, scale: Scale::Fitting, log: false, joined: false, share: 1.0 }
    }

    /// Its axis reaches down to 0. One of shares that repeats no figure begins where its points do.
    pub fn shows_zero(&self) -> bool {
        self.zero && (self.unit != "%" || self.scale == Scale::Linear)
    }

    /// The same on the scale of a figure that is repeated.
    pub fn on(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// The same, its points joined by lines or not.
    pub fn joined(self, joined: bool) -> Self {
        Self { joined, ..self }
    }
}

impl Ticks {
    /// Round numbers around a range: powers of ten, or finer where it spans few decades.
    fn over(least: f64, most: f64, unit: &str) -> Self {
        let steps: &[f64] = match most / least {
            span if span > 300.0 => &[1.0],
            span if span > 10.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        };
        let decades = least.log10().floor() as i32 - 1..=most.log10().ceil() as i32 + 1;
        let at: Vec<f64> = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade))).collect();
        let text = at.iter().map(|value| number::tick(*value, unit)).collect();
        Self { at, text }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_false(choice: &bool) -> bool {
    !*choice
}

fn quarters(most: u64) -> Ticks {
    let step = (most / 4).next_power_of_two().max(1);
    label((0..=most.div_ceil(step)).map(|place| place.saturating_mul(step)).collect())
}

fn label(sizes: Vec<u64>) -> Ticks {
    let text = sizes.iter().map(|size| number::size(*size)).collect();
    Ticks { at: sizes.into_iter().map(|size| size as f64).collect(), text }
}

/// One set of points or one line in a figure.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trace {
    /// Its name in the legend.
    pub name: String,
    /// The place of its series among all: colour and mark.
    pub series: usize,
    /// The place of its panel.
    pub panel: usize,
    /// Line of a model instead of measured points.
    pub model: bool,
    /// Its marks are hollow and its line is dashed: the other end of the same series.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hollow: bool,
    /// What the other series of its figure are compared with.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub base: bool,
    /// Its figures are not to be used, or in doubt: grey and hollow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub barred: bool,
    /// Its points have nothing to do with each other: no line joins them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// Bars that stand upon those before them in their panel.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stacked: bool,
    /// The legend names it; a series is named once a figure.
    pub legend: bool,
    /// Horizontal places.
    pub x: X,
    /// Heights, in base units; `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// From each height to the upper end of its interval.
    #[serde(skip_serializing_if = "is_of_zeros")]
    pub up: Vec<f64>,
    /// From each height to the lower end.
    #[serde(skip_serializing_if = "is_of_zeros")]
    pub down: Vec<f64>,
    /// Texts on hovering, below its name, in lines: what it is, the figure, how well it is known.
    #[serde(skip)]
    pub hover: Vec<String>,
}

fn is_of_zeros(distances: &[f64]) -> bool {
    distances.iter().all(|distance| *distance == 0.0)
}

/// Horizontal places: sizes or names.
#[derive(Debug, Clone, Serialize)]
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

impl FromIterator<f64> for X {
    fn from_iter<I: IntoIterator<Item = f64>>(all: I) -> Self {
        Self::Sizes(all.into_iter().collect())
    }
}

impl FromIterator<String> for X {
    fn from_iter<I: IntoIterator<Item = String>>(all: I) -> Self {
        Self::Names(all.into_iter().collect())
    }
}

impl Trace {
    /// An empty trace.
    pub fn named(name: &str, series: usize, panel: usize) -> Self {
        Self { name: name.to_owned(), series, panel, legend: panel == 0, ..Self::default() }
    }

    /// A trace of measured points: where each stands, what it is, and its estimate.
    /// `scale` turns the estimates' unit into the base unit; `write` is for hovering.
    pub fn measured<P>(
        name: &str,
        series: usize,
        points: impl IntoIterator<Item = (P, String, Estimate)>,
        scale: f64,
        write: fn(f64) -> String,
    ) -> Self
    where
        X: FromIterator<P>,
    {
        let mut trace = Self::named(name, series, 0);
        let at = |(at, label, estimate): (P, String, Estimate)| {
            trace.push(&estimate, scale, &label, write);
            at
        };
        let x = points.into_iter().map(at).collect();
        Self { x, ..trace }
    }

    /// A trace of points without intervals: where each stands, its height in the base
    /// unit, and in words what it is and how high.
    pub fn points<P>(name: &str, series: usize, points: impl IntoIterator<Item = (P, f64, String, String)>) -> Self
    where
        X: FromIterator<P>,
    {
        let mut trace = Self::named(name, series, 0);
        let at = |(at, height, label, figure): (P, f64, String, String)| {
            trace.y.push(Some(height).filter(|value| value.is_finite()));
            trace.up.push(0.0);
            trace.down.push(0.0);
            trace.hover.push(format!("{label}\n{figure}"));
            at
        };
        let x = points.into_iter().map(at).collect();
        Self { x, ..trace }
    }

    /// The line of a model: places, and heights in the base unit or gaps.
    pub fn line(name: &str, series: usize, points: impl IntoIterator<Item = (f64, Option<f64>)>) -> Self {
        let (x, y): (Vec<f64>, Vec<Option<f64>>) =
            points.into_iter().map(|(at, height)| (at, height.filter(|value| value.is_finite()))).unzip();
        Self { model: true, legend: false, x: X::Sizes(x), y, ..Self::named(name, series, 0) }
    }

    /// Number of its row of marks for the keyboard: each end of a series has its own.
    pub const fn row(&self) -> usize {
        if self.hollow { self.series + 1_000 } else { self.series }
    }

    /// Places of its points on an axis of numbers.
    fn places(&self) -> impl Iterator<Item = f64> {
        let sizes = match &self.x {
            X::Sizes(sizes) => sizes.as_slice(),
            X::Names(_) => &[],
        };
        sizes.iter().zip(&self.y).filter(|(_, height)| height.is_some()).map(|(size, _)| *size)
    }

    /// Tells if it has nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.y.iter().all(Option::is_none)
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
        self.hover.push(format!("{head}\n{}\n{known}", write(estimate.value)));
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, Panel, SizeAxis, Trace, drawable, quarters, share_scales};

    fn figure(lines: &[&[(f64, f64)]]) -> Figure {
        let trace = |(series, points): (usize, &&[(f64, f64)])| {
            let points = points.iter().map(|(at, height)| (*at, *height, String::new(), String::new()));
            Trace { base: series == 2, ..Trace::points(&format!("line {series}"), series, points) }
        };
        Figure {
            id: "one".into(),
            title: "One".into(),
            caption: "Caption.".to_owned(),
            alt: String::new(),
            sizes: Some(SizeAxis::over(1, 16_384)),
            panels: vec![Panel::of("time", "s")],
            traces: lines.iter().enumerate().map(trace).collect(),
        }
    }

    #[test]
    fn ticks_are_sizes_that_a_reader_knows() {
        assert_eq!(quarters(16_384).text, ["0", "4K", "8K", "12K", "16K"]);
        assert_eq!(quarters(1).text, ["0", "1"]);
        let drawn = drawable(figure(&[&[(1_448.0, 1.0), (64.0, 1.0)], &[(16_384.0, 1.0)]])).unwrap();
        assert_eq!(drawn.sizes.unwrap().log_ticks.text, ["64", "1,448", "16K"], "those that were measured");
    }

    #[test]
    fn one_size_makes_no_chart() {
        assert!(drawable(figure(&[&[(64.0, 1.0)], &[(64.0, 2.0)]])).is_none());
        assert!(drawable(figure(&[&[]])).is_none());
    }

    #[test]
    fn an_axis_is_logarithmic_beyond_a_factor_of_four() {
        let is_log = |most: f64| drawable(figure(&[&[(1.0, 1e-6), (2.0, most)]])).unwrap().panels[0].log_ticks.is_some();
        assert_eq!([is_log(3.9e-6), is_log(4.1e-6)], [false, true]);
    }

    #[test]
    fn charts_next_to_each_other_have_one_kind_of_scale() {
        let narrow = || figure(&[&[(1.0, 1e-6), (2.0, 2e-6)]]);
        let wide = || figure(&[&[(1.0, 1e-6), (2.0, 9e-6)]]);
        let are_log = |mut all: Vec<Figure>| {
            share_scales(all.iter_mut());
            all.into_iter().map(|one| drawable(one).unwrap().panels[0].log_ticks.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(are_log(vec![narrow(), wide()]), [true, true]);
        assert_eq!(are_log(vec![narrow(), narrow()]), [false, false]);
        let other = Figure { panels: vec![Panel::of("rate", "bit/s")], ..narrow() };
        assert_eq!(are_log(vec![other, wide()]), [false, true], "another quantity has its own");
    }

    #[test]
    fn four_series_are_drawn_the_baseline_first_among_colours() {
        let line: &[(f64, f64)] = &[(1.0, 1.0), (2.0, 1.0)];
        let drawn = drawable(figure(&[line; 6])).unwrap();
        assert_eq!(
            drawn.traces.iter().map(|trace| (trace.name.as_str(), trace.series)).collect::<Vec<_>>(),
            [("line 0", 1), ("line 1", 2), ("line 2", 0), ("line 3", 3)]
        );
        assert_eq!(drawn.caption, "Caption. The table has 2 more lines.");
    }
}
