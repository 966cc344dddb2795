//! 1988: the table by socket buffer, and the curve that it asks its readers to draw.

use literature::ReferenceAnalysis;
use literature::claims::evidence::Curve;
use literature::jacobson::{BufferCurve, BufferPoint, STATED};

use super::{Item, figure, linear_numbers};
use crate::document::figure::{Figure, Panel, Scale, Trace};
use crate::document::{Cell, Kind, Rows, Table};
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
    let mut task = traces(analysis, |point| Some((point.kbytes_per_s, format!("{} KB/s", words::plain(point.kbytes_per_s, 4)))));
    let limit = [1.0, MOST].map(|packets| (packets, Some(STATED)));
    task.push(Trace { legend: true, ..Trace::line("limit", task.len(), limit) });
    let wire = traces(analysis, |point| point.wire_mbit_per_s.map(|rate| (rate * 1e6, format!("{rate} Mbit/s"))));
    let without = if analysis.comparisons.is_empty() { "" } else { "Runs of today have no such column." };
    [
        figure(
            "f1988-task".into(),
            "From task to task",
            "KB of 1,024 bytes. Dotted: the limit that the mail states, 1,104 KB/s.",
            axis(),
            Panel::of("throughput, KB/s", "").on(Scale::Linear),
            task,
        ),
        figure("f1988-wire".into(), "On the wire", without, axis(), Panel::of("rate", "bit/s").on(Scale::Linear), wire),
    ]
}

/// KB/s of today by both buffers: a row a sender's, the fastest darkest.
fn pairs(today: &[Curve]) -> Option<Table> {
    let curves: Vec<&Curve> = today.iter().filter(|curve| curve.quantity == "by-receiver").collect();
    let most = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1.value).fold(0.0, f64::max);
    let over = &curves.first()?.group;
    let mut rows = Rows::of(&curves).words("Today, KB/s", |curve| curve.name.as_str());
    for (at, _) in &curves.first()?.points {
        let rate = |curve: &&Curve| match curve.points.iter().find(|point| point.0 == *at) {
            Some((_, of)) => Cell::Shaded(words::plain(of.value.round(), 4).into(), of.value / most),
            None => Cell::Nothing,
        };
        rows = rows.column(format!("receiver's {at}").as_str(), Kind::Figures, rate);
    }
    Some(rows.table().titled(format!("Today: each sender's buffer with each receiver's, counted from the smallest; {over}")))
}

pub fn items(analysis: &ReferenceAnalysis, today: &[Curve]) -> Vec<Item> {
    const EQUAL: &str = "study jacobson1988";
    let table = |curve: &BufferCurve| buffers(curve).titled(curve.name.clone());
    let mut compared = analysis.comparisons.iter().flat_map(|one| &one.buffers);
    vec![
        Item::new(
            "Graph of the table",
            "throughput over the socket buffer, from task to task and on the wire",
            "12 equal pairs, LANCE to LANCE; KB of 1,024 bytes.",
            &["j88-01", "j88-02", "j88-03", "j88-04", "j88-05", "j88-11", "j88-09"],
        )
        .drawn(charts(analysis))
        .measured_by(EQUAL),
        Item::new(
            "Table",
            "task and wire rate by socket buffer",
            "LANCE to LANCE is carried; nettoll does not carry the pair with the Intel chip: give it with --table.",
            &["j88-06", "j88-07", "j88-08"],
        )
        .tabled(analysis.buffers.iter().map(table))
        .tabled_today(compared.next().map(table))
        .tabled(compared.map(table))
        .noted(curves(analysis).flat_map(words::curve))
        .measured_by(EQUAL),
        Item::new(
            "289 pairs",
            "each sender's buffer with each receiver's, 1 to 17 packets",
            "the mail has the equal pairs only.",
            &["j88-10"],
        )
        .tabled_today(pairs(today))
        .measured_by("study buffers"),
    ]
}
