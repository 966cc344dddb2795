//! Tables 3 and 4: a one-byte message under loads at the sender.

use serde::Serialize;

use crate::read::csv::{LoadRow, UnloadedRow};
use stats::cost::LEAST_NOISE;
use stats::cost::design::{LINE, Point};
use stats::cost::robust;

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
