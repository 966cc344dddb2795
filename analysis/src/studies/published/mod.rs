//! The published figures of a study next to those of a run that repeats it.

mod ends;
mod exact;
mod experiments;
mod result;
pub(crate) mod today;

use std::collections::{BTreeMap, BTreeSet};

use model::condition::Placement;
use model::sorting::{Gather, Order};
use model::{Bytes, Cell, Plan, Protocol, Receive, Test, cell};

use super::buffers::BufferMap;
use super::{Analysis, Context};
use crate::cells::CellResult;
use crate::grouping::group_by;
use crate::metric::Metric;
use literature::cabrera::loads::{LoadCurve, ROUND_TRIPS};
use literature::claims::evidence::{Curve, Figure};
use literature::comparison::BufferRate;
use literature::jacobson::{BufferCurve, KB, SEGMENT};
use literature::sweep::{Series, SizePoint};
use literature::{Foreign, ReferenceAnalysis, Study, shape};
use stats::estimate::Estimate;

pub use ends::{MIX, TOUCHES};
pub use exact::{exact, memory};
pub use result::*;
pub use today::evidence;

/// The study of a plan that repeats a published one.
#[derive(Debug)]
pub(crate) struct Repeated(Study);

impl super::Study for Repeated {
    type Result = Published;

    fn for_plan(plan: &Plan) -> Option<Self> {
        Study::named(plan.reference.as_deref()?).map(Self)
    }

    fn finish(self, context: &Context) -> Option<Published> {
        let (Self(study), analysis) = (self, context.analysis);
        let reference = literature::analyse(study, 0).ok()?;
        let streams = analysis.cells.iter().filter(|cell| cell.cell.test.is_stream());
        let mut series = group_by(streams, |cell| cell.cell.series());
        series.order_by_key(|(series, _)| series.to_string());
        let maps = || analysis.buffers().iter().enumerate();
        Some(Published {
            name: study.name().to_owned(),
            title: study.title().to_owned(),
            source: study.source().to_owned(),
            sizes: series.iter().filter_map(|(series, cells)| sizes(&reference, series, cells)).collect(),
            times: times(&reference, analysis),
            buffers: reference.buffers.iter().flat_map(|curve| maps().map(|(place, map)| buffers(curve, place, map))).collect(),
        })
    }
}

fn sizes(reference: &ReferenceAnalysis, series: &cell::Series, cells: &[&CellResult]) -> Option<PublishedSizes> {
    // What is not of TCP is of UDP, as all of the study of 2007.
    let theirs: Vec<_> = reference.series.iter().filter(|theirs| theirs.tcp == (series.test().protocol() == Protocol::Tcp)).collect();
    let rate = |cell: &&CellResult| Some((cell.cell.size.get(), *cell.metrics.get(&Metric::MessagesPerS)?));
    let ours: BTreeMap<u64, Estimate> = cells.iter().filter_map(rate).into_map();
    let all: BTreeSet<u64> =
        ours.keys().copied().chain(theirs.iter().flat_map(|series| series.sizes.iter().map(|size| size.message_bytes))).collect();
    let row = |message_bytes: u64| PublishedSize {
        message_bytes,
        today: ours.get(&message_bytes).copied(),
        published: theirs.iter().map(|series| series.at(message_bytes).map(|size| size.messages_per_s)).collect(),
    };
    (!theirs.is_empty() && !ours.is_empty()).then(|| PublishedSizes {
        series: series.to_string(),
        published: theirs.iter().map(|series| format!("{}: {}", series.group, series.name)).collect(),
        native: (0..theirs.len()).filter(|place| theirs[*place].name == shape::SOCKETS).collect(),
        rows: all.into_iter().map(row).collect(),
    })
}

/// Round trips without load, and the time of a transaction.
fn times(reference: &ReferenceAnalysis, analysis: &Analysis) -> Vec<PublishedTime> {
    let round_trips = reference.loads.iter().filter(|curve| curve.of == ROUND_TRIPS);
    let one = |curve: &LoadCurve| {
        let test = if curve.protocol == "tcp" { Test::TcpRr } else { Test::UdpRr };
        let [_, published_ms] = *curve.points.iter().find(|point| point[0] == 0.0)?;
        let today = analysis.cells.iter().find(|cell| cell.cell.test == test && cell.cell.size.get() == 1)?;
        let today_ms = today.metrics.get(&Metric::TimePerMessageNs)?.map(|ns| ns * 1e-6);
        Some(PublishedTime {
            what: format!("{} {} {} of one byte", curve.machine, curve.protocol.to_uppercase(), curve.of),
            published_ms,
            today_ms,
        })
    };
    round_trips.filter_map(one).collect()
}

