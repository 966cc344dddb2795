//! 1988: the table by socket buffer, and the curve that it asks its readers to draw.

use literature::ReferenceAnalysis;
use literature::jacobson::{BufferCurve, BufferPoint, KB, STATED};

use super::{Item, figure, linear_numbers};
use crate::document::figure::{Figure, Panel, Scale, Trace};
use crate::studies::reference::{buffers, words};

/// The mail's conclusion in our words.
pub const CONCLUSION: &str = "task to task TCP reaches 91 % of what the frames of the Ethernet leave; the socket buffer and the interface's chip \
decide, and a faster machine with a slower chip reaches 65 %. As an opinion, apart from the measurements: the notch of that chip is the third \
packet, which meets the acknowledgement of the second.";

/// The most packets of the test; the table has 12.
const MOST: f64 = 17.0;

fn curves(analysis: &ReferenceAnalysis) -> impl Iterator<Item = &BufferCurve> {
    analysis.buffers.iter().chain(analysis.comparisons.iter().flat_map(|one| &one.buffers))
}

fn traces(analysis: &ReferenceAnalysis, of: impl Fn(&BufferPoint) -> Option<(f64, String)>) -> Vec<Trace> {
    let point = |point: &BufferPoint| of(point).map(|(height, words)| (point.packets, height, format!("{} packets", point.packets), words));
    curves(analysis).enumerate().map(|(place, curve)| Trace::points(&curve.name, place, curve.points.iter().filter_map(point))).collect()
}

fn charts(analysis: &ReferenceAnalysis) -> [Figure; 2] {
    let axis = || Some(linear_numbers("socket buffer, packets", 1.0, MOST));
    let mut task = traces(analysis, |point| Some((point.kbytes_per_s * KB, format!("{} KB/s", point.kbytes_per_s))));
    let limit = [1.0, MOST].map(|packets| (packets, Some(STATED * KB)));
    task.push(Trace { legend: true, ..Trace::line("limit, 1,104 KB/s", task.len(), limit) });
    let wire = traces(analysis, |point| point.wire_mbit_per_s.map(|rate| (rate * 1e6, format!("{rate} Mbit/s"))));
    [
        figure(
            "f1988-task".into(),
            "From task to task",
            "Dotted: the limit that the mail states.",
            axis(),
            Panel::of("throughput", "B/s").on(Scale::Linear),
            task,
        ),
        figure("f1988-wire".into(), "On the wire", "", axis(), Panel::of("rate", "bit/s").on(Scale::Linear), wire),
    ]
}

pub fn items(analysis: &ReferenceAnalysis) -> Vec<Item> {
    vec![
        Item::new(
            "Graph of the table",
            "throughput over the socket buffer",
            "12 equal pairs, LANCE to LANCE; KB of 1,024 bytes.",
            &["j88-01", "j88-02", "j88-03", "j88-04", "j88-05", "j88-11", "j88-09"],
        )
        .drawn(charts(analysis)),
        Item::new(
            "Table",
            "task and wire rate by socket buffer",
            "LANCE to LANCE is carried; nettoll does not carry the pair with the Intel chip: give it with --table.",
            &["j88-06", "j88-07", "j88-08"],
        )
        .tabled(curves(analysis).map(|curve| buffers(curve).titled(curve.name.clone())))
        .noted(curves(analysis).flat_map(words::curve)),
        Item::new(
            "289 pairs",
            "each sender's buffer with each receiver's, 1 to 17 packets",
            "the mail has the equal pairs only.",
            &["j88-10"],
        ),
    ]
}
