//! Exact receipts: what one message executed, counted instruction by instruction in
//! an emulated machine, by the attributes that receipts of time have.
//!
//! ```text
//! Tree (call paths with counts) + Rules -> Receipt rows -> Measured -> matrix, diff, files
//!                                          Measured + rows of time -> Timed
//! ```
//!
//! There is no sample and no interval: two runs give the same counts. What can vary is
//! the message, and that is said by its share and by the spread.

mod counts;
mod diff;
mod measured;
mod phases;
mod rows;
mod stored;
mod timed;
mod tree;

pub use counts::{Counts, Spread, spread};
pub use diff::{Change, ExactDiff, PathChange, RegionDiff, diff};
pub use measured::{AbsentScenario, Accesses, Lines, Measured, Provenance, Region};
pub use phases::{PhaseRow, phases};
pub use rows::{ExactFunction, ExactRow, ExactRows};
pub use stored::{EXACT_FORMAT, PartOf, Stored, StoredError, StoredRun};
pub use timed::{Timed, TimedRow, timed};
pub use tree::{CallTree, PathNode, TreeError};
