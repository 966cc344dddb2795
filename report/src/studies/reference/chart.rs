//! The four charts of the 2007 paper for each machine, and the curve over
//! socket buffers.

use literature::jacobson::{BufferCurve, BufferPoint, KB};
use literature::sweep::{SeriesResult, SizeResult};

use super::{Machine, words};
use crate::document::figure::{Figure, Panel, SizeAxis, Trace};
use crate::number;

/// The longest name of a machine in a title.
const LONGEST: usize = 40;

/// Charts of a machine; `place` tells machines apart.
pub fn of_machine(machine: &Machine, place: usize) -> Vec<Figure> {
    vec![messages(machine, place), delay(machine, place), throughput(machine, place), improvement(machine, place)]
}

fn axis(machine: &Machine) -> SizeAxis {
    let sizes = machine.sizes();
    SizeAxis::over(sizes.first().copied().unwrap_or(1), sizes.last().copied().unwrap_or(1))
}

/// A chart of measured points, and of lines if there are any.
fn chart(machine: &Machine, id: String, title: &'static str, caption: &str, panel: Panel, traces: Vec<Trace>) -> Figure {
    let names: Vec<&str> = machine.series.iter().map(|series| series.name.as_str()).collect();
    let alt = format!("{title} against message size on {}: {}. The figures are in the table below.", machine.name, names.join(", "));
    let title = format!("{title}: {}", words::short(machine.name, LONGEST));
    Figure { id: id.into(), title: title.into(), caption: caption.to_owned(), alt, sizes: Some(axis(machine)), panels: vec![panel], traces }
}

/// Points of every series.
fn points(machine: &Machine, of: fn(&SizeResult) -> Option<f64>, write: fn(f64) -> String, scale: f64) -> Vec<Trace> {
    let one = |(place, series): (usize, &&SeriesResult)| {
        let points = series.sizes.iter().filter_map(|size| {
            let value = of(size).filter(|value| value.is_finite())?;
            Some((size.message_bytes as f64, value * scale, format!("{} B", number::whole(size.message_bytes)), write(value)))
        });
        Trace::points(&series.name, place, points)
    };
    machine.series.iter().enumerate().map(one).filter(|trace| !trace.is_empty()).collect()
}

fn messages(machine: &Machine, place: usize) -> Figure {
    let traces = points(machine, |size| Some(size.messages_per_s), |rate| format!("{} messages/s", number::count(rate)), 1.0);
    let caption = "Flat where a message costs the same whatever its size; it falls where bytes begin to cost.";
    chart(machine, format!("messages-{place}"), "Messages per second", caption, Panel::of("messages/s", ""), traces)
}

fn delay(machine: &Machine, place: usize) -> Figure {
    const NS: f64 = 1e-9;
    let mut traces = points(machine, |size| Some(size.time_per_message_ns), number::time, NS);
    traces.extend(machine.series.iter().enumerate().filter_map(|(series, result)| line(series, result)));
    let caption = "Dotted: the robust line, whose start is the cost of a message and whose slope the cost of a byte.";
    chart(machine, format!("delay-{place}"), "Time per message", caption, Panel::of("time per message", "s"), traces)
}

/// The cost model of a series as a line.
fn line(series: usize, result: &SeriesResult) -> Option<Trace> {
    let mut points = Vec::new();
    for piece in &result.cost.as_ref()?.pieces {
        let (from, to) = (piece.from as f64, piece.to as f64);
        points.extend((0..=16_u32).map(|step| {
            let size = from * (to / from).powf(f64::from(step) / 16.0);
            (size, Some((piece.message_ns.value + piece.byte_ns.value * size) * 1e-9))
        }));
        // A gap: pieces do not touch.
        points.push((to, None));
    }
    Some(Trace::line(&result.name, series, points))
}

fn throughput(machine: &Machine, place: usize) -> Figure {
    let traces = points(machine, |size| Some(size.goodput_bit_per_s), number::bits, 1.0);
    let caption = "On logarithmic axes straight as long as a power law holds, bending towards saturation.";
    chart(machine, format!("throughput-{place}"), "Throughput", caption, Panel::of("throughput", "bit/s"), traces)
}

fn improvement(machine: &Machine, place: usize) -> Figure {
    let traces = points(machine, |size| size.improvement, number::change, 1.0);
    let over = machine.series.iter().find_map(|series| series.baseline.as_deref()).unwrap_or("the first series");
    let caption = format!("Messages per second over those of {over}.");
    let panel = Panel::of("improvement", "%").joined(true);
    chart(machine, format!("improvement-{place}"), "Improvement", &caption, panel, traces)
}

/// Curves over socket buffers of elsewhere in one chart, with the two lines of each and the limit.
pub fn of_buffers(curves: &[&BufferCurve]) -> Option<Figure> {
    let mut traces = Vec::new();
    for (series, curve) in curves.iter().enumerate() {
        let points = curve.points.iter().map(|point| {
            let (packets, rate) = (words::plain(point.packets, 3), words::plain(point.kbytes_per_s, 4));
            (point.packets, point.kbytes_per_s * KB, format!("{packets} packets"), format!("{rate} KB/s"))
        });
        traces.push(Trace::points(&curve.name, series, points));
        let model = |rate: &dyn Fn(&BufferPoint) -> Option<f64>| {
            let point = |point: &BufferPoint| (point.packets, rate(point).map(|rate| rate * KB));
            Trace::line(&curve.name, series, curve.points.iter().map(point))
        };
        traces.extend(curve.knee.is_some().then(|| model(&|point| point.fitted)));
        traces.extend(curve.limit.map(|limit| model(&|_| Some(limit.kbytes_per_s))));
    }
    let most = curves.iter().flat_map(|curve| &curve.points).map(|point| point.packets).fold(0.0, f64::max);
    (most > 0.0).then(|| Figure {
        id: "buffers".into(),
        title: "Throughput by socket buffer".into(),
        caption: "Dotted: two straight lines that meet at the knee, and the limit of the frames.".to_owned(),
        alt: "Throughput against socket buffer in packets. The figures are in the table below.".to_owned(),
        sizes: Some(SizeAxis { title: Some("socket buffer, packets"), log: false, ..SizeAxis::over(1, most.ceil() as u64) }),
        panels: vec![Panel::of("throughput", "B/s")],
        traces,
    })
}
