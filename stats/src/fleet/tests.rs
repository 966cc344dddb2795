//! Fleets whose truth is known.

use proptest::prelude::{prop_assert, proptest};
use rand_chacha::ChaCha8Rng;

use super::{Design, Effort, FleetEstimate, Question, fit, foresee, judge, rounds, usual_rounds};
use crate::noise::{generator, normal};

const EFFORT: Effort = Effort { fleets: if cfg!(debug_assertions) { 200 } else { 1_000 }, ..Effort::usual(11) };
const QUESTION: Question = Question { level: 0.01, least: 0.05, effort: EFFORT };

/// The usual rounds of a fleet, both ways.
fn usual(hosts: usize, seed: u64) -> Design {
    let drawn = rounds(hosts, usual_rounds(hosts), seed);
    Design::new(hosts, drawn.into_iter().flatten().flat_map(|(a, b)| [(a, b), (b, a)])).unwrap()
}

/// Values of a fleet with one host that is worse as sender and as receiver.
fn values(design: &Design, [sender, receiver]: [f64; 2], noise: f64, random: &mut ChaCha8Rng) -> Vec<f64> {
    let of = |ends: &[usize; 2]| {
        if ends[0] == 0 {
            sender
        } else if ends[1] == 0 {
            receiver
        } else {
            0.0
        }
    };
    design.trials().iter().map(|ends| 3.0 + of(ends) + noise * normal(random)).collect()
}

fn named(judged: &FleetEstimate) -> Vec<usize> {
    let out = |host: &&super::HostEffect| host.both.falls_out || host.sender.falls_out || host.receiver.falls_out;
    judged.hosts.iter().filter(out).map(|host| host.host).collect()
}

fn anything(judged: &FleetEstimate) -> bool {
    !named(judged).is_empty()
        || judged.hosts.iter().any(|host| host.difference.falls_out)
        || judged.links.iter().any(|link| link.effect.falls_out)
        || judged.directions.iter().any(|one| one.effect.falls_out)
}

#[test]
fn effects_without_noise_come_back() {
    for hosts in [3, 4, 7, 20] {
        let design = usual(hosts, 1);
        let fitted = fit(&design, &values(&design, [0.2, -0.1], 0.0, &mut generator(1))).unwrap();
        assert!((fitted.sender[0] - 0.2).abs() < 1e-3 && (fitted.receiver[0] + 0.1).abs() < 1e-3, "{hosts}: {fitted:?}");
        assert!(
            fitted.sender[1..].iter().chain(&fitted.receiver[1..]).all(|effect| effect.abs() < 1e-3) && (fitted.middle - 3.0).abs() < 1e-3
        );
    }
}

#[test]
fn the_noise_is_that_of_the_trials() {
    for hosts in [4, 8, 40] {
        let (design, mut random) = (usual(hosts, 2), generator(3));
        let mean = (0..60).map(|_| fit(&design, &values(&design, [0.0; 2], 0.05, &mut random)).unwrap().noise).sum::<f64>() / 60.0;
        assert!((mean / 0.05 - 1.0).abs() < 0.1, "{hosts}: {mean}");
    }
}

#[test]
fn a_slow_host_is_named_with_its_role_and_nobody_else() {
    let (design, mut random) = (usual(12, 4), generator(5));
    for (effects, sends_well, receives_well) in [([0.16, 0.16], false, false), ([0.2, 0.0], false, true), ([0.0, 0.2], true, false)] {
        let judged = judge(&design, &values(&design, effects, 0.03, &mut random), &QUESTION).unwrap();
        let host = &judged.hosts[0];
        assert_eq!(named(&judged), [0], "{effects:?}");
        assert_eq!((host.sender.falls_out, host.receiver.falls_out), (!sends_well, !receives_well), "{host:?}");
        assert_eq!(host.difference.falls_out, effects[0] != effects[1], "{host:?}");
        let held = |effect: super::Effect, truth: f64| effect.interval[0] < truth + 0.02 && truth < effect.interval[1] + 0.02;
        assert!(held(host.sender, effects[0]) && held(host.receiver, effects[1]), "{host:?}");
    }
}

#[test]
fn a_slow_pair_is_named_and_one_disturbed_trial_is_not() {
    let (design, mut random) = (usual(40, 6), generator(7));
    let mut values = values(&design, [0.0; 2], 0.02, &mut random);
    let pair = design.trials()[0];
    for (value, ends) in values.iter_mut().zip(design.trials()) {
        if *ends == pair || *ends == [pair[1], pair[0]] {
            *value += 0.3;
        }
    }
    let elsewhere = design.trials().iter().position(|ends| !ends.iter().any(|end| pair.contains(end))).unwrap();
    values[elsewhere] += 1.0;
    let judged = judge(&design, &values, &QUESTION).unwrap();
    let links: Vec<[usize; 2]> = judged.links.iter().filter(|link| link.effect.falls_out).map(|link| link.hosts).collect();
    assert_eq!((links, named(&judged)), (vec![[pair[0].min(pair[1]), pair[0].max(pair[1])]], vec![]));
}

