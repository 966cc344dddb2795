//! The receipt: the cost of a message by function, layer and category.
//! It is made of passes ([`Passes`]), whatever their source: this crate opens no perf
//! event and knows no trial, plan or run.
//!
//! [`exact`] has receipts of exact counts, without samples and intervals.
//!
//! ```text
//! rules/kernel.rules -> Rules -+
//!                    Profile --+-> Attributes -> rows -> Receipt -> growth, compare, workload
//! ```
//!
//! `docs/receipt.md` has the formulas and their sources.
#![forbid(unsafe_code)]

mod attributes;
mod closure;
mod compare;
mod counters;
mod doubt;
mod figure;
mod growth;
mod passes;
mod phases;
mod profile;
mod receipt;
mod rows;
mod symbol;
mod table;
mod workload;

pub mod exact;
pub mod rules;

pub use attributes::{Attributes, Category, Context, Crossing, Decided, Direction, Layer, Phase};
pub use closure::{BilledSum, Closure, Observer, SAMPLER};
pub use compare::{Comparison, Difference, Verdict, compare, total_variation};
pub use counters::{Booked, LayerCounters};
pub use doubt::{Cause, Doubt, Footing, Gravity, LEAST_FOR_SUMS, LEAST_SAMPLES, longer};
pub use figure::{ErrorMethod, Figure, Sampling, product, ratio, share};
pub use growth::{Growth, Shape, Trials, growth, settle};
pub use passes::{CleanPass, CountPass, Passes, SampledSlices, TimePass, WaitPass};
pub use phases::Stack;
pub use profile::{folded, folded_chains};
pub use receipt::{BILLED, Calls, OffCpu, Receipt, ReceiptError, Rows, RuleShare, Sampled};
pub use rows::{Basis, Bound, Path, Row, Split, Tally, by_key};
pub use rules::{Classifier, RuleError, Rules, Setting};
pub use symbol::Symbol;
pub use table::{FunctionRow, FunctionTable, SizeCell, time_growth};
pub use workload::{SizeDistribution, Weighted, WeightedRow, WorkloadError, weigh};

#[cfg(test)]
mod tests;
