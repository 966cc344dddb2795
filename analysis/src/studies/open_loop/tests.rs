//! Rates with a known truth.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use model::end::Schedule;
use model::{Cell, OfferedRate, Pacing, Test, TrialRecord};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use crate::studies::open_loop::OpenLoopStudy;
use crate::testing::{analyse, cell, generator, measured, normal, record};

fn encoded(times: impl Iterator<Item = u64>) -> String {
    let mut histogram: Histogram<u64> = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    times.for_each(|time| histogram.record(time.max(1)).unwrap());
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    STANDARD.encode(bytes)
}

/// Requests of 64 B to a server that takes 20 µs for each, one after the other, for
/// 50 ms: what was offered beyond 50,000/s queues up.
fn trial(rate: u64, pacing: Pacing, block: u32) -> TrialRecord {
    let mut random = generator(u64::from(block) << 32 | rate);
    let cell = Cell { rate: Some(OfferedRate::Messages(rate)), pacing, ..cell(Test::TcpRr, 64) };
    let (gap, length) = (1e9 / rate as f64, 5e7);
    let intended = (length / gap) as u64;
    let (mut free, mut corrected, mut uncorrected, mut late, mut sent) = (0.0_f64, Vec::new(), Vec::new(), Vec::new(), 0);
    for request in 0..intended {
        let due = request as f64 * gap;
        let begin = due.max(free);
        if begin > length {
            break;
        }
        free = begin + 20_000.0 + 200.0 * normal(&mut random);
        sent += 1;
        corrected.push((free - due) as u64);
        uncorrected.push((free - begin) as u64);
        late.push((begin - due) as u64);
    }
    let mut trial = measured(Test::TcpRr, 64);
    trial.sender.counts.messages = sent;
    trial.sender.window.end = trial.sender.window.start + model::Nanos::new(length as u64);
    trial.sender.latency = Some(encoded(corrected.into_iter()));
    trial.sender.schedule = Some(Schedule {
        intended,
        behind: intended - sent,
        lateness: Some(encoded(late.into_iter())),
        uncorrected: Some(encoded(uncorrected.into_iter())),
    });
    TrialRecord { cell, ..record(Test::TcpRr, 64, block, trial) }
}

fn study(rates: &[u64], blocks: u32) -> OpenLoopStudy {
    let trials = (0..blocks).flat_map(|block| rates.iter().map(move |rate| trial(*rate, Pacing::Spin, block)));
    analyse(trials).open_loop().unwrap().clone()
}

#[test]
fn saturation_and_the_knee_are_found_and_nothing_is_lowered() {
    // In any order of the plan.
    let study = study(&[80_000, 10_000, 45_000, 60_000, 20_000], 9);
    let series = &study.series[0];
    assert_eq!((study.series.len(), series.series.as_str(), series.closed), (1, "TCP_RR (nodelay, spin)", None));
    let offered: Vec<f64> = series.rates.iter().map(|rate| rate.offered_per_s).collect();
    assert_eq!(offered, [10_000.0, 20_000.0, 45_000.0, 60_000.0, 80_000.0]);
    let reached: Vec<Option<bool>> = series.rates.iter().map(|rate| rate.reached).collect();
    assert_eq!(reached, [Some(true), Some(true), Some(true), Some(false), Some(false)]);
    let saturation = series.saturation;
    assert_eq!((saturation.reached_per_s, saturation.missed_per_s), (Some(45_000.0), Some(60_000.0)));
    assert!((saturation.most_sent_per_s.unwrap().value / 50_000.0 - 1.0).abs() < 0.01, "{saturation:?}");
    assert_eq!(series.knee_per_s, Some(60_000.0));
    let behind = series.rates[4].behind.unwrap().value;
    assert!((behind - 3.0 / 8.0).abs() < 0.01, "{behind}");
    // Of all trials together: at 80,000/s the last of 50 ms waited 19 ms.
    let last = &series.rates[4];
    let [corrected, uncorrected] = [&last.corrected, &last.uncorrected].map(|curve| curve.last().unwrap()[1]);
    assert!((corrected / 18.75e6 - 1.0).abs() < 0.1 && uncorrected < 25_000.0, "{corrected} {uncorrected}");
    assert_eq!(study.variants().count(), 5);
}

#[test]
fn a_closed_loop_and_ways_of_pacing_have_their_places() {
    let closed =
        (0..6).map(|block| TrialRecord { cell: cell(Test::TcpRr, 64), ..record(Test::TcpRr, 64, block, measured(Test::TcpRr, 64)) });
    let open = (0..6).flat_map(|block| [Pacing::Sleep, Pacing::Spin].map(|pacing| trial(10_000, pacing, block)));
    let analysis = analyse(closed.chain(open));
    let study = analysis.open_loop().unwrap().clone();
    assert_eq!(
        study.series.iter().map(|series| (series.pacing, series.closed)).collect::<Vec<_>>(),
        [(Pacing::Sleep, Some(0)), (Pacing::Spin, Some(0))]
    );
    assert_eq!(study.series[0].knee_per_s, None);
    assert_eq!(study.variants().count(), 0, "one rate is a cell like any other");
    assert!(analyse(std::iter::once(record(Test::TcpRr, 1, 0, measured(Test::TcpRr, 1)))).open_loop().is_none());
}

#[test]
fn with_too_few_blocks_no_knee_is_shown() {
    let study = study(&[10_000, 80_000], 4);
    assert_eq!((study.series[0].knee_per_s, study.series[0].saturation.missed_per_s), (None, Some(80_000.0)));
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]
    #[test]
    fn what_was_reached_lies_below_what_was_missed(rates in proptest::collection::btree_set(1u64..100, 1..5)) {
        let rates: Vec<u64> = rates.into_iter().map(|rate| rate * 1_000).collect();
        let study = study(&rates, 2);
        let saturation = study.series[0].saturation;
        for rate in &study.series[0].rates {
            prop_assert_eq!(rate.reached, Some(rate.offered_per_s <= 50_500.0), "{:?}", rate);
            prop_assert!(rate.corrected.windows(2).all(|pair| pair[0][1] <= pair[1][1]));
            let pairs = rate.corrected.iter().zip(&rate.uncorrected);
            prop_assert!(pairs.into_iter().all(|(corrected, uncorrected)| corrected[1] >= uncorrected[1] * 0.99));
        }
        if let (Some(reached), Some(missed)) = (saturation.reached_per_s, saturation.missed_per_s) {
            prop_assert!(reached < missed);
        }
    }
}
