//! Runs with arms through the collector.

use model::{Arm, Nanos, Run, Test, TrialRecord};

use crate::cost::Quantity;
use crate::metric::Metric;
use crate::studies::verdicts::ArmVerdict;
use crate::testing::{cell, generator, measured, normal, record, run};
use crate::verdict::{CoefficientsOutcome, Conclusion, MetricComparison, Verdict};
use crate::{Analysis, Collector};

const SIZES: [u64; 6] = [1, 64, 256, 512, 1024, 1400];

fn arms(texts: &[&str]) -> Vec<Arm> {
    Arm::parse_all(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// UDP streams of six sizes and a TCP one, in these arms.
fn planned(texts: &[&str], blocks: u32) -> Run {
    let mut cells: Vec<_> = SIZES.iter().map(|size| cell(Test::UdpStream, *size)).collect();
    cells.push(cell(Test::TcpStream, 64));
    let mut run = run(cells, blocks);
    run.plan.arms = arms(texts);
    run
}

/// Every trial of a run; `cost` is what a message costs the sender in ns, by arm
/// and size; blocks differ by 3 %, trials of a block by 1 %.
fn trials(run: &Run, cost: impl Fn(usize, f64) -> f64) -> Vec<TrialRecord> {
    let mut random = generator(7);
    let mut records = Vec::new();
    for block in 0..run.plan.blocks.most {
        let drift = 1.0 + 0.03 * normal(&mut random);
        for cell in &run.plan.cells {
            for (place, arm) in run.plan.arms.iter().enumerate() {
                let mut trial = measured(cell.test, cell.size.get());
                let ns = cost(place, cell.size.get() as f64) * drift * (1.0 + 0.01 * normal(&mut random));
                trial.sender.cpu_time.process = Nanos::new((ns * 50_000.0) as u64);
                trial.receiver.window.end = trial.receiver.window.start + Nanos::new((ns * 50_000.0) as u64);
                let mut record = record(cell.test, cell.size.get(), block, trial);
                (record.arm, record.started_ms) = (Some(arm.name.clone()), 1_000 * u64::from(block));
                record.as_run = run.plan.cell_in(&record.cell, place).ok().map(Box::new);
                records.push(record);
            }
        }
    }
    records
}

fn analyse(run: &Run, records: &[TrialRecord]) -> Analysis {
    let mut collector = Collector::new(run.clone(), Vec::new());
    records.iter().for_each(|record| collector.push(record));
    collector.finish()
}

fn metric(verdict: &ArmVerdict, metric: Metric) -> &MetricComparison {
    verdict.compared.metrics.iter().find(|found| found.metric == metric).unwrap()
}

#[test]
fn arms_are_not_mixed() {
    let run = planned(&["a", "b: nodelay=false"], 9);
    let records = trials(&run, |arm, size| (1_800.0 + 0.3 * size) * if arm == 1 { 2.0 } else { 1.0 });
    let analysis = analyse(&run, &records);
    assert_eq!((analysis.trials, analysis.cells.len(), analysis.arms().len(), analysis.verdicts().len()), (126, 7, 1, 1));
    let of_first: Vec<TrialRecord> = records
        .iter()
        .filter(|record| record.arm.as_deref() == Some("a"))
        .map(|record| TrialRecord { arm: None, ..record.clone() })
        .collect();
    let mut alone = run.clone();
    alone.plan.arms.clear();
    let alone = analyse(&alone, &of_first);
    assert!(alone.arms().is_empty() && alone.verdicts().is_empty());
    assert_eq!((&alone.cells, alone.models(), alone.roles()), (&analysis.cells, analysis.models(), analysis.roles()));
    // Its own cells are called what they were run as.
    let other = &analysis.arms()[0];
    assert_eq!((other.name.as_str(), other.cells[6].label.as_str()), ("b", "TCP_STREAM (nagle) 64 B"));
    assert_eq!((analysis.cells[6].label.as_str(), other.cells.len()), ("TCP_STREAM (nodelay) 64 B", 7));
    let time = |cells: &[crate::cells::CellResult]| cells[0].metrics[&Metric::TimePerMessageNs].value;
    assert!((time(&other.cells) / time(&analysis.cells) - 2.0).abs() < 0.1);
    // To UDP the setting means nothing.
    assert_eq!(analysis.verdicts()[0].alike, [0, 1, 2, 3, 4, 5]);
    assert!(!analysis.verdicts()[0].is_self_test && analysis.verdicts()[0].compared.self_test.is_none());
}

#[test]
fn a_machine_against_itself_shows_what_it_can_show() {
    let run = planned(&["a", "a"], 12);
    let analysis = analyse(&run, &trials(&run, |_, size| 1_800.0 + 0.3 * size));
    let verdict = &analysis.verdicts()[0];
    assert_eq!((verdict.baseline.as_str(), verdict.candidate.as_str(), verdict.is_self_test), ("a", "a#2", true));
    assert!(verdict.alike.is_empty());
    let headline = metric(verdict, Metric::TimePerMessageNs);
    assert_eq!((headline.comparison.cells.len(), headline.pairs.len(), headline.pairs[0].len()), (7, 7, 12));
    assert!(
        matches!(headline.comparison.overall.verdict, Verdict::Equivalent | Verdict::Inconclusive { .. }),
        "{:?}",
        headline.comparison.overall
    );
    let test = verdict.compared.self_test.as_ref().unwrap();
    assert_eq!((test.blocks, test.seconds_per_block), (12, 1.0));
    // 1 % of noise in either arm.
    assert!((0.007..0.025).contains(&test.noise), "{}", test.noise);
}

#[test]
fn what_became_dearer_is_shown_and_where() {
    let run = planned(&["a", "b: before=true"], 14);
    let analysis = analyse(&run, &trials(&run, |arm, size| 1_800.0 + 0.9 * size + if arm == 1 { 200.0 } else { 0.0 }));
    let verdict = &analysis.verdicts()[0];
    assert_eq!(verdict.compared.conclusion, Conclusion::Against);
    let cpu = &metric(verdict, Metric::SenderCpuPerMessageNs).comparison;
    assert_eq!((cpu.overall.worse, cpu.cells.len()), (7, 7));
    let ratio = cpu.cells[0].ratio.unwrap();
    assert!((ratio.value - 2_000.9 / 1_800.9).abs() < 0.03 && ratio.n == 14, "{ratio:?}");
    // The message became dearer by 200 ns, the byte did not.
    let series = verdict
        .compared
        .coefficients
        .iter()
        .find(|found| found.quantity == Quantity::SenderCpu && found.series == cell(Test::UdpStream, 1).series())
        .unwrap();
    let CoefficientsOutcome::Compared(compared) = &series.outcome else { panic!("{series:?}") };
    let message = &compared.coefficients[0].difference_ns;
    assert!((message.value - 200.0).abs() < 30.0, "{compared:?}");
    let byte = compared.coefficients[1].difference_ns.interval.unwrap();
    assert!(byte.low <= 0.0 && 0.0 <= byte.high, "{compared:?}");
}

/// Interrupt time that is read in ticks is not the same for all trials of an arm.
#[test]
fn interrupt_time_is_each_trials_own_in_pairs() {
    let run = planned(&["a", "a"], 9);
    let mut records = trials(&run, |_, _| 1_800.0);
    for (place, record) in records.iter_mut().enumerate() {
        let model::trial::Outcome::Measured(trial) = &mut record.outcome else { continue };
        // Ten ticks in every ninth pair of the first arm alone.
        let ticks = if place % 2 == 0 && record.block == 0 { 10 } else { 0 };
        trial.sender.cpu_time.irq = Some(Nanos::from_millis(10 * ticks));
    }
    let analysis = analyse(&run, &records);
    let pairs = &metric(&analysis.verdicts()[0], Metric::SenderCpuPerMessageNs).pairs[0];
    assert!(pairs[0].baseline > pairs[0].candidate * 1.8, "{:?}", pairs[0]);
    assert!(pairs[1..].iter().all(|pair| (pair.baseline / pair.candidate - 1.0).abs() < 0.1), "{pairs:?}");
}

#[test]
fn a_damaged_arm_is_of_no_arm() {
    let run = planned(&["a", "b"], 9);
    let mut records = trials(&run, |_, _| 1_800.0);
    records[3].arm = Some("c".to_owned());
    records[4].arm = None;
    let analysis = analyse(&run, &records);
    assert_eq!(analysis.trials, 125);
}