fn buffers(curve: &BufferCurve, place: usize, map: &BufferMap) -> PublishedBuffers {
    let mut today: BTreeMap<u64, Estimate> = BTreeMap::new();
    for cell in map.diagonal.iter().map(|place| &map.cells[*place]) {
        if let Some(packets) = cell.in_flight {
            today.entry(packets.round() as u64).or_insert_with(|| cell.goodput_bit_per_s.map(|bits| bits * (1.0 / (8.0 * KB))));
        }
    }
    let published: BTreeMap<u64, f64> = curve.points.iter().map(|point| (point.packets.round() as u64, point.kbytes_per_s)).into_map();
    let all: BTreeSet<u64> = published.keys().chain(today.keys()).copied().into_set();
    let row = |packets: u64| PublishedBuffer {
        packets,
        published_kbytes_per_s: published.get(&packets).copied(),
        today_kbytes_per_s: today.get(&packets).copied(),
    };
    PublishedBuffers { pair: curve.name.clone(), map: map.label.clone(), place, rows: all.into_iter().map(row).collect() }
}

/// The implementation of 2007 that a cell is, by its name there.
fn implementation(cell: &Cell) -> Option<String> {
    let name = match (cell.api.name(), cell.test) {
        ("send", Test::UdpStream) if cell.receive() == Receive::Recv => shape::SOCKETS,
        ("tpi-sockets", _) => shape::XTI,
        ("tpi-streams", _) => shape::STREAMS,
        _ => return None,
    };
    Some(name.to_owned())
}

/// A stored run as figures to compare with a reference: each of its series by size, and where it varies a socket
/// buffer, its goodput over that.
pub fn as_foreign(analysis: &Analysis) -> Foreign {
    let label = analysis.run.id.clone();
    // Its curves are named by what was measured: an id tells a reader nothing.
    let name = format!("today, {}", analysis.run.plan.name.trim_start_matches(PARTS));
    let point = |cell: &CellResult| {
        let value = |metric: Metric| cell.metrics.get(&metric).map(|figure| figure.value).filter(|value| *value > 0.0 && value.is_finite());
        let sent_per_s = value(Metric::SentMessagesPerS);
        Some(SizePoint { bytes: cell.cell.size.get(), messages_per_s: value(Metric::MessagesPerS)?, sent_per_s })
    };
    let known: Vec<(&Cell, SizePoint)> = analysis.cells.iter().filter_map(|cell| Some((&cell.cell, point(cell)?))).collect();
    // Of a study of sockets alone, each series is compared with its first, whatever that is.
    let has_others = known.iter().any(|(cell, _)| implementation(cell).is_some_and(|name| name != shape::SOCKETS));
    let one = |(series, points): (cell::Series, Vec<&(&Cell, SizePoint)>)| Series {
        // What is compared within a group crossed one link.
        group: points
            .iter()
            .find_map(|(cell, _)| cell.conditions.link.as_ref())
            .map_or(name.clone(), |link| format!("{name}, link {link}")),
        name: series.to_string(),
        implementation: points.first().and_then(|(cell, _)| implementation(cell)).filter(|_| has_others),
        tcp: series.test().protocol() == Protocol::Tcp,
        transactions: !series.test().is_stream(),
        link: points
            .first()
            .filter(|(cell, _)| cell.conditions.placement == Placement::Usual)
            .map(|(cell, _)| analysis.run.plan.link_of(cell).kind.to_string()),
        points: points.into_iter().map(|(_, point)| *point).collect(),
    };
    let series = group_by(&known, |(cell, _)| cell.series()).into_iter().map(one).collect();
    let buffers = in_flight(analysis);
    let buffers = if buffers.is_empty() { as_asked(&known) } else { buffers };
    Foreign { label, series, buffers, remarks: Vec::new() }
}

/// Start of the names of plans that are parts of `nettoll papers`.
pub const PARTS: &str = "papers-";

