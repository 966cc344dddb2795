//! The cells of the sample.

use std::collections::BTreeMap;

use analysis::result::{CellResult, Estimate, Latency, Limit, Metric, Percentile};
use model::{Bytes, Cell, Family, OfferedRate, Pacing, Protocol, Test};

use super::{bootstrapped, estimate};

/// All of them, in the order of the plan.
pub fn all() -> Vec<CellResult> {
    let tcp = [1, 64, 112, 512, 1024, 1448, 2032, 8192, 16384].map(|size| stream(&cell(Test::TcpStream, Family::V4, true, size)));
    let udp = [1, 64, 112, 512, 1024, 1472, 1473, 2032, 8192, 16384].map(|size| stream(&cell(Test::UdpStream, Family::V4, false, size)));
    let v6 = [1, 512, 1452, 8192, 16384].map(|size| stream(&cell(Test::UdpStream, Family::V6, false, size)));
    let nagle = [1, 64, 1448].map(|size| stream(&cell(Test::TcpStream, Family::V4, false, size)));
    let rr = [(Test::TcpRr, 15_300.0), (Test::UdpRr, 13_100.0)].map(|(test, p50)| round_trip(&cell(test, Family::V4, true, 1), p50));
    let mut cells: Vec<_> = tcp.into_iter().chain(udp).chain(rr).chain(v6).chain(nagle).collect();
    // One cell with too few trials for an interval, one without any.
    let few = cells.iter_mut().find(|cell| cell.label == "TCP_STREAM (nagle) 64 B").expect("a cell of the sample");
    few.trials = 3;
    few.metrics.values_mut().for_each(|estimate| (estimate.interval, estimate.n) = (None, 3));
    let none = cells.iter_mut().find(|cell| cell.label == "UDP_STREAM (ipv6) 16384 B").expect("a cell of the sample");
    *none = CellResult { trials: 0, metrics: BTreeMap::new(), latency: None, limit: None, ..none.clone() };
    cells
}

fn cell(test: Test, family: Family, nodelay: bool, size: u64) -> Cell {
    let size = Bytes::new(size);
    let nodelay = nodelay && test.protocol() == Protocol::Tcp;
    Cell { family, nodelay, ..Cell::plain(test, size) }
}

/// A number between -1 and 1 that depends on the cell alone.
fn noise(cell: &Cell, salt: u64) -> f64 {
    let mut state =
        cell.size.get().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (cell.test as u64) << 7;
    state ^= state >> 31;
    state = state.wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 29;
    (state % 2_000) as f64 / 1_000.0 - 1.0
}

/// Elapsed time per message without noise.
pub fn elapsed(cell: &Cell) -> f64 {
    let size = cell.size.get() as f64;
    match cell.test {
        Test::UdpStream if cell.family == Family::V6 => 2_050.0 + 0.33 * size + if size > 1_452.0 { 2_300.0 } else { 0.0 },
        Test::UdpStream if size > 1_472.0 => 3_900.0 + 0.38 * size,
        Test::UdpStream => 1_900.0 + 0.31 * size,
        _ if cell.nodelay => 1_150.0 + 0.21 * size,
        _ => 140.0 + 0.24 * size,
    }
}

fn width(cell: &Cell, salt: u64) -> (f64, f64) {
    let base = if cell.size.get() == 64 { 0.058 } else { 0.011 };
    (base * (1.1 + 0.5 * noise(cell, salt)), base * (1.2 + 0.6 * noise(cell, salt + 1)))
}

fn known(cell: &Cell, value: f64, salt: u64) -> Estimate {
    let (down, up) = width(cell, salt);
    estimate(value * (1.0 + 0.012 * noise(cell, salt + 2)), down, up)
}

