//! Shares of wrong verdicts, and of true differences found: the simulations of
//! `analysis::verdict` and `analysis::cost`, thousands of each. Nothing of this machine
//! goes in.

use std::ops::Range;

use analysis::cost::simulation as sizes;
use analysis::verdict::simulation::{Family, Noise, Runs, Study, Tally};
use analysis::verdict::{Design, Direction, Doubt, Options, Shape, Values, detectable, doubts};
use stats::noise::{generator, normal};

use crate::bars::Row;

/// Cells of each made-up study.
const CELLS: usize = 18;

/// Runs them all, each a number of times; of what takes longer, fewer times.
pub fn measure(studies: u32) -> Vec<Row> {
    let equal = [10, 20, 30].into_iter().flat_map(|blocks| Noise::ALL.map(|noise| (blocks, noise)));
    let mut rows: Vec<Row> = equal.flat_map(|(blocks, noise)| equal_arms(blocks, noise, studies)).collect();
    rows.extend(true_difference(studies));
    rows.push(many_arms(studies / 5));
    rows.extend(slowdowns(studies));
    rows.extend(power(studies / 5));
    rows.extend(several_runs(studies));
    rows.extend(changes(studies / 50));
    rows.extend(steps_over_sizes(studies / 5));
    rows
}

/// Two arms that are one. The noise is large, so that the threshold hides no
/// false verdict.
fn equal_arms(blocks: u32, noise: Noise, studies: u32) -> [Row; 2] {
    let tally = tally(Study { cells: CELLS, blocks, noise, spread: 0.1, effect: 1.0 }, studies);
    let what = format!("equal arms, {CELLS} cells, {blocks} blocks, {} noise", noise.name());
    let false_verdicts = tally.share(tally.verdicts);
    [
        share(format!("{what}: false overall verdicts"), tally.verdicts, tally.studies).against("<= 0.055", false_verdicts <= 0.055),
        Row::printed(format!("{what}: cells whose interval holds 1"), tally.cells_held / tally.studies as f64, "", tally.studies as usize),
    ]
}

/// 5 % in one cell.
fn true_difference(studies: u32) -> [Row; 3] {
    let tally = tally(Study { cells: CELLS, blocks: 20, noise: Noise::Normal, spread: 0.03, effect: 1.05 }, studies);
    let what = format!("5 % in one of {CELLS} cells, 20 blocks, 3 % normal noise");
    let (found, held) = (tally.share(tally.found), tally.share(tally.held));
    [
        share(format!("{what}: found"), tally.found, tally.studies).against(">= 0.9", found >= 0.9),
        share(format!("{what}: its interval holds 1.05"), tally.held, tally.studies).against("0.93 to 0.97", (0.93..=0.97).contains(&held)),
        share(format!("{what}: a false verdict on another cell"), tally.others, tally.studies),
    ]
}

/// Fifteen equal arms by three metrics of the gate.
fn many_arms(studies: u32) -> Row {
    let family = Family { arms: 15, metrics: 3, cells: 6, blocks: 20, spread: 0.1 };
    let [a, b] = halves(studies, move |seeds| family.false_verdicts(seeds.end - seeds.start, seeds.start, &Options::default()));
    let false_ones = a + b;
    share("15 equal arms by 3 metrics, 6 cells, 20 blocks: any false verdict".to_owned(), false_ones, studies.into())
        .against("<= 0.05, to within chance", within_chance(false_ones, studies.into(), 0.05))
}

/// True slowdowns of the threshold and more.
fn slowdowns(studies: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    for (spread, blocks) in [(0.01, 20), (0.02, 20), (0.02, 60)] {
        for times in [1.0, 1.25, 1.5] {
            let tally = tally(Study { cells: 1, blocks, spread, effect: 1.0 + 0.02 * times, noise: Noise::Normal }, studies);
            let what = format!("a slowdown of {times} x threshold, {blocks} blocks, noise {spread}: passes as equivalent");
            let row = share(what, tally.equivalent, tally.studies);
            rows.push(row.against("<= 0.05, to within chance", within_chance(tally.equivalent, tally.studies, 0.05)));
        }
    }
    rows
}

/// The difference that is said to be found in four studies of five.
fn power(studies: u32) -> Vec<Row> {
    let cases =
        [0.005, 0.01, 0.02, 0.03, 0.05].into_iter().flat_map(|spread| [(12, 1), (14, 6), (30, 18), (60, 18)].map(|case| (spread, case)));
    let row = |(spread, (blocks, cells)): (f64, (u32, usize))| {
        let tested = if cells > 1 { cells + 1 } else { 1 };
        // Of two normal values, as the rank test sees them.
        let noise = spread * 2_f64.sqrt() * 1.023;
        let said = detectable(noise, blocks as usize, tested, &Options::default())?;
        let tally = tally(Study { cells, blocks, spread, effect: 1.0 + said, noise: Noise::Normal }, studies);
        let found = tally.share(tally.found);
        let what = format!("power: {said:.4} in {blocks} blocks, {cells} cells, noise {spread}: found");
        Some(share(what, tally.found, tally.studies).against("0.8 within 0.05", (found - 0.8).abs() <= 0.05))
    };
    cases.filter_map(row).collect()
}

