//! Rates with a known truth.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use model::end::Schedule;
use model::{Cell, OfferedRate, Pacing, Test, TrialRecord};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use rand::RngExt;

use crate::figures::Figures;
use crate::latency::Times;
use crate::metric::{Metric, Source};
use crate::studies::open_loop::{Claim, OpenLoopStudy, Saturation};
use crate::testing::{analyse, cell, generator, measured, normal, record};
use crate::verdict::{Conclusion, Options, Sides, Verdict, compare_sides};

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
        unsent: Some(intended - sent),
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
    // At 80,000/s three in eight were never sent: the curve ends at the median, which
    // waited 15 ms, and the one of the others does not.
    let last = &series.rates[4];
    let [corrected, uncorrected] = [&last.corrected, &last.uncorrected].map(|curve| *curve.last().unwrap());
    assert!(corrected[0] == 50.0 && (corrected[1] / 15e6 - 1.0).abs() < 0.02, "{corrected:?}");
    assert!(uncorrected[0] == 100.0 && uncorrected[1] < 25_000.0, "{uncorrected:?}");
    assert_eq!(study.variants().count(), 5);
}

/// A queue with one server, first come first served: what its requests truly take
/// when all are answered, and what a trial of `length` ns with a tail of 4 ms sees.
struct Queue {
    truth: Vec<u64>,
    seen: Vec<u64>,
    unsent: u64,
}

/// Gaps and services are `gap` and `service` ns on average, exact or exponential;
/// `lost` is the share of answers that never come.
fn queue(gap: f64, service: f64, random: bool, lost: f64, length: f64, seed: u64) -> Queue {
    let mut generator = generator(seed);
    let mut draw = |mean: f64| if random { -mean * (1.0 - generator.random::<f64>()).ln() } else { mean };
    let mut queue = Queue { truth: Vec::new(), seen: Vec::new(), unsent: 0 };
    let (mut due, mut free) = (0.0_f64, 0.0_f64);
    while due < length {
        let begin = due.max(free);
        free = begin + draw(service);
        // An answer that never comes takes for ever.
        let is_lost = lost > 0.0 && (queue.truth.len() as f64 * lost).fract() + lost >= 1.0;
        queue.truth.push(if is_lost { u64::MAX } else { (free - due) as u64 });
        match begin < length + 4e6 {
            true if is_lost => {}
            true => queue.seen.push((free - due) as u64),
            false => queue.unsent += 1,
        }
        due += draw(gap);
    }
    queue
}

fn of_queue(queue: &Queue, block: u32) -> TrialRecord {
    let mut trial = measured(Test::UdpRr, 64);
    let intended = queue.truth.len() as u64;
    trial.sender.latency = Some(encoded(queue.seen.iter().copied()));
    trial.sender.schedule = Some(Schedule { intended, unsent: Some(queue.unsent), ..Schedule::default() });
    let cell = Cell { rate: Some(OfferedRate::Messages(1)), ..cell(Test::UdpRr, 64) };
    TrialRecord { cell, ..record(Test::UdpRr, 64, block, trial) }
}

#[test]
fn percentiles_are_those_of_the_exact_queue_or_lower_bounds() {
    const SERVICE: f64 = 20_000.0;
    let mut bounds = 0;
    for load in [0.5, 0.9, 1.0, 1.1, 1.5, 3.0] {
        for (random, lost) in [(false, 0.0), (true, 0.0), (false, 0.02), (true, 0.002)] {
            let what = format!("load {load}, random {random}, lost {lost}");
            let queues: Vec<Queue> = (0..9).map(|block| queue(SERVICE / load, SERVICE, random, lost, 2.5e8, block)).collect();
            let analysis = analyse(queues.iter().zip(0..).map(|(queue, block)| of_queue(queue, block)));
            let mut truth: Vec<u64> = queues.iter().flat_map(|queue| queue.truth.iter().copied()).collect();
            truth.sort_unstable();
            let latency = analysis.cells[0].latency.as_ref().unwrap();
            assert_eq!(latency.transactions + latency.missing, truth.len() as u64, "{what}");
            for found in &latency.percentiles {
                let rank = (found.percent / 100.0 * truth.len() as f64).ceil() as usize;
                let (value, exact) = (found.estimate.value, truth[rank.max(1) - 1] as f64);
                bounds += u32::from(found.at_least);
                match found.at_least {
                    true => assert!(value <= exact * 1.05, "{what}: {found:?}, truly {exact}"),
                    false => assert!((value / exact - 1.0).abs() < 0.05, "{what}: {found:?}, truly {exact}"),
                }
                assert!(!found.at_least || found.estimate.interval.is_none());
            }
            // The metric of a gate is not made of the trials that look best.
            let p99 = analysis.cells[0].metrics.get(&Metric::RoundTripP99Ns);
            let known = queues.iter().all(|queue| queue.seen.len() as f64 >= 0.99 * queue.truth.len() as f64);
            assert_eq!(p99.is_some(), known, "{what}: {p99:?}");
        }
    }
    assert!((20..80).contains(&bounds), "some are known and some are not: {bounds}");
    // At 1.5 times the capacity a third of the schedule is missing.
    let overloaded = queue(SERVICE / 1.5, SERVICE, false, 0.0, 2.5e8, 0);
    let latency = analyse(std::iter::once(of_queue(&overloaded, 0))).cells[0].latency.clone().unwrap();
    let flags: Vec<bool> = latency.percentiles.iter().map(|found| found.at_least).collect();
    assert_eq!(flags, [false, true, true, true]);
    assert!((latency.missing as f64 / overloaded.truth.len() as f64 - 0.33).abs() < 0.02);
}

