//! Rows: samples of one kind, as time per message.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::attributes::{Context, Direction, Layer};
use super::figure::Figure;
use super::ratio::{self, Sampling};

/// A layer with the context in which it ran and the direction it worked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Path {
    /// On whose behalf.
    pub layer: Layer,
    /// In what it ran.
    pub context: Context,
    /// For which way of the message.
    pub direction: Option<Direction>,
}

/// A row of a receipt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row<K> {
    /// What it is of.
    pub key: K,
    /// Samples of all passes.
    pub samples: u64,
    /// Share of the end's on-CPU time, 0 to 1.
    pub share: Figure,
    /// ns per message: the share of the clean CPU time.
    pub ns: Figure,
    /// ns per message as each time pass alone has it, in the order of passes.
    pub passes: Vec<f64>,
}

/// What turns samples into time per message.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    /// Distance of two samples, in the unit of `on_cpu`.
    pub period: f64,
    /// On-CPU time of each time pass.
    pub on_cpu: Vec<f64>,
    /// Samples of all passes.
    pub samples: u64,
    /// Clean CPU time per message, in ns.
    pub clean: Figure,
}

impl Basis {
    /// The share of the whole that one sample is.
    pub fn each(&self) -> f64 {
        self.period / self.on_cpu.iter().sum::<f64>()
    }

    /// The row of samples counted pass by pass.
    pub fn row<K>(&self, key: K, counts: &[u64]) -> Row<K> {
        let pairs: Vec<(f64, f64)> = counts.iter().zip(&self.on_cpu).map(|(count, on)| (*count as f64 * self.period, *on)).collect();
        let samples = counts.iter().sum();
        let share = ratio::share(ratio::ratio(&pairs), Sampling { samples, of: self.samples, each: self.each() });
        let passes = pairs.iter().map(|(time, on)| time / on * self.clean.value).collect();
        Row { key, samples, share, ns: ratio::product(share, self.clean), passes }
    }

    /// A row for each key met in any pass, the costliest first.
    pub fn rows<K: Ord + Clone>(&self, tallies: &[&BTreeMap<K, u64>]) -> Vec<Row<K>> {
        let keys: BTreeSet<&K> = tallies.iter().flat_map(|tally| tally.keys()).collect();
        let counts = |key: &K| tallies.iter().map(|tally| tally.get(key).copied().unwrap_or(0)).collect::<Vec<u64>>();
        let mut rows: Vec<Row<K>> = keys.into_iter().map(|key| self.row(key.clone(), &counts(key))).collect();
        // Stable: keys of equal cost stay in their own order.
        rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
        rows
    }
}
