//! Statistical methods. Each file is one method and names its source. None knows a trial, a cell
//! or a file, so that published tables and simulations are enough to test it.
#![forbid(unsafe_code)]

pub mod batched;
pub mod binomial;
pub mod bootstrap;
pub mod change;
pub mod cost;
pub mod dip;
pub mod distribution;
pub mod estimate;
pub mod fairness;
pub mod fleet;
pub mod holm;
pub mod instances;
pub mod knee;
pub mod level_changes;
pub mod looks;
pub mod median;
pub mod noise;
pub mod power;
pub mod randomisation;
pub mod ranks;
pub mod resample;
pub mod trend;
pub mod welch;

/// Sorts figures, the least first; those that are not a number go to an end.
pub fn sort(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}
