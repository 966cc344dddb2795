//! Lays the published figures of a study beside a run that repeats it.

use std::collections::{BTreeMap, BTreeSet};

use model::{Protocol, Test};

use crate::reference::jacobson::{BufferCurve, KB};
use crate::reference::{self, ReferenceAnalysis, Study};
use crate::result::published::{Published, PublishedBuffer, PublishedBuffers, PublishedSize, PublishedSizes, PublishedTime};
use crate::result::{Analysis, BufferMap, CellResult, Estimate, Interval, Metric};

/// The study of a name.
pub(crate) fn study(name: &str) -> Option<Study> {
    Study::ALL.into_iter().find(|study| study.name() == name)
}

/// What was published beside what was measured; `None` of a run that repeats no
/// study, or one that is not part of nettoll.
pub(crate) fn beside(analysis: &Analysis) -> Option<Published> {
    let study = study(analysis.run.plan.reference.as_deref()?)?;
    let reference = reference::analyse(study, 0).ok()?;
    let names =
        analysis.cells.iter().filter(|cell| cell.cell.test.is_stream()).map(|cell| (cell.cell.series().to_string(), cell.cell.protocol()));
    let series: BTreeMap<String, Protocol> = names.collect();
    Some(Published {
        name: study.name().to_owned(),
        title: study.title().to_owned(),
        source: study.source().to_owned(),
        sizes: series.into_iter().filter_map(|(name, protocol)| sizes(&reference, analysis, &name, protocol)).collect(),
        times: times(&reference, analysis),
        buffers: reference.buffers.iter().flat_map(|curve| analysis.buffers.iter().map(|map| buffers(curve, map))).collect(),
    })
}

/// Whether a published series is of a protocol; where it does not say, of UDP,
/// which the study of 2007 is about.
fn is_of(name: &str, protocol: Protocol) -> bool {
    match (name.contains("TCP"), protocol) {
        (true, Protocol::Tcp) => true,
        (tcp, Protocol::Udp) => !tcp,
        (false, Protocol::Tcp) => false,
    }
}

fn sizes(reference: &ReferenceAnalysis, analysis: &Analysis, name: &str, protocol: Protocol) -> Option<PublishedSizes> {
    let theirs: Vec<_> = reference.series.iter().filter(|series| is_of(&series.name, protocol)).collect();
    let ours: BTreeMap<u64, Estimate> = analysis
        .cells
        .iter()
        .filter(|cell| cell.cell.series().to_string() == name)
        .filter_map(|cell| Some((cell.cell.size.get(), *cell.metrics.get(&Metric::MessagesPerS)?)))
        .collect();
    let all: BTreeSet<u64> =
        ours.keys().copied().chain(theirs.iter().flat_map(|series| series.sizes.iter().map(|size| size.message_bytes))).collect();
    let row = |message_bytes: u64| PublishedSize {
        message_bytes,
        today: ours.get(&message_bytes).copied(),
        published: theirs.iter().map(|series| series.at(message_bytes).map(|size| size.messages_per_s)).collect(),
    };
    (!theirs.is_empty() && !ours.is_empty()).then(|| PublishedSizes {
        series: name.to_owned(),
        published: theirs.iter().map(|series| format!("{}: {}", series.group, series.name)).collect(),
        rows: all.into_iter().map(row).collect(),
    })
}

/// Round trips without load, beside the time of a transaction.
fn times(reference: &ReferenceAnalysis, analysis: &Analysis) -> Vec<PublishedTime> {
    let round_trips = reference.loads.iter().filter(|curve| curve.of == "round trip");
    let one = |curve: &reference::cabrera::loads::LoadCurve| {
        let test = if curve.protocol == "tcp" { Test::TcpRr } else { Test::UdpRr };
        let [_, published_ms] = *curve.points.iter().find(|point| point[0] == 0.0)?;
        let today = analysis.cells.iter().find(|cell| cell.cell.test == test && cell.cell.size.get() == 1)?;
        let today_ms = scaled(milliseconds(today)?, 1e-6);
        Some(PublishedTime {
            what: format!("{} {} {} of one byte", curve.machine, curve.protocol.to_uppercase(), curve.of),
            published_ms,
            today_ms,
        })
    };
    round_trips.filter_map(one).collect()
}

fn milliseconds(cell: &CellResult) -> Option<Estimate> {
    cell.metrics.get(&Metric::TimePerMessageNs).copied()
}

fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    let interval = estimate.interval.map(|ends| Interval { low: ends.low * factor, high: ends.high * factor, ..ends });
    Estimate { value: estimate.value * factor, interval, n: estimate.n }
}

fn buffers(curve: &BufferCurve, map: &BufferMap) -> PublishedBuffers {
    let mut today: BTreeMap<u64, Estimate> = BTreeMap::new();
    for cell in map.diagonal.iter().map(|place| &map.cells[*place]) {
        if let Some(packets) = cell.in_flight {
            today.entry(packets.round() as u64).or_insert_with(|| scaled(cell.goodput_bit_per_s, 1.0 / (8.0 * KB)));
        }
    }
    let published: BTreeMap<u64, f64> = curve.points.iter().map(|point| (point.packets.round() as u64, point.kbytes_per_s)).collect();
    let all: BTreeSet<u64> = published.keys().chain(today.keys()).copied().collect();
    let row = |packets: u64| PublishedBuffer {
        packets,
        published_kbytes_per_s: published.get(&packets).copied(),
        today_kbytes_per_s: today.get(&packets).copied(),
    };
    PublishedBuffers { pair: curve.name.clone(), map: map.label.clone(), rows: all.into_iter().map(row).collect() }
}
