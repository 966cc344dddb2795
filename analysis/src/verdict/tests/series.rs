//! Series that are not of one kind are told, quiet ones are not.

use crate::testing::{generator, normal};
use crate::verdict::{Direction, Doubt, Shape, Side, Values, doubts};

/// Six cells of both arms with 2 % noise; `shape` gives each block's part, of
/// the first cell's candidate alone or of all.
fn cells(seed: u64, blocks: u32, alone: bool, shape: impl Fn(u32) -> f64) -> Vec<Values> {
    let mut random = generator(seed);
    let mut series = |shaped: bool| -> Vec<(u32, f64)> {
        (0..blocks).map(|b| (b, 1000.0 * (1.0 + 0.02 * normal(&mut random)) * if shaped { shape(b) } else { 1.0 })).collect()
    };
    (0..6).map(|cell| Values::new(series(!alone), series(!alone || cell == 0))).collect()
}

fn found(cells: &[Values]) -> Vec<Doubt> {
    doubts(cells, Direction::LowerIsBetter, 0.02)
}

fn of_first_candidate(doubts: &[Doubt]) -> Option<Shape> {
    doubts.iter().find(|doubt| doubt.cell == Some(0) && doubt.side == Some(Side::Candidate)).map(|doubt| doubt.shape)
}

#[test]
fn a_drifting_machine_is_told() {
    let doubts = found(&cells(1, 20, false, |block| 1.0 + 0.01 * f64::from(block)));
    let machine = doubts.iter().find(|doubt| doubt.cell.is_none()).unwrap();
    assert!(matches!(machine.shape, Shape::Drifting { by } if (by - 0.19).abs() < 0.04), "{doubts:?}");
}

#[test]
fn a_warm_up_is_told_from_a_step() {
    let warm = found(&cells(2, 20, false, |block| if block < 4 { 1.2 } else { 1.0 }));
    assert!(matches!(warm[0], Doubt { cell: None, shape: Shape::WarmingUp { blocks: 4, by }, .. } if (by - 0.2).abs() < 0.03), "{warm:?}");
    // The first blocks better than the rest, or a change in the middle, is no warm-up.
    let better = found(&cells(3, 20, false, |block| if block < 4 { 0.8 } else { 1.0 }));
    assert!(matches!(better[0].shape, Shape::Stepped { at: 4, by } if (by - 0.25).abs() < 0.04), "{better:?}");
    let middle = found(&cells(4, 20, false, |block| if block < 11 { 1.0 } else { 0.9 }));
    assert!(matches!(middle[0].shape, Shape::Stepped { at: 11, by } if (by + 0.1).abs() < 0.02), "{middle:?}");
    // Where more is better, more at first is no warm-up either.
    let rates = doubts(&cells(2, 20, false, |block| if block < 4 { 1.2 } else { 1.0 }), Direction::HigherIsBetter, 0.02);
    assert!(matches!(rates[0].shape, Shape::Stepped { at: 4, .. }), "{rates:?}");
}

#[test]
fn two_modes_of_one_cell_are_told() {
    let doubts = found(&cells(5, 30, true, |block| if block * 7 % 10 < 4 { 1.5 } else { 1.0 }));
    let Some(Shape::Bimodal { modes: [low, high], upper }) = of_first_candidate(&doubts) else { panic!("{doubts:?}") };
    assert!((low / 1000.0 - 1.0).abs() < 0.03 && (high / 1500.0 - 1.0).abs() < 0.03 && (upper - 0.4).abs() < 1e-9, "{low} {high} {upper}");
    assert!(doubts.iter().all(|doubt| doubt.cell == Some(0)), "{doubts:?}");
}

/// A step has two levels, but in order: it is no second mode as well.
#[test]
fn a_step_of_one_cell_is_no_pair_of_modes() {
    let doubts = found(&cells(6, 40, true, |block| if block < 22 { 1.0 } else { 1.5 }));
    assert!(matches!(of_first_candidate(&doubts), Some(Shape::Stepped { at: 22, .. })), "{doubts:?}");
    assert!(!doubts.iter().any(|doubt| matches!(doubt.shape, Shape::Bimodal { .. })), "{doubts:?}");
}

#[test]
fn long_series_are_pooled() {
    let doubts = found(&cells(7, 450, true, |block| 1.0 + f64::from(block) / 1000.0));
    let Some(Shape::Drifting { by }) = of_first_candidate(&doubts) else { panic!("{doubts:?}") };
    assert!((by - 0.45).abs() < 0.1, "{by}");
}

#[test]
fn quiet_runs_seldom_raise_a_doubt() {
    let raised = (100..300).filter(|seed| !found(&cells(*seed, 20, true, |_| 1.0)).is_empty()).count();
    eprintln!("doubts raised by chance: {raised} of 200");
    // 3 %, and three standard deviations.
    assert!(raised <= 6 + 7, "{raised}");
    assert!(found(&[]).is_empty() && found(&[Values::default()]).is_empty());
    assert!(found(&cells(8, 5, false, |block| f64::from(block + 1))).is_empty());
}
