use model::{Nanos, Test};
use stats::level_changes::Limits;

use super::{History, HistoryCollector, HistoryRun, Turn};
use crate::result::Metric;
use crate::studies::levels::Levels;
use crate::testing::{cell, fed, generator, measured, normal, record};

fn run(place: usize) -> HistoryRun {
    HistoryRun { id: format!("run-{place}"), started_ms: place as u64 * 86_400_000, kernel: "6.18".to_owned(), tool: "0.1.0".to_owned() }
}

/// A history of values of made-up cells.
fn history(metric: Metric, cells: &[Vec<f64>]) -> History {
    made(metric, cells).finish("size".to_owned(), "one machine".to_owned())
}

fn made(metric: Metric, cells: &[Vec<f64>]) -> HistoryCollector {
    let mut collector = HistoryCollector::new(metric);
    for place in 0..cells[0].len() {
        collector.runs.push(run(place));
        for (at, values) in cells.iter().enumerate() {
            let series = collector.series(None, &cell(Test::TcpStream, at as u64 + 1));
            series.runs.push(place);
            series.values.push(values[place]);
        }
    }
    collector
}

fn noise(runs: usize, seed: u64) -> Vec<f64> {
    let mut random = generator(seed);
    (0..runs).map(|_| 100.0 * (1.0 + 0.03 * normal(&mut random))).collect()
}

#[test]
fn a_metric_of_each_run_is_the_median_of_its_trials() {
    let mut collector = HistoryCollector::new(Metric::TimePerMessageNs);
    let plan = testkit::made::plan("size", vec![cell(Test::TcpStream, 64), cell(Test::TcpStream, 128)]);
    for place in 0..12 {
        let trial = |size: u64, block: u32| {
            let mut trial = measured(Test::TcpStream, size);
            // 50,000 messages: 3 µs a message, from the eighth run on 3.6 at 64 B.
            let slow = if size == 64 && place >= 7 { 180 } else { 150 };
            trial.receiver.window.end = trial.receiver.window.start + Nanos::from_millis(slow + u64::from(block));
            record(Test::TcpStream, size, block, trial)
        };
        let (_, table) = fed::<Levels>(&plan, (0..3).flat_map(|block| [trial(64, block), trial(128, block)]));
        collector.push(run(place), &table);
    }
    let history = collector.finish("size".to_owned(), "one machine".to_owned());
    let [changed, flat] = &history.cells[..] else { panic!("{history:#?}") };
    assert_eq!((changed.cell.size.get(), changed.runs.len(), flat.levels.len()), (64, 12, 1));
    assert_eq!(changed.values[..2], [3_020.0, 3_020.0]);
    let newest = changed.levels.last().unwrap();
    assert_eq!((newest.first, newest.value, newest.turn), (7, 3_620.0, Turn::Worse));
    assert!((newest.change.unwrap() - (3_620.0 / 3_020.0 - 1.0)).abs() < 1e-12 && history.worse);
}

#[test]
fn the_way_of_a_change_is_that_of_its_metric() {
    let mut values = noise(40, 1);
    values.iter_mut().skip(25).for_each(|value| *value *= 1.2);
    let turn = |metric| {
        let history = history(metric, &[values.clone()]);
        (history.cells[0].newest, history.worse)
    };
    assert_eq!(turn(Metric::TimePerMessageNs), (Turn::Worse, true));
    assert_eq!(turn(Metric::GoodputBitPerS), (Turn::Better, false));
    assert_eq!(turn(Metric::SenderBusyShare), (Turn::Other, false));
}

#[test]
fn a_change_for_the_worse_that_was_taken_back_is_past() {
    let mut values = noise(60, 2);
    values[20..40].iter_mut().for_each(|value| *value *= 1.2);
    let history = history(Metric::TimePerMessageNs, &[values, noise(60, 3)]);
    let turns: Vec<Turn> = history.cells[0].levels.iter().map(|level| level.turn).collect();
    assert_eq!(turns, [Turn::None, Turn::Worse, Turn::Better]);
    assert!(!history.worse && history.cells[1].newest == Turn::None);
}

/// A level of CPU time has the part that was billed in its own runs.
#[test]
fn a_level_has_the_part_that_was_billed_in_it() {
    let mut values = noise(40, 1);
    values.iter_mut().skip(25).for_each(|value| *value *= 1.2);
    let mut collector = made(Metric::CpuPerMessageNs, &[values]);
    collector.cells[0].billed = (0..40).map(|place| (place != 3).then_some(if place < 25 { 30.0 } else { 50.0 })).collect();
    let history = collector.finish("size".to_owned(), "one machine".to_owned());
    let levels: Vec<_> = history.cells[0].levels.iter().map(|level| (level.first, level.billed)).collect();
    assert_eq!(levels, [(0, Some(30.0)), (25, Some(50.0))]);
    let json = serde_json::to_string(&history.cells[0]).unwrap();
    assert_eq!(json.matches("billed").count(), 2, "{json}");
}

#[test]
fn of_few_runs_nothing_is_said() {
    let history = history(Metric::TimePerMessageNs, &[noise(History::LEAST_RUNS - 1, 4)]);
    assert_eq!((history.cells[0].p, history.cells[0].levels.len(), history.worse), (None, 1, false));
}

/// Whatever the number of cells, the share of histories with any false change is that of one.
#[test]
fn many_cells_show_no_more_false_changes_than_one() {
    let (histories, mut wrong) = (if cfg!(debug_assertions) { 500 } else { 4_000 }, 0);
    let mut limits = Limits::new((super::BEYOND * 12.0 / super::LEVEL) as usize);
    for seed in 0..histories {
        let cells: Vec<Vec<f64>> = (0..12).map(|at| noise(30, 1_000 * seed + at)).collect();
        let found = made(Metric::TimePerMessageNs, &cells).judged(String::new(), String::new(), &mut limits);
        wrong += u32::from(found.cells.iter().any(|cell| cell.newest != Turn::None));
    }
    let share = f64::from(wrong) / histories as f64;
    eprintln!("histories of 12 flat cells with a false change: {share}");
    assert!(share <= 0.025, "{share}");
}
