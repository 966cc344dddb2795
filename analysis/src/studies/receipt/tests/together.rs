//! Several receipts: arms, checksums, workloads, two runs.

use super::made::{Made, analysed, copying, records, sizes};
use crate::studies::receipt::ReceiptStudy;
use crate::studies::receipt::compare_studies;
use crate::studies::receipt::tests::profiles::Cost;
use crate::testing::cell;
use attribution::{Category, Verdict};
use model::plan::Offload;
use model::{Cell, Role, Test};

fn study(made: &Made) -> ReceiptStudy {
    analysed(made, &records(made)).receipt().unwrap().clone()
}

/// In the arm `slow` a lock costs 300 ns more.
fn slower(cell: &Cell, arm: Option<&str>) -> Vec<Cost> {
    let mut costs = copying(cell, arm);
    if arm == Some("slow") {
        costs[3].ns += 300.0;
    }
    costs
}

/// Without the device's help a checksum costs a ns for 8 bytes.
fn summing(cell: &Cell, arm: Option<&str>) -> Vec<Cost> {
    let mut costs = copying(cell, arm);
    costs[1].ns = if cell.offloads.get(&Offload::Tx) == Some(&false) { cell.size.get() as f64 / 8.0 } else { 5.0 };
    costs
}

#[test]
fn each_arm_has_its_receipts() {
    let study = study(&Made { arms: vec![Some("usual"), Some("slow")], costs: slower, ..sizes() });
    let labels: Vec<&str> = study.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(labels[..2], ["UDP_STREAM 1 B, usual", "UDP_STREAM 1 B, slow"]);
    assert_eq!((study.cells.len(), study.series.len()), (6, 4));
    assert_eq!(study.series[2].series, "UDP_STREAM, slow");
    let cpu = |place: usize| study.cells[place].sender.outcome.receipt().unwrap().cpu.value;
    assert!((cpu(1) - cpu(0) - 300.0).abs() < 30.0);
}

#[test]
fn checksums_have_a_price() {
    let offloads = |on| [(Offload::Tx, on)].into();
    let mut cells = vec![cell(Test::UdpStream, 1460), Cell { offloads: offloads(false), ..cell(Test::UdpStream, 1460) }];
    let of = |study: &ReceiptStudy| study.checksums.iter().map(|cost| (cost.cells, cost.role)).collect::<Vec<_>>();
    let found = study(&Made { cells: cells.clone(), costs: summing, ..sizes() });
    assert_eq!(of(&found), [([0, 1], Role::Sender), ([0, 1], Role::Receiver)]);
    let cost = &found.checksums[0];
    assert_eq!(cost.label, "UDP_STREAM (tx off) 1460 B");
    assert!(cost.share[0] < 0.01 && cost.share[1] > 0.07, "{:?}", cost.share);
    let row = &cost.categories.rows[0];
    assert_eq!((row.key, row.verdict), (Category::Checksum, Verdict::Costlier));
    assert!((row.difference.value - 177.5).abs() < 15.0);
    // One without a partner has no price.
    cells.remove(0);
    assert!(of(&study(&Made { cells, costs: summing, ..sizes() })).is_empty());
}

#[test]
fn workloads_lie_over_series() {
    let study = study(&sizes());
    let names: Vec<(&str, Role)> = study.workloads.iter().map(|one| (one.workload.as_str(), one.role)).collect();
    assert_eq!(names[..3], [("W1", Role::Sender), ("W2", Role::Sender), ("W3", Role::Sender)]);
    let first = &study.workloads[0].categories;
    assert!((first.measured + first.interpolated + first.below + first.beyond - 1.0).abs() < 1e-9);
    assert!(first.beyond > 0.0 && first.beyond_bytes > first.beyond && first.below == 0.0);
    // 850 ns, and a copy that is linear in the size.
    assert!((850.0..970.0).contains(&first.cpu.ns.value), "{}", first.cpu.ns.value);
    let one_size = analysed(&sizes(), &records(&Made { cells: vec![cell(Test::UdpStream, 1)], ..sizes() }));
    assert!(one_size.receipt().unwrap().workloads.is_empty());
}

#[test]
fn two_runs_are_compared_row_by_row() {
    let usual = study(&sizes());
    let same = compare_studies(&usual, &usual);
    assert_eq!((same.pairs.len(), &same.unpaired), (6, &[vec![], vec![]]));
    for pair in &same.pairs {
        assert!(pair.total_variation == 0.0 && pair.layers.rows.iter().all(|row| row.verdict == Verdict::NotShown));
    }
    let mut costlier = Made { costs: |cell, _| slower(cell, Some("slow")), ..sizes() };
    costlier.cells[2] = cell(Test::UdpStream, 8192);
    let changed = compare_studies(&usual, &study(&costlier));
    assert_eq!(changed.pairs.len(), 4);
    assert_eq!(changed.unpaired[0], ["UDP_STREAM 4096 B, sender", "UDP_STREAM 4096 B, receiver"]);
    assert_eq!(changed.unpaired[1][0], "UDP_STREAM 8192 B, sender");
    for pair in &changed.pairs {
        let first = &pair.functions.rows[0];
        assert_eq!((first.key.as_str(), first.verdict, pair.layers.cpu.verdict), ("udp_sendmsg", Verdict::Costlier, Verdict::Costlier));
        assert!((first.difference.value - 300.0).abs() < 30.0 && pair.total_variation > 0.05);
        assert!(pair.functions.rows[1..].iter().all(|row| row.verdict == Verdict::NotShown));
    }
}