/// The rows of trials of a queue at `load`, in 20 blocks.
fn rows(load: f64, lost: f64) -> Vec<Figures> {
    let row = |block| {
        let record = of_queue(&queue(20_000.0 / load, 20_000.0, true, lost, 2.5e8, block), block as u32);
        let measured = record.measured().unwrap();
        let (times, unreadable) = Times::of_trial(measured, Test::UdpRr);
        assert!(unreadable.is_none());
        Figures::new(&record, &Source { measured, cell: &record.cell, link: None, round_trips: times.round_trips.as_ref() })
    };
    (0..20).map(row).collect()
}

#[test]
fn a_percentile_that_is_not_known_is_no_equivalence() {
    let p99 = |baseline: &[Figures], candidate: &[Figures]| {
        let sides = Sides { cells: vec![[vec![baseline], vec![candidate]]], offered: vec![true], ..Sides::default() };
        let compared = compare_sides(&[sides], &[], &[Metric::RoundTripP99Ns], &Options::default()).remove(0);
        let found = compared.metrics.iter().find(|one| one.metric == Metric::RoundTripP99Ns).map(|one| one.comparison.cells[0].verdict);
        (found, compared.conclusion)
    };
    let (idle, beyond, lossy) = (rows(0.3, 0.0), rows(1.5, 0.0), rows(0.3, 0.02));
    let known = p99(&idle, &rows(0.9, 0.0));
    assert_eq!(known, (Some(Verdict::Worse), Conclusion::Against));
    // Of every trial alike, of one side, and of the other.
    for (baseline, candidate) in [(&beyond, &beyond), (&idle, &lossy), (&lossy, &idle)] {
        let (found, conclusion) = p99(baseline, candidate);
        assert!(matches!(found, Some(Verdict::NotEnoughBlocks { blocks: 0, .. })), "{found:?}");
        assert_eq!(conclusion, Conclusion::Inconclusive);
    }
    // In one trial of twenty: the others would look too good.
    let mut once = idle.clone();
    once[7] = lossy[7].clone();
    assert!(matches!(p99(&idle, &once).0, Some(Verdict::NotEnoughBlocks { blocks: 0, .. })));
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
            // What is missing has no place in the one, and none to take in the other.
            let pairs = rate.corrected.iter().zip(&rate.uncorrected);
            prop_assert!(pairs.into_iter().all(|(corrected, uncorrected)| corrected[1] >= uncorrected[1] * 0.99));
        }
        if let (Some(reached), Some(missed)) = (saturation.reached_per_s, saturation.missed_per_s) {
            prop_assert!(reached < missed);
        }
    }
}

/// What is claimed of rates of 1, 2 and so on, each reached, missed or not measured.
#[test]
fn saturation_is_claimed_where_a_rate_was_missed() {
    let (yes, no) = (Some(true), Some(false));
    let rows = [
        (vec![yes], Claim::One { rate: 1.0 }),
        (vec![no], Claim::NoneReached { smallest: 1.0 }),
        (vec![yes, yes], Claim::All { largest: 2.0 }),
        (vec![yes, no], Claim::Between { reached: 1.0, missed: 2.0 }),
        (vec![yes, None], Claim::Up { reached: 1.0 }),
        (vec![None, no], Claim::Missed { rate: 2.0 }),
        (vec![None, None], Claim::Nothing),
    ];
    for (reached, claim) in rows {
        let rate = |place: Option<usize>| place.map(|place| place as f64 + 1.0);
        let kept = reached.iter().take_while(|reached| **reached == yes).count().checked_sub(1);
        let missed = reached.iter().position(|reached| *reached == no);
        let found = Saturation { reached_per_s: rate(kept), missed_per_s: rate(missed), most_sent_per_s: None };
        assert_eq!(found.claim(&reached), claim, "{reached:?}");
    }
}
