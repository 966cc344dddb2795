//! Pairs of neighbours in random order, and what they show.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stats::median;

/// A ratio, or a difference, and where it lies.
#[derive(Debug, Clone, Copy)]
pub struct PairEstimate {
    /// Median over pairs.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Pairs.
    pub n: usize,
}

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
pub fn ratio<T>(pairs: &[(T, T)], figure: impl Fn(&T) -> f64, confidence: f64) -> anyhow::Result<PairEstimate> {
    let logs: Vec<f64> = pairs.iter().map(|(ours, theirs)| (figure(ours) / figure(theirs)).ln()).collect();
    let compared = median_of(&logs, confidence)?;
    Ok(PairEstimate { value: compared.value.exp(), low: compared.low.exp(), high: compared.high.exp(), ..compared })
}

/// The median difference of ours and theirs, with its exact interval.
pub fn difference<T>(pairs: &[(T, T)], figure: impl Fn(&T) -> f64, confidence: f64) -> anyhow::Result<PairEstimate> {
    let differences: Vec<f64> = pairs.iter().map(|(ours, theirs)| figure(ours) - figure(theirs)).collect();
    median_of(&differences, confidence)
}

fn median_of(values: &[f64], confidence: f64) -> anyhow::Result<PairEstimate> {
    let estimate = median::estimate(values, confidence).ok_or_else(|| anyhow::anyhow!("no figures"))?;
    let interval = estimate.interval.ok_or_else(|| anyhow::anyhow!("too few pairs for an interval: {}", values.len()))?;
    Ok(PairEstimate { value: estimate.value, low: interval.low, high: interval.high, n: estimate.n })
}
