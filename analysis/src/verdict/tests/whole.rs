//! What a comparison says of made-up values.

use std::collections::BTreeMap;

use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};

use crate::verdict::simulation::{Noise, Study};
use crate::verdict::{
    Comparison, Conclusion, Design, Direction, Options, Question, Values, Verdict, blocks_needed, compare, compare_all, conclude,
};

/// Values that go up and down by 1 % and by `ratio` from the baseline to the candidate.
fn values(blocks: u32, ratio: f64) -> Values {
    let wave = |block: u32, by: u32| 1000.0 * (1.0 + 0.01 * f64::from((block * by) % 7));
    Values::new((0..blocks).map(|b| (b, wave(b, 3))), (0..blocks).map(|b| (b, wave(b, 5) * ratio)))
}

fn judged(cells: &[Values], direction: Direction) -> Comparison {
    compare(cells, direction, &Options::default())
}

fn lower(cells: &[Values]) -> Comparison {
    judged(cells, Direction::LowerIsBetter)
}

#[test]
fn the_least_number_of_blocks_follows_from_the_correction() {
    let needed = |cells| blocks_needed(cells, 0.95, Design::Paired);
    assert_eq!([needed(0), needed(1), needed(2), needed(18), needed(100)], [6, 6, 7, 10, 12]);
    assert_eq!(blocks_needed(1, 0.99, Design::Paired), 8);
    assert_eq!([1, 18].map(|cells| blocks_needed(cells, 0.95, Design::Separate)), [4, 6]);
    for (cells, enough) in [(1, 6), (18, 10)] {
        let of = |blocks| lower(&vec![values(blocks, 1.5); cells]);
        let (few, many) = (of(enough - 1), of(enough));
        let missing = Verdict::NotEnoughBlocks { blocks: enough as usize - 1, missing: 1 };
        assert!(few.cells.iter().all(|cell| cell.verdict == missing) && few.overall.verdict == missing, "{few:?}");
        assert_eq!((few.conclusion.exit_code(), few.needed), (4, enough as usize));
        assert!(many.cells.iter().all(|cell| cell.verdict == Verdict::Worse), "{many:?}");
        assert_eq!(many.conclusion.exit_code(), 3);
    }
}

#[test]
fn a_verdict_needs_significance_and_size() {
    // Sure, but small; and large, but not sure.
    let small = lower(&[values(60, 1.012)]);
    assert!(small.cells[0].is_significant(0.95), "{small:?}");
    assert_eq!((small.cells[0].verdict, small.conclusion), (Verdict::Equivalent, Conclusion::Done));
    let mut unsure = values(20, 1.0);
    unsure.candidate.iter_mut().for_each(|(block, value)| *value *= if block % 3 == 0 { 0.7 } else { 1.2 });
    let unsure = lower(&[unsure]);
    assert!(matches!(unsure.cells[0].verdict, Verdict::Inconclusive { smallest } if smallest > 0.05), "{unsure:?}");
    assert_eq!(unsure.conclusion.exit_code(), 4);
    let strict = Options { threshold: 0.01, ..Options::default() };
    assert_eq!(compare(&[values(20, 1.015)], Direction::LowerIsBetter, &strict).overall.verdict, Verdict::Worse);
}

/// An interval that is narrow but reaches beyond the threshold shows no equivalence,
/// and one better cell excuses no cell that is open.
#[test]
fn equivalence_needs_the_whole_interval_in_every_cell() {
    let at_the_edge = lower(&[values(20, 1.0195)]);
    assert!(matches!(at_the_edge.cells[0].verdict, Verdict::Inconclusive { smallest } if smallest < 0.025), "{at_the_edge:?}");
    assert_eq!(at_the_edge.conclusion, Conclusion::Inconclusive);
    let mut open = values(20, 1.0);
    open.candidate.iter_mut().for_each(|(block, value)| *value *= if block % 2 == 0 { 0.8 } else { 1.25 });
    let mixed = lower(&[values(20, 0.9), open]);
    assert_eq!((mixed.overall.better, mixed.overall.inconclusive, mixed.conclusion), (1, 1, Conclusion::Inconclusive));
    let sound = lower(&[values(20, 0.9), values(20, 1.0)]);
    assert_eq!((sound.overall.better, sound.overall.equivalent, sound.conclusion), (1, 1, Conclusion::Done));
}

