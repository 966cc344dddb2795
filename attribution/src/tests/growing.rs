//! What depends on the message size is marked, and little else.

use super::made::{self, COSTS, Cell, Cost, passes};
use crate::growth::settle;
use crate::{FunctionTable, Growth, Receipt, Rules, Shape, Trials, growth};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use stats::noise::{generator, normal};

/// A Poisson number (Knuth 1969 in parts, so that large means do not underflow).
fn poisson(mean: f64, random: &mut ChaCha8Rng) -> f64 {
    if mean > 30.0 {
        return (mean + mean.sqrt() * normal(random)).round().max(0.0);
    }
    let (limit, mut product, mut count) = ((-mean).exp(), 1.0, -1.0);
    while product > limit {
        product *= random.random::<f64>();
        count += 1.0;
    }
    count
}

/// Made-up trials of a row with `mean` ns at every size, of which a sample is
/// worth from 0.05 to 0.5 ns, and trials differ by `spread` next to that.
fn trials(mean: f64, trend: f64, spread: f64, blocks: usize, random: &mut ChaCha8Rng) -> Vec<Trials> {
    let sizes = [1.0, 112.0, 1024.0, 1460.0, 2032.0, 8192.0, 16384.0];
    let each: Vec<f64> = (0..sizes.len()).map(|place| 0.05 * 10_f64.powf(place as f64 / 6.0)).collect();
    let draw = |size: f64, each: f64, random: &mut ChaCha8Rng| {
        let truth = mean * (1.0 + trend * size / 16384.0) * (1.0 + spread * normal(random)).max(0.0);
        poisson(truth / each, random) * each
    };
    let values: Vec<Vec<f64>> =
        sizes.iter().zip(&each).map(|(size, each)| (0..blocks).map(|_| draw(*size, *each, random)).collect()).collect();
    let samples: f64 = values.iter().zip(&each).map(|(values, each)| values.iter().sum::<f64>() / each).sum();
    let pooled = samples / each.iter().map(|each| blocks as f64 / each).sum::<f64>();
    let trial = |((size, values), each): ((f64, Vec<f64>), f64)| Trials { size, values, least_variance: each * pooled, shared: 0.0 };
    sizes.into_iter().zip(values).zip(each).map(trial).collect()
}

/// Without a dependence, the share of false marks is at most what it says, and
/// in the far tail that Holm's procedure looks at too.
#[test]
fn false_marks_are_rare() {
    let rows = if cfg!(debug_assertions) { 4_000 } else { 40_000 };
    for blocks in [5, 9] {
        for (mean, spread) in [(1.0, 0.0), (5.0, 0.0), (50.0, 0.0), (50.0, 0.05), (500.0, 0.05), (500.0, 0.2)] {
            let mut random = generator(9);
            let (mut five, mut rare, mut slopes) = (0, 0, 0);
            for _ in 0..rows {
                let found = growth(&trials(mean, 0.0, spread, blocks, &mut random)).unwrap();
                five += u32::from(found.p <= 0.05);
                rare += u32::from(found.p <= 0.001);
                slopes += u32::from(found.slope_p <= 0.05);
            }
            let share = |count: u32| f64::from(count) / f64::from(rows);
            let [five, rare, slopes] = [five, rare, slopes].map(share);
            eprintln!("size test, {blocks} trials, {mean} ns, spread {spread}: p<=0.05 {five:.4}, p<=0.001 {rare:.5}, slope {slopes:.4}");
            assert!(five <= 0.075 && rare <= 0.006 && slopes <= 0.075, "{five} {rare} {slopes}");
        }
    }
}

/// Tables with any false mark; of few tables, three standard deviations more.
const MOST_FALSE_TABLES: f64 = if cfg!(debug_assertions) { 0.2 } else { 0.1 };

