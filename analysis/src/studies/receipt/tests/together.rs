//! Several receipts: arms, two runs.

use super::made::{Made, analysed, copying, records, sizes};
use crate::studies::receipt::ReceiptStudy;
use crate::studies::receipt::compare_studies;
use crate::studies::receipt::tests::profiles::Cost;
use crate::testing::cell;
use attribution::Verdict;
use model::{Cell, Test};

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
