//! Figures of every cell: how much, what a message costs, round trips.

use analysis::cost::threshold::frame_payload;
use analysis::result::{Analysis, CellResult, Estimate, FitOutcome, Metric, Percentile, Piece, Quantity, Term};

use model::Protocol;
use model::sorting::Order;

use crate::document::Figure;
use crate::document::figure::{Landmark, Panel, SizeAxis, Trace};
use crate::number;
use crate::series::{Group, metric};

const NS: f64 = 1e-9;

/// A series and its place among all, which gives it the same colour and mark in every figure.
pub type Numbered<'a> = (usize, &'a Group<'a>);

/// Every figure that these series have data for.
pub fn all(analysis: &Analysis, groups: &[Group]) -> Vec<Figure> {
    let (streams, trips): (Vec<_>, Vec<_>) = groups.iter().enumerate().partition(|(_, group)| group.test.is_stream());
    let landmarks = landmarks(analysis, &streams);
    // Side by side on a wide screen: two of one height in each row.
    let mut all = vec![messages(&streams), goodput(&streams), elapsed(&streams), demand(&streams)];
    all.iter_mut().filter_map(|figure| figure.sizes.as_mut()).for_each(|sizes| sizes.landmarks.clone_from(&landmarks));
    all.push(percentiles(&trips));
    all
}

/// The round trips of these series; `None` where there are none.
pub fn round_trips(groups: &[Group]) -> Option<Figure> {
    let trips: Vec<Numbered> = groups.iter().enumerate().filter(|(_, group)| !group.test.is_stream()).collect();
    let figure = percentiles(&trips);
    // The chart below has the name of the same curves.
    (!figure.traces.is_empty()).then(|| Figure { id: "round-trips".into(), ..figure })
}

/// An axis that holds every size of these series.
fn sizes(groups: &[Numbered]) -> SizeAxis {
    let sizes = || groups.iter().flat_map(|(_, group)| &group.cells).map(|cell| cell.cell.size.get());
    SizeAxis::over(sizes().min().unwrap_or(1), sizes().max().unwrap_or(1))
}

/// Sizes at which the stack changes its ways, of those that lie among the measured ones: the payload of one
/// frame by protocol, and a page.
pub fn landmarks(analysis: &Analysis, groups: &[Numbered]) -> Vec<Landmark> {
    let device = || analysis.hosts.iter().find_map(|host| host.device.get("mtu")?.parse().ok());
    let mtu: Option<u64> = analysis.run.plan.link.mtu.map(u64::from).or_else(device);
    let sizes = || groups.iter().flat_map(|(_, group)| &group.cells).map(|cell| cell.cell.size.get());
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let mut all: Vec<Landmark> = Vec::new();
    for (_, group) in groups {
        let Some(cell) = group.cells.first().map(|cell| &cell.cell).filter(|cell| cell.conditions.link.is_none()) else { continue };
        let Some(payload) = frame_payload(cell, mtu, None) else { continue };
        let name = if cell.protocol() == Protocol::Tcp { "MSS" } else { "MTU" };
        let hint = format!("{name}: a frame carries {} B of {} payload at most", number::whole(payload), cell.protocol());
        all.push(Landmark { name: name.to_owned(), at: payload as f64, hint });
    }
    all.push(Landmark { name: "page".into(), at: 4096.0, hint: "a page of memory: 4,096 B".into() });
    all.retain(|mark| (least as f64..most as f64).contains(&mark.at));
    all.order_by(|a, b| a.at.total_cmp(&b.at));
    all.dedup();
    all
}

/// Messages per second against the logarithm of size.
fn messages(groups: &[Numbered]) -> Figure {
    Figure {
        id: "messages".into(),
        title: "Messages per second".into(),
        caption:
            "Higher is better. Where the curve is flat, a message costs the same whatever its size; it falls where bytes begin to cost."
                .into(),
        alt: alt("Messages per second against message size.", groups, Metric::MessagesPerS, number::count),
        sizes: Some(sizes(groups)),
        panels: vec![Panel::of("messages/s", "")],
        traces: traces(groups, Metric::MessagesPerS, |rate| format!("{} messages/s", number::count(rate))),
    }
}

/// Goodput against size, both logarithmic.
fn goodput(groups: &[Numbered]) -> Figure {
    let traces = traces(groups, Metric::GoodputBitPerS, number::bits);
    Figure {
        id: "goodput".into(),
        title: "Goodput".into(),
        caption: "Payload that arrived. Both axes are logarithmic: a straight rise means a constant cost per message; it bends towards saturation.".into(),
        alt: alt("Goodput against message size.", groups, Metric::GoodputBitPerS, number::bits),
        sizes: Some(sizes(groups)),
        panels: vec![Panel::of("goodput", "bit/s")],
        traces,
    }
}

