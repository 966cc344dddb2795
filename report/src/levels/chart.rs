//! Levels as pictures: ratios by level, and the curve over sizes at each level.

use analysis::result::LevelStudy;
use analysis::result::levels::{Compared, Level, SeriesLevels};
use model::plan::Factor;

use super::words;
use crate::chart::{Chart, Panel, SizeAxis, Ticks, Trace, X};
use crate::number::{self, Axis};

/// Of each series the ratios by level; of streams the curve over sizes, of
/// requests and responses their times.
pub fn all(study: &LevelStudy) -> Vec<Chart> {
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

fn names(series: &SeriesLevels) -> Vec<String> {
    series.levels.iter().map(|level| level.name.clone()).collect()
}

fn ratios(id: String, factor: Factor, series: &SeriesLevels) -> Chart {
    let what = words::compared(Compared::Throughput, series.test.is_stream());
    let base = analysis::result::Estimate { value: 1.0, interval: None, n: 0 };
    let trace = |(place, size): (usize, &model::Bytes)| {
        let name = format!("{} B", number::whole(size.get()));
        let mut trace = Trace::named(&name, place, 0);
        let mut x = Vec::new();
        for (at, level) in series.levels.iter().enumerate() {
            let figure = level.figures.get(&Compared::Throughput).and_then(|figure| figure.by_size.get(place));
            let Some(ratio) = (if at == 0 { Some(base) } else { figure.and_then(|figure| figure.against_base) }) else { continue };
            x.push(level.name.clone());
            trace.push(&ratio, 1.0, &format!("{name} · {}", level.name), words::times);
            if at == 0 {
                trace.hover.pop();
                trace.hover.push(format!("{name} · {}: the base", level.name));
            }
        }
        trace.x = X::Names(x);
        trace
    };
    let means: Vec<String> =
        series.levels.iter().skip(1).filter_map(|level| mean(level).map(|ratio| format!("{} {ratio}", level.name))).collect();
    Chart {
        id: id.into(),
        title: format!("{}: {what}, {}", words::factor(factor), series.series).into(),
        caption: format!("Over that of {}, by size; bars are intervals of pairs of one block.", series.base()),
        alt: format!(
            "{} of {} over that of {}, all sizes together: {}.",
            crate::words::capital(what),
            series.series,
            series.base(),
            means.join(", ")
        ),
        sizes: None,
        panels: vec![Panel { title: "times the base", unit: "", log_ticks: None, zero: true, joined: true, share: 1.0 }],
        traces: series.sizes.iter().enumerate().map(trace).collect(),
    }
}

fn mean(level: &Level) -> Option<String> {
    level.figures.get(&Compared::Throughput)?.mean.map(|mean| words::times(mean.value))
}

fn curves(id: String, factor: Factor, series: &SeriesLevels) -> Chart {
    let trace = |(place, level): (usize, &Level)| {
        let mut trace = Trace::named(&level.name, place, 0);
        let mut x = Vec::new();
        let figure = level.figures.get(&Compared::Throughput);
        for (at, size) in series.sizes.iter().enumerate() {
            let Some(value) = figure.and_then(|figure| figure.by_size.get(at)?.value) else { continue };
            x.push(size.get() as f64);
            trace.push(&value, 1.0, &format!("{} · {} B", level.name, number::whole(size.get())), number::bits);
        }
        trace.x = X::Sizes(x);
        trace
    };
    let traces: Vec<Trace> = series.levels.iter().enumerate().map(trace).collect();
    let log_ticks = Some(Ticks::over(&traces, Axis::Bits));
    let (least, most) = (series.sizes.first(), series.sizes.last());
    Chart {
        id: id.into(),
        title: format!("{}: goodput by size, {}", words::factor(factor), series.series).into(),
        caption: "One curve a level, both axes logarithmic. A curve that is only lower has the same shape; one that is flatter suffers more the larger its messages are.".into(),
        alt: words::curves(series).unwrap_or_else(|| format!("Goodput of {} against message size at each level.", series.series)),
        sizes: Some(SizeAxis::over(least.map_or(1, |size| size.get()), most.map_or(1, |size| size.get()), true)),
        panels: vec![Panel { title: "goodput", unit: "bit/s", log_ticks, zero: false, joined: true, share: 1.0 }],
        traces,
    }
}

fn round_trips(id: String, factor: Factor, series: &SeriesLevels) -> Chart {
    let mut traces = Vec::new();
    for (compared, percent) in [(Compared::RoundTripP50, "p50"), (Compared::RoundTripP99, "p99")] {
        for (place, size) in series.sizes.iter().enumerate() {
            let name = format!("{percent}, {} B", number::whole(size.get()));
            let mut trace = Trace::named(&name, traces.len(), 0);
            let mut x = Vec::new();
            for level in &series.levels {
                let Some(value) = level.figures.get(&compared).and_then(|figure| figure.by_size.get(place)?.value) else { continue };
                x.push(level.name.clone());
                trace.push(&value, 1e-9, &format!("{name} · {}", level.name), number::time);
            }
            trace.x = X::Names(x);
            traces.push(trace);
        }
    }
    let log_ticks = Some(Ticks::over(&traces, Axis::Seconds));
    Chart {
        id: id.into(),
        title: format!("{}: round trips, {}", words::factor(factor), series.series).into(),
        caption: "Median and 99th percentile of a trial, medians over trials.".into(),
        alt: format!("Round-trip times of {} at the levels {}.", series.series, names(series).join(", ")),
        sizes: None,
        panels: vec![Panel { title: "round trip", unit: "s", log_ticks, zero: false, joined: true, share: 1.0 }],
        traces,
    }
}
