//! Made-up runs, predicted and compared.

use model::{Bytes, Cell, Nanos, Run, Test, TrialRecord};

use crate::Collector;
use crate::studies::Analysis;
use crate::testing::{Noise, cell, generator, measured, record, run};
use crate::workload::{Quantity, Source, StreamTrials, Workload, WorkloadStudy, predict};
use attribution::SizeDistribution;

const SIZES: [u64; 6] = [1, 64, 512, 1_024, 1_472, 4_096];
const BLOCKS: u32 = 12;

fn workload() -> Workload {
    let sizes = SizeDistribution::new(vec![(8, 0.5), (300, 0.3), (3_000, 0.2)]);
    Workload { name: "mine".to_owned(), title: "a mix".to_owned(), sizes }
}

/// What a message costs an end.
fn cost(size: f64) -> f64 {
    800.0 + 0.5 * size
}

fn mixed(test: Test) -> Cell {
    workload().cell_like(&cell(test, 1), 1).unwrap()
}

/// A trial of `of`, whose messages cost `ns` at each end.
fn trial(of: &Cell, block: u32, ns: f64) -> TrialRecord {
    let mut trial = measured(of.test, of.size.get());
    for end in [&mut trial.sender, &mut trial.receiver] {
        end.cpu_time.process = Nanos::new((ns * end.counts.messages as f64) as u64);
    }
    TrialRecord { cell: of.clone(), ..record(of.test, of.size.get(), block, trial) }
}

/// Sizes and the mix in the same blocks; each block has a drift of its own.
fn study(test: Test, drift: f64, mix_costs: f64) -> (Run, Vec<TrialRecord>) {
    let cells: Vec<Cell> = SIZES.iter().map(|size| cell(test, *size)).chain([mixed(test)]).collect();
    let mut random = generator(5);
    let mut records = Vec::new();
    for block in 0..BLOCKS {
        let slow = Noise::Lognormal.draw(drift, &mut random) / 100.0;
        for of in &cells {
            let ns = if of.mix.is_some() { mix_costs } else { cost(of.size.get() as f64) };
            records.push(trial(of, block, ns * slow * Noise::Lognormal.draw(0.01, &mut random) / 100.0));
        }
    }
    (run(cells, BLOCKS), records)
}

fn gathered(run: &Run, records: &[TrialRecord]) -> (StreamTrials, Analysis) {
    let mut collector = Collector::new(run.clone(), Vec::new());
    records.iter().for_each(|record| collector.push(record));
    let (analysis, table) = collector.finish_with_table();
    (StreamTrials::from_table(table), analysis)
}

fn of_one_run(test: Test, drift: f64, mix_costs: f64) -> WorkloadStudy {
    let (run, records) = study(test, drift, mix_costs);
    let (gathered, analysis) = gathered(&run, &records);
    predict(&[workload()], (&gathered, &analysis), Some((&gathered, &analysis)))
}

#[test]
fn a_linear_cost_is_predicted_by_its_model_and_confirmed() {
    let truth = 800.0 + 0.5 * workload().sizes.mean();
    let found = of_one_run(Test::UdpStream, 0.0, truth);
    assert_eq!((found.same_run, found.blocks), (Some(true), BLOCKS as usize));
    let series = &found.workloads[0].series[0];
    assert_eq!((series.series.as_str(), series.measured_sizes, series.no_model.len()), ("UDP_STREAM", [1, 4_096], 0));
    assert_eq!((series.cut, series.beyond.messages), (None, 0.0));
    for quantity in [Quantity::SenderCpu, Quantity::ReceiverCpu] {
        let row = series.figures.iter().find(|row| row.quantity == quantity).unwrap();
        assert_eq!(row.source, Source::Model);
        assert!((row.predicted.value / truth - 1.0).abs() < 0.01, "{row:?}");
        let ratio = row.ratio.unwrap();
        let interval = ratio.interval.unwrap();
        assert!(interval.low <= 1.0 && 1.0 <= interval.high && (ratio.value - 1.0).abs() < 0.01, "{row:?}");
    }
    let sent = series.sent.unwrap();
    assert_eq!((sent.trials, sent.messages), (BLOCKS as usize, 50_000 * u64::from(BLOCKS)));
    assert_eq!(sent.mean_bytes, mixed(Test::UdpStream).size.get() as f64);
}

