//! Tables 3 and 4: a one-byte message under loads at the sender.

use serde::Serialize;

use crate::read::csv::{LoadRow, UnloadedRow};
use crate::statement::Statement;
use stats::cost::LEAST_NOISE;
use stats::cost::design::{LINE, Point};
use stats::cost::robust;

/// Throughput is halved by a unit when the time grows by a factor between these: 2 less and plus a quarter.
const HALVED: [f64; 2] = [1.5, 2.5];

/// Name of the times of table 4.
pub const ROUND_TRIPS: &str = "round trip";

/// Times of one machine and protocol over loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadCurve {
    /// The machine.
    pub machine: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The time that is meant.
    pub of: &'static str,
    /// Units of load and ms, by rising load.
    pub points: Vec<[f64; 2]>,
    /// Each time over the one at a unit less.
    pub factors: Vec<f64>,
    /// ms at no load and ms for each unit, by the robust line.
    pub line: Option<[f64; 2]>,
}

/// Rows as curves.
pub fn curves(rows: &[LoadRow], of: &'static str) -> Vec<LoadCurve> {
    let mut all: Vec<LoadCurve> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|curve| curve.machine == row.machine && curve.protocol == row.protocol) {
            Some(curve) => curve.points.push([row.load, row.ms]),
            None => all.push(LoadCurve {
                machine: row.machine.clone(),
                protocol: row.protocol.clone(),
                of,
                points: vec![[row.load, row.ms]],
                factors: Vec::new(),
                line: None,
            }),
        }
    }
    for curve in &mut all {
        curve.points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        curve.factors = curve.points.windows(2).map(|pair| pair[1][1] / pair[0][1]).collect();
        let points: Vec<Point> =
            curve.points.iter().map(|[load, ms]| Point { size: *load, time: *ms, frames: None, wakeups: None }).collect();
        let line = if points.len() > LINE.len() { robust::fit(&points, LINE, LEAST_NOISE) } else { None };
        curve.line = line.and_then(|line| Some([*line.first()?, *line.get(1)?]));
    }
    all
}

/// The paper's statements on loads, with their rulings.
pub fn statements(latencies: &[LoadCurve], round_trips: &[LoadCurve]) -> Vec<Statement> {
    let mut all: Vec<Statement> = latencies.iter().filter_map(halves).collect();
    all.extend(round_trips.iter().filter_map(|trip| hides(trip, latencies)));
    all
}

fn halves(curve: &LoadCurve) -> Option<Statement> {
    let [first, second] = *curve.factors.get(..2)? else { return None };
    let within = |factor: f64| (HALVED[0]..=HALVED[1]).contains(&factor);
    let about = format!("{}, {}, one-byte messages", curve.machine, curve.protocol.to_uppercase());
    let id = format!("halves/{}/{}", curve.machine.to_lowercase().replace(' ', "-"), curve.protocol);
    Some(
        Statement::decided(
            id,
            &about,
            "each of the first two units of load at the sender halves throughput",
            within(first) && within(second),
        )
        .found(format!("time per message grows by {first:.2} and by {second:.2} times"), [first, second])
        .rule(format!("both units multiply the time per message by {} to {}; a table of all sizes is not published", HALVED[0], HALVED[1])),
    )
}

/// A stream's time per message hides buffering, and the round trip does not.
fn hides(trip: &LoadCurve, latencies: &[LoadCurve]) -> Option<Statement> {
    let one_way = latencies.iter().find(|curve| curve.machine == trip.machine && curve.protocol == trip.protocol)?;
    let at = |load: f64| one_way.points.iter().find(|point| point[0] == load).map(|point| point[1]);
    let ratios: Vec<(f64, f64)> = trip.points.iter().filter_map(|[load, ms]| Some((*load, ms / (2.0 * at(*load)?)))).collect();
    let unloaded = ratios.iter().find(|(load, _)| *load == 0.0)?.1;
    let under: Vec<String> = ratios.iter().map(|(load, ratio)| format!("{load}: {ratio:.2}")).collect();
    let about = format!("{}, {}, one byte", trip.machine, trip.protocol.to_uppercase());
    let statement = Statement::decided(
        "round-trip",
        &about,
        "the time per one-byte message of a stream hides buffering: a round trip takes more than two of it",
        unloaded > 1.0,
    );
    let statement = statement.found(
        format!("round trip over twice the time per message, by units of load: {}", under.join(", ")),
        ratios.iter().map(|(_, ratio)| *ratio),
    );
    Some(statement.rule("more than 1 without load"))
}

/// Contradictions between these tables, or with appendix B.
pub fn inconsistencies(latencies: &[LoadCurve], round_trips: &[LoadCurve], unloaded: &[UnloadedRow]) -> Vec<String> {
    let mut all = Vec::new();
    for curve in latencies {
        let Some([_, ms]) = curve.points.first().filter(|point| point[0] == 0.0) else { continue };
        let rows =
            unloaded.iter().filter(|row| row.bytes == 1 && row.protocol == curve.protocol && row.hardware.starts_with(&curve.machine));
        let others: Vec<&UnloadedRow> = rows.filter(|row| (row.s_per_message * 1e3 - ms).abs() >= 0.05).collect();
        for row in others {
            all.push(format!(
                "{} {} at no load: {ms} ms in table 3, {:.1} ms in {} ({} to {})",
                curve.machine,
                curve.protocol.to_uppercase(),
                row.s_per_message * 1e3,
                row.table,
                row.sender,
                row.receiver
            ));
        }
    }
    for trip in round_trips {
        let one_way = latencies.iter().find(|curve| curve.machine == trip.machine && curve.protocol == trip.protocol);
        let shorter: Vec<String> = trip
            .points
            .iter()
            .filter(|[load, ms]| one_way.is_some_and(|curve| curve.points.iter().any(|point| point[0] == *load && *ms < 2.0 * point[1])))
            .map(|[load, _]| load.to_string())
            .collect();
        if !shorter.is_empty() {
            all.push(format!(
                "{} {}: with {} units of load a round trip is shorter than two messages of a stream",
                trip.machine,
                trip.protocol.to_uppercase(),
                shorter.join(", ")
            ));
        }
    }
    all
}
