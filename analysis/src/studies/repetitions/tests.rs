//! Counts with a known truth.

use model::plan::PlanEnd;
use model::{Cell, Nanos, Test};
use proptest::prelude::{prop_assert, proptest};

use super::{Advice, CountLine, RepetitionSeries, RepetitionStudy, Repetitions, SpreadLaw, Trend, spread};
use crate::confidence::Confidence;
use crate::studies::Study;
use crate::testing::{cell, fed, generator, measured, normal, record, run};
use stats::bootstrap::Batches;
use stats::estimate::{Estimate, Interval, Method};

fn cells(counts: &[u64]) -> Vec<Cell> {
    counts.iter().map(|count| Cell { count: Some(*count), ..cell(Test::TcpStream, 512) }).collect()
}

fn usual() -> Vec<u64> {
    (1..=18).map(|step| step * 500).collect()
}

/// Trials of `fixed` + `each` ns a message, whose total scatters by `spread` of
/// the count; one in ten is half as long again.
fn study(counts: &[u64], blocks: u32, seed: u64, [fixed, each]: [f64; 2], spread: impl Fn(f64) -> f64, wild: bool) -> RepetitionStudy {
    let mut random = generator(seed);
    let cells = cells(counts);
    let run = run(cells.clone(), blocks);
    let mut records = Vec::new();
    for block in 0..blocks {
        for (place, cell) in cells.iter().enumerate() {
            let count = cell.count.unwrap();
            let mut trial = measured(Test::TcpStream, 512);
            trial.receiver.counts.bytes = count * 512;
            let slow = if wild && (block + place as u32).is_multiple_of(10) { 1.5 } else { 1.0 };
            let total = (fixed + each * count as f64) * (1.0 + spread(count as f64) * normal(&mut random)) * slow;
            trial.receiver.window.end = trial.receiver.window.start + Nanos::new(total as u64);
            let mut record = record(Test::TcpStream, 512, block, trial);
            record.cell = cell.clone();
            records.push(record);
        }
    }
    let repetitions = fed::<Repetitions>(&run.plan, records).0.unwrap();
    repetitions.study(&run.plan, &Batches::from_blocks(0..blocks), Confidence::new(&run.plan.blocks))
}

fn only(study: &RepetitionStudy) -> &RepetitionSeries {
    assert_eq!(study.series.len(), 1);
    &study.series[0]
}

fn line(series: &RepetitionSeries) -> [Estimate; 2] {
    match &series.line {
        CountLine::Fitted { per_message_ns, fixed_ns, .. } => [*fixed_ns, *per_message_ns],
        CountLine::None { reason } => panic!("{reason}"),
    }
}

#[test]
fn the_line_is_recovered_whatever_one_trial_in_ten_does() {
    let study = study(&usual(), 20, 1, [300_000.0, 2_000.0], |_| 0.02, true);
    let series = only(&study);
    assert_eq!((series.series.as_str(), series.counts.len(), study.runs), ("TCP_STREAM (nodelay)", 18, 5));
    let [fixed, each] = line(series);
    assert!((each.value / 2_000.0 - 1.0).abs() < 0.01, "{each:?}");
    assert!((fixed.value - 300_000.0).abs() < 60_000.0, "{fixed:?}");
    let held = |found: &Estimate, truth: f64| found.interval.is_some_and(|ends| ends.low <= truth && truth <= ends.high);
    assert!(held(&each, 2_000.0) && held(&fixed, 300_000.0), "{each:?} {fixed:?}");
    assert_eq!(study.variants().collect::<Vec<_>>().len(), 17);
}

/// Messages that scatter each by itself: the spread falls with the root of the count.
#[test]
fn the_law_of_the_spread_gives_the_count_to_use() {
    let spread = |count: f64| 0.02 * (count / 1_000.0).powf(-0.5);
    let (mut held, mut near) = (0, 0);
    // sd = 0.02·(c/1000)^-½ is 1 %·√5/2.776 at 6,165 messages.
    let truth = 1_000.0 * (0.02 / (0.01 * 5_f64.sqrt() / 2.776)).powi(2);
    for seed in 0..5 {
        let study = study(&usual(), 20, seed, [0.0, 2_000.0], spread, false);
        let series = only(&study);
        let law = series.law.unwrap();
        held += u32::from(law.exponent.interval.is_some_and(|ends| ends.low <= 0.5 && 0.5 <= ends.high));
        let Advice::Count { count, .. } = series.advice else { panic!("{:?}", series.advice) };
        near += u32::from((count.value / truth).ln().abs() < 0.7);
        assert!(count.interval.is_some_and(|ends| ends.low <= count.value && count.value <= ends.high));
    }
    assert!(held >= 4 && near >= 4, "{held} {near}");
}

