//! Oracles: a published series, every order of few values, and rates by simulation.

use proptest::prelude::{prop, prop_assert_eq, proptest};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{LEAST, LEAST_IN_PART, Levels, Limits, clearest, levels, ranks};
use crate::noise::{generator, normal};

/// Share of flat series that may show a change.
const LEVEL: f64 = 0.015;

fn found(values: &[f64]) -> Levels {
    levels(values, LEVEL, &mut Limits::new(9_999)).unwrap()
}

/// Annual flow of the Nile at Aswan, 1871 to 1970, in 10^8 m³ (Cobb 1978, "The problem of the
/// Nile", table 1).
const NILE: [u32; 100] = [
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140, 1100, 1210, 1150, 1250,
    1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764,
    821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801,
    1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
];

#[test]
fn the_nile_changes_once_after_1898() {
    let found = found(&NILE.map(f64::from));
    assert_eq!(found.changes.iter().map(|change| change.before).collect::<Vec<_>>(), [28]);
    assert_eq!(found.changes[0].levels, [1_130.0, 842.5]);
    assert!(found.p <= 1e-4 && found.p_neighbours.unwrap() > 0.01, "{found:?}");
}

/// Every choice of the values before the split of ten is as likely: 252 of them.
#[test]
fn every_order_of_few_values_gives_the_same_p() {
    let mut sums = Vec::new();
    for chosen in 0_u32..1 << LEAST {
        if chosen.count_ones() as usize == LEAST_IN_PART {
            let before: Vec<usize> = (0..LEAST).filter(|at| chosen >> at & 1 == 1).collect();
            let after = (0..LEAST).filter(|at| chosen >> at & 1 == 0);
            let order: Vec<f64> = before.iter().copied().chain(after).map(|rank| rank as f64 + 1.0).collect();
            sums.push(clearest(&order).unwrap().1);
        }
    }
    assert_eq!(sums.len(), 252);
    let mut limits = Limits::new(99_999);
    for z in &sums {
        let exact = sums.iter().filter(|other| **other >= z - 1e-9).count() as f64 / 252.0;
        let simulated = limits.p(LEAST, *z);
        assert!((simulated - exact).abs() < 5.0 * (exact * (1.0 - exact) / 1e5).sqrt() + 2e-5, "{z}: {simulated}, exactly {exact}");
    }
}

#[test]
fn several_changes_are_found_where_they_are() {
    let wave = |i: usize| 0.01 * (i * 7 % 5) as f64;
    let level = |i: usize| [10.0, 12.0, 9.0][usize::from(i >= 20) + usize::from(i >= 33)];
    let values: Vec<f64> = (0..50).map(|i| level(i) + wave(i)).collect();
    let changes = found(&values).changes;
    assert_eq!(changes.iter().map(|change| change.before).collect::<Vec<_>>(), [20, 33]);
    assert!((changes[1].levels[0] - 12.02).abs() < 0.03 && (changes[1].levels[1] - 9.02).abs() < 0.03);
}

#[test]
fn nothing_is_said_of_too_few_or_of_equal_values() {
    let mut limits = Limits::new(99);
    assert_eq!(levels(&[1.0; 40], LEVEL, &mut limits), None);
    assert_eq!(levels(&(0..LEAST - 1).map(|i| i as f64).collect::<Vec<_>>(), LEVEL, &mut limits), None);
    assert_eq!(levels(&[f64::INFINITY; 20], LEVEL, &mut limits), None);
    assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
}

/// One value of noise: normal, Student's t with 3 degrees of freedom, both of standard deviation
/// 1, or normal with one in twenty ten times as far.
type Draw = fn(&mut ChaCha8Rng) -> f64;

fn heavy(random: &mut ChaCha8Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random)).map(|z| z * z).sum();
    // Of variance 3.
    normal(random) / squares.sqrt()
}

fn outliers(random: &mut ChaCha8Rng) -> f64 {
    let far = random.random::<f64>() < 0.05;
    normal(random) * if far { 10.0 } else { 1.0 }
}

const DRAWS: [(&str, Draw); 3] = [("normal", normal), ("heavy-tailed", heavy), ("5 % outliers", outliers)];

/// Share of series of so many runs with noise of 3 % that show a change, with a shift of 5 % in
/// the last fifth one that is found within two runs.
fn share(runs: usize, draw: Draw, shift: f64, series: u32, limits: &mut Limits) -> f64 {
    let (mut random, mut hits) = (generator(41), 0);
    let first = runs - runs / 5;
    for _ in 0..series {
        let value = |(at, noise): (usize, f64)| 100.0 * (1.0 + 0.03 * noise) * if at >= first { 1.0 + shift } else { 1.0 };
        let values: Vec<f64> = (0..runs).map(|_| draw(&mut random)).enumerate().map(value).collect();
        let found = levels(&values, LEVEL, limits).unwrap();
        hits += u32::from(found.changes.iter().any(|change| shift == 0.0 || change.before.abs_diff(first) <= 2));
    }
    f64::from(hits) / f64::from(series)
}

/// Of 60 runs. The bars are of the design of this method.
#[test]
fn flat_series_seldom_show_a_change_and_shifts_are_found() {
    let series = if cfg!(debug_assertions) { 1_000 } else { 20_000 };
    let mut limits = Limits::new(9_999);
    for ((name, draw), least) in DRAWS.into_iter().zip([0.80, 0.85, 0.60]) {
        let [wrong, right] = [0.0, -0.05].map(|shift| share(60, draw, shift, series, &mut limits));
        eprintln!("60 runs, {name}: flat series with a change {wrong:.4}, shifts found {right:.3}");
        assert!(wrong <= 0.02 && right >= least, "{name}: {wrong} {right}");
    }
}

#[test]
fn neighbours_that_are_alike_are_told() {
    let mut random = generator(5);
    let mut alike = |weight: f64| {
        let mut before = 0.0;
        let mut told = 0;
        for _ in 0..200 {
            let mut next = || {
                before = weight * before + normal(&mut random);
                before
            };
            let values: Vec<f64> = (0..60).map(|_| next()).collect();
            told += u32::from(found(&values).p_neighbours.unwrap() < 0.01);
        }
        f64::from(told) / 200.0
    };
    let (independent, dependent) = (alike(0.0), alike(0.5));
    eprintln!("said to be alike: {independent} of independent, {dependent} of dependent series");
    assert!(independent <= 0.03 && dependent >= 0.5, "{independent} {dependent}");
}

proptest! {
    #[test]
    fn a_monotone_change_of_scale_changes_no_split(values in prop::collection::vec(0.1..100.0f64, LEAST..60)) {
        let mut limits = Limits::new(999);
        let mut splits = |of: fn(f64) -> f64| {
            let values: Vec<f64> = values.iter().map(|value| of(*value)).collect();
            levels(&values, 0.1, &mut limits).map(|found| (found.p, found.changes.iter().map(|change| change.before).collect::<Vec<_>>()))
        };
        let plain = splits(|value| value);
        prop_assert_eq!(&plain, &splits(f64::ln));
        prop_assert_eq!(&plain, &splits(|value| 3.0 * value - 7.0));
    }

    #[test]
    fn changes_leave_enough_on_either_side(values in prop::collection::vec(-1e3..1e3f64, LEAST..80)) {
        let Some(found) = levels(&values, 0.2, &mut Limits::new(199)) else { return Ok(()) };
        let ends: Vec<usize> = [0].into_iter().chain(found.changes.iter().map(|change| change.before)).chain([values.len()]).collect();
        prop_assert_eq!(ends.windows(2).find(|pair| pair[1] < pair[0] + LEAST_IN_PART), None);
    }
}
