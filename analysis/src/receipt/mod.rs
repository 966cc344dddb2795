//! The receipt: where each message's time goes, by function, layer and category.
//!
//! ```text
//! rules/kernel.rules -> Rules -+
//!                    Profile --+-> Attributes -> rows -> Receipt -> growth, compare, workload
//! ```
//!
//! `docs/receipt.md` has the maths with their sources.

mod attributes;
mod build;
mod closure;
mod compare;
mod counters;
mod doubt;
mod figure;
mod folded;
mod growth;
mod merge;
mod passes;
mod ratio;
mod row;
mod split;
mod study;
mod symbol;
mod table;
mod tally;
mod workload;

pub mod rules;

pub use attributes::{Attributes, Category, Context, Crossing, Decided, Direction, Layer};
pub use build::{Calls, Receipt, ReceiptError, RuleShare};
pub use closure::{Closure, Observer};
pub use compare::{Comparison, Difference, Verdict, compare, total_variation};
pub use counters::{LayerCounters, per_layer};
pub use doubt::{Doubt, Gravity};
pub use figure::{ErrorMethod, Figure};
pub use folded::folded;
pub use growth::{Growth, Shape, Trials, growth};
pub use merge::{MergeError, merge};
pub use passes::{CleanPass, CountPass, Passes, TimePass, WaitPass};
pub use row::{Path, Row};
pub use rules::{Classifier, RuleError, Rules, Setting};
pub use split::{Bound, Split};
pub use study::{BUILT_IN, Gatherer, Stack, WORKLOADS, compare_arms, compare_studies};
pub use symbol::Symbol;
pub use table::{FunctionRow, FunctionTable, SizeCell};
pub use workload::{SizeDistribution, Weighted, WeightedRow, WorkloadError, weigh};

#[cfg(test)]
pub mod tests;
