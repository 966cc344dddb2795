//! The rule by which a study has seen enough.
//!
//! Looking at an interval after every block and stopping when it is narrow
//! spoils its coverage: one that is narrow by luck ends the study. So there are
//! few looks ([`looks`]), and where a plan allows more than one, each asks for
//! a higher confidence than the plan's ([`Confidence`]). What coverage
//! remains is simulated in the tests of this file and stands in
//! `docs/statistics.md`.

mod woven;

use std::collections::HashMap;

use model::plan::Blocks;
use model::{Cell, Plan, TrialRecord};

pub use self::woven::WovenObserver;
pub use crate::confidence::{Confidence, looks};
use crate::metric::time_per_message;
use stats::estimate::Estimate;

/// Decision about a study after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Another block.
    GoOn,
    /// Every interval asked for is met.
    IntervalMet,
    /// The last block is done.
    BlocksDone,
}

/// A look at the figures so far: one of the few after which a study may end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Blocks so far; of woven arms instances of each cell.
    pub blocks: u32,
    /// The widest half of an interval, as a share; `None` where some cell has none.
    pub widest: Option<f64>,
    /// Intervals that are as narrow as the plan asks; of woven arms settled verdicts.
    pub met: usize,
    /// Of so many.
    pub of: usize,
    /// The study has seen enough.
    pub is_enough: bool,
}

/// Watches a running study and says after each block whether to go on.
#[derive(Debug, Clone)]
pub struct Observer {
    blocks: Blocks,
    confidence: Confidence,
    looks: Vec<u32>,
    /// Time per message of each clean trial, by cell and arm.
    times: HashMap<(Cell, Option<String>), Vec<f64>>,
}

impl Observer {
    /// Nothing is seen yet.
    pub fn new(plan: &Plan) -> Self {
        let arms: Vec<Option<String>> = match plan.arms.is_empty() {
            true => vec![None],
            false => plan.arms.iter().map(|arm| Some(arm.name.clone())).collect(),
        };
        let times = plan.cells.iter().flat_map(|cell| arms.iter().map(|arm| ((cell.clone(), arm.clone()), Vec::new()))).collect();
        Self { blocks: plan.blocks, confidence: Confidence::new(&plan.blocks), looks: looks(&plan.blocks), times }
    }

    /// Sees a trial; one that failed or is of no cell of the plan changes nothing.
    pub fn push(&mut self, record: &TrialRecord) {
        if !record.pass.is_clean() {
            return;
        }
        let time = record.measured().and_then(|measured| time_per_message(measured, record.cell_as_run()));
        if let (Some(time), Some(times)) = (time, self.times.get_mut(&(record.cell.clone(), record.arm.clone()))) {
            times.push(time);
        }
    }

    /// Returns whether to go on after `done` blocks.
    pub fn after_block(&self, done: u32) -> Decision {
        match self.look(done) {
            Some(look) if look.is_enough => Decision::IntervalMet,
            _ if done >= self.blocks.most => Decision::BlocksDone,
            _ => Decision::GoOn,
        }
    }

    /// The look after `done` blocks; `None` where there is none.
    pub fn look(&self, done: u32) -> Option<Look> {
        (done >= self.blocks.most || self.looks.contains(&done)).then(|| {
            let (met, of) = self.within().unwrap_or((0, self.times.values().filter(|times| !times.is_empty()).count()));
            Look { blocks: done, widest: self.widest(), met, of, is_enough: self.interval_met() }
        })
    }

    /// The widest interval of any cell: [`Estimate::half_width`] of its time per
    /// message. `None` while some cell has too few trials for an interval, or no
    /// cell has any. For showing progress; it decides nothing.
    pub fn widest(&self) -> Option<f64> {
        // A cell that never could be measured would keep the study waiting to no end.
        let measured = self.times.values().filter(|times| !times.is_empty());
        let widths = measured.map(|times| self.confidence.estimate(times).as_ref().and_then(Estimate::half_width));
        widths.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
    }

