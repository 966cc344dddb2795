//! The pictures that answer a run, by its kind: they stand at the top of its page.

use analysis::result::{Analysis, CellResult, Metric};

use super::{charts, levels, open_loop, repetitions, verdict, ways};
use crate::document::Block;
use crate::document::figure::{Figure, Panel, SizeAxis, Trace};
use crate::number;
use crate::series::{Group, metric};
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
        return ways::pictures(study);
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
    const ENDS: [(&str, Metric); 2] = [("sender", Metric::SenderCpuPerMessageNs), ("receiver", Metric::ReceiverCpuPerMessageNs)];
    let trace = |(end, name): (&str, Metric)| {
        let point = |cell: &&CellResult| {
            let size = cell.cell.size.get();
            Some((size as f64, format!("{} B", number::whole(size)), *metric(cell, name)?))
        };
        Trace { hollow: end == "receiver", ..Trace::measured(end, 0, group.cells.iter().filter_map(point), NS, number::time) }
    };
    let sizes = || group.cells.iter().map(|cell| cell.cell.size.get());
    let landmarks = charts::landmarks(analysis, &[(place, group)]);
    let more = if more > 0 { format!(" {} more below.", words::series(more as u64)) } else { String::new() };
    Some(Figure {
        id: format!("cpu-{place}").into(),
        title: group.name.clone().into(),
        caption: format!("CPU time of each end: medians and 95 % intervals.{more}"),
        alt: charts::described("CPU time per message against message size.", &[(place, group)], &ENDS),
        sizes: Some(SizeAxis { landmarks, ..SizeAxis::over(sizes().min()?, sizes().max()?) }),
        panels: vec![Panel::of("CPU time per message", "s")],
        traces: ENDS.into_iter().map(trace).collect(),
    })
}
