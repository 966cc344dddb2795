//! Two receipts compared with each other.

use super::made::{self, COSTS, Cell, Cost, passes};
use crate::{Category, Layer, Receipt, Rules, Verdict, compare, total_variation};
use stats::noise::generator;

fn receipt(costs: &[Cost], spread: f64, rules: &Rules, random: &mut rand_chacha::ChaCha8Rng) -> Receipt {
    made::receipt(&passes(Cell { spread, ..Cell::default() }, costs, random), rules).unwrap()
}

#[test]
fn what_was_changed_is_found() {
    let (rules, mut random) = (Rules::builtin().unwrap(), generator(8));
    let mut changed = COSTS.to_vec();
    changed[2].ns = 300.0;
    changed[1].ns = 0.0;
    let (a, b) = (receipt(&COSTS, 0.03, &rules, &mut random), receipt(&changed, 0.03, &rules, &mut random));
    let found = compare(&a, &b, |receipt| &receipt.rows.categories);
    let verdict = |category| found.rows.iter().find(|row| row.key == category).unwrap();
    assert_eq!(found.rows[0].key, Category::BufferManagement);
    let buffers = verdict(Category::BufferManagement);
    let [low, high] = buffers.difference.interval.unwrap();
    assert!(buffers.verdict == Verdict::Costlier && low < 100.0 && 100.0 < high, "{buffers:?}");
    // A row that the second has not at all.
    assert_eq!(verdict(Category::Checksum).verdict, Verdict::Cheaper);
    assert_eq!(verdict(Category::Protocol).verdict, Verdict::NotShown);
    assert!(verdict(Category::Protocol).could_show.unwrap() > 0.0);
    assert_eq!(found.cpu.verdict, Verdict::Costlier);
    let back = compare(&b, &a, |receipt| &receipt.rows.categories);
    assert!((back.rows[0].difference.value + found.rows[0].difference.value).abs() < 1e-9);
    let distance = total_variation(&a, &b);
    assert!((distance - total_variation(&b, &a)).abs() < 1e-12 && (0.0..1.0).contains(&distance));
    assert_eq!(total_variation(&a, &a), 0.0);
    // 60 of 1000 ns leave udp, 100 of 1040 come to ip.
    let share = |receipt: &Receipt| {
        receipt.rows.layers.iter().find(|row| row.key == Layer::Ip).unwrap().samples as f64 / receipt.sampling.samples as f64
    };
    assert!(distance >= share(&b) - share(&a) - 1e-9);
}

/// Of equal cells, few comparisons call any row different.
#[test]
fn equal_receipts_show_no_difference() {
    let pairs = if cfg!(debug_assertions) { 100 } else { 1_000 };
    let (rules, mut random, mut wrong, mut sure) = (Rules::builtin().unwrap(), generator(14), 0, 0);
    for _ in 0..pairs {
        let [a, b] = [0, 1].map(|_| receipt(&COSTS, 0.1, &rules, &mut random));
        let found = compare(&a, &b, |receipt| &receipt.rows.functions);
        wrong += u32::from(found.rows.iter().any(|row| row.verdict != Verdict::NotShown));
        sure += u32::from(found.rows.iter().any(|row| row.p_adjusted.is_some_and(|p| p <= 0.05)));
    }
    let [wrong, sure] = [wrong, sure].map(|count| f64::from(count) / f64::from(pairs));
    eprintln!("A/A of receipts of 9 passes and 9 rows: any row different {wrong:.3}, significant {sure:.3}");
    assert!(wrong <= 0.09 && sure <= 0.09, "{wrong} {sure}");
}
