//! Made-up series of sizes: how often a step is found where there is one, or where
//! there is none, and intervals hold the truth.
//!
//! The tests of this crate run some hundreds of each, `nettoll-bench` thousands.

use model::plan::Blocks;
use model::{Bytes, Cell, Test};
use stats::bootstrap::Batches;
use stats::cost::Term;
use stats::noise::{generator, normal};

use super::sizes::Sizes;
use super::{Context, Fit, FitOutcome, assemble};
use crate::confidence::Confidence;
use crate::paths::Paths;

/// The sizes of the preset `quick` on a link with an MTU of 1,500 bytes.
pub const QUICK: &[u64] = &[1, 64, 112, 512, 1024, 1472, 1473, 2032, 8192, 16_384];

/// 1 to 16,384 bytes by doubling.
pub const DOUBLED: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];

/// A made-up series over loopback, where no known threshold lies below the page.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// The sizes in bytes, rising.
    pub sizes: &'static [u64],
    /// Largest size below the step; 0 where there is none.
    pub after: u64,
    /// Times above it as a multiple of what they would be without.
    pub step: f64,
    /// The standard deviation of one trial, as a share.
    pub noise: f64,
    /// The standard deviation of what sets each size off the line, in all blocks alike.
    pub uneven: f64,
}

/// Outcomes of many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Studies made up.
    pub studies: u64,
    /// Those whose model has a breakpoint anywhere.
    pub broken: u64,
    /// Those whose only breakpoint is at the step.
    pub found: u64,
    /// Those in which the interval of the cost per message of the smallest sizes holds the truth.
    pub message_held: u64,
    /// Those in which that of the cost per byte of the largest sizes does.
    pub byte_held: u64,
}

/// ns per message, below the step.
const MESSAGE: f64 = 1_500.0;
/// ns per byte, below the step.
const BYTE: f64 = 0.3;
/// Blocks of each study.
const BLOCKS: u32 = 9;

impl Study {
    /// So many of them fitted, with seeds of their own from `first` on.
    pub fn tally(&self, studies: u64, first: u64) -> Tally {
        let mut tally = Tally { studies, ..Tally::default() };
        for fit in (first..first + studies).filter_map(|seed| self.fit(seed)) {
            let places: Vec<u64> = fit.breakpoints.iter().map(|breakpoint| breakpoint.after.get()).collect();
            tally.broken += u64::from(!places.is_empty());
            tally.found += u64::from(places == [self.after]);
            let held = |piece: Option<&super::Piece>, of: Term, truth: f64| {
                let term = piece.and_then(|piece| piece.terms.iter().find(|found| found.term == of));
                let interval = term.and_then(|term| term.estimate.interval);
                u64::from(interval.is_some_and(|interval| interval.low <= truth && truth <= interval.high))
            };
            let above = if self.after == 0 { 1.0 } else { self.step };
            tally.message_held += held(fit.pieces.first(), Term::Message, MESSAGE);
            tally.byte_held += held(fit.pieces.last(), Term::Byte, BYTE * above);
        }
        tally
    }

    fn fit(&self, seed: u64) -> Option<Fit> {
        let mut random = generator(seed);
        let mut times = |size: u64| -> Vec<f64> {
            let above = if self.after > 0 && size > self.after { self.step } else { 1.0 };
            let exact = (MESSAGE + BYTE * size as f64) * above * (self.uneven * normal(&mut random)).exp();
            (0..BLOCKS).map(|_| exact * (self.noise * normal(&mut random)).exp()).collect()
        };
        let sizes = Sizes::from_times(self.sizes.iter().map(|size| (Bytes::new(*size), times(*size))));
        let blocks = Blocks { least: BLOCKS, most: BLOCKS, interval: 0.05, confidence: 0.95 };
        let context =
            Context { confidence: Confidence::new(&blocks), batches: &Batches::from_blocks(0..BLOCKS), paths: &Paths::default(), seed };
        match assemble::fit(&sizes, &Cell::plain(Test::UdpStream, Bytes::new(1)), &[], &context) {
            FitOutcome::Fitted(fit) => Some(fit),
            FitOutcome::NotALine { .. } => None,
        }
    }
}

impl Tally {
    /// This and another, of other seeds.
    pub const fn and(self, other: Self) -> Self {
        Self {
            studies: self.studies + other.studies,
            broken: self.broken + other.broken,
            found: self.found + other.found,
            message_held: self.message_held + other.message_held,
            byte_held: self.byte_held + other.byte_held,
        }
    }

    /// A count as a share of the studies.
    pub fn share(&self, count: u64) -> f64 {
        count as f64 / self.studies as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{DOUBLED, QUICK, Study};

    /// Studies of each kind; `nettoll-bench --only verdict` makes 2,000.
    const STUDIES: u64 = if cfg!(debug_assertions) { 40 } else { 400 };

    const STEP: Study = Study { sizes: QUICK, after: 512, step: 1.2, noise: 0.01, uneven: 0.0 };

    /// The bar is 90 and 93 %; three standard deviations of a share are allowed.
    #[test]
    fn an_unnamed_step_of_a_fifth_is_found() {
        let places = [(QUICK, 512), (DOUBLED, 8), (DOUBLED, 32), (DOUBLED, 64), (DOUBLED, 256), (DOUBLED, 512)];
        for (sizes, after) in places {
            let tally = Study { sizes, after, ..STEP }.tally(STUDIES, 0);
            let [found, message, byte] = [tally.found, tally.message_held, tally.byte_held].map(|count| tally.share(count));
            eprintln!("{} sizes, step after {after}: found {found:.3}, message held {message:.3}, byte held {byte:.3}", sizes.len());
            let allowance = 3.0 * (0.93_f64 * 0.07 / STUDIES as f64).sqrt();
            assert!(found >= 0.9 && message >= 0.93 - allowance, "{after}: {found} {message} {byte}");
        }
    }

    #[test]
    fn a_line_stays_a_line() {
        for sizes in [QUICK, DOUBLED] {
            for (noise, uneven) in [(0.01, 0.0), (0.05, 0.0), (0.15, 0.0), (0.01, 0.03), (0.01, 0.06)] {
                let tally = Study { sizes, after: 0, noise, uneven, ..STEP }.tally(STUDIES, 0);
                let [broken, message, byte] = [tally.broken, tally.message_held, tally.byte_held].map(|count| tally.share(count));
                eprintln!(
                    "{} sizes, noise {noise}, uneven by {uneven}: cut {broken:.3}, message held {message:.3}, byte held {byte:.3}",
                    sizes.len()
                );
                let allowance = 3.0 * (0.05_f64 * 0.95 / STUDIES as f64).sqrt();
                assert!(broken <= 0.05 + allowance, "{noise} {uneven}: {broken}");
            }
        }
    }
}
