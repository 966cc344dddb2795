//! Pairs of neighbours in random order, and what they show.

use anyhow::Context;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stats::estimate::Estimate;
use stats::median;

use crate::bars::Row;

/// Runs `ours` and `theirs` in turn, which first is drawn for each pair.
pub fn run<T>(
    pairs: u32,
    mut ours: impl FnMut() -> anyhow::Result<T>,
    mut theirs: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<Vec<(T, T)>> {
    // The order is not a result; a fixed seed makes a run repeatable.
    let mut order = ChaCha8Rng::seed_from_u64(1_984);
    (0..pairs)
        .map(|_| {
            if order.random::<bool>() {
                let first = ours()?;
                Ok((first, theirs()?))
            } else {
                let first = theirs()?;
                Ok((ours()?, first))
            }
        })
        .collect()
}

/// The median ratio of ours to theirs, with its exact interval.
pub fn ratio<T>(what: impl Into<String>, pairs: &[(T, T)], figure: impl Fn(&T) -> f64, confidence: f64) -> anyhow::Result<Row> {
    let logs: Vec<f64> = pairs.iter().map(|(ours, theirs)| (figure(ours) / figure(theirs)).ln()).collect();
    Ok(Row::estimated(what, "x", &of(&logs, confidence)?.map(f64::exp)))
}

/// The median of values with its exact interval.
pub fn of(values: &[f64], confidence: f64) -> anyhow::Result<Estimate> {
    let estimate = median::estimate(values, confidence).context("no figures")?;
    anyhow::ensure!(estimate.interval.is_some(), "too few figures for an interval: {}", values.len());
    Ok(estimate)
}