#[test]
fn one_direction_is_told_where_it_was_measured_more_than_once() {
    let (design, mut random) = (usual(8, 8), generator(9));
    let mut values = values(&design, [0.0; 2], 0.02, &mut random);
    let way = design.trials()[3];
    values.iter_mut().zip(design.trials()).filter(|(_, ends)| **ends == way).for_each(|(value, _)| *value += 0.3);
    let judged = judge(&design, &values, &QUESTION).unwrap();
    let ways: Vec<[usize; 2]> = judged.directions.iter().filter(|one| one.effect.falls_out).map(|one| [one.sender, one.receiver]).collect();
    assert_eq!((ways, named(&judged), judged.links.iter().any(|link| link.effect.falls_out)), (vec![way], vec![], false));
}

/// Few fleets without a fault have one named; the examples of this crate simulate more.
#[test]
fn false_names_are_rare() {
    const FLEETS: u32 = if cfg!(debug_assertions) { 20 } else { 300 };
    for hosts in [5, 8, 24] {
        let (design, mut random) = (usual(hosts, 10), generator(11));
        let falsely = (0..FLEETS).filter(|_| anything(&judge(&design, &values(&design, [0.0; 2], 0.05, &mut random), &QUESTION).unwrap()));
        let falsely = falsely.count();
        assert!(falsely as f64 <= 1.0 + 0.02 * f64::from(FLEETS), "{hosts} hosts: {falsely} of {FLEETS}");
    }
}

#[test]
fn what_is_foreseen_is_found() {
    const FLEETS: u32 = if cfg!(debug_assertions) { 30 } else { 300 };
    let (design, mut random) = (usual(24, 12), generator(13));
    let foreseen = foresee(&design, 0.05, QUESTION.level, EFFORT).unwrap();
    let found = (0..FLEETS)
        .filter(|_| named(&judge(&design, &values(&design, [foreseen.host; 2], 0.05, &mut random), &QUESTION).unwrap()).contains(&0))
        .count();
    let share = found as f64 / f64::from(FLEETS);
    assert!((0.7..=1.0).contains(&share), "{share} of effects of {}", foreseen.host);
    assert!(foreseen.host < foreseen.sender && foreseen.sender < foreseen.link, "{foreseen:?}");
}

#[test]
fn what_tells_nothing_names_nothing() {
    let two = usual(2, 1);
    let judged = judge(&two, &values(&two, [0.5, 0.5], 0.01, &mut generator(1)), &QUESTION).unwrap();
    assert!(!judged.told_apart && !anything(&judged) && foresee(&two, 0.05, 0.01, EFFORT).is_none());
    assert!(fit(&two, &[1.0]).is_none() && fit(&Design::new(3, [(0, 1), (1, 0)]).unwrap(), &[1.0, f64::NAN]).is_none());
    let equal = usual(6, 1);
    let judged = judge(&equal, &vec![4.0; equal.trials().len()], &QUESTION).unwrap();
    assert!(!anything(&judged) && judged.noise == 0.0 && judged.middle == 4.0);
}

proptest! {
    #[test]
    fn numbers_of_hosts_and_units_do_not_matter(hosts in 4usize..12, seed: u64, shift in -5.0..5.0f64, scale in 0.1..10.0f64) {
        let (design, mut random) = (usual(hosts, seed), generator(seed));
        let first = values(&design, [0.1, 0.2], 0.05, &mut random);
        let plain = fit(&design, &first).unwrap();
        let turned: Vec<(usize, usize)> = design.trials().iter().map(|ends| (hosts - 1 - ends[0], hosts - 1 - ends[1])).collect();
        let moved: Vec<f64> = first.iter().map(|value| value * scale + shift).collect();
        let other = fit(&Design::new(hosts, turned).unwrap(), &moved).unwrap();
        let near = |a: f64, b: f64| (a * scale - b).abs() < 1e-3 * scale;
        prop_assert!((0..hosts).all(|host| near(plain.sender[host], other.sender[hosts - 1 - host])), "{plain:?} {other:?}");
        prop_assert!((0..hosts).all(|host| near(plain.receiver[host], other.receiver[hosts - 1 - host])));
        prop_assert!((plain.noise * scale / other.noise - 1.0).abs() < 1e-2 && (plain.middle * scale + shift - other.middle).abs() < 1e-3 * scale);
    }
}
