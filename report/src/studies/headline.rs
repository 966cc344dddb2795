//! The first screen of a run's page: CPU per message over size at both ends, and four figures.

use analysis::result::{Analysis, CellResult, Estimate, Metric};

use super::charts;
use crate::document::figure::{Figure, Panel, SizeAxis, Trace};
use crate::document::{Block, Headline};
use crate::number::{self, Axis};
use crate::series::{Group, metric, percentile};
use crate::{interval, words};

const NS: f64 = 1e-9;
/// Figures next to each other.
const FIGURES: usize = 4;
/// Series of the chart: more are told apart below, in charts of their own.
const SERIES: usize = 4;
/// A span of costs beyond which the small ones would lie on the axis.
const SPAN: f64 = 12.0;

/// The chart, then the figures; a run without messages of both ends shows its round trips.
pub fn blocks(analysis: &Analysis, groups: &[Group]) -> Vec<Block> {
    let chart = cpu(analysis, groups).or_else(|| charts::round_trips(groups));
    let figures = headlines(groups, analysis.run.plan.blocks.interval);
    let figures = (!figures.is_empty()).then_some(Block::Headlines(figures));
    chart.map(|figure| Block::Hero(Box::new(figure))).into_iter().chain(figures).collect()
}

/// CPU time per message over size; `None` where there is none.
fn cpu(analysis: &Analysis, groups: &[Group]) -> Option<Figure> {
    const ENDS: [(&str, Metric); 2] = [("sender", Metric::SenderCpuPerMessageNs), ("receiver", Metric::ReceiverCpuPerMessageNs)];
    let streams: Vec<(usize, &Group)> = groups.iter().enumerate().filter(|(_, group)| group.test.is_stream()).collect();
    let drawn = &streams[..streams.len().min(SERIES)];
    let mut traces = Vec::new();
    for (series, group) in drawn {
        for (end, name) in ENDS {
            let label = if drawn.len() == 1 { end.to_owned() } else { format!("{} {end}", group.name) };
            let point = |cell: &&CellResult| {
                let size = cell.cell.size.get();
                Some((size as f64, format!("{} B", number::whole(size)), *metric(cell, name)?))
            };
            let points = group.cells.iter().filter_map(point);
            let trace = Trace::measured(&label, *series, points, NS, number::time);
            traces.push(Trace { hollow: end == "receiver", ..trace });
        }
    }
    traces.retain(|trace| !trace.is_empty());
    let values = || traces.iter().flat_map(|trace| &trace.y).flatten().copied().filter(|value| *value > 0.0);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if most == 0.0 {
        return None;
    }
    let panel = if most > SPAN * least {
        Panel::log("CPU time per message", "s", &traces, Axis::Seconds)
    } else {
        Panel::linear("CPU time per message", "s")
    };
    let more = match streams.len() - drawn.len() {
        0 => String::new(),
        more => format!(" {} more below.", words::series(more as u64)),
    };
    let sizes = || drawn.iter().flat_map(|(_, group)| &group.cells).map(|cell| cell.cell.size.get());
    let axis = SizeAxis::over(sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
    Some(Figure {
        id: "cpu".into(),
        title: "What a message costs: CPU time at both ends".into(),
        caption: format!("Filled: sender, hollow: receiver. Marks are medians, bars their intervals.{more}"),
        alt: charts::described(
            "CPU time per message against message size.",
            drawn,
            &[("sender", Metric::SenderCpuPerMessageNs), ("receiver", Metric::ReceiverCpuPerMessageNs)],
        ),
        sizes: Some(SizeAxis { landmarks: charts::landmarks(analysis, drawn), ..axis }),
        panels: vec![panel],
        traces,
    })
}

/// One figure of each series, then the next of each, until there are four.
fn headlines(groups: &[Group], wanted: f64) -> Vec<Headline> {
    let mut all: Vec<Vec<Headline>> = groups.iter().map(|group| of_series(group, wanted)).collect();
    all.retain(|figures| !figures.is_empty());
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows: Vec<std::vec::IntoIter<Headline>> = all.into_iter().map(Vec::into_iter).collect();
    let turns = (0..longest).flat_map(|_| rows.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>());
    turns.take(FIGURES).collect()
}

/// The figures of a series' smallest message, the most telling first.
fn of_series(group: &Group, wanted: f64) -> Vec<Headline> {
    let measured = group.cells.iter().copied().filter(|cell| !cell.metrics.is_empty());
    let Some(cell) = measured.min_by_key(|cell| cell.cell.size) else { return Vec::new() };
    let size = number::whole(cell.cell.size.get());
    let one = |what: String, estimate: &Estimate, write: fn(f64) -> String| Headline {
        heading: group.name.clone(),
        value: write(estimate.value),
        margin: interval::plus_minus(estimate),
        what,
        hint: format!("{}, n = {}", interval::range(estimate, write), estimate.n),
        missed: estimate.half_width().is_none_or(|width| width > wanted),
    };
    let of = |name: Metric, what: String| metric(cell, name).map(|estimate| one(what, estimate, words::writer(name)));
    if group.test.is_stream() {
        let best = group.cells.iter().filter_map(|cell| Some((metric(cell, Metric::GoodputBitPerS)?, cell.cell.size)));
        let best = best.max_by(|a, b| a.0.value.total_cmp(&b.0.value));
        let all = [
            of(Metric::SenderCpuPerMessageNs, format!("sender CPU, {size} B")),
            of(Metric::ReceiverCpuPerMessageNs, format!("receiver CPU, {size} B")),
            best.map(|(goodput, size)| one(format!("goodput at {size}"), goodput, number::bits)),
            of(Metric::TimePerMessageNs, format!("elapsed per message, {size} B")),
        ];
        return all.into_iter().flatten().collect();
    }
    let trip = |percent: f64, what: &str| {
        let found = percentile(cell.latency.as_ref(), percent).filter(|found| found.estimate.value.is_finite() && !found.at_least)?;
        Some(one(format!("{what}, {size} B"), &found.estimate, number::time))
    };
    let all = [
        trip(50.0, "median round trip"),
        trip(99.0, "99th percentile"),
        of(Metric::SenderCpuPerMessageNs, format!("sender CPU, {size} B")),
        of(Metric::MessagesPerS, "transactions a second".to_owned()),
    ];
    all.into_iter().flatten().collect()
}