fn stream(cell: &Cell) -> CellResult {
    let udp = cell.protocol() == Protocol::Udp;
    let size = cell.size.get() as f64;
    let time = known(cell, elapsed(cell), 1);
    let (down, up) = width(cell, 1);
    let inverse = |factor: f64| estimate(factor / time.value, up, down);
    let (sender, receiver) = (known(cell, elapsed(cell) * 0.99, 5), known(cell, elapsed(cell) * 0.62 + 300.0, 9));
    let kib = |of: Estimate| estimate(of.value * 1024.0 / size, 0.012, 0.014);
    let mut metrics = BTreeMap::from([
        (Metric::MessagesPerS, inverse(1e9)),
        (Metric::GoodputBitPerS, inverse(8e9 * size)),
        (Metric::TimePerMessageNs, time),
        (Metric::SentMessagesPerS, inverse(1.0003e9)),
        (Metric::CpuPerMessageNs, sum(sender, receiver)),
        (Metric::SenderCpuPerMessageNs, sender),
        (Metric::ReceiverCpuPerMessageNs, receiver),
        (Metric::SenderCpuPerKibNs, kib(sender)),
        (Metric::ReceiverCpuPerKibNs, kib(receiver)),
        (Metric::HostCpuPerMessageNs, known(cell, elapsed(cell) * 1.8, 13)),
        (Metric::SenderBusyShare, estimate(0.991, 0.004, 0.003)),
        (Metric::ReceiverBusyShare, estimate(0.73, 0.02, 0.04)),
        (Metric::SenderRunDelayShare, estimate(0.004, 0.2, 0.4)),
        (Metric::ReceiverRunDelayShare, estimate(0.011, 0.2, 0.4)),
        (Metric::ReceiverWakeupsPerMessage, estimate(0.031, 0.2, 0.35)),
        (Metric::SenderWakeupsPerMessage, estimate(0.0, 0.0, 0.0)),
        (Metric::FramesPerMessage, estimate(if udp { (size / 1_480.0).ceil() } else { (size / 32_000.0).max(0.02) }, 0.0, 0.01)),
    ]);
    if udp {
        metrics.insert(Metric::LossShare, estimate(if size < 100.0 { 0.000_52 } else { 0.0 }, 0.3, 0.6));
    } else {
        metrics.insert(Metric::Retransmits, estimate(0.0, 0.0, 0.0));
    }
    let limit = match cell.size.get() {
        1 if !udp => Some(Limit::BothCpus),
        16_384 => Some(Limit::ReceiverCpu),
        112 => None,
        8192 if udp => Some(Limit::NoCpu),
        _ => Some(Limit::SenderCpu),
    };
    CellResult { metrics, limit, ..blank(cell) }
}

/// Both ends together: of lossless cells, whose ends do not scatter together.
fn sum(sender: Estimate, receiver: Estimate) -> Estimate {
    let ends = sender.interval.zip(receiver.interval);
    let interval = ends.map(|(a, b)| analysis::result::Interval { low: a.low + b.low, high: a.high + b.high, ..a });
    Estimate { value: sender.value + receiver.value, interval, ..sender }
}

fn round_trip(cell: &Cell, p50: f64) -> CellResult {
    let mut metrics = BTreeMap::from([
        (Metric::MessagesPerS, estimate(1e9 / (p50 * 1.04), 0.011, 0.016)),
        (Metric::GoodputBitPerS, estimate(8e9 / (p50 * 1.04), 0.011, 0.016)),
        (Metric::TimePerMessageNs, estimate(p50 * 1.04, 0.016, 0.011)),
        (Metric::CpuPerMessageNs, estimate(p50 * 0.71, 0.02, 0.02)),
        (Metric::SenderCpuPerMessageNs, estimate(p50 * 0.36, 0.02, 0.01)),
        (Metric::ReceiverCpuPerMessageNs, estimate(p50 * 0.35, 0.02, 0.03)),
        (Metric::ReceiverWakeupsPerMessage, estimate(0.998, 0.001, 0.001)),
        (Metric::SenderWakeupsPerMessage, estimate(0.999, 0.001, 0.001)),
        (Metric::RoundTripP50Ns, estimate(p50, 0.009, 0.012)),
    ]);
    if cell.protocol() == Protocol::Udp {
        metrics.insert(Metric::LossShare, estimate(0.0, 0.0, 0.0));
    }
    let percentiles = [(50.0, 1.0, 0.006), (90.0, 1.14, 0.011), (99.0, 1.62, 0.04), (99.9, 3.05, 0.22)].map(|(percent, factor, width)| {
        Percentile { percent, estimate: bootstrapped(p50 * factor, p50 * factor * width), at_least: false }
    });
    let (min_ns, max_ns) = ((p50 * 0.83) as u64, 1_204_223);
    let curve = [10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95].map(|percent: f64| {
        let beyond = 1.0 - percent / 100.0;
        [percent, p50 * (0.9 + 0.07 / beyond.sqrt())]
    });
    let latency = Latency { transactions: 84_512, min_ns, max_ns, missing: 0, percentiles: percentiles.to_vec(), curve: curve.to_vec() };
    CellResult { metrics, latency: Some(latency), limit: Some(Limit::Waiting), ..blank(cell) }
}

