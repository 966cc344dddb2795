//! What a machine is said to show is what it shows.

use crate::verdict::simulation::{Noise, Study};
use crate::verdict::{Design, Direction, Options, self_test};

const STUDY: Study = Study { cells: 18, blocks: 20, noise: Noise::Normal, spread: 0.03, effect: 1.0 };

#[test]
fn the_noise_and_the_time_are_told() {
    let found = self_test(&STUDY.values(1), Direction::LowerIsBetter, 90.0, 19, &Options::default()).unwrap();
    // Two arms, each with 3 %.
    let true_noise = 0.03 * 2f64.sqrt();
    assert!((found.noise / true_noise - 1.0).abs() < 0.2, "{}", found.noise);
    assert!(found.worst_noise >= found.noise && !found.comparison.overall.verdict.is_shown());
    let twenty = found.outlooks.iter().find(|outlook| outlook.blocks == 20).unwrap();
    assert!((twenty.minutes - 30.0).abs() < 1e-9);
    let [each, one, mean] = [twenty.each_cell, twenty.one_cell, twenty.mean].map(Option::unwrap);
    assert!(each > one && one > mean && (0.03..0.06).contains(&each), "{each} {one} {mean}");
    let shares: Vec<f64> = found.outlooks.iter().filter_map(|outlook| outlook.each_cell).collect();
    assert!(shares.windows(2).all(|pair| pair[1] < pair[0]), "{shares:?}");
    let wanted = found.for_threshold.unwrap();
    assert!(wanted.blocks > 30 && wanted.each_cell.unwrap() < 0.04, "{wanted:?}");
}

/// The scatter of the mean of 18 cells is told without bias.
#[test]
fn the_noise_of_the_mean_is_told() {
    let one = |seed| self_test(&STUDY.values(seed), Direction::LowerIsBetter, 90.0, 19, &Options::default()).unwrap().mean_noise;
    let mean = (0..50).map(one).sum::<f64>() / 50.0;
    let truth = 0.03 * (2.0 / 18.0f64).sqrt();
    assert!((mean / truth - 1.0).abs() < 0.12, "{mean} {truth}");
}

#[test]
fn too_few_blocks_or_separate_runs_tell_nothing() {
    let few = Study { blocks: 5, ..STUDY }.values(1);
    assert!(self_test(&few, Direction::LowerIsBetter, 1.0, 19, &Options::default()).is_none());
    let separate = Options { design: Design::Separate, ..Options::default() };
    assert!(self_test(&STUDY.values(1), Direction::LowerIsBetter, 1.0, 19, &separate).is_none());
    assert!(self_test(&[], Direction::LowerIsBetter, 1.0, 19, &Options::default()).is_none());
}

/// A difference of the size that is promised is found in four runs of five.
#[test]
fn what_is_promised_is_found() {
    const STUDIES: u64 = 300;
    // Where the threshold decides, where significance does, and in between.
    for (blocks, spread) in [(14, 0.03), (30, 0.05), (30, 0.005), (30, 0.015), (20, 0.01)] {
        // What the rank test sees of the noise of two normal values.
        let noise = spread * 2f64.sqrt() * 1.023;
        let effect = 1.0 + crate::verdict::detectable(noise, blocks as usize, 19, &Options::default()).unwrap();
        let tally = Study { blocks, spread, effect, ..STUDY }.tally(STUDIES, 0, &Options::default());
        let found = tally.share(tally.found);
        eprintln!("{blocks} blocks, noise {spread}: promised {effect:.4}, found in {found:.3}");
        assert!((0.74..0.86).contains(&found), "{found}");
    }
}

/// With so many blocks equal arms are shown equivalent in four runs of five.
#[test]
fn the_blocks_of_the_threshold_are_enough() {
    let found = self_test(&STUDY.values(1), Direction::LowerIsBetter, 90.0, 19, &Options::default()).unwrap();
    let blocks = found.for_threshold.unwrap().blocks as u32;
    let tally = Study { cells: 1, blocks, ..STUDY }.tally(300, 0, &Options::default());
    let shown = tally.share(tally.equivalent);
    eprintln!("{blocks} blocks: equal arms shown equivalent in {shown:.3}");
    assert!(shown > 0.74, "{shown}");
}

/// A true slowdown of the threshold or more passes as equivalent in one study of
/// twenty at most.
#[test]
fn a_slowdown_of_the_threshold_seldom_passes_as_equivalent() {
    for (spread, blocks) in [(0.01, 20), (0.02, 20), (0.02, 60)] {
        for times in [1.0, 1.25, 1.5] {
            let study = Study { cells: 1, blocks, spread, effect: 1.0 + 0.02 * times, noise: Noise::Normal };
            let tally = study.tally(600, 0, &Options::default());
            let passed = tally.share(tally.equivalent);
            eprintln!("noise {spread}, {blocks} blocks, {times} x threshold: equivalent in {passed:.3}");
            assert!(passed <= 0.07, "{passed}");
        }
    }
}
