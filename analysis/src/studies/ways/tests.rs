use model::plan::Level;
use model::{Api, Bytes, Nanos, Test, TrialRecord};

use super::crossing::{Change, crossings};
use super::{Cheapest, WaySeries, Where};
use crate::Collector;
use crate::testing::{cell, generator, measured, normal, record, run};

const SIZES: [u64; 6] = [1, 64, 512, 1_024, 4_096, 16_384];

/// Ways with a cost a message and a cost a byte, in ns, over blocks with 1 % of noise.
fn series(ways: &[(Api, f64, f64)], blocks: u32) -> WaySeries {
    series_by_roles(ways, blocks, 1.0)
}

/// The same where messages cost `swapped` times as much with the hosts' roles exchanged.
fn series_by_roles(ways: &[(Api, f64, f64)], blocks: u32, swapped: f64) -> WaySeries {
    let of = |api: Api, size: u64| cell(Test::UdpStream, size).with(&[Level::Api(api.into())]).unwrap();
    let cells = ways.iter().flat_map(|(api, ..)| SIZES.map(|size| of(*api, size))).collect();
    let mut collector = Collector::new(run(cells, blocks), Vec::new());
    let mut random = generator(5);
    for block in 0..blocks {
        for ((api, message, byte), size) in ways.iter().flat_map(|way| SIZES.map(|size| (way, size))) {
            let mut trial = measured(Test::UdpStream, size);
            let exchanged = block % 2 == 1;
            let cost = (message + byte * size as f64) * (0.01 * normal(&mut random)).exp() * if exchanged { swapped } else { 1.0 };
            let spent = Nanos::new((cost * trial.sender.counts.messages as f64) as u64);
            (trial.sender.cpu_time.process, trial.receiver.cpu_time.process) = (spent, Nanos::default());
            collector.push(&TrialRecord { cell: of(*api, size), swapped: exchanged, ..record(Test::UdpStream, size, block, trial) });
        }
    }
    let study = collector.finish().ways().cloned().expect("a study of ways");
    study.series.into_iter().next().unwrap()
}

#[test]
fn a_crossing_is_found_where_it_is() {
    // The same at 1,000 bytes.
    let found = series(&[(Api::Send, 1_000.0, 0.2), (Api::Sendmmsg, 800.0, 0.4)], 20);
    assert_eq!((found.ways[0].api, found.ways[1].api), (Api::Send, Api::Sendmmsg));
    let [crossing] = &found.crossings[..] else { panic!("{found:?}") };
    let Where::At { size, above } = &crossing.place else { panic!("{crossing:?}") };
    let interval = size.interval.unwrap();
    assert_eq!(*above, 0, "above it plain send is the cheaper one");
    assert!(interval.low < 1_000.0 && 1_000.0 < interval.high && interval.high < 1.5 * interval.low, "{size:?}");
    assert_eq!(found.cheapest[0], Some(Cheapest { way: 1, ties: Vec::new() }));
    assert_eq!(found.cheapest[5], Some(Cheapest { way: 0, ties: Vec::new() }));
    let line = found.ways[1].line.unwrap();
    for (estimate, truth) in [(line.message_of_base, 0.8), (line.byte_of_base, 2.0)] {
        let interval = estimate.interval.unwrap();
        assert!(interval.low < truth && truth < interval.high && interval.high < 1.1 * interval.low, "{line:?}");
    }
    let ratio = found.ways[1].of_base[0].unwrap();
    assert!((ratio.value - 0.8).abs() < 0.02 && ratio.interval.is_some(), "{ratio:?}");
}

#[test]
fn costs_that_the_roles_of_the_hosts_change_are_told_as_exactly() {
    let found = series_by_roles(&[(Api::Send, 1_000.0, 0.2), (Api::Sendmmsg, 800.0, 0.4)], 20, 1.3);
    let cost = found.ways[0].cost_ns[0].unwrap();
    assert!((cost.value / (1_000.2 * 1.15) - 1.0).abs() < 0.01, "the mean of both: {cost:?}");
    for ratio in found.ways[1].of_base.iter().flatten() {
        let interval = ratio.interval.unwrap();
        assert!(interval.high < 1.03 * interval.low, "{ratio:?}");
    }
}

#[test]
fn waits_stand_next_to_the_costs() {
    // 50,000 messages in 150 ms, and 500 wake-ups.
    let found = series(&[(Api::Send, 1_000.0, 0.2), (Api::Sendmmsg, 800.0, 0.4)], 12);
    assert!(found.ways.iter().flat_map(|way| &way.wakeups).all(|wakeups| wakeups.unwrap().value == 0.01), "{:?}", found.ways);
    assert_eq!(found.ways[0].batch_fills_ns, [None; 6], "a call a message has none");
    assert_eq!(found.ways[1].batch, 32);
    let waits: Vec<f64> = found.ways[1].batch_fills_ns.iter().flatten().map(|wait| wait.value).collect();
    assert_eq!(waits, [31.0 * 3_000.0; 6]);
}

#[test]
fn ways_that_do_not_cross_are_said_not_to() {
    let found = series(&[(Api::Sendmsg, 1_000.0, 0.2), (Api::Send, 900.0, 0.2)], 12);
    assert_eq!(found.ways[0].api, Api::Send, "the base comes first");
    assert_eq!(found.crossings[0].place, Where::Nowhere { cheaper: 0 });
}

#[test]
fn equal_ways_are_ties_and_show_no_crossing() {
    let found = series(&[(Api::Send, 1_000.0, 0.2), (Api::Sendmsg, 1_000.0, 0.2)], 12);
    let ties = found.cheapest.iter().flatten().filter(|cheapest| cheapest.ties.len() == 1).count();
    assert!(ties >= 4, "{:?}", found.cheapest);
    if let Where::At { size, .. } = &found.crossings[0].place {
        assert!(size.interval.is_none(), "{size:?}");
    }
}

#[test]
fn a_plan_of_one_way_has_no_such_study() {
    let cells = SIZES.map(|size| cell(Test::UdpStream, size)).to_vec();
    assert!(Collector::new(run(cells, 6), Vec::new()).finish().ways().is_none());
}

#[test]
fn changes_lie_between_the_sizes_of_both() {
    let sizes = [1, 10, 100].map(Bytes::new);
    let [change] = crossings(&sizes, &[1.0, 1.0, 1.0], &[2.0, 1.0, 0.5]).unwrap()[..] else { panic!("one change") };
    assert!((change.at - 10.0).abs() < 1e-9 && !change.first_above, "{change:?}");
    assert_eq!(crossings(&sizes, &[1.0, f64::NAN, 1.0], &[2.0, 1.0, f64::NAN]), None);
    let several: Vec<Change> = crossings(&sizes, &[1.0, 2.0, 1.0], &[2.0, 1.0, 2.0]).unwrap();
    assert_eq!(several.iter().map(|change| change.first_above).collect::<Vec<_>>(), [false, true]);
}
