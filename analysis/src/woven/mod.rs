//! Woven trials: from slices to the shift of each arm against the baseline.
//!
//! ```text
//! slices of an instance -> log ratio of each round -> Hodges-Lehmann -> one value an instance
//! values of all instances -> verdict (Design::Woven): mean, t; looks -> doubts
//! ```

mod doubts;
mod observer;
mod rounds;
mod series;

pub use observer::WovenObserver;
pub use rounds::{Measure, Within, aging, levels, within};
pub use series::{WovenSeries, WovenSide};

use model::plan::Blocks;

/// The numbers of instances after which a woven study looks whether it may stop.
pub fn looks(blocks: &Blocks) -> Vec<usize> {
    stats::instances::looks(blocks.least as usize, blocks.most as usize)
}