/// Goodput over the packets that were seen in flight, as the run's own report has it.
fn in_flight(analysis: &Analysis) -> Vec<(String, Vec<BufferRate>)> {
    let of_map = |map: &BufferMap| {
        let rate = |place: &usize| {
            let cell = &map.cells[*place];
            Some((cell.in_flight?.round(), cell.goodput_bit_per_s.value / (8.0 * KB), None))
        };
        let mut points: Vec<BufferRate> = map.diagonal.iter().filter_map(rate).collect();
        points.order_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| a.0 == b.0);
        (format!("today, {}", map.label), points)
    };
    analysis.buffers().iter().map(of_map).filter(|(_, points)| points.len() > 1).collect()
}

/// The same over the buffers that were asked for, where nothing was seen in flight.
fn as_asked(known: &[(&Cell, SizePoint)]) -> Vec<(String, Vec<BufferRate>)> {
    let mut buffers: BTreeMap<Cell, Vec<BufferRate>> = BTreeMap::new();
    for (cell, point) in known {
        if let Some(buffer) = cell.sndbuf.or(cell.rcvbuf).map(Bytes::get) {
            let rest = Cell { sndbuf: None, rcvbuf: None, ..(*cell).clone() };
            buffers.entry(rest).or_default().push((buffer as f64 / SEGMENT, point.messages_per_s * point.bytes as f64 / KB, None));
        }
    }
    let buffers = buffers.into_iter().filter(|(_, points)| points.len() > 1);
    buffers.map(|(cell, points)| (cell.to_string(), points)).collect()
}

/// `tcp` or `udp`.
fn protocol(test: Test) -> &'static str {
    if test.protocol() == Protocol::Tcp { "tcp" } else { "udp" }
}

/// The figure with its interval; without one it may be anything.
fn figure(of: &Estimate) -> Figure {
    let ends = of.interval.map_or([0.0, f64::INFINITY], |ends| [ends.low.max(0.0), ends.high]);
    Figure::within(of.value, ends)
}

/// What goes down where the other goes up.
fn inverse(of: Figure, scale: f64) -> Figure {
    Figure::within(scale / of.value, [scale / of.high, scale / of.low])
}

/// The kind of link that a cell crosses.
fn link(analysis: &Analysis, cell: &Cell) -> String {
    analysis.run.plan.link_of(cell).kind.to_string()
}

/// Label of what a run measured that crosses one link, as the papers' own did.
fn one_link(cell: &Cell) -> &'static str {
    if cell.conditions.link.is_none() { "one-link" } else { "several-links" }
}

/// Adds a figure to its curve. A place has one: of cells that a curve does not tell apart, the first's.
fn add(curves: &mut Vec<Curve>, quantity: &'static str, name: &str, group: &str, labels: &[&str], (at, figure): (f64, Figure)) {
    if !figure.value.is_finite() {
        return;
    }
    let same = |curve: &&mut Curve| curve.quantity == quantity && curve.name == name && curve.group == group;
    match curves.iter_mut().find(same) {
        Some(curve) => {
            let place = curve.points.partition_point(|point| point.0 < at);
            if curve.points.get(place).is_none_or(|point| point.0 != at) {
                curve.points.insert(place, (at, figure));
            }
        }
        None => curves.push(Curve {
            quantity,
            name: name.to_owned(),
            group: group.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            points: vec![(at, figure)],
            given: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::as_foreign;
    use crate::testing::{analyse, measured, record};
    use literature::Study;
    use model::Test;

    #[test]
    fn a_run_is_compared_with_a_reference() {
        let trials = (0..9).flat_map(|block| {
            [1, 64, 512, 1_024, 16_384].map(|size| record(Test::UdpStream, size, block, measured(Test::UdpStream, size)))
        });
        let run = analyse(trials);
        let foreign = as_foreign(&run);
        assert_eq!((foreign.series.len(), foreign.series[0].points.len()), (1, 5));
        let mut reference = literature::analyse(Study::Bidulock2007, 0).unwrap();
        reference.compare(&foreign, 0);
        let comparison = &reference.comparisons[0];
        assert_eq!(comparison.pairs.len(), 15);
        // 50,000 messages in 150 ms against 71,492.8 a second.
        let first = comparison.pairs.iter().find(|pair| pair.reference == "xti-over-sockets").unwrap();
        assert_eq!(first.sizes[0].0, 1);
        assert!((first.sizes[0].1 - 333_333.333 / 71_492.8).abs() < 1e-3, "{:?}", first.sizes[0]);
        let mut curve = literature::analyse(Study::Jacobson1988, 0).unwrap();
        curve.compare(&foreign, 0);
        assert!(curve.comparisons[0].remarks[0].contains("--sndbuf"));
    }
}