#[test]
fn a_spread_that_stays_asks_for_runs_not_for_messages() {
    let (mut runs, mut first) = (Vec::new(), 0);
    for seed in 0..5 {
        let study = study(&usual(), 20, 100 + seed, [0.0, 2_000.0], |_| 0.05, false);
        first += u32::from(only(&study).settled == Some(500));
        if let Advice::MoreRuns { runs: wanted, .. } = only(&study).advice {
            runs.push(wanted);
        }
    }
    // 1.96·5 %/√96 is 1 %.
    assert!(runs.len() >= 4 && runs.iter().all(|runs| (60..150).contains(runs)), "{runs:?}");
    assert!(first >= 4, "settled from the first count on in {first} of 5");
    let quiet = study(&usual(), 20, 1, [0.0, 2_000.0], |_| 0.002, false);
    assert_eq!(only(&quiet).advice, Advice::Least { count: 500, shown: true });
}

/// What the law's exponent shows of a spread, at each border.
#[test]
fn a_spread_stays_where_its_whole_interval_says_so() {
    let of = |ends: Option<(f64, f64)>| {
        let interval = ends.map(|(low, high)| Interval { low, high, confidence: 0.95, method: Method::BlockBootstrap });
        let at = |value| Estimate { value, interval, n: 20 };
        Trend::of(Some(&SpreadLaw { exponent: at(0.0), at_thousand: at(0.08) }))
    };
    let rows = [
        (Some((-0.1, 0.1)), Trend::Stays),
        (Some((-0.1, 0.11)), Trend::Open),
        (Some((-0.11, 0.1)), Trend::Open),
        // The case of faults: its interval holds 0.5, where messages scatter each by itself.
        (Some((-0.3, 0.5)), Trend::Open),
        (Some((0.0, 0.5)), Trend::Open),
        (Some((0.001, 0.5)), Trend::Falls),
        (None, Trend::Open),
    ];
    for (ends, trend) in rows {
        assert_eq!(of(ends), trend, "{ends:?}");
    }
    assert_eq!(Trend::of(None), Trend::Open);
}

#[test]
fn the_count_from_which_on_the_spread_has_settled_is_found() {
    let study = study(&usual(), 30, 3, [0.0, 2_000.0], |count| if count < 4_000.0 { 0.12 } else { 0.01 }, false);
    assert_eq!(only(&study).settled, Some(4_000));
}

#[test]
fn trials_that_were_not_whole_are_left_out_and_said() {
    let cells = cells(&[500, 1_000, 1_500, 2_000]);
    let mut run = run(cells.clone(), 9);
    run.plan.end = PlanEnd::Length(Nanos::from_millis(1));
    let records = cells.iter().flat_map(|cell| {
        (0..9).map(move |block| {
            let mut trial = measured(Test::TcpStream, 512);
            trial.receiver.counts.bytes = 512 * cell.count.unwrap() - if block < 5 { 600 } else { 0 };
            model::TrialRecord { cell: cell.clone(), ..record(Test::TcpStream, 512, block, trial) }
        })
    });
    let repetitions = fed::<Repetitions>(&run.plan, records).0.unwrap();
    let study = repetitions.study(&run.plan, &Batches::from_blocks(0..9), Confidence::new(&run.plan.blocks));
    let series = only(&study);
    assert!(series.counts.iter().all(|count| count.short == 5 && count.total_ns.unwrap().n == 4));
    assert!(matches!(&series.line, CountLine::None { reason } if reason.contains("not all messages arrived")));
}

#[test]
fn cells_of_one_count_are_no_study() {
    let mut plan = run(cells(&[500]), 9).plan;
    assert!(Repetitions::for_plan(&plan).is_none());
    plan.cells.push(Cell { count: None, ..plan.cells[0].clone() });
    // By time, the cell without a count has none.
    assert!(Repetitions::for_plan(&plan).is_none());
    plan.end = PlanEnd::Messages(9_000);
    assert_eq!(Repetitions::for_plan(&plan).unwrap().series.len(), 1);
}

/// The exact interval of the median of the deviations, whose centre is estimated.
#[test]
fn the_interval_of_the_spread_covers() {
    const STUDIES: u32 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
    let confidence = Confidence::new(&run(Vec::new(), 9).plan.blocks);
    let mut random = generator(5);
    for n in [9, 20] {
        let mut held = 0;
        for _ in 0..STUDIES {
            let totals: Vec<f64> = (0..n).map(|_| 1_000.0 * (1.0 + 0.05 * normal(&mut random))).collect();
            let ends = spread::spread(&totals, confidence).unwrap().interval.unwrap();
            held += u32::from(ends.low <= 0.05 && 0.05 <= ends.high);
        }
        let share = f64::from(held) / f64::from(STUDIES);
        eprintln!("spread of {n} totals at 95 %: holds {share:.3}");
        assert!(share > 0.85, "{n}: {share}");
    }
}

proptest! {
    #[test]
    fn without_noise_the_line_is_the_truth(fixed in 0.0..1e6f64, each in 100.0..1e5f64) {
        let study = study(&[500, 1_000, 2_000, 4_000, 9_000], 6, 1, [fixed, each], |_| 0.0, false);
        let [found, slope] = line(only(&study));
        prop_assert!((slope.value / each - 1.0).abs() < 1e-4, "{slope:?}");
        prop_assert!((found.value - fixed).abs() < 1e-4 * (fixed + each * 500.0) + 2.0, "{found:?}");
        prop_assert!(only(&study).law.is_none(), "spreads of 0 have no law");
    }
}
