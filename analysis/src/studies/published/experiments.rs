//! Runs that decide what the papers' tables cannot, as curves, and costs over size that are compared as lines.

use literature::claims::evidence::{Curve, Evidence, Figure};
use literature::claims::facts;
use literature::jacobson::KB;
use literature::{Study, shape};
use model::condition::Priority;
use model::{Bytes, Cell, Protocol, Test};

use super::{add, figure, inverse, link, one_link, protocol};
use crate::Analysis;
use crate::cells::CellResult;
use crate::metric::Metric;
use crate::studies::buffers::BufferMap;
use crate::studies::repetitions::{CountLine, RepetitionSeries};

/// Figures of a quantity: names of their curves, labels, places.
type Points = Vec<(String, Vec<String>, f64, Figure)>;

/// The paper and the quantity of an experiment, and how a run is read for it: empty where it is another.
type Experiment = (Study, &'static str, fn(&Analysis) -> Points);

const EXPERIMENTS: [Experiment; 7] = [
    (Study::Cabrera1984, "spread", spreads),
    (Study::Cabrera1984, "total", totals),
    (Study::Cabrera1984, "slope", slopes),
    (Study::Cabrera1984, "sum", next_to_a_page),
    (Study::Cabrera1984, "eight-over-two", eight_over_two),
    (Study::Bidulock2007, "by-sndbuf", by_sndbuf),
    (Study::Bidulock2007, "lost-by-priority", by_priority),
];

/// Curves of a run that repeats no paper.
pub fn curves(analysis: &Analysis) -> Vec<(Study, Curve)> {
    let mut all = Vec::new();
    for (study, quantity, points) in EXPERIMENTS {
        let mut curves = Vec::new();
        for (name, labels, at, figure) in points(analysis) {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            add(&mut curves, quantity, &name, &analysis.run.id, &labels, (at, figure));
        }
        all.extend(curves.into_iter().map(|curve| (study, curve)));
    }
    let maps = analysis.buffers().iter().flat_map(equal_pairs);
    all.extend(maps.map(|curve| (Study::Jacobson1988, curve)));
    all
}

fn streams(analysis: &Analysis) -> impl Iterator<Item = &CellResult> {
    analysis.cells.iter().filter(|cell| cell.cell.test.is_stream())
}

fn of(cell: &CellResult, metric: Metric) -> Option<Figure> {
    cell.metrics.get(&metric).map(figure)
}

/// Spread of trials over their number of messages.
fn spreads(analysis: &Analysis) -> Points {
    let series = analysis.repetitions().into_iter().flat_map(|study| &study.series);
    let points = series.flat_map(|series| {
        let name = format!("{} {}", series.series, series.size);
        let labels = vec![protocol(series.test).to_owned(), series.size.get().to_string()];
        let spread = move |(count, spread): (u64, _)| (name.clone(), labels.clone(), count as f64, figure(&spread));
        series.counts.iter().filter_map(|one| Some((one.count, one.spread?))).map(spread)
    });
    points.collect()
}

/// Time of all messages of a trial over their number.
fn totals(analysis: &Analysis) -> Points {
    let series = analysis.repetitions().into_iter().flat_map(|study| &study.series);
    let points = series.flat_map(|series| {
        let name = format!("{} {}", series.series, series.size);
        let labels = vec![protocol(series.test).to_owned()];
        let total = move |(count, total): (u64, _)| (name.clone(), labels.clone(), count as f64, figure(&total).scaled(1e-6));
        series.counts.iter().filter_map(|one| Some((one.count, one.total_ns?))).map(total)
    });
    points.collect()
}

/// Time that a message adds to a trial, over its size.
fn slopes(analysis: &Analysis) -> Points {
    let series = analysis.repetitions().into_iter().flat_map(|study| &study.series);
    let slope = |series: &RepetitionSeries| match &series.line {
        CountLine::Fitted { per_message_ns, .. } => {
            let labels = vec![protocol(series.test).to_owned()];
            Some((series.series.clone(), labels, series.size.get() as f64, figure(per_message_ns).scaled(1e-6)))
        }
        CountLine::None { .. } => None,
    };
    series.filter_map(slope).collect()
}

/// CPU of a message, in seconds, of a run with the sizes next to those at which an mbuf of 1984 became a page.
fn next_to_a_page(analysis: &Analysis) -> Points {
    let has = |size: u64| streams(analysis).any(|cell| cell.cell.size.get() == size);
    if !has(1_023) || !has(1_024) {
        return Points::new();
    }
    let point = |cell: &CellResult| {
        let cpu = of(cell, Metric::CpuPerMessageNs)?;
        let labels = vec![protocol(cell.cell.test).to_owned(), link(analysis, &cell.cell)];
        let seconds = Figure::within(cpu.value * 1e-9, [cpu.low * 1e-9, cpu.high * 1e-9]);
        Some((cell.cell.series().to_string(), labels, cell.cell.size.get() as f64, seconds))
    };
    streams(analysis).filter_map(point).collect()
}

/// The same cell with other buffers: messages a second over those of the first.
fn over(cell: &CellResult, base: &CellResult) -> Option<Figure> {
    let (rate, base) = (of(cell, Metric::MessagesPerS)?, of(base, Metric::MessagesPerS).filter(|base| base.value > 0.0)?);
    Some(Figure::within(rate.value / base.value, [rate.low / base.high, rate.high / base.low]))
}

/// Both buffers of 8 KB over those of 2 KB, for datagrams.
fn eight_over_two(analysis: &Analysis) -> Points {
    let buffers = |cell: &Cell| [cell.sndbuf, cell.rcvbuf].map(|asked| asked.map_or(0, Bytes::get));
    let rest = |cell: &Cell| Cell { sndbuf: None, rcvbuf: None, ..cell.clone() };
    let eight = streams(analysis).filter(|cell| cell.cell.test == Test::UdpStream && buffers(&cell.cell) == [8_192; 2]);
    let point = |cell: &CellResult| {
        let two = streams(analysis).find(|other| rest(&other.cell) == rest(&cell.cell) && buffers(&other.cell) == [2_304, 4_096])?;
        Some((cell.cell.series().to_string(), vec!["udp".to_owned()], cell.cell.size.get() as f64, over(cell, two)?))
    };
    eight.filter_map(point).collect()
}

/// Messages a second over loopback by send buffer, over those of the smallest.
fn by_sndbuf(analysis: &Analysis) -> Points {
    let wanted = |cell: &&CellResult| {
        let cell = &cell.cell;
        cell.test == Test::UdpStream && cell.sndbuf.is_some() && cell.rcvbuf.is_none() && link(analysis, cell) == "loopback"
    };
    let rest = |cell: &Cell| Cell { sndbuf: None, ..cell.clone() };
    let point = |cell: &CellResult| {
        let alike = streams(analysis).filter(|other| other.cell.sndbuf.is_some() && rest(&other.cell) == rest(&cell.cell));
        let base = alike.min_by_key(|other| other.cell.sndbuf)?;
        let ratio = if base.cell == cell.cell { Figure::exact(1.0) } else { over(cell, base)? };
        let buffer = cell.cell.sndbuf?.get() as f64;
        Some((format!("{} B", cell.cell.size.get()), vec!["udp".to_owned()], buffer, ratio))
    };
    let points: Points = streams(analysis).filter(wanted).filter_map(point).collect();
    let varies = points.iter().any(|point| point.3.low != point.3.high);
    if varies { points } else { Points::new() }
}

/// Share of datagrams lost by priority of either end, where any loses some.
fn by_priority(analysis: &Analysis) -> Points {
    let usual = |cell: &Cell| cell.conditions.priority.sender == Priority::Usual && cell.conditions.priority.receiver == Priority::Usual;
    if streams(analysis).all(|cell| usual(&cell.cell)) {
        return Points::new();
    }
    let datagrams = streams(analysis).filter(|cell| cell.cell.test == Test::UdpStream);
    let point = |(place, cell): (usize, &CellResult)| {
        let lost = of(cell, Metric::LossShare)?;
        Some((cell.label.clone(), vec!["udp".to_owned()], place as f64, lost))
    };
    let points: Points = datagrams.enumerate().filter_map(point).collect();
    if points.iter().any(|point| point.3.value > 0.0) { points } else { Points::new() }
}

/// Rates of each sender's buffer over the receiver's, both counted by their places among those of the map.
fn equal_pairs(map: &BufferMap) -> Vec<Curve> {
    let mut curves = Vec::new();
    if map.senders.len() < 3 || map.senders.len() != map.receivers.len() {
        return curves;
    }
    let over = format!("{} over {}", map.label, map.link);
    for cell in &map.cells {
        let equal = (cell.sender + 1).to_string();
        let rate = figure(&cell.goodput_bit_per_s).scaled(1.0 / (8.0 * KB));
        add(&mut curves, "by-receiver", &format!("sender's buffer {equal}"), &over, &[equal.as_str()], ((cell.receiver + 1) as f64, rate));
    }
    curves
}

/// Rates of equal buffers over the packets seen under way, and the limits that frames set.
pub fn transfers(analysis: &Analysis) -> Vec<Curve> {
    let mut limits = Evidence::default();
    facts::frames(&mut limits);
    let mut curves = limits.curves;
    for map in analysis.buffers() {
        for cell in map.diagonal.iter().map(|place| &map.cells[*place]) {
            if let Some(packets) = cell.in_flight {
                let rate = figure(&cell.goodput_bit_per_s).scaled(1.0 / (8.0 * KB));
                let known = |curve: &Curve| curve.quantity == "task" && curve.name == map.label;
                // Two buffers that had as many packets under way: the first, as in the run's own report.
                if !curves.iter().any(|curve| known(curve) && curve.points.iter().any(|point| point.0 == packets.round())) {
                    add(&mut curves, "task", &map.label, &analysis.run.id, &["today"], (packets.round(), rate));
                }
            }
        }
    }
    curves
}

/// Round trips of a byte, the time of a byte of a stream, and its segments.
pub fn transactions(analysis: &Analysis) -> Vec<Curve> {
    let mut curves = Vec::new();
    for cell in analysis.cells.iter().filter(|cell| cell.cell.size.get() == 1) {
        let (name, link) = (cell.cell.series().to_string(), link(analysis, &cell.cell));
        let group = format!("{} {link}", analysis.run.id);
        let mut one = |quantity, labels: &[&str], at, figure| add(&mut curves, quantity, &name, &group, labels, (at, figure));
        let labels = [protocol(cell.cell.test), link.as_str(), one_link(&cell.cell)];
        if let (Test::TcpRr | Test::UdpRr, Some(time)) = (cell.cell.test, of(cell, Metric::TimePerMessageNs)) {
            one("round-trip", &labels, 0.0, time.scaled(1e-6));
        }
        if !cell.cell.test.is_stream() {
            continue;
        }
        of(cell, Metric::MessagesPerS).into_iter().for_each(|rate| one("latency", &labels, 0.0, inverse(rate, 1e3)));
        if cell.cell.test.protocol() == Protocol::Tcp {
            let labels = [labels.as_slice(), &["ip_output"]].concat();
            of(cell, Metric::FramesPerMessage).into_iter().for_each(|frames| one("calls", &labels, 1.0, frames));
        }
    }
    curves
}

/// Slope and start of the line of least squares through the times of all sizes, as the paper of 2007 drew them. Both are
/// sums of the times with known weights: an end takes of each time the end that moves the sum furthest.
fn line(curve: &Curve) -> Option<[Figure; 2]> {
    let n = curve.points.len() as f64;
    let mean = curve.points.iter().map(|point| point.0).sum::<f64>() / n;
    let spread: f64 = curve.points.iter().map(|point| (point.0 - mean).powi(2)).sum();
    let times: Vec<(f64, Figure)> = curve.points.iter().map(|(at, rate)| (*at, inverse(*rate, 1e9))).collect();
    let sum = |weight: &dyn Fn(f64) -> f64| {
        let part = |pick: fn(Figure, f64) -> f64| times.iter().map(|(at, time)| weight(*at) * pick(*time, weight(*at))).sum::<f64>();
        let low = part(|time, weight| if weight > 0.0 { time.low } else { time.high });
        let high = part(|time, weight| if weight > 0.0 { time.high } else { time.low });
        Figure::within(part(|time, _| time.value), [low, high])
    };
    let slope = |at: f64| (at - mean) / spread;
    (curve.points.len() > 2 && spread > 0.0).then(|| [sum(&slope), sum(&|at| 1.0 / n - mean * slope(at))])
}

/// Costs of a byte and of a message of the implementations of 2007 over those of sockets of the same link.
pub fn lines(curves: &[Curve]) -> Vec<Curve> {
    let rates = || curves.iter().filter(|curve| curve.quantity == "messages-per-s");
    let is = |curve: &Curve, name: &str| curve.labels.iter().any(|label| label == name);
    let mut found = Vec::new();
    for curve in rates().filter(|curve| is(curve, shape::XTI) || is(curve, shape::STREAMS)) {
        let sockets = rates().find(|other| other.group == curve.group && is(other, shape::SOCKETS));
        let Some((ours, theirs)) = line(curve).zip(sockets.and_then(line)) else { continue };
        for (quantity, ours, theirs) in [("byte-ratio", ours[0], theirs[0]), ("message-ratio", ours[1], theirs[1])] {
            // A cost that may be nothing has no ratio.
            if theirs.low > 0.0 && ours.low > 0.0 {
                let ratio = Figure::within(ours.value / theirs.value, [ours.low / theirs.high, ours.high / theirs.low]);
                found.push(Curve { quantity, points: vec![(0.0, ratio)], ..curve.clone() });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use literature::claims::evidence::{Curve, Figure};

    use super::{line, lines};

    /// Rates of messages that take so many ns, known to within a share.
    fn rates(name: &str, share: f64, cost: impl Fn(f64) -> f64) -> Curve {
        let point = |size: f64| {
            let rate = 1e9 / cost(size);
            (size, Figure::within(rate, [rate * (1.0 - share), rate * (1.0 + share)]))
        };
        Curve {
            quantity: "messages-per-s",
            name: name.to_owned(),
            group: "a".to_owned(),
            labels: vec![name.to_owned()],
            points: [1.0, 64.0, 1_024.0, 16_384.0].map(point).to_vec(),
            given: false,
        }
    }

    #[test]
    fn a_line_is_as_well_known_as_its_times() {
        let [byte, message] = line(&rates("x", 0.0, |size| 500.0 + 0.25 * size)).unwrap();
        assert!((byte.value - 0.25).abs() < 1e-9 && (byte.high - byte.low).abs() < 1e-9, "{byte:?}");
        assert!((message.value - 500.0).abs() < 1e-6, "{message:?}");
        let [byte, message] = line(&rates("x", 0.01, |size| 500.0 + 0.25 * size)).unwrap();
        assert!(byte.low < 0.25 && byte.high > 0.25 && byte.high - byte.low < 0.02, "{byte:?}");
        assert!(message.low < 500.0 && message.high > 500.0, "{message:?}");
        assert!(line(&Curve { points: Vec::new(), ..rates("x", 0.0, |_| 1.0) }).is_none());
    }

    #[test]
    fn lines_are_compared_with_those_of_sockets() {
        let sockets = rates("sockets", 0.001, |size| 500.0 + 0.25 * size);
        let streams = rates("streams-tpi", 0.001, |size| 400.0 + 0.5 * size);
        let found = lines(&[sockets, streams]);
        assert_eq!(found.iter().map(|curve| curve.quantity).collect::<Vec<_>>(), ["byte-ratio", "message-ratio"]);
        let [byte, message] = [&found[0], &found[1]].map(|curve| curve.points[0].1);
        assert!(byte.low > 1.9 && byte.high < 2.1, "{byte:?}");
        assert!((message.value - 0.8).abs() < 1e-6 && message.high < 1.0, "{message:?}");
    }
}
