use model::plan::Level;
use model::woven::{Reading, Slice, SliceEnd};
use model::{Api, Bytes, Nanos, Test, TrialRecord};

use super::lines::{Gap, at_most, middle};
use super::{Cheapest, WayDoubt, WaySeries};
use crate::Collector;
use crate::testing::{cell, generator, measured, normal, record, run};
use crate::verdict::Shape;

const SIZES: [u64; 6] = [1, 64, 512, 1_024, 4_096, 16_384];

/// Ways with a cost a message and a cost a byte, in ns, over blocks with 1 % of noise.
fn series(ways: &[(Api, f64, f64)], blocks: u32) -> WaySeries {
    series_by_roles(ways, blocks, 1.0)
}

/// The same where messages cost `swapped` times as much with the hosts' roles exchanged.
fn series_by_roles(ways: &[(Api, f64, f64)], blocks: u32, swapped: f64) -> WaySeries {
    let lines: Vec<_> = ways.iter().map(|(api, message, byte)| (*api, move |size: u64| message + byte * size as f64)).collect();
    let costs: Vec<(Api, Cost)> = lines.iter().map(|(api, line)| (*api, line as Cost)).collect();
    series_of(&costs, blocks, swapped, 5)
}

/// Cost of a message by its size, in ns.
type Cost<'a> = &'a dyn Fn(u64) -> f64;

