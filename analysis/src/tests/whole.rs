//! A whole run through the collector.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use model::trial::Outcome;
use model::{Nanos, Role, Test, TrialRecord, Warning};
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use rand::RngExt;

use crate::Collector;
use crate::cells::Limit;
use crate::cost::{FitOutcome, Quantity};
use crate::findings::Disturbed;
use crate::metric::Metric;
use crate::studies::roles::Roles;
use crate::testing::{analyse, cell, generator, measured, record, run};

const SIZES: [u64; 9] = [1, 64, 112, 512, 1024, 1472, 2032, 8192, 16_384];

fn latency(random: &mut impl RngExt) -> String {
    let mut histogram = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    for _ in 0..1000 {
        let tail = 1.0 - random.random::<f64>();
        histogram.record((15_000.0 / tail.powf(0.2)) as u64).unwrap();
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    STANDARD.encode(bytes)
}

/// A study of both protocols, like the quick one, without noise but for a ramp.
fn study(blocks: u32) -> impl Iterator<Item = TrialRecord> {
    let mut random = generator(3);
    let streams = [Test::TcpStream, Test::UdpStream].into_iter().flat_map(|test| SIZES.map(|size| (test, size)));
    let cells: Vec<(Test, u64)> = streams.chain([(Test::TcpRr, 1), (Test::UdpRr, 1)]).collect();
    let of_block = move |block: u32| -> Vec<TrialRecord> {
        let mut trial = |(test, size): &(Test, u64)| {
            let mut trial = measured(*test, *size);
            let per_message = (1800.0 + 0.3 * *size as f64) * (1.0 + 0.002 * f64::from(block % 9));
            trial.receiver.window.end = trial.receiver.window.start + Nanos::new((per_message * 50_000.0) as u64);
            if !test.is_stream() {
                trial.sender.latency = Some(latency(&mut random));
                (trial.sender_host.udp.in_datagrams, trial.receiver_host.udp.out_datagrams) = (50_000, 50_000);
            }
            record(*test, *size, block, trial)
        };
        cells.iter().map(&mut trial).collect()
    };
    (0..blocks).flat_map(of_block)
}

#[test]
fn every_part_is_filled() {
    let analysis = analyse(study(9));
    assert_eq!((analysis.blocks, analysis.trials, analysis.failed), (9, 180, 0));
    assert_eq!(analysis.cells.len(), 20);
    assert_eq!(analysis.models().len(), 6);
    assert!(analysis.models().iter().take(1).all(|model| matches!(model.outcome, FitOutcome::Fitted(_))), "{:?}", analysis.models());
    assert_eq!(analysis.findings, []);
    let Some(Roles::Tested(roles)) = analysis.roles() else { panic!("{:?}", analysis.roles()) };
    assert!(roles.swapped + roles.straight == 9 && roles.p > 0.05, "{roles:?}");
    assert_eq!((analysis.disturbed, analysis.irq_pooled), (Disturbed::default(), false));
    let datagrams = analysis.datagrams().unwrap();
    assert_eq!((datagrams.unaccounted, datagrams.sent), (0, 9 * 50_000 * 11));
    let first = &analysis.cells[0];
    let time = first.metrics[&Metric::TimePerMessageNs];
    assert!((time.value / (1800.3 * 1.008) - 1.0).abs() < 1e-6 && time.n == 9);
    assert_eq!(time.interval.unwrap().confidence, 0.9609375);
    assert!(!first.metrics.contains_key(&Metric::RoundTripP50Ns) && !first.metrics.contains_key(&Metric::LossShare));
    assert_eq!(first.limit, Some(Limit::Waiting));
    let asked = analysis.cells.iter().find(|cell| cell.cell.test == Test::UdpRr).unwrap();
    let latency = asked.latency.as_ref().unwrap();
    assert_eq!((latency.transactions, latency.percentiles.len()), (9_000, 4));
    assert!(asked.metrics.contains_key(&Metric::RoundTripP50Ns));
}

#[test]
fn nothing_measured_is_no_figure_and_no_panic() {
    let empty = analyse(std::iter::empty());
    assert!(empty.cells.iter().all(|cell| cell.metrics.is_empty() && cell.latency.is_none() && cell.limit.is_none()));
    assert_eq!((empty.roles(), empty.datagrams(), empty.trials), (None, None, 0));

    let mut silent = measured(Test::UdpStream, 64);
    silent.receiver.window.end = silent.receiver.window.start;
    silent.sender.counts = Default::default();
    silent.receiver.counts = Default::default();
    (silent.sender.total, silent.receiver.total) = (Default::default(), Default::default());
    silent.sender_host = Default::default();
    silent.receiver_host = Default::default();
    let analysis = analyse([record(Test::UdpStream, 64, 0, silent)].into_iter());
    let names: Vec<&Metric> = analysis.cells[0].metrics.keys().collect();
    let of_ends = [&Metric::SenderResidentBytes, &Metric::ReceiverResidentBytes];
    assert_eq!(names, [&[&Metric::SentMessagesPerS, &Metric::SenderBusyShare, &Metric::SenderRunDelayShare][..], &of_ends].concat());
    assert!(!serde_json::to_string(&analysis).unwrap().contains("NaN"));
}

#[test]
fn no_number_in_json_is_missing() {
    // serde_json writes what is no number as null; so does Option. Only fields
    // that may be absent may be null.
    let text = serde_json::to_value(analyse(study(9))).unwrap();
    fn look(value: &serde_json::Value, path: &str) {
        match value {
            serde_json::Value::Null => {
                let may = ["interval", "limit", "latency", "collinearity", "counted", "name", "roles", "datagrams", "mtu"];
                assert!(may.iter().any(|field| path.ends_with(field)) || path.contains("/hosts") || path.contains("/run"), "{path}");
            }
            serde_json::Value::Array(all) => all.iter().for_each(|value| look(value, path)),
            serde_json::Value::Object(all) => all.iter().for_each(|(key, value)| look(value, &format!("{path}/{key}"))),
            _ => (),
        }
    }
    look(&text, "");
}

#[test]
fn failed_trials_and_broken_histograms_are_told() {
    let mut failed = record(Test::TcpRr, 1, 0, measured(Test::TcpRr, 1));
    failed.outcome = Outcome::Failed { error: "connect: refused".into(), lost: false };
    let mut broken = measured(Test::TcpRr, 1);
    broken.sender.latency = Some("no histogram".into());
    let records = [failed, record(Test::TcpRr, 1, 1, broken)];
    let mut collector = Collector::new(run(vec![cell(Test::TcpRr, 1)], 9), Vec::new());
    records.iter().for_each(|record| collector.push(record));
    collector.push_warning(Warning::BadLine { line: 3, reason: "cut".into() });
    let analysis = collector.finish();
    assert_eq!((analysis.failed, analysis.trials, analysis.blocks), (1, 1, 2));
    let kinds: Vec<&Warning> = analysis.findings.iter().map(|finding| &finding.warning).collect();
    assert!(matches!(kinds[..], [Warning::TrialFailed { .. }, Warning::BadLine { line: 3, .. }, Warning::Absent(_)]));
}

#[test]
fn nagle_is_not_a_line() {
    let nagled = study(9).map(|mut record| {
        record.cell.nodelay = false;
        record
    });
    let analysis = analyse(nagled);
    let tcp = analysis.models().iter().find(|model| model.series.to_string() == "TCP_STREAM (nagle)").unwrap();
    assert!(matches!(&tcp.outcome, FitOutcome::NotALine { reason } if reason.contains("--nodelay")));
}

/// The reason why there is no model of a quantity of UDP.
fn refused(records: impl Iterator<Item = TrialRecord>, quantity: Quantity) -> Option<String> {
    let analysis = analyse(records);
    let model = analysis.models().iter().find(|model| model.series.to_string() == "UDP_STREAM" && model.quantity == quantity).unwrap();
    match &model.outcome {
        FitOutcome::NotALine { reason } => Some(reason.clone()),
        FitOutcome::Fitted(_) => None,
    }
}

#[test]
fn disturbed_trials_and_losses_leave_no_model_of_elapsed_time() {
    assert_eq!(refused(study(9), Quantity::Elapsed), None);
    let busy = |every: u32| {
        study(9).map(move |mut record| {
            let disturbed = record.block % every == 0;
            record.warnings.extend(disturbed.then_some(Warning::Contended { role: Role::Sender, share: 0.5 }));
            record
        })
    };
    let reason = refused(busy(1), Quantity::Elapsed).unwrap();
    assert!(reason.starts_with("81 of its 81 trials were disturbed"), "{reason}");
    assert!(refused(busy(2), Quantity::Elapsed).is_some());
    assert_eq!(refused(busy(3), Quantity::Elapsed), None);
    let analysis = analyse(busy(3));
    assert_eq!((analysis.disturbed.trials, analysis.disturbed.waited, analysis.disturbed.stolen), (60, 60, 0));

    let lossy = || {
        study(9).map(|mut record| {
            if let (Outcome::Measured(trial), 64) = (&mut record.outcome, record.cell.size.get()) {
                trial.receiver.total.messages = 49_000;
            }
            record
        })
    };
    let reason = refused(lossy(), Quantity::Elapsed).unwrap();
    assert!(reason.contains("2.0 % of those of 64 B") && reason.contains("sender"), "{reason}");
    assert!(refused(study(5), Quantity::SenderCpu).unwrap().contains("a model needs 6 blocks; this run has 5"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A damaged record may hold any numbers.
    #[test]
    fn no_numbers_make_it_panic(n in any::<[u64; 24]>(), block in any::<u32>(), test in 0usize..5, isolated in any::<bool>()) {
        let test = Test::ALL[test];
        let mut wild = measured(test, 64);
        wild.isolated = isolated;
        for (end, at) in [(&mut wild.sender, 0), (&mut wild.receiver, 6)] {
            (end.counts.messages, end.counts.bytes, end.total.messages, end.total.lost) = (n[at], n[at + 1], n[at + 2], n[at + 3]);
            (end.total.late, end.window.end, end.cpu_time.process) = (n[at + 4], Nanos::new(n[at + 5]), Nanos::new(n[at]));
            (end.total.sent, end.total.received, end.cpu_time.irq) = (n[at + 1], n[at + 2], Some(Nanos::new(n[at + 3])));
        }
        for (host, at) in [(&mut wild.sender_host, 12), (&mut wild.receiver_host, 18)] {
            (host.udp.out_datagrams, host.udp.in_datagrams, host.udp.rcvbuf_errors) = (n[at], n[at + 1], n[at + 2]);
            (host.link.tx_dropped, host.link.rx_dropped, host.ip.reasm_fails) = (n[at + 3], n[at + 4], n[at + 5]);
        }
        let records = [record(test, 64, block, wild.clone()), record(test, 64, u32::MAX, wild)];
        let _ = crate::audit::warnings(&records[0], 1.0, &testkit::made::plan("test", Vec::new()));
        let analysis = analyse(records.into_iter());
        prop_assert!(analysis.cells[0].metrics.values().all(|estimate| estimate.value.is_finite()));
    }
}

/// Not timed in CI: run with `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "a speed figure, for people"]
fn a_hundred_thousand_trials() {
    let records: Vec<TrialRecord> = study(5).collect();
    let mut collector = Collector::new(run(records.iter().take(20).map(|record| record.cell.clone()).collect(), 5000), Vec::new());
    let start = std::time::Instant::now();
    for block in 0..5000u32 {
        for record in &records[(block % 5) as usize * 20..][..20] {
            let mut record = record.clone();
            (record.block, record.swapped) = (block, block % 2 == 1);
            collector.push(&record);
        }
    }
    let pushed = start.elapsed();
    let analysis = collector.finish();
    eprintln!("{} trials: pushed in {pushed:?}, all in {:?}", analysis.trials, start.elapsed());
}