/// Description of a figure over size, series by series.
fn alt(what: &str, groups: &[Numbered], name: Metric, write: fn(f64) -> String) -> String {
    groups.iter().fold(what.to_owned(), |text, (_, group)| text + &ends(&group.name, group, name, write))
}

/// The figures of the smallest and of the largest message.
fn ends(series: &str, group: &Group, name: Metric, write: fn(f64) -> String) -> String {
    let known = || group.cells.iter().filter_map(|cell| Some((cell.cell.size.get(), metric(cell, name)?.value)));
    let (Some((least, first)), Some((most, last))) = (known().min_by_key(|point| point.0), known().max_by_key(|point| point.0)) else {
        return String::new();
    };
    format!(" {series}: {} at {} B, {} at {} B.", write(first), number::whole(least), write(last), number::whole(most))
}

fn traces(groups: &[Numbered], name: Metric, write: fn(f64) -> String) -> Vec<Trace> {
    groups.iter().map(|(series, group)| marks(*series, group, name, 1.0, write)).collect()
}

/// The cells of a series that have a metric.
fn marks(series: usize, group: &Group, name: Metric, scale: f64, write: fn(f64) -> String) -> Trace {
    let point = |cell: &&CellResult| {
        let size = cell.cell.size.get();
        Some((size as f64, format!("{} B", number::whole(size)), *metric(cell, name)?))
    };
    Trace::measured(&group.name, series, group.cells.iter().filter_map(point), scale, write)
}

/// Time per message against size, with the fit, and what the fit misses below it.
fn elapsed(groups: &[Numbered]) -> Figure {
    let mut traces = measured(groups, 0, Metric::TimePerMessageNs, Quantity::Elapsed);
    let residuals: Vec<Trace> = groups.iter().filter_map(residuals).collect();
    let mut panels = vec![Panel::of("time per message", "s")];
    if !residuals.is_empty() {
        panels[0].share = 0.7;
        panels.push(Panel { share: 0.3, ..Panel::of("residual", "%") });
        traces.extend(residuals);
    }
    Figure {
        id: "delay".into(),
        title: "Time per message".into(),
        caption:
            "Dotted: the cost model, in one or more straight pieces, where there is one. Below: by how much the measurement misses the \
                  model. Series without a model have no residuals."
                .into(),
        alt: alt("Elapsed time per message against message size.", groups, Metric::TimePerMessageNs, number::time),
        sizes: Some(sizes(groups)),
        panels,
        traces,
    }
}

/// CPU time per message at the sender and at the receiver.
fn demand(groups: &[Numbered]) -> Figure {
    let mut traces = measured(groups, 0, Metric::SenderCpuPerMessageNs, Quantity::SenderCpu);
    traces.extend(measured(groups, 1, Metric::ReceiverCpuPerMessageNs, Quantity::ReceiverCpu));
    let panel = |title| Panel { share: 0.5, ..Panel::of(title, "s") };
    let sender = alt("Service demand against message size. Sender.", groups, Metric::SenderCpuPerMessageNs, number::time);
    Figure {
        id: "demand".into(),
        title: "Service demand".into(),
        caption: "CPU time that each end spends on a message: process, interrupts and kernel threads. Dotted: the cost model, where there is one.".into(),
        alt: alt(&format!("{sender} Receiver."), groups, Metric::ReceiverCpuPerMessageNs, number::time),
        sizes: Some(sizes(groups)),
        panels: vec![panel("sender CPU"), panel("receiver CPU")],
        traces,
    }
}

fn measured(groups: &[Numbered], panel: usize, name: Metric, quantity: Quantity) -> Vec<Trace> {
    let placed = |trace: Trace| Trace { panel, legend: trace.legend && panel == 0, ..trace };
    let of = |(series, group): &Numbered| {
        let dots = marks(*series, group, name, NS, number::time);
        [Some(dots), fitted(*series, group, quantity)].map(|trace| trace.map(placed))
    };
    groups.iter().flat_map(of).flatten().collect()
}

