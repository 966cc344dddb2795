//! The pictures that answer a run, by its kind: they stand at the top of its page.

use analysis::result::{Analysis, CellResult};

use super::{charts, levels, open_loop, repetitions, verdict, ways};
use crate::document::Block;
use crate::document::figure::{Figure, Panel, SizeAxis, Trace};
use crate::number;
use crate::series::Group;
use crate::words;

const NS: f64 = 1e-9;
/// Series of a sweep that have a chart at the top; the others are in the tables.
const SERIES: usize = 4;

/// The pictures: of arms their changes, of ways their ranking, of levels, counts and rates the charts of
/// each, else what a message costs by size, or its round trips.
pub fn pictures(analysis: &Analysis, groups: &[Group]) -> Vec<Block> {
    if !analysis.verdicts().is_empty() {
        return Block::charts(verdict::charts_of_arms(analysis, groups)).into_iter().collect();
    }
    if let Some(study) = analysis.ways() {
        return ways::pictures(study, analysis);
    }
    let studied = (analysis.levels().map(levels::charts))
        .or_else(|| analysis.repetitions().map(repetitions::charts))
        .or_else(|| analysis.open_loop().map(|study| open_loop::charts(study, analysis)))
        .map(|all| all.into_iter().take(super::AT_TOP).collect::<Vec<Figure>>());
    let cpu = || Block::figures(cpu(analysis, groups));
    let drawn = match studied {
        Some(figures) => Block::figures(figures),
        // One message's time says where that of each size goes.
        None if analysis.receipt().is_some_and(|study| !study.series.is_empty()) => None,
        None => cpu(),
    };
    drawn.or_else(|| Block::figures(charts::round_trips(groups).into_iter().collect())).into_iter().collect()
}

/// CPU time per message over size at both ends, a chart a series.
fn cpu(analysis: &Analysis, groups: &[Group]) -> Vec<Figure> {
    let streams: Vec<&Group> = groups.iter().filter(|group| group.test.is_stream()).collect();
    let more = streams.len().saturating_sub(SERIES);
    let one = |(place, group): (usize, &&Group)| ends(analysis, group, place, if place + 1 == SERIES { more } else { 0 });
    streams.iter().take(SERIES).enumerate().filter_map(one).collect()
}

/// One series at both ends: the sender filled, the receiver hollow.
fn ends(analysis: &Analysis, group: &Group, place: usize, more: usize) -> Option<Figure> {
    const ENDS: [(&str, usize); 3] = [("both ends", 0), ("sender", 1), ("receiver", 2)];
    let trace = |(end, place): (&str, usize)| {
        let point = |cell: &&CellResult| {
            let size = cell.cell.size.get();
            Some((size as f64, format!("{} B", number::whole(size)), *cell.cpu_per_delivered()[place]?))
        };
        let series = usize::from(end == "both ends");
        Trace { hollow: end == "receiver", ..Trace::measured(end, series, group.cells.iter().filter_map(point), NS, number::time) }
    };
    let is_lossy = group.cells.iter().any(|cell| cell.is_lossy());
    let per_message = if is_lossy { "CPU time per message that arrived" } else { "CPU time per message" };
    let sizes = || group.cells.iter().map(|cell| cell.cell.size.get());
    let landmarks = charts::landmarks(analysis, &[(place, group)]);
    let more = if more > 0 { format!(" {} more below.", words::series(more as u64)) } else { String::new() };
    Some(Figure {
        id: format!("cpu-{place}").into(),
        title: group.name.clone().into(),
        caption: format!("Medians and 95 % intervals.{more}"),
        alt: described(group),
        sizes: Some(SizeAxis { landmarks, ..SizeAxis::over(sizes().min()?, sizes().max()?) }),
        panels: vec![Panel::of(per_message, "s")],
        traces: ENDS.into_iter().map(trace).filter(|trace| !trace.is_empty()).collect(),
    })
}

/// The figures of the smallest and of the largest message.
fn described(group: &Group) -> String {
    let known = || group.cells.iter().filter_map(|cell| Some((cell.cell.size.get(), cell.cpu_per_delivered()[0]?.value)));
    let (first, last) = (known().min_by_key(|(size, _)| *size), known().max_by_key(|(size, _)| *size));
    let of = |(size, ns): (u64, f64)| format!("{} at {} B", number::time(ns), number::whole(size));
    let all: Vec<String> = first.into_iter().chain(last).map(of).collect();
    format!("CPU time per message against message size. {}, both ends: {}.", group.name, all.join(", "))
}
