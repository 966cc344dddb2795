//! Workloads: the cost of a mix of message sizes, predicted from the cost of
//! single sizes and compared with the mix itself.
//!
//! ```text
//! Workload -> Share (what of it can be sent) -> Mix -> cells
//! TrialTable -> StreamTrials: figures of sizes and of mixes
//! StreamTrials + Analysis (models, receipts) -> weights over sizes -> WorkloadStudy
//! ```
//!
//! `docs/workload.md` has the maths.

mod evidence;
mod share;
mod study;
mod touching;
mod trials;

pub use evidence::{SMALL_MESSAGES, WorkloadRuns, evidence};
pub use share::{Beyond, Cut, Share, WORKLOADS, Weights, Workload, WorkloadFileError};
pub use study::{FigureRow, MixTotals, NoModel, Quantity, Source, WORKLOAD_FORMAT, WorkloadResult, WorkloadSeries, WorkloadStudy, predict};
pub use touching::{ShareOfTime, Touching};
pub use trials::{StreamTrials, sizes_for};

#[cfg(test)]
mod tests;