/// Runs that scatter by themselves.
fn several_runs(studies: u32) -> Vec<Row> {
    let options = Options { design: Design::Runs, ..Options::default() };
    let mut rows = Vec::new();
    for (runs, between, cells) in [(3, 0.01, 1), (3, 0.02, 1), (3, 0.02, CELLS), (5, 0.01, 1), (5, 0.02, 1), (5, 0.02, CELLS)] {
        let study = Runs { cells, runs, blocks: 20, spread: 0.02, between, effect: 1.0 };
        let tally = both(halves(studies, move |seeds| study.tally(seeds.end - seeds.start, seeds.start, &options)));
        let what = format!("{runs} equal runs a side, {cells} cells, runs scatter by {between}, trials by 0.02: false verdicts");
        rows.push(share(what, tally.verdicts, tally.studies).against("<= 0.05", tally.share(tally.verdicts) <= 0.05));
    }
    rows
}

/// A step of 50 % in the middle, and a warm-up of four blocks, of one series among many.
fn changes(studies: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    for series in [12, 36, 100, 300] {
        for (name, first) in [("step at block 10", 10), ("warm-up of 4 blocks", 4)] {
            let flagged =
                halves(studies, move |seeds| seeds.filter(|seed| is_flagged(*seed, series, first)).count() as u64).iter().sum::<u64>();
            let what = format!("a {name} by 50 % in one of {series} series of 20 blocks, noise 0.02: flagged");
            let row = share(what, flagged, studies.into());
            rows.push(row.against(">= 0.95", flagged as f64 >= 0.95 * f64::from(studies)));
        }
    }
    rows
}

/// True where the change of the first candidate is told at its place.
fn is_flagged(seed: u64, series: usize, first: u32) -> bool {
    let mut random = generator(seed);
    let mut arm = |by: f64| -> Vec<(u32, f64)> {
        (0..20).map(|block| (block, (0.02 * normal(&mut random)).exp() * if block < first { by } else { 1.0 })).collect()
    };
    let cells: Vec<Values> = (0..series / 2).map(|cell| Values::new(arm(1.0), arm(if cell == 0 { 1.5 } else { 1.0 }))).collect();
    let told = |doubt: &Doubt| {
        let place = match doubt.shape {
            Shape::WarmingUp { blocks, .. } => blocks as u32,
            Shape::Stepped { at, .. } => at,
            _ => return false,
        };
        doubt.cell == Some(0) && place == first
    };
    doubts(&cells, Direction::LowerIsBetter, 0.02).iter().any(told)
}

/// Cost models with a step that no threshold explains, and without any.
fn steps_over_sizes(studies: u32) -> Vec<Row> {
    let step = sizes::Study { sizes: sizes::DOUBLED, after: 0, step: 1.2, noise: 0.01, uneven: 0.0 };
    let run = |study: sizes::Study| {
        let [a, b] = halves(studies, move |seeds| study.tally(seeds.end - seeds.start, seeds.start));
        a.and(b)
    };
    let places = [
        (sizes::QUICK, 512),
        (sizes::DOUBLED, 8),
        (sizes::DOUBLED, 32),
        (sizes::DOUBLED, 64),
        (sizes::DOUBLED, 256),
        (sizes::DOUBLED, 512),
    ];
    let mut rows = Vec::new();
    for (of, after) in places {
        let tally = run(sizes::Study { sizes: of, after, ..step });
        let what = format!("{} sizes, 20 % more above {after} B, noise 0.01", of.len());
        let (found, held) = (tally.share(tally.found), tally.share(tally.message_held));
        rows.push(share(format!("{what}: the step is found"), tally.found, tally.studies).against(">= 0.9", found >= 0.9));
        rows.push(share(format!("{what}: cost per message held"), tally.message_held, tally.studies).against(">= 0.93", held >= 0.93));
        rows.push(share(format!("{what}: cost per byte held"), tally.byte_held, tally.studies));
    }
    for of in [sizes::QUICK, sizes::DOUBLED] {
        for (noise, uneven) in [(0.01, 0.0), (0.05, 0.0), (0.15, 0.0), (0.01, 0.03), (0.01, 0.06)] {
            let tally = run(sizes::Study { sizes: of, noise, uneven, ..step });
            let what = format!("{} sizes on a line, noise {noise}, uneven by {uneven}", of.len());
            let broken = tally.share(tally.broken);
            rows.push(share(format!("{what}: a step by chance"), tally.broken, tally.studies).against("<= 0.05", broken <= 0.05));
            rows.push(share(format!("{what}: cost per message held"), tally.message_held, tally.studies));
        }
    }
    rows
}

fn tally(study: Study, studies: u32) -> Tally {
    both(halves(studies, move |seeds| study.tally(seeds.end - seeds.start, seeds.start, &Options::default())))
}

fn both([a, b]: [Tally; 2]) -> Tally {
    a.and(b)
}

/// Half of the studies on one processor and half on another, by their seeds.
fn halves<T: Send>(studies: u32, run: impl Fn(Range<u64>) -> T + Send + Copy) -> [T; 2] {
    let half = u64::from(studies / 2);
    std::thread::scope(|scope| {
        let second = scope.spawn(move || run(half..u64::from(studies)));
        let first = run(0..half);
        match second.join() {
            Ok(second) => [first, second],
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// True where so many of `studies` do not show a true share above `bar`: no more than
/// three standard deviations.
fn within_chance(count: u64, studies: u64, bar: f64) -> bool {
    let n = studies as f64;
    count as f64 <= n * bar + 3.0 * (n * bar * (1.0 - bar)).sqrt()
}

/// A share with its interval at 95 % (Wilson 1927).
fn share(what: String, count: u64, studies: u64) -> Row {
    const Z: f64 = 1.96;
    let n = studies as f64;
    let share = count as f64 / n;
    let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let reach = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Row::printed(what, share, "", studies as usize).within(centre - reach, centre + reach)
}
