//! Predictions of workloads as curves that claims of the papers are ruled by.

use literature::Study;
use literature::claims::evidence::{Curve, Figure};
use model::plan::LinkKind;
use model::{Plan, Protocol};
use stats::estimate::Estimate;

use super::study::{FigureRow, Quantity, Source, WorkloadSeries, WorkloadStudy};
use crate::studies::published::{MIX, TOUCHES};

/// The workload of the claims: small messages.
pub const SMALL_MESSAGES: &str = "W1";

/// Quantity of the costs of a workload, as predicted and as measured.
const COST: &str = "workload";

/// Runs by which claims about [`SMALL_MESSAGES`] are ruled. The first of each kind is taken.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkloadRuns<R> {
    /// The one that predicts it.
    pub sizes: Option<R>,
    /// The one that measured it.
    pub mixes: Option<R>,
}

impl<R> Default for WorkloadRuns<R> {
    fn default() -> Self {
        Self { sizes: None, mixes: None }
    }
}

impl<R: Copy> WorkloadRuns<R> {
    /// Takes a run by its plan. Sizes predict with receipts, over a link whose devices have checksums: as the workload is
    /// measured.
    pub fn take(&mut self, plan: &Plan, run: R) {
        if plan.receipt.is_some() && plan.link.kind == LinkKind::Veth && plan.link.offloads.is_empty() {
            self.sizes.get_or_insert(run);
        }
        if plan.cells.iter().any(|cell| cell.mix.as_ref().is_some_and(|mix| mix.name == SMALL_MESSAGES)) {
            self.mixes.get_or_insert(run);
        }
    }
}

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

#[cfg(test)]
mod tests {
    use model::plan::{LinkKind, Offload, ReceiptPlan};
    use model::{Plan, Test};
    use testkit::made;

    use super::{SMALL_MESSAGES, WorkloadRuns};
    use crate::testing::cell;
    use crate::workload::Workload;

    #[test]
    fn sizes_with_receipts_predict_the_mix_that_was_measured() {
        let receipt = Some(ReceiptPlan { period: None, samples: 2_000 });
        let plain = made::plan("sizes", vec![cell(Test::TcpStream, 1)]);
        let sizes = Plan { receipt, ..plain.clone() };
        let with = |change: &dyn Fn(&mut Plan)| {
            let mut plan = sizes.clone();
            change(&mut plan);
            plan
        };
        let loopback = with(&|plan| plan.link.kind = LinkKind::Loopback);
        let software = with(&|plan| plan.link.offloads = [(Offload::Tx, false)].into());
        let mix = |name: &str| {
            let workload = Workload::built_in().unwrap().into_iter().find(|one| one.name == name).unwrap();
            made::plan("mix", vec![workload.cell_like(&cell(Test::TcpStream, 1), 1).unwrap()])
        };
        let mut runs = WorkloadRuns::default();
        for (run, plan) in [&plain, &loopback, &software, &mix("W2")].into_iter().enumerate() {
            runs.take(plan, run);
        }
        assert_eq!(runs, WorkloadRuns { sizes: None, mixes: None });
        for (run, plan) in [&sizes, &mix(SMALL_MESSAGES), &sizes].into_iter().enumerate() {
            runs.take(plan, run);
        }
        assert_eq!(runs, WorkloadRuns { sizes: Some(0), mixes: Some(1) });
    }
}
