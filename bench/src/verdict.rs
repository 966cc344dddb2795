//! Shares of wrong verdicts, and of true differences found: the simulations of
//! `analysis::verdict`, ten thousand of each. Nothing of this machine goes in.

use analysis::verdict::Options;
use analysis::verdict::simulation::{Noise, Study, Tally};

use stress::bars::Row;

/// Cells of each made-up study.
const CELLS: usize = 18;

/// Runs them all, each a number of times.
pub fn measure(studies: u32) -> Vec<Row> {
    let equal = [10, 20, 30].into_iter().flat_map(|blocks| Noise::ALL.map(|noise| (blocks, noise)));
    let mut rows: Vec<Row> = equal.flat_map(|(blocks, noise)| equal_arms(blocks, noise, studies)).collect();
    rows.extend(true_difference(studies));
    rows
}

/// Two arms that are one. The noise is large, so that the threshold hides no
/// false verdict.
fn equal_arms(blocks: u32, noise: Noise, studies: u32) -> [Row; 2] {
    let tally = tally(Study { cells: CELLS, blocks, noise, spread: 0.1, effect: 1.0 }, studies);
    let what = format!("equal arms, {CELLS} cells, {blocks} blocks, {} noise", noise.name());
    let false_verdicts = tally.share(tally.verdicts);
    [
        share(format!("{what}: false overall verdicts"), tally.verdicts, &tally).against("<= 0.055", false_verdicts <= 0.055),
        Row::printed(format!("{what}: cells whose interval holds 1"), tally.cells_held / tally.studies as f64, "", tally.studies as usize),
    ]
}

/// 5 % in one cell.
fn true_difference(studies: u32) -> [Row; 3] {
    let tally = tally(Study { cells: CELLS, blocks: 20, noise: Noise::Normal, spread: 0.03, effect: 1.05 }, studies);
    let what = format!("5 % in one of {CELLS} cells, 20 blocks, 3 % normal noise");
    let (found, held) = (tally.share(tally.found), tally.share(tally.held));
    [
        share(format!("{what}: found"), tally.found, &tally).against(">= 0.9", found >= 0.9),
        share(format!("{what}: its interval holds 1.05"), tally.held, &tally).against("0.93 to 0.97", (0.93..=0.97).contains(&held)),
        share(format!("{what}: a false verdict on another cell"), tally.others, &tally),
    ]
}

fn tally(study: Study, studies: u32) -> Tally {
    let halves = [0, 1].map(|half| (u64::from(studies) * half / 2, u64::from(studies) * (half + 1) / 2));
    let run = |(from, to): (u64, u64)| study.tally(to - from, from, &Options::default());
    std::thread::scope(|scope| {
        let second = scope.spawn(move || run(halves[1]));
        let first = run(halves[0]);
        match second.join() {
            Ok(second) => first.and(second),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// A share with its interval at 95 % (Wilson 1927).
fn share(what: String, count: u64, tally: &Tally) -> Row {
    const Z: f64 = 1.96;
    let n = tally.studies as f64;
    let share = tally.share(count);
    let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let reach = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Row::printed(what, share, "", tally.studies as usize).within(centre - reach, centre + reach)
}