/// Over a table of rows without dependence, Holm keeps any false mark rare.
#[test]
fn a_table_has_no_false_marks() {
    let tables = if cfg!(debug_assertions) { 60 } else { 1_000 };
    for (blocks, spread) in [(5, 0.05), (5, 0.2), (9, 0.2)] {
        let (mut random, mut marked) = (generator(12), 0);
        for _ in 0..tables {
            let row = |place| growth(&trials(0.5 * 1.12_f64.powi(place), 0.0, spread, blocks, &mut random)).unwrap();
            let mut rows: Vec<Growth> = (0..60).map(row).collect();
            settle(&mut rows.iter_mut().collect::<Vec<_>>());
            marked += u32::from(rows.iter().any(|row| row.shape != Shape::NotShown));
        }
        let share = f64::from(marked) / f64::from(tables);
        eprintln!("tables of 60 rows, {blocks} trials, spread {spread}, with any false mark: {share:.3}");
        assert!(share <= MOST_FALSE_TABLES, "{share}");
    }
}

#[test]
fn what_depends_is_found() {
    let shapes = |trend: f64| {
        let mut random = generator(3);
        (0..200).map(|_| growth(&trials(100.0, trend, 0.05, 5, &mut random)).unwrap().shape).collect::<Vec<_>>()
    };
    let share = |shapes: &[Shape], wanted: Shape| shapes.iter().filter(|shape| **shape == wanted).count() as f64 / shapes.len() as f64;
    assert!(share(&shapes(1.0), Shape::Grows) > 0.95);
    assert!(share(&shapes(-0.6), Shape::Falls) > 0.95);
}

#[test]
fn exact_counts_need_no_chance() {
    let row = |values: [f64; 3]| {
        let trials = |(place, value): (usize, &f64)| Trials {
            size: place as f64 * 100.0,
            values: vec![*value; 5],
            least_variance: 0.0,
            shared: 0.0,
        };
        growth(&values.iter().enumerate().map(trials).collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(row([3.0; 3]).shape, Shape::NotShown);
    assert_eq!(row([1.0, 1.0, 2.0]).shape, Shape::Grows);
    assert_eq!(row([2.0, 1.0, 1.0]).shape, Shape::Falls);
    assert!(growth(&[]).is_none());
}

fn receipts() -> Vec<Receipt> {
    let rules = Rules::builtin().unwrap();
    let mut random = generator(21);
    let receipt = |size: u64| {
        // The copy grows with the size, and the checksum is there from 1 KiB on.
        let mut costs: Vec<Cost> = COSTS.to_vec();
        costs[0].ns = 50.0 + size as f64 / 16.0;
        costs[1].ns = if size >= 1024 { 60.0 } else { 0.0 };
        let mut passes = passes(Cell { size, ..Cell::default() }, &costs, &mut random);
        if size == 1024 {
            passes.counts.clear();
        }
        made::receipt(&passes, &rules).unwrap()
    };
    [16_384, 1, 1024, 4096].map(receipt).into_iter().collect()
}

#[test]
fn the_table_of_functions() {
    let receipts = receipts();
    let table = FunctionTable::from_receipts(&receipts.iter().collect::<Vec<_>>());
    assert_eq!(table.sizes.iter().map(|size| size.get()).collect::<Vec<_>>(), [1, 1024, 4096, 16_384]);
    let row = |name: &str| table.rows.iter().find(|row| row.function == name).unwrap();
    assert_eq!(row("_copy_from_iter").time.unwrap().shape, Shape::Grows);
    let slope = row("_copy_from_iter").time.unwrap().slope_per_kib;
    assert!((slope.value - 64.0).abs() < 6.0, "{slope:?}");
    let shape = |name| row(name).time.map(|time| time.shape);
    assert_eq!(shape("csum_partial"), Some(Shape::Grows));
    assert!(["udp_sendmsg", "__alloc_skb"].into_iter().all(|name| shape(name).is_none_or(|shape| shape == Shape::NotShown)));
    let absent = row("csum_partial").cells[0];
    assert!(absent.ns.value == 0.0 && absent.ns.error.unwrap() > 0.0, "{absent:?}");
    // Counted at three sizes: a dash at the fourth, and no verdict on the counts.
    let calls: Vec<bool> = row("udp_sendmsg").cells.iter().map(|cell| cell.calls.is_some()).collect();
    assert_eq!(calls, [true, false, true, true]);
    assert!(row("udp_sendmsg").calls.is_none() && row("csum_partial").cells.iter().all(|cell| cell.calls.is_none()));
}