/// Several metrics of several arms are one family: the more there are, the more
/// blocks a verdict takes.
#[test]
fn all_questions_are_one_family() {
    let question = |ratio| Question { cells: vec![values(8, ratio), values(8, 1.0)], direction: Direction::LowerIsBetter };
    let alone = compare_all(&[question(1.2)], &Options::default());
    assert_eq!((alone[0].tested, alone[0].cells[0].verdict), (3, Verdict::Worse));
    let many: Vec<Question> = (0..15).map(|number| question(if number == 0 { 1.2 } else { 1.0 })).collect();
    let together = compare_all(&many, &Options::default());
    assert_eq!((together[0].tested, together[14].tested), (45, 45));
    assert!(matches!(together[0].cells[0].verdict, Verdict::NotEnoughBlocks { blocks: 8, .. }), "{:?}", together[0].cells[0]);
}

#[test]
fn the_direction_tells_better_from_worse() {
    for (ratio, direction, verdict, code) in [
        (1.1, Direction::LowerIsBetter, Verdict::Worse, 3),
        (1.1, Direction::HigherIsBetter, Verdict::Better, 0),
        (0.9, Direction::LowerIsBetter, Verdict::Better, 0),
        (0.9, Direction::HigherIsBetter, Verdict::Worse, 3),
    ] {
        let comparison = judged(&[values(12, ratio)], direction);
        assert_eq!((comparison.overall.verdict, comparison.conclusion.exit_code()), (verdict, code));
        let found = comparison.cells[0].ratio.unwrap();
        assert!((found.value / ratio - 1.0).abs() < 0.01 && found.interval.is_some());
    }
}

#[test]
fn cells_are_told_apart_and_worse_somewhere_is_against() {
    let cells = [values(20, 1.1), values(20, 0.9), values(20, 1.0), values(4, 1.0), Values::default()];
    let comparison = lower(&cells);
    assert_eq!(comparison.overall.verdict, Verdict::Mixed);
    let counts = &comparison.overall;
    assert_eq!((counts.worse, counts.better, counts.equivalent, counts.inconclusive, counts.too_few), (1, 1, 1, 0, 1));
    assert_eq!((comparison.tested, comparison.conclusion), (5, Conclusion::Against));
    // What was measured in neither arm counts for nothing; what was in one does.
    let one_arm = Values { candidate: BTreeMap::new(), ..values(20, 1.0) };
    assert_eq!(lower(&[values(20, 1.0), Values::default()]).conclusion, Conclusion::Done);
    assert_eq!(lower(&[values(20, 1.0), one_arm]).conclusion, Conclusion::Inconclusive);
    assert!(matches!(lower(&[]).overall.verdict, Verdict::NotEnoughBlocks { blocks: 0, missing: 6 }));
}

/// A little in every cell, too little for each alone, shows in their mean.
#[test]
fn the_mean_of_all_cells_has_a_verdict_of_its_own() {
    let study = Study { cells: 18, blocks: 12, noise: Noise::Normal, spread: 0.05, effect: 1.0 };
    let mut cells = study.values(5);
    cells.iter_mut().flat_map(|cell| cell.candidate.values_mut()).for_each(|value| *value *= 1.04);
    let comparison = lower(&cells);
    assert!(comparison.overall.worse < 4, "{:?}", comparison.overall);
    assert_eq!((comparison.overall.mean.verdict, comparison.overall.verdict), (Verdict::Worse, Verdict::Worse));
}

#[test]
fn equal_values_show_no_difference() {
    for design in [Design::Paired, Design::Separate] {
        let equal = Values::new((0..20).map(|b| (b, 5.0)), (0..20).map(|b| (b, 5.0)));
        let comparison = compare(&[equal.clone(), equal], Direction::LowerIsBetter, &Options { design, ..Options::default() });
        assert_eq!((comparison.overall.verdict, comparison.conclusion), (Verdict::Equivalent, Conclusion::Done));
    }
}

#[test]
fn what_has_no_ratio_is_left_out_and_counted() {
    let mut cell = values(12, 1.1);
    cell.candidate.insert(3, 0.0);
    cell.baseline.insert(5, f64::NAN);
    cell.baseline.remove(&7);
    let judged = lower(&[cell]).cells[0];
    assert_eq!((judged.dropped, judged.ratio.unwrap().n), (2, 9));
    assert_eq!(judged.verdict, Verdict::Worse);
}