/// The share by which each size misses the model of elapsed time.
fn residuals((series, group): &Numbered) -> Option<Trace> {
    let FitOutcome::Fitted(fit) = &group.model(Quantity::Elapsed)?.outcome else { return None };
    let points = fit.points.iter().filter(|point| point.residual.is_finite()).map(|point| {
        let mut share = Estimate { value: point.residual, ..point.measured };
        if let Some(ends) = &mut share.interval {
            (ends.low, ends.high) = (ends.low / point.fitted - 1.0, ends.high / point.fitted - 1.0);
        }
        (point.size.get() as f64, format!("{} B", number::whole(point.size.get())), share)
    });
    Some(Trace { panel: 1, legend: false, ..Trace::measured(&group.name, *series, points, 1.0, number::change) })
}

/// The line of a cost model, in seconds over size; `None` without a fit.
fn fitted(series: usize, group: &Group, quantity: Quantity) -> Option<Trace> {
    let FitOutcome::Fitted(fit) = &group.model(quantity)?.outcome else { return None };
    let mut points = Vec::new();
    for piece in &fit.pieces {
        let line = curve(piece).unwrap_or_else(|| {
            let within = fit.points.iter().filter(|point| (piece.from..=piece.to).contains(&point.size));
            within.map(|point| (point.size.get() as f64, point.fitted)).collect()
        });
        points.extend(line.into_iter().filter(|(_, y)| y.is_finite()).map(|(size, ns)| (size, Some(ns * NS))));
        // A gap: pieces do not touch.
        points.push((piece.to.get() as f64, None));
    }
    Some(Trace::line(&group.name, series, points))
}

/// Steps of a model's line: enough to be smooth on a logarithmic axis.
const STEPS: u32 = 32;

/// Points of a piece that depends on the size alone.
fn curve(piece: &Piece) -> Option<Vec<(f64, f64)>> {
    let of = |term: Term| piece.terms.iter().find(|entry| entry.term == term).map_or(0.0, |entry| entry.estimate.value);
    if piece.terms.iter().any(|entry| matches!(entry.term, Term::Frame | Term::Wakeup)) {
        return None;
    }
    let (from, to) = (piece.from.get() as f64, piece.to.get() as f64);
    let size = |step: u32| (from * (to / from).powf(f64::from(step) / f64::from(STEPS))).round().clamp(from, to);
    Some((0..=STEPS).map(size).map(|size| (size, of(Term::Message) + of(Term::Byte) * size)).collect())
}

/// A label with the word that its figure is a lower bound, if it is one.
pub fn bounded(label: String, found: &Percentile) -> String {
    if found.at_least { label + " at least" } else { label }
}

/// Percentiles of the merged round trips, one curve a cell; bars where there are intervals.
fn percentiles(groups: &[Numbered]) -> Figure {
    let mut traces = Vec::new();
    let mut alt = "Percentiles of round-trip times.".to_owned();
    for (series, group) in groups {
        for cell in &group.cells {
            let Some(latency) = &cell.latency else { continue };
            let known: Vec<_> = latency.percentiles.iter().filter(|entry| entry.estimate.value.is_finite()).collect();
            // Cells of one series differ in size: each takes the next colour.
            let first = groups.first().map_or(*series, |(first, _)| *first);
            let name = format!("{} · {} B", group.name, number::whole(cell.cell.size.get()));
            let mut points: Vec<(f64, String, Estimate)> =
                known.iter().map(|entry| (entry.percent, bounded(format!("p{}", entry.percent), entry), entry.estimate)).collect();
            let between = latency.curve.iter().filter(|[percent, _]| known.iter().all(|entry| entry.percent != *percent));
            points.extend(between.map(|[percent, ns]| {
                (*percent, format!("p{percent}"), Estimate { value: *ns, interval: None, n: latency.transactions as usize })
            }));
            points.order_by(|a, b| a.0.total_cmp(&b.0));
            let points = points.into_iter().map(|(percent, label, estimate)| (SizeAxis::nines(percent), label, estimate));
            traces.push(Trace::measured(&name, first + traces.len(), points, NS, number::time));
            let words: Vec<String> = known
                .iter()
                .map(|entry| format!("{} {}", bounded(format!("p{}", entry.percent), entry), number::time(entry.estimate.value)))
                .collect();
            alt += &format!(" {} {} B: {}.", group.name, number::whole(cell.cell.size.get()), words.join(", "));
        }
    }
    Figure {
        id: "latency".into(),
        title: "Round-trip time".into(),
        caption: "Request/response, one outstanding. Trials are merged, never averaged; half of the transactions were faster than p50, one in a thousand slower than p99.9. Bars where there are intervals: over blocks.".into(),
        alt,
        sizes: Some(SizeAxis::of_percentiles()),
        panels: vec![Panel::of("round trip", "s")],
        traces,
    }
}