    /// The cells whose interval is as narrow as the plan asks, in each arm, and all that were
    /// measured. `None` while none has enough trials for an interval. For showing progress.
    pub fn within(&self) -> Option<(usize, usize)> {
        let measured = self.times.values().filter(|times| !times.is_empty());
        let widths: Vec<Option<f64>> =
            measured.map(|times| self.confidence.estimate(times).as_ref().and_then(Estimate::half_width)).collect();
        let met = widths.iter().flatten().filter(|width| **width <= self.blocks.interval).count();
        widths.iter().any(Option::is_some).then_some((met, widths.len()))
    }

    fn interval_met(&self) -> bool {
        self.widest().is_some_and(|widest| widest <= self.blocks.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::{Confidence, Decision, Observer, looks};
    use crate::testing::{Noise, cell, generator, measured, record, run};
    use model::plan::Blocks;
    use model::{Nanos, Plan, Test};

    /// Simulated studies of each case: enough for a figure to print where they
    /// are fast.
    const STUDIES: u32 = if cfg!(debug_assertions) { 3_000 } else { 20_000 };

    fn blocks(least: u32, most: u32) -> Blocks {
        Blocks { least, most, interval: 0.05, confidence: 0.95 }
    }

    #[test]
    fn looks_are_few_and_end_with_the_last_block() {
        assert_eq!(looks(&blocks(9, 9)), [9]);
        assert_eq!(looks(&blocks(3, 5)), [5]);
        assert_eq!(looks(&blocks(9, 40)), [9, 14, 20, 30, 40]);
        assert_eq!(looks(&blocks(21, 400)), [30, 50, 75, 100, 150, 225, 337, 400]);
        assert!(looks(&blocks(1, u32::MAX)).len() < 60);
    }

    #[test]
    fn one_look_asks_for_no_more_than_the_plan() {
        assert_eq!(Confidence::new(&blocks(9, 9)).found_at(), 0.95);
        assert!((Confidence::new(&blocks(9, 14)).found_at() - 0.98).abs() < 1e-12);
        let nine = [1., 2., 3., 4., 5., 6., 7., 8., 9.];
        let fixed = Confidence::new(&blocks(9, 9)).estimate(&nine).unwrap().interval.unwrap();
        assert_eq!((fixed.low, fixed.high), (2.0, 8.0));
        assert!((fixed.confidence - 0.9609).abs() < 1e-4);
        let looked = Confidence::new(&blocks(9, 100)).estimate(&nine).unwrap().interval.unwrap();
        assert_eq!((looked.low, looked.high, looked.confidence), (1.0, 9.0, 0.95));
    }

    /// Answer of an observer after `done` blocks.
    fn decision(spread: u64, done: u32, most: u32) -> (Decision, Option<f64>) {
        let observer = observer(spread, done, most);
        (observer.after_block(done), observer.widest())
    }

    /// An observer after `done` blocks of two cells, of which the second scatters by `spread`
    /// and a third never could be measured.
    fn observer(spread: u64, done: u32, most: u32) -> Observer {
        let cells = vec![cell(Test::UdpStream, 1), cell(Test::UdpStream, 64), cell(Test::TcpRr, 1)];
        let plan = Plan { blocks: blocks(9, most), ..run(cells, most).plan };
        let mut observer = Observer::new(&plan);
        for block in 0..done {
            for (size, step) in [(1, 0), (64, spread)] {
                let mut trial = measured(Test::UdpStream, size);
                trial.receiver.window.end = trial.receiver.window.end + Nanos::from_millis(step * u64::from(block % 9));
                observer.push(&record(Test::UdpStream, size, block, trial));
            }
        }
        observer
    }

    #[test]
    fn a_study_ends_when_every_interval_is_met_and_only_at_a_look() {
        assert_eq!(decision(0, 9, 100).0, Decision::IntervalMet);
        assert_eq!(decision(0, 10, 100).0, Decision::GoOn);
        assert_eq!(decision(8, 9, 100).0, Decision::GoOn);
        assert_eq!(decision(8, 9, 9).0, Decision::BlocksDone);
        assert_eq!(decision(0, 9, 9).0, Decision::IntervalMet);
        assert_eq!(decision(0, 3, 100), (Decision::GoOn, None));
        assert_eq!(decision(0, 0, 1), (Decision::GoOn, None));
        assert_eq!((observer(8, 9, 9).within(), observer(0, 9, 9).within()), (Some((1, 2)), Some((2, 2))));
        assert_eq!((observer(0, 3, 9).within(), observer(0, 0, 9).within()), (None, None));
        let look = |spread, done| observer(spread, done, 100).look(done).map(|look| (look.blocks, look.met, look.of, look.is_enough));
        assert_eq!((look(8, 9), look(0, 9), look(0, 10)), (Some((9, 1, 2, false)), Some((9, 2, 2, true)), None));
        let widest = decision(8, 9, 9).1.unwrap();
        assert!(widest > 0.05 && widest < 0.2, "{widest}");
    }

    /// The share of studies of one cell that end with an interval that holds
    /// the true median, and how many blocks they took on average.
    fn coverage(noise: Noise, spread: f64, most: u32, studies: u32) -> (f64, f64) {
        coverage_of(blocks(9, most), noise, spread, studies)
    }

    fn coverage_of(plan: Blocks, noise: Noise, spread: f64, studies: u32) -> (f64, f64) {
        let most = plan.most;
        let looks = looks(&plan);
        let mut random = generator(1);
        let truth = noise.median(spread);
        let (mut held, mut taken) = (0, 0);
        for _ in 0..studies {
            let mut times = Vec::new();
            for look in &looks {
                times.resize_with(*look as usize, || noise.draw(spread, &mut random));
                let seen = Confidence::new(&plan).estimate(&times).unwrap();
                if seen.half_width().unwrap() <= plan.interval || *look == most {
                    let interval = seen.interval.unwrap();
                    held += u32::from(interval.low <= truth && truth <= interval.high);
                    break;
                }
            }
            taken += times.len();
        }
        (f64::from(held) / f64::from(studies), taken as f64 / f64::from(studies))
    }

    /// The bar of issue 2: at least 93.5 % under the stopping rule. One cell is
    /// the worst case; with more cells the slowest decides, and luck in the
    /// others ends nothing.
    #[test]
    fn looking_leaves_the_coverage_promised() {
        let mut worst = 1.0f64;
        for noise in Noise::ALL {
            for spread in [0.05, 0.1, 0.15] {
                let (held, taken) = coverage(*noise, spread, 100, STUDIES);
                eprintln!("coverage under the stopping rule: {noise:?}, {spread}: {:.1} % after {taken:.0} blocks", held * 100.0);
                worst = worst.min(held);
            }
        }
        assert!(worst >= 0.935, "{worst}");
    }

    #[test]
    fn plans_of_less_confidence_keep_theirs_too() {
        for confidence in [0.8, 0.9] {
            for spread in [0.05, 0.1] {
                let plan = Blocks { confidence, ..blocks(9, 100) };
                let (held, taken) = coverage_of(plan, Noise::TwoEqualModes, spread, STUDIES);
                eprintln!("at {confidence}: two equal modes, {spread}: {:.1} % after {taken:.0} blocks", held * 100.0);
                assert!(held >= confidence, "{confidence}: {held}");
            }
        }
    }

    #[test]
    fn further_looks_beyond_100_leave_it_too() {
        for noise in [Noise::Normal, Noise::TwoEqualModes] {
            let (held, taken) = coverage(noise, 0.2, 400, STUDIES / 3);
            eprintln!("with looks up to 400: {noise:?}: {:.1} % after {taken:.0} blocks", held * 100.0);
            assert!(held >= 0.935, "{held}");
        }
    }
}