fn blank(cell: &Cell) -> CellResult {
    CellResult {
        label: cell.to_string(),
        cell: cell.clone(),
        trials: 9,
        metrics: BTreeMap::new(),
        sender_per_delivered: None,
        latency: None,
        uncorrected: None,
        lateness: None,
        beyond_least: None,
        limit: None,
    }
}

/// Times around `p50` ns of so many messages.
fn times(p50: f64, count: u64) -> Latency {
    let percentiles = [(50.0, 1.0), (90.0, 1.3), (99.0, 2.2), (99.9, 9.0)].map(|(percent, factor)| Percentile {
        percent,
        estimate: bootstrapped(p50 * factor, p50 * factor * 0.03),
        at_least: false,
    });
    let (min_ns, max_ns) = ((p50 * 0.6) as u64, (p50 * 40.0) as u64);
    Latency { transactions: count, min_ns, max_ns, missing: 0, percentiles: percentiles.to_vec(), curve: Vec::new() }
}

/// A cell of each factor that changes what a report says: connections for each
/// transaction, a rate that is kept and one that is not, stamps, several flows,
/// both ways, and a sender that spins.
pub fn factors() -> Vec<CellResult> {
    let plain = |test, size| cell(test, Family::V4, true, size);
    let mut crr = round_trip(&plain(Test::TcpCrr, 1), 61_000.0);
    crr.metrics.insert(Metric::Retransmits, estimate(0.0, 0.0, 0.0));
    let rate = |cell: Cell, rate: u64| Cell { rate: Some(OfferedRate::Messages(rate)), ..cell };
    let offered = |result: &mut CellResult, flows: f64, behind: f64| {
        let Some(OfferedRate::Messages(rate)) = result.cell.rate else { return };
        result.metrics.insert(Metric::OfferedMessagesPerS, estimate(rate as f64 * flows, 0.0, 0.0));
        result.metrics.insert(Metric::SentMessagesPerS, estimate(rate as f64 * flows * (1.0 - behind), 0.001, 0.001));
        result.metrics.insert(Metric::BehindShare, estimate(behind, 0.1, 0.2));
        result.lateness = Some(times(3_100.0, rate * 9));
    };
    let mut open = round_trip(&rate(plain(Test::TcpRr, 64), 5_000), 21_000.0);
    (open.uncorrected, open.limit) = (Some(times(19_000.0, 45_000)), Some(Limit::Rate));
    offered(&mut open, 1.0, 0.0);
    let mut stamped = stream(&Cell { stamp: true, flows: 4, ..rate(plain(Test::UdpStream, 1_448), 100_000) });
    stamped.metrics.extend([
        (Metric::JitterNs, estimate(2_300.0, 0.1, 0.2)),
        (Metric::ReorderedShare, estimate(0.0001, 0.3, 0.4)),
        (Metric::LeastWayNs, estimate(22_345.0, 0.3, 0.2)),
        (Metric::ClockErrorNs, estimate(41_000.0, 0.1, 0.1)),
    ]);
    stamped.beyond_least = Some(times(8_800.0, 900_000));
    offered(&mut stamped, 4.0, 0.31);
    let mut both = stream(&Cell { bidirectional: true, ..plain(Test::TcpStream, 131_072) });
    both.metrics.insert(Metric::BackGoodputBitPerS, estimate(3.1e9, 0.02, 0.03));
    both.metrics.retain(|metric, _| !metric.name().contains("cpu_per") && !metric.name().contains("per_message"));
    let mut spins = stream(&Cell { pacing: Pacing::Spin, ..rate(plain(Test::UdpStream, 64), 50_000) });
    spins.metrics.retain(|metric, _| !metric.name().starts_with("sender_cpu"));
    offered(&mut spins, 1.0, 0.0);
    vec![crr, open, stamped, both, spins]
}
