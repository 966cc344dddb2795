//! The first picture of a run: CPU per message over size at both ends.

use analysis::result::{Analysis, CellResult, Metric};

use super::charts;
use crate::document::figure::{Figure, Panel, SizeAxis, Trace};
use crate::number::{self, Axis};
use crate::series::{Group, metric};
use crate::words;

const NS: f64 = 1e-9;
/// Series of the chart: more are told apart below, in charts of their own.
const SERIES: usize = 4;
/// A span of costs beyond which the small ones would lie on the axis.
const SPAN: f64 = 12.0;

/// The chart; of a run without messages of both ends that of its round trips.
pub fn figure(analysis: &Analysis, groups: &[Group]) -> Option<Figure> {
    cpu(analysis, groups).or_else(|| charts::round_trips(groups))
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
