//! Error rates by simulation. `nettoll-bench --only verdict` makes 10,000 of each
//! and holds them to the bars themselves; here the allowance is three standard
//! deviations of a share of 500.

use crate::verdict::simulation::{Family, Noise, Runs, Study};
use crate::verdict::{Design, Options};

const STUDIES: u64 = 500;

/// 5.5 %, and three standard deviations.
const MOST_FALSE: f64 = 0.055 + 0.031;

/// However the machine behaves over time, verdicts between equal arms are rare.
/// The noise is so large that the threshold hides none of them.
#[test]
fn equal_arms_are_called_equal() {
    for blocks in [10, 20, 30] {
        for noise in Noise::ALL {
            let study = Study { cells: 18, blocks, noise, spread: 0.1, effect: 1.0 };
            let tally = study.tally(STUDIES, 0, &Options::default());
            let (verdicts, significant) = (tally.share(tally.verdicts), tally.share(tally.significant));
            let held = tally.cells_held / STUDIES as f64;
            eprintln!(
                "equal arms, {blocks} blocks, {}: verdicts {verdicts:.3}, significant {significant:.3}, held {held:.3}",
                noise.name()
            );
            assert!(verdicts <= significant && significant <= MOST_FALSE, "{blocks} {noise:?}: {verdicts} {significant}");
            assert!((0.93..=0.97).contains(&held), "{blocks} {noise:?}: {held}");
        }
    }
}

/// Fifteen equal arms by three metrics are one family.
#[test]
fn many_equal_arms_are_called_equal() {
    const STUDIES: u64 = 120;
    let family = Family { arms: 15, metrics: 3, cells: 4, blocks: 20, spread: 0.1 };
    let shown = family.false_verdicts(STUDIES, 0, &Options::default());
    eprintln!("15 arms by 3 metrics: false verdicts in {shown} of {STUDIES}");
    // 5 %, and three standard deviations.
    assert!(shown <= 13, "{shown}");
}

/// 5 % in one of 18 cells; the bar is 90 %.
#[test]
fn a_true_difference_is_found() {
    let study = Study { cells: 18, blocks: 20, noise: Noise::Normal, spread: 0.03, effect: 1.05 };
    let tally = study.tally(STUDIES, 0, &Options::default());
    let (found, others, held) = (tally.share(tally.found), tally.share(tally.others), tally.share(tally.held));
    eprintln!("5 % in one of 18 cells, 20 blocks: found {found:.3}, other cells {others:.3}, held {held:.3}");
    assert!(found >= 0.9 - 0.04 && others <= MOST_FALSE, "{found} {others}");
    assert!((0.93 - 0.025..=0.97 + 0.02).contains(&held), "{held}");
}

/// Runs that scatter by themselves seldom pass for a difference where each of them
/// counts once; their blocks taken for values of one run each give it away.
#[test]
fn several_runs_of_equal_sides_are_called_equal() {
    for runs in [3, 5] {
        for between in [0.01, 0.02] {
            for cells in [1, 18] {
                let study = Runs { cells, runs, blocks: 20, spread: 0.02, between, effect: 1.0 };
                let tally = study.tally(STUDIES, 0, &Options { design: Design::Runs, ..Options::default() });
                let (verdicts, significant) = (tally.share(tally.verdicts), tally.share(tally.significant));
                let held = tally.cells_held / STUDIES as f64;
                eprintln!(
                    "{runs} runs a side, {cells} cells, runs by {between}: verdicts {verdicts:.3}, significant {significant:.3}, held {held:.3}"
                );
                // 5 %, and three standard deviations.
                assert!(verdicts <= significant && significant <= 0.05 + 0.03, "{runs} {between} {cells}: {verdicts} {significant}");
                assert!(held >= 0.92, "{held}");
            }
        }
    }
    let single = Runs { cells: 1, runs: 1, blocks: 20, spread: 0.02, between: 0.02, effect: 1.0 };
    let tally = single.tally(STUDIES, 0, &Options { design: Design::Separate, trust_single_runs: true, ..Options::default() });
    assert!(tally.share(tally.verdicts) > 0.2, "{tally:?}");
}

/// A tenth is found by three runs a side that scatter by 1 %.
#[test]
fn several_runs_find_a_difference() {
    let study = Runs { cells: 1, runs: 3, blocks: 20, spread: 0.02, between: 0.01, effect: 1.1 };
    let tally = study.tally(STUDIES, 0, &Options { design: Design::Runs, ..Options::default() });
    assert!(tally.share(tally.found) > 0.9, "{tally:?}");
}
