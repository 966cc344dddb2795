//! Predictions of workloads as curves that claims of the papers are ruled by.

use literature::Study;
use literature::claims::evidence::{Curve, Figure};
use model::Protocol;
use stats::estimate::Estimate;

use super::study::{FigureRow, Quantity, Source, WorkloadSeries, WorkloadStudy};
use crate::studies::published::{MIX, TOUCHES};

/// Quantity of the costs of a workload, as predicted and as measured.
const COST: &str = "workload";

/// Shares of CPU time that touch payload, of TCP by end, and what the workload costs, predicted and measured.
pub fn evidence(study: &WorkloadStudy) -> Vec<(Study, Curve)> {
    let mut curves = Vec::new();
    for workload in &study.workloads {
        for series in &workload.series {
            shares(&mut curves, &workload.workload, series);
            costs(&mut curves, &workload.workload, series);
        }
    }
    curves.into_iter().map(|curve| (Study::Kay1993, curve)).collect()
}

fn curve(quantity: &'static str, name: String, group: &str, labels: &[&str], figure: Figure) -> Curve {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    Curve { quantity, name, group: group.to_owned(), labels, points: vec![(0.0, figure)], given: false }
}

fn shares(curves: &mut Vec<Curve>, workload: &str, series: &WorkloadSeries) {
    for one in series.touching.iter().filter(|_| series.protocol == Protocol::Tcp) {
        let Some(share) = one.predicted else { continue };
        let name = format!("{workload} at the {}, predicted", one.role);
        let figure = Figure::within(share.value, share.interval.unwrap_or([0.0, f64::INFINITY]));
        curves.push(curve(MIX, name, &series.series, &[TOUCHES, "tcp"], figure));
    }
}

fn costs(curves: &mut Vec<Curve>, workload: &str, series: &WorkloadSeries) {
    let figure = |of: &Estimate| {
        let ends = of.interval.map_or([0.0, f64::INFINITY], |ends| [ends.low, ends.high]);
        Figure::within(of.value, ends)
    };
    let cpu = |row: &&FigureRow| row.source == Source::Sizes && matches!(row.quantity, Quantity::SenderCpu | Quantity::ReceiverCpu);
    for row in series.figures.iter().filter(cpu) {
        let Some(measured) = &row.measured else { continue };
        let name = format!("{workload}, {}: {}", series.series, row.quantity.metric().title());
        curves.push(curve(COST, name.clone(), &series.series, &["predicted"], figure(&row.predicted)));
        curves.push(curve(COST, name, &series.series, &["measured"], figure(measured)));
    }
}
