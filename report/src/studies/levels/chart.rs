//! Levels as pictures: ratios by level, and the curve over sizes at each level.

use analysis::result::levels::{Level, LevelMetric, SeriesLevels};
use analysis::result::{Estimate, LevelStudy};
use model::plan::Factor;
use model::sorting::Order;

use super::words;
use crate::document::Figure;
use crate::document::figure::{Panel, SizeAxis, Trace, X};
use crate::number;

/// Draws the ratios of each series by level; for streams the curve over sizes, for
/// requests and responses their times.
pub fn all(study: &LevelStudy) -> Vec<Figure> {
    let mut charts = Vec::new();
    for (factor, series) in study.factors.iter().flat_map(|factor| factor.series.iter().map(move |series| (factor.factor, series))) {
        let place = charts.len();
        charts.push(ratios(format!("levels-{place}"), factor, series));
        match series.test.is_stream() {
            true => charts.extend((series.sizes.len() > 1).then(|| curves(format!("levels-{}", place + 1), factor, series))),
            false => charts.push(round_trips(format!("levels-{}", place + 1), factor, series)),
        }
    }
    charts
}

/// A level as a chart has it: which trace it belongs to, and where it stands.
/// Ladders of units stand side by side over the units; what is no ladder stands
/// by its names.
struct Places<'a> {
    ladders: Vec<&'a str>,
    at: Vec<Option<(Option<&'a str>, u32)>>,
}

impl<'a> Places<'a> {
    fn of(factor: Factor, series: &'a SeriesLevels) -> Self {
        let at: Vec<_> = series.levels.iter().map(|level| words::rung(factor, &level.name)).collect();
        if at.iter().any(Option::is_none) {
            return Self { ladders: vec![""], at: vec![None; at.len()] };
        }
        let mut ladders: Vec<&str> = at.iter().flatten().filter_map(|(ladder, _)| *ladder).collect();
        ladders.order_by_key(|ladder| ["sender", "receiver", "both"].iter().position(|known| known == ladder));
        ladders.dedup();
        if ladders.is_empty() {
            ladders.push("");
        }
        Self { ladders, at }
    }

    /// The levels of a ladder by rising units, each with its name on the axis.
    fn members(&self, ladder: &str, series: &SeriesLevels) -> Vec<(usize, String)> {
        let belongs = |(place, at): (usize, &Option<(Option<&str>, u32)>)| match at {
            Some((of, units)) => of.is_none_or(|of| of == ladder).then(|| (*units, place, units.to_string())),
            None => Some((place as u32, place, series.levels[place].name.clone())),
        };
        let mut members: Vec<_> = self.at.iter().enumerate().filter_map(belongs).collect();
        members.order_by_key(|(units, ..)| *units);
        members.into_iter().map(|(_, place, name)| (place, name)).collect()
    }

    /// Tells if a line from one level to the next means anything.
    fn is_ladder(&self) -> bool {
        self.at.iter().all(Option::is_some)
    }
}

/// `sender`, or nothing where there is one ladder.
fn named(ladder: &str, what: &str) -> String {
    match ladder {
        "" => what.to_owned(),
        "both" => format!("{what}, both ends"),
        end => format!("{what}, {end}"),
    }
}

