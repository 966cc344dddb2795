//! Round trips: percentiles.

use super::trace::{X, escape};
use super::{Chart, Numbered, Panel, Ticks, Trace};
use crate::number::{self, Axis};

/// Percentiles of the merged round trips, one trace a cell.
pub fn percentiles(groups: &[Numbered]) -> Chart {
    let mut traces = Vec::new();
    let mut alt = "Percentiles of round-trip times.".to_owned();
    for (series, group) in groups {
        for cell in &group.cells {
            let Some(latency) = &cell.latency else { continue };
            let known: Vec<_> = latency.percentiles.iter().filter(|entry| entry.estimate.value.is_finite()).collect();
            // Cells of one series differ in size: each takes the next colour.
            let first = groups.first().map_or(*series, |(first, _)| *first);
            let mut trace = Trace::of(first + traces.len(), group, 0);
            trace.name = escape(&format!("{} · {} B", group.name, number::whole(cell.cell.size.get())));
            trace.x = X::Names(known.iter().map(|entry| format!("p{}", entry.percent)).collect());
            for entry in &known {
                let head = format!("{} · p{}", trace.name, entry.percent);
                trace.push(&entry.estimate, 1e-9, &head, number::time);
            }
            let words: Vec<String> =
                known.iter().map(|entry| format!("p{} {}", entry.percent, number::time(entry.estimate.value))).collect();
            alt += &format!(" {} {} B: {}.", group.name, number::whole(cell.cell.size.get()), words.join(", "));
            traces.push(trace);
        }
    }
    Chart {
        id: "latency".into(),
        title: "Round-trip time".into(),
        caption: "Request/response, one outstanding. Trials are merged, never averaged; half of the transactions were faster than p50, one in a thousand slower than p99.9.".into(),
        alt,
        sizes: None,
        panels: vec![Panel { title: "round trip", unit: "s", log_ticks: Some(Ticks::over(&traces, Axis::Seconds)), zero: false, joined: false, share: 1.0 }],
        traces,
    }
}