/// Ways with a cost for each size, otherwise the same.
fn series_of(ways: &[(Api, Cost)], blocks: u32, swapped: f64, seed: u64) -> WaySeries {
    let of = |api: Api, size: u64| cell(Test::UdpStream, size).with(&[Level::Api(api.into())]).unwrap();
    let cells = ways.iter().flat_map(|(api, _)| SIZES.map(|size| of(*api, size))).collect();
    let mut collector = Collector::new(run(cells, blocks), Vec::new());
    let mut random = generator(seed);
    for block in 0..blocks {
        for ((api, cost), size) in ways.iter().flat_map(|way| SIZES.map(|size| (way, size))) {
            let mut trial = measured(Test::UdpStream, size);
            let exchanged = block % 2 == 1;
            let cost = cost(size) * (0.01 * normal(&mut random)).exp() * if exchanged { swapped } else { 1.0 };
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
    let [change] = &crossing.changes[..] else { panic!("{crossing:?}") };
    let (size, interval) = (&change.size, change.size.interval.unwrap());
    assert_eq!((change.above, change.between), (0, [512, 4_096].map(Bytes::new)), "above it plain send is the cheaper one");
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

/// A woven study of `send`, of the ways with their share of its cost, and of `uring-sqpoll` at 0.9 of it in turn, whose
/// machine's speed wanders by a factor of four from round to round and from trial to trial.
fn woven(ways: &[(Api, f64)], instances: u32) -> WaySeries {
    woven_by(ways, instances, |_, _| 1.0)
}

/// The same, whose ways cost another share from instance to instance.
fn woven_by(ways: &[(Api, f64)], instances: u32, moved: impl Fn(Api, u32) -> f64) -> WaySeries {
    let of = |api: Api| cell(Test::UdpStream, 64).with(&[Level::Api(api.into())]).unwrap();
    let shares: Vec<(Api, f64)> = [(Api::Send, 1.0)].iter().chain(ways).chain(&[(Api::UringSqpoll, 0.9)]).copied().collect();
    let mut run = run(shares.iter().map(|(api, _)| of(*api)).collect(), instances);
    run.plan.woven = true;
    let (groups, mut random) = (run.plan.groups(), generator(9));
    assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), shares.len() + groups.len() - 1);
    let mut collector = Collector::new(run, Vec::new());
    let mut speed = || 2.0_f64.powf(normal(&mut random).clamp(-1.0, 1.0));
    for (instance, (place, group)) in (0..instances).flat_map(|instance| groups.iter().enumerate().map(move |group| (instance, group))) {
        let mut spent = vec![0.0; group.members.len()];
        let mut slices = Vec::new();
        for round in 0..12 {
            let now = speed();
            for (arm, member) in group.members.iter().enumerate() {
                let (api, share) = shares[member.cell];
                let cost = 1_000.0 * share * moved(api, instance) * now;
                spent[arm] += cost / 12.0;
                let whole = |cpu: f64| Reading {
                    time: Nanos::from_millis(10),
                    cpu: Nanos::new(cpu as u64),
                    messages: 1_000,
                    bytes: 64_000,
                    ..Reading::default()
                };
                let [sender, receiver] = [1_000.0 * cost, 0.0].map(|cpu| SliceEnd { whole: whole(cpu), ..SliceEnd::default() });
                slices.push(Slice { arm: arm as u32, round, sender, receiver, ..Slice::default() });
            }
        }
        if group.in_turn.is_none() {
            collector.push_slices(place, instance, &slices);
        }
        for (member, cost) in group.members.iter().zip(spent) {
            let mut trial = measured(Test::UdpStream, 64);
            trial.slices = if group.in_turn.is_none() { 11 } else { 0 };
            (trial.sender.cpu_time.process, trial.receiver.cpu_time.process) =
                (Nanos::new((cost * trial.sender.counts.messages as f64) as u64), Nanos::default());
            let (cell, swapped, group) = (of(shares[member.cell].0), instance % 2 == 1, Some(place as u32));
            collector.push(&TrialRecord { cell, swapped, group, ..record(Test::UdpStream, 64, instance, trial) });
        }
    }
    collector.finish().ways().cloned().expect("a study of ways").series.remove(0)
}

#[test]
fn woven_ways_are_known_by_their_rounds_whatever_the_machine_does() {
    let ways = [(Api::Sendto, 1.2), (Api::Sendmsg, 1.0), (Api::Sendmmsg, 0.8), (Api::Uring, 0.85), (Api::Gso, 0.1)];
    let many = [(Api::Zerocopy, 1.5), (Api::Sendfile, 1.1), (Api::Splice, 1.4), (Api::Raw, 0.95)];
    let found = woven(&[&ways[..], &many].concat(), 10);
    assert!(found.woven);
    for (api, share) in ways.iter().chain(&many).chain(&[(Api::UringSqpoll, 0.9)]) {
        let way = found.ways.iter().find(|way| way.api == *api).unwrap();
        let ratio = way.of_base[0].unwrap();
        let interval = ratio.interval.unwrap();
        assert!((ratio.value / share - 1.0).abs() < 0.002 && interval.high / interval.low < 1.004, "{api}: {ratio:?}");
        assert_eq!((ratio.n, interval.method, way.in_turn.is_some()), (10, stats::estimate::Method::Instances, *api == Api::UringSqpoll));
        // The level wanders, and the cost is that of the base times the share.
        let [cost, base] = [way, &found.ways[0]].map(|way| way.cost_ns[0].unwrap());
        assert!((cost.value / base.value / share - 1.0).abs() < 0.002 && base.interval.unwrap().high > 1.05 * base.interval.unwrap().low);
    }
    let gso = found.ways.iter().position(|way| way.api == Api::Gso);
    assert_eq!(found.cheapest[0], Some(Cheapest { way: gso.unwrap(), ties: Vec::new() }));
}

#[test]
fn a_share_that_differs_between_instances_is_in_doubt() {
    let ways = [(Api::Sendto, 1.2), (Api::Sendmsg, 1.0), (Api::Sendmmsg, 0.8)];
    let found = woven_by(&ways, 12, |api, instance| if api == Api::Sendmsg { 1.0 + 0.2 * f64::from(instance % 3) } else { 1.0 });
    let place = found.ways.iter().position(|way| way.api == Api::Sendmsg).unwrap();
    assert!(
        matches!(&found.doubts[..], [WayDoubt { shape: Shape::InstancesDiffer { ratio }, way, size: 0, p }]
        if *way == place && *ratio > 10.0 && *p <= 0.01),
        "{:?}",
        found.doubts
    );
    assert_eq!(woven(&ways, 12).doubts, []);
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
    assert_eq!((&found.crossings[0].cheaper, &found.crossings[0].changes), (&vec![Some(0); 6], &Vec::new()));
}

#[test]
fn equal_ways_are_ties_and_cross_nowhere() {
    let found = series(&[(Api::Send, 1_000.0, 0.2), (Api::Sendmsg, 1_000.0, 0.2)], 12);
    let ties = found.cheapest.iter().flatten().filter(|cheapest| cheapest.ties.len() == 1).count();
    assert!(ties >= 4, "{:?}", found.cheapest);
    let crossing = &found.crossings[0];
    assert_eq!((&crossing.cheaper, &crossing.changes), (&vec![None; 6], &Vec::new()));
    assert!(0.0 < crossing.at_most.unwrap() && crossing.at_most.unwrap() < 0.03, "{crossing:?}");
}

/// Share of studies of two equal ways in which any size tells them apart, over cases of blocks and of what
/// the hosts' roles change.
#[test]
fn equal_ways_are_seldom_told_apart() {
    const STUDIES: u32 = if cfg!(debug_assertions) { 40 } else { 1_000 };
    let equal: [(Api, Cost); 2] = [(Api::Send, &|_| 1_000.0), (Api::Sendmsg, &|_| 1_000.0)];
    for (blocks, swapped) in [(6, 1.3), (9, 1.3), (12, 1.0), (12, 1.3), (30, 1.3)] {
        let tells = |seed: &u32| series_of(&equal, blocks, swapped, u64::from(*seed)).crossings[0].cheaper.iter().any(Option::is_some);
        let share = (0..STUDIES).filter(tells).count() as f64 / f64::from(STUDIES);
        eprintln!("equal ways told apart, {blocks} blocks, roles {swapped}: {share:.3}");
        // 5 % at most, and what the simulation can tell.
        assert!(share <= 0.05 + 3.0 * (0.05 * 0.95 / f64::from(STUDIES)).sqrt(), "{blocks} blocks, roles {swapped}: {share}");
    }
}

#[test]
fn sizes_that_tell_nothing_hide_no_crossing() {
    let send: (Api, Cost) = (Api::Send, &|_| 1_000.0);
    // Equal at the two largest sizes, where draws cross by chance.
    let found = series_of(&[send, (Api::Sendmmsg, &|size| if size > 1_024 { 1_000.0 } else { 800.0 })], 20, 1.0, 5);
    let crossing = &found.crossings[0];
    assert_eq!((&crossing.cheaper[..4], &crossing.changes), (&[Some(1); 4][..], &Vec::new()));
    // Equal at the sizes between.
    let steps = |size: u64| match size {
        ..512 => 800.0,
        512..16_384 => 1_000.0,
        _ => 1_200.0,
    };
    let found = series_of(&[send, (Api::Sendmmsg, &steps)], 20, 1.0, 5);
    let [change] = &found.crossings[0].changes[..] else { panic!("{:?}", found.crossings) };
    let interval = change.size.interval.unwrap();
    assert!(change.above == 0 && 64.0 < interval.low && interval.high < 16_384.0, "{change:?}");
}

#[test]
fn ways_may_cross_more_than_once() {
    let wave = |size: u64| if size == 512 { 1_200.0 } else { 800.0 };
    let found = series_of(&[(Api::Send, &|_| 1_000.0), (Api::Sendmmsg, &wave)], 12, 1.0, 5);
    let above: Vec<usize> = found.crossings[0].changes.iter().map(|change| change.above).collect();
    assert_eq!(above, [0, 1]);
}

#[test]
fn too_few_blocks_tell_nothing() {
    let found = series(&[(Api::Send, 1_000.0, 0.2), (Api::Sendmmsg, 800.0, 0.4)], 4);
    let crossing = &found.crossings[0];
    assert_eq!((crossing.at_most, &crossing.cheaper, &crossing.changes), (None, &Vec::new(), &Vec::new()));
    assert!(found.cheapest.iter().flatten().all(|cheapest| cheapest.ties.len() == 1), "{:?}", found.cheapest);
}

#[test]
fn what_was_measured_in_one_role_is_compared_with_nothing() {
    let of = |api: Api, size: u64| cell(Test::UdpStream, size).with(&[Level::Api(api.into())]).unwrap();
    let cells = [(Api::Send, 64), (Api::Sendmsg, 64), (Api::Sendmmsg, 64), (Api::Send, 512), (Api::Sendmsg, 512)];
    let mut collector = Collector::new(run(cells.map(|(api, size)| of(api, size)).to_vec(), 12), Vec::new());
    for ((api, size), block) in cells.into_iter().flat_map(|cell| (0..12).map(move |block| (cell, block))) {
        let swapped = block % 2 == 1;
        if !(swapped && (api == Api::Sendmmsg || size == 512)) {
            let trial = record(Test::UdpStream, size, block, measured(Test::UdpStream, size));
            collector.push(&TrialRecord { cell: of(api, size), swapped, ..trial });
        }
    }
    let study = collector.finish().ways().cloned().expect("a study of ways");
    assert_eq!(study.series[0].sizes, [Bytes::new(64)], "a size without any cost is none of the series");
    let known: Vec<bool> = study.series[0].ways.iter().map(|way| way.cost_ns[0].is_some()).collect();
    assert_eq!(known, [true, true, false]);
}

#[test]
fn a_plan_of_one_way_has_no_such_study() {
    let cells = SIZES.map(|size| cell(Test::UdpStream, size)).to_vec();
    assert!(Collector::new(run(cells, 6), Vec::new()).finish().ways().is_none());
}

#[test]
fn a_change_lies_between_the_sizes_of_both() {
    let sizes = [1, 10, 100].map(Bytes::new);
    let change = middle(&sizes, &[1.0, 1.0, 1.0], &[2.0, 1.0, 0.5]).unwrap();
    assert!((change - 10.0).abs() < 1e-9, "{change}");
    assert_eq!(middle(&sizes, &[1.0, f64::NAN, 1.0], &[2.0, 1.0, f64::NAN]), None);
    assert_eq!(middle(&sizes, &[1.0, 2.0, 1.0], &[2.0, 1.0, 2.0]), None, "the same at both ends");
    let sizes = [1, 10, 100, 1_000].map(Bytes::new);
    let change = middle(&sizes, &[1.0, 2.0, 1.0, 2.0], &[2.0, 1.0, 2.0, 1.0]).unwrap();
    assert!((change / 1_000_f64.sqrt() - 1.0).abs() < 1e-9, "the middle one of three: {change}");
}

#[test]
fn sizes_tell_by_their_intervals_alone() {
    let gap = |ratio: f64, reach| Gap { size: 0, ratio, reach };
    let gaps = [gap(-0.2, Some(0.1)), gap(0.1, Some(0.1)), gap(0.3, Some(0.1)), gap(0.3, None)];
    assert_eq!(gaps.map(|gap| gap.cheaper()), [Some(0), None, Some(1), None]);
    assert!((at_most(&gaps).unwrap() - 0.2_f64.exp_m1()).abs() < 1e-12);
    assert_eq!(at_most(&gaps[..1]), None, "all tell");
    assert_eq!(at_most(&[gap(800.0, Some(900.0))]), None, "no number that is none");
}
