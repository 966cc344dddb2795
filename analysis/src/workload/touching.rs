//! The share of CPU time that touches data, from receipts.

use std::slice;

use model::Role;
use model::cell::Series;
use serde::Serialize;

use super::share::Share;
use crate::studies::Analysis;
use crate::studies::receipt::CellReceipt;
use attribution::{Figure, Receipt, weigh};

/// A share of CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShareOfTime {
    /// 0 to 1.
    pub value: f64,
    /// Its interval at 95 %; `None` of too few trials.
    pub interval: Option<[f64; 2]>,
}

/// The share of the CPU time of one end that touches data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Touching {
    /// The end.
    pub role: Role,
    /// From the receipts of single sizes; `None` without any.
    pub predicted: Option<ShareOfTime>,
    /// Share of messages that are larger than the sizes with receipts, and left out.
    pub left_out: f64,
    /// From the receipt of the mix; `None` without one.
    pub measured: Option<ShareOfTime>,
}

/// The shares of both ends, where either side has a receipt.
pub fn touching(share: &Share, series: &Series, workload: &str, sizes: &Analysis, mixes: Option<&Analysis>) -> Vec<Touching> {
    let ends = [Role::Sender, Role::Receiver].into_iter().filter_map(|role| {
        let (predicted, left_out) = predicted(share, series, role, sizes).unzip();
        let measured = mixes.and_then(|mixes| measured(series, workload, role, mixes));
        (predicted.is_some() || measured.is_some()).then_some(Touching {
            role,
            predicted,
            left_out: left_out.unwrap_or_default(),
            measured,
        })
    });
    ends.collect()
}

/// The receipts of a study; of one with arms, those of the baseline.
fn cells(analysis: &Analysis) -> impl Iterator<Item = &CellReceipt> {
    let baseline = analysis.run.plan.arms.first().map(|arm| arm.name.as_str());
    let all = analysis.receipt().into_iter().flat_map(|study| &study.cells);
    all.filter(move |cell| cell.arm.is_none() || cell.arm.as_deref() == baseline)
}

fn predicted(share: &Share, series: &Series, role: Role, analysis: &Analysis) -> Option<(ShareOfTime, f64)> {
    let of_series = cells(analysis).filter(|cell| cell.cell.mix.is_none() && cell.cell.series() == *series);
    let receipts: Vec<&Receipt> = of_series.filter_map(|cell| cell.end(role).outcome.receipt()).collect();
    if receipts.len() < 2 {
        return None;
    }
    let weighted = weigh(&share.sizes, &receipts, |receipt| slice::from_ref(&receipt.rows.touching)).ok()?;
    let touching = weighted.rows.first()?.ns;
    Some((share_of(touching, weighted.cpu.ns.value)?, weighted.beyond))
}

fn measured(series: &Series, workload: &str, role: Role, analysis: &Analysis) -> Option<ShareOfTime> {
    let is_it =
        |cell: &&CellReceipt| cell.cell.mix.as_ref().is_some_and(|mix| mix.name == workload) && cell.cell.series_of_sizes() == *series;
    let receipt = cells(analysis).find(is_it)?.end(role).outcome.receipt()?;
    share_of(receipt.rows.touching.ns, receipt.cpu.value)
}

/// A row as a share of the CPU time, which is known far better than the row.
fn share_of(row: Figure, cpu: f64) -> Option<ShareOfTime> {
    let share = row.scaled(1.0 / cpu);
    share.value.is_finite().then_some(ShareOfTime { value: share.value, interval: share.interval })
}