/// Separate runs need no common blocks, and a wild value moves little.
#[test]
fn separate_runs_are_compared_as_two_samples() {
    let Values { baseline, candidate } = values(15, 1.1);
    let mut later: BTreeMap<u32, f64> = candidate.into_iter().map(|(block, value)| (block + 100, value)).collect();
    later.insert(103, 1e9);
    let cell = Values { baseline, candidate: later };
    let separate = Options { design: Design::Separate, ..Options::default() };
    let comparison = compare(&[cell.clone(), cell.clone()], Direction::LowerIsBetter, &separate);
    assert_eq!((comparison.design, comparison.overall.verdict), (Design::Separate, Verdict::Worse));
    assert!(!comparison.design.is_paired() && Options::default().design.is_paired());
    assert!((comparison.cells[0].ratio.unwrap().value - 1.1).abs() < 0.02);
    assert!(matches!(lower(&[cell]).overall.verdict, Verdict::NotEnoughBlocks { blocks: 0, missing: 6 }));
}

#[test]
fn the_gravest_conclusion_counts() {
    use Conclusion::{Against, Done, Inconclusive};
    assert_eq!([Done, Against, Inconclusive].map(Conclusion::exit_code), [0, 3, 4]);
    assert_eq!(conclude([Done, Inconclusive, Done]), Inconclusive);
    assert_eq!(conclude([Inconclusive, Against, Done]), Against);
    assert_eq!((conclude([Done]), conclude([])), (Done, Inconclusive));
}

fn any_cells() -> impl Strategy<Value = Vec<Values>> {
    let arm = || prop::collection::btree_map(0u32..20, 1.0..100.0f64, 0..20);
    prop::collection::vec((arm(), arm()).prop_map(|(baseline, candidate)| Values { baseline, candidate }), 0..5)
}

/// The other way round.
fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        other => other,
    }
}

/// Whether two verdicts are one, but for rounding.
fn alike(a: Verdict, b: Verdict) -> bool {
    match (a, b) {
        (Verdict::Inconclusive { smallest: a }, Verdict::Inconclusive { smallest: b }) => (a - b).abs() < 1e-9 * (1.0 + a.abs()),
        _ => a == b,
    }
}

proptest! {
    #[test]
    fn exchanging_the_arms_turns_the_verdict(cells in any_cells(), separate in prop::bool::ANY) {
        let options = Options { design: if separate { Design::Separate } else { Design::Paired }, ..Options::default() };
        let exchanged: Vec<Values> =
            cells.iter().map(|cell| Values { baseline: cell.candidate.clone(), candidate: cell.baseline.clone() }).collect();
        let (forth, back) =
            (compare(&cells, Direction::LowerIsBetter, &options), compare(&exchanged, Direction::LowerIsBetter, &options));
        for (a, b) in forth.cells.iter().zip(&back.cells).chain([(&forth.overall.mean, &back.overall.mean)]) {
            prop_assert!(alike(a.verdict, turned(b.verdict)), "{:?} {:?}", a, b);
            if let (Some(a), Some(b)) = (a.ratio, b.ratio) {
                prop_assert!((a.value * b.value - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_unit_does_not_matter(cells in any_cells(), unit in 0.001..1000.0f64) {
        let mut other = cells.clone();
        other.iter_mut().flat_map(|cell| cell.baseline.values_mut().chain(cell.candidate.values_mut())).for_each(|value| *value *= unit);
        let (a, b) = (lower(&cells), lower(&other));
        prop_assert!(alike(a.overall.verdict, b.overall.verdict));
        prop_assert!(a.cells.iter().zip(&b.cells).all(|(a, b)| alike(a.verdict, b.verdict)));
    }

    #[test]
    fn what_is_said_is_consistent(cells in any_cells()) {
        let comparison = lower(&cells);
        let overall = &comparison.overall;
        prop_assert_eq!(overall.better + overall.worse + overall.equivalent + overall.inconclusive + overall.too_few,
            cells.iter().filter(|cell| !cell.baseline.is_empty() || !cell.candidate.is_empty()).count());
        for judged in comparison.cells.iter().chain([&overall.mean]) {
            if let (Some(p), Some(adjusted)) = (judged.p, judged.p_adjusted) {
                prop_assert!(p <= adjusted + 1e-12 && adjusted <= 1.0);
            }
            if matches!(judged.verdict, Verdict::Better | Verdict::Worse) {
                let interval = judged.ratio.unwrap().interval.unwrap();
                prop_assert!(judged.is_significant(0.95) && (interval.low > 1.0 || interval.high < 1.0));
            }
        }
        prop_assert_eq!(comparison.conclusion == Conclusion::Against, overall.worse > 0 || overall.mean.verdict == Verdict::Worse);
    }
}
