//! Error rates by simulation. `nettoll-bench --only verdict` makes 10,000 of each
//! and holds them to the bars themselves; here the allowance is three standard
//! deviations of a share of 500.

use crate::verdict::Options;
use crate::verdict::simulation::{Noise, Study};

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