fn ratios(id: String, factor: Factor, series: &SeriesLevels) -> Figure {
    let what = words::compared(LevelMetric::Throughput, series.test.is_stream());
    let base = Estimate { value: 1.0, interval: None, n: 0 };
    let places = Places::of(factor, series);
    let trace = |(at, ladder): (usize, &&str)| {
        let name = named(ladder, what);
        let mut trace = Trace::named(&name, at, 0);
        let mut x = Vec::new();
        for (place, on_axis) in places.members(ladder, series) {
            let mean = series.levels[place].figures.get(&LevelMetric::Throughput).and_then(|figure| figure.mean);
            let Some(ratio) = (if place == 0 { Some(base) } else { mean }) else { continue };
            x.push(on_axis);
            trace.push(&ratio, 1.0, &series.levels[place].name, number::percent);
            if place == 0 {
                trace.hover.pop();
                trace.hover.push(format!("{}: the base", series.levels[0].name));
            }
        }
        trace.x = X::Names(x);
        trace
    };
    let means: Vec<String> =
        series.levels.iter().skip(1).filter_map(|level| mean(level).map(|ratio| format!("{} {ratio}", level.name))).collect();
    let sizes = if series.sizes.len() > 1 { ", the geometric mean of all sizes" } else { "" };
    let across = if places.is_ladder() { format!(" Across: {}s.", words::unit(factor)) } else { String::new() };
    Figure {
        id: id.into(),
        title: format!("{}: {what}, {}", words::factor(factor), series.series).into(),
        caption: format!("As a share of that at {}{sizes}; bars are intervals of pairs of one block.{across}", series.base()),
        alt: format!(
            "{} of {} over that of {}, all sizes together: {}.",
            crate::words::capital(what),
            series.series,
            series.base(),
            means.join(", ")
        ),
        sizes: None,
        panels: vec![Panel::of("of the base", "%").joined(places.is_ladder())],
        traces: places.ladders.iter().enumerate().map(trace).collect(),
    }
}

fn mean(level: &Level) -> Option<String> {
    level.figures.get(&LevelMetric::Throughput)?.mean.map(|mean| words::times(mean.value))
}

fn curves(id: String, factor: Factor, series: &SeriesLevels) -> Figure {
    let trace = |(place, level): (usize, &Level)| {
        let figure = level.figures.get(&LevelMetric::Throughput);
        let points = series.sizes.iter().enumerate().filter_map(|(at, size)| {
            let value = figure.and_then(|figure| figure.by_size.get(at)?.value)?;
            Some((size.get() as f64, format!("{} B", number::whole(size.get())), value))
        });
        Trace { base: place == 0, ..Trace::measured(&level.name, place, points, 1.0, number::bits) }
    };
    let traces: Vec<Trace> = series.levels.iter().enumerate().map(trace).collect();
    let (least, most) = (series.sizes.first(), series.sizes.last());
    Figure {
        id: id.into(),
        title: format!("{}: goodput by size, {}", words::factor(factor), series.series).into(),
        caption: "One curve a level, both axes logarithmic. A curve that is only lower has the same shape; one that is flatter suffers more the larger its messages are.".into(),
        alt: words::curves(series).unwrap_or_else(|| format!("Goodput of {} against message size at each level.", series.series)),
        sizes: Some(SizeAxis::over(least.map_or(1, |size| size.get()), most.map_or(1, |size| size.get()))),
        panels: vec![Panel::of("goodput", "bit/s").joined(true)],
        traces,
    }
}

/// Round trips of the smallest size, or of the only one: median and 99th percentile.
fn round_trips(id: String, factor: Factor, series: &SeriesLevels) -> Figure {
    let places = Places::of(factor, series);
    let mut traces = Vec::new();
    for (compared, percent) in [(LevelMetric::RoundTripP50, "p50"), (LevelMetric::RoundTripP99, "p99")] {
        for ladder in &places.ladders {
            let name = named(ladder, percent);
            let points = places.members(ladder, series).into_iter().filter_map(|(place, on_axis)| {
                let level = &series.levels[place];
                Some((on_axis, level.name.clone(), level.figures.get(&compared)?.by_size.first()?.value?))
            });
            traces.push(Trace::measured(&name, traces.len(), points, 1e-9, number::time));
        }
    }
    let size = series.sizes.first().map_or(0, |size| size.get());
    let names: Vec<&str> = series.levels.iter().map(|level| level.name.as_str()).collect();
    let across = if places.is_ladder() { format!(" Across: {}s.", words::unit(factor)) } else { String::new() };
    Figure {
        id: id.into(),
        title: format!("{}: round trips of {} B, {}", words::factor(factor), number::whole(size), series.series).into(),
        caption: format!("Median and 99th percentile of a trial, medians over trials. Other sizes are in the tables.{across}"),
        alt: format!("Round-trip times of {} at the levels {}.", series.series, names.join(", ")),
        sizes: None,
        panels: vec![Panel::of("round trip", "s").joined(true)],
        traces,
    }
}
