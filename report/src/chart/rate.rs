//! How much: messages per second and goodput.

use analysis::result::{CellResult, Metric};

use super::trace::Point;
use super::{Chart, Numbered, Panel, SizeAxis, Ticks, Trace};
use crate::number::{self, Axis};
use crate::series::metric;

/// Messages per second against the logarithm of size.
pub fn messages(groups: &[Numbered]) -> Chart {
    Chart {
        id: "messages".into(),
        title: "Messages per second".into(),
        caption:
            "Higher is better. Where the curve is flat, a message costs the same whatever its size; it falls where bytes begin to cost."
                .into(),
        alt: alt("Messages per second against message size.", groups, Metric::MessagesPerS, number::count),
        sizes: Some(SizeAxis::of(groups, true)),
        panels: vec![Panel { title: "messages/s", unit: "", log_ticks: None, zero: true, joined: false, share: 1.0 }],
        traces: traces(groups, Metric::MessagesPerS, |rate| format!("{} messages/s", number::count(rate))),
    }
}

/// Goodput against size, both logarithmic.
pub fn goodput(groups: &[Numbered]) -> Chart {
    let traces = traces(groups, Metric::GoodputBitPerS, number::bits);
    let log_ticks = Some(Ticks::over(&traces, Axis::Bits));
    Chart {
        id: "goodput".into(),
        title: "Goodput".into(),
        caption: "Payload that arrived. Both axes are logarithmic: a straight rise means a constant cost per message; it bends towards saturation.".into(),
        alt: alt("Goodput against message size.", groups, Metric::GoodputBitPerS, number::bits),
        sizes: Some(SizeAxis::of(groups, true)),
        panels: vec![Panel { title: "goodput", unit: "bit/s", log_ticks, zero: false, joined: false, share: 1.0 }],
        traces,
    }
}

/// The cells of a series that have a metric.
pub fn points(cells: &[&CellResult], name: Metric) -> Vec<Point> {
    cells.iter().filter_map(|cell| Some(Point { size: cell.cell.size.get(), estimate: *metric(cell, name)? })).collect()
}

/// What a chart over size shows, series by series.
pub fn alt(what: &str, groups: &[Numbered], name: Metric, write: fn(f64) -> String) -> String {
    let mut text = what.to_owned();
    for (_, group) in groups {
        let known: Vec<_> = group.cells.iter().filter_map(|cell| Some((cell.cell.size.get(), metric(cell, name)?.value))).collect();
        if let (Some((least, first)), Some((most, last))) =
            (known.iter().min_by_key(|point| point.0), known.iter().max_by_key(|point| point.0))
        {
            text += &format!(
                " {}: {} at {} B, {} at {} B.",
                group.name,
                write(*first),
                number::whole(*least),
                write(*last),
                number::whole(*most)
            );
        }
    }
    text
}

fn traces(groups: &[Numbered], name: Metric, write: fn(f64) -> String) -> Vec<Trace> {
    groups.iter().map(|(series, group)| Trace::of(*series, group, 0).measured(points(&group.cells, name), 1.0, write)).collect()
}