/// Drift widens the prediction, not the ratio.
#[test]
fn what_hits_whole_blocks_does_not_widen_the_ratio() {
    let found = of_one_run(Test::UdpStream, 0.2, 1.1 * cost(workload().sizes.mean()));
    let row = found.workloads[0].series[0].figures[0];
    let (predicted, ratio) = (row.predicted.half_width().unwrap(), row.ratio.unwrap());
    assert!(predicted > 0.05 && ratio.half_width().unwrap() < predicted / 2.0, "{row:?}");
    assert!((ratio.value - 1.1).abs() < 0.03, "{row:?}");
}

#[test]
fn without_a_model_the_sizes_themselves_predict_and_the_reason_is_kept() {
    let (mut run, mut records) = study(Test::TcpStream, 0.0, 900.0);
    let nagle = |cell: &mut Cell| cell.nodelay = false;
    run.plan.cells.iter_mut().for_each(nagle);
    records.iter_mut().for_each(|record| nagle(&mut record.cell));
    let (gathered, analysis) = gathered(&run, &records);
    // A mix is not one more size of the series, and no model is made of it.
    assert_eq!(analysis.models().len(), 3);
    let found = predict(&[workload()], (&gathered, &analysis), Some((&gathered, &analysis)));
    let series = &found.workloads[0].series[0];
    assert!(series.nagle && series.no_model[0].reason.contains("Nagle"), "{series:?}");
    let row = series.figures[0];
    assert_eq!(row.source, Source::Sizes);
    assert!((row.predicted.value / cost(workload().sizes.mean()) - 1.0).abs() < 0.02, "{row:?}");
    assert!((row.measured.unwrap().value / 900.0 - 1.0).abs() < 0.02, "{row:?}");
}

#[test]
fn rates_add_up_as_times() {
    let found = of_one_run(Test::UdpStream, 0.0, 1_000.0);
    // Every trial sends 50,000 messages in 150 ms, whatever their size.
    let row = found.workloads[0].series[0].figures.iter().find(|row| row.quantity == Quantity::MessagesPerS).unwrap();
    assert!((row.predicted.value / (50_000.0 / 0.15) - 1.0).abs() < 1e-9, "{row:?}");
}

#[test]
fn a_mix_of_another_run_is_compared_and_one_that_is_missing_is_missing() {
    let (run, records) = study(Test::UdpStream, 0.0, 1_000.0);
    let (mixes, sizes): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.cell.mix.is_some());
    let (sizes, mixes) = (gathered(&run, &sizes), gathered(&run, &mixes));
    let apart = predict(&[workload()], (&sizes.0, &sizes.1), Some((&mixes.0, &mixes.1)));
    assert_eq!(apart.same_run, Some(false));
    assert!(apart.workloads[0].series[0].figures[0].ratio.is_some());
    let alone = predict(&[workload()], (&sizes.0, &sizes.1), None);
    let series = &alone.workloads[0].series[0];
    assert_eq!((alone.same_run, series.sent), (None, None));
    assert!(series.figures.iter().all(|row| row.measured.is_none() && row.ratio.is_none()));
    // A run that was to measure the mix, and has no usable trial of it.
    let failed = gathered(&run, &[]);
    let without = predict(&[workload()], (&sizes.0, &sizes.1), Some((&failed.0, &failed.1)));
    assert_eq!((without.same_run, without.is_measured()), (Some(false), false));
    assert!(apart.is_measured() && !alone.is_measured());
}

#[test]
fn a_receiver_of_a_stream_counts_by_what_the_sender_sent() {
    let of = mixed(Test::TcpStream);
    let mut trial = measured(Test::TcpStream, of.size.get());
    trial.sender.total.bytes = 2 * trial.sender.total.messages;
    (trial.receiver.counts.bytes, trial.receiver.total.bytes) = (1_000, 2_001);
    trial.count_by_sender(&of);
    assert_eq!((trial.receiver.counts.messages, trial.receiver.counts.received, trial.receiver.total.messages), (500, 500, 1_000));
    let mut plain = trial.clone();
    plain.receiver.counts.messages = 7;
    plain.count_by_sender(&Cell::plain(Test::TcpStream, Bytes::new(2)));
    assert_eq!(plain.receiver.counts.messages, 7);
}
