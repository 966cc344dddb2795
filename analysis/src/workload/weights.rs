//! A mix as weights on the sizes that were measured.

use serde::Serialize;

/// Weights of the measured sizes in the mean over a mix.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// One a measured size; they sum to 1, and one of them may be below 0 where
    /// sizes beyond the largest are predicted.
    pub of_size: Vec<f64>,
    /// Part of the mix beyond the sizes measured.
    pub beyond: Beyond,
}

/// Messages larger than every size measured: the line through the two largest
/// is drawn on to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Beyond {
    /// Share of messages, 0 to 1.
    pub messages: f64,
    /// Share of the bytes that these hold.
    pub bytes: f64,
}

impl Weights {
    /// Weighs a mix, sizes with shares that sum to 1, over measured sizes, rising.
    /// `None` with fewer than two.
    ///
    /// Between two measured sizes a cost is on the straight line between theirs;
    /// below the smallest it is that of the smallest, because no message costs
    /// less than a call; above the largest it is on the line through the two
    /// largest. So the mean over the mix is a weighted sum of what was measured.
    pub fn new(mix: &[(u64, f64)], measured: &[u64]) -> Option<Self> {
        let last = measured.len().checked_sub(1).filter(|last| *last > 0)?;
        let mut of_size = vec![0.0; measured.len()];
        let mut beyond = Beyond::default();
        let mut bytes = 0.0;
        for (size, share) in mix {
            let upper = measured.partition_point(|known| known < size).clamp(1, last);
            let (low, high) = (measured[upper - 1] as f64, measured[upper] as f64);
            let towards = ((*size as f64 - low) / (high - low)).max(0.0);
            of_size[upper - 1] += share * (1.0 - towards);
            of_size[upper] += share * towards;
            bytes += share * *size as f64;
            if *size > measured[last] {
                beyond.messages += share;
                beyond.bytes += share * *size as f64;
            }
        }
        beyond.bytes /= bytes;
        Some(Self { of_size, beyond })
    }

    /// The same of messages whose mean size was another, as of a mix that was cut
    /// off in the middle: what it has more or less is taken to be in its largest
    /// messages, few of which hold many of the bytes.
    pub fn towards_mean(mut self, mean: f64, measured: &[u64]) -> Self {
        let own: f64 = self.of_size.iter().zip(measured).map(|(weight, size)| weight * *size as f64).sum();
        if let ([.., before, last], [.., low, high]) = (self.of_size.as_mut_slice(), measured) {
            let more = (mean - own) / (high - low) as f64;
            *before -= more;
            *last += more;
        }
        self
    }

    /// The mean over the mix of what was found at each size. `None` when any size
    /// that counts lacks it.
    pub fn mean(&self, at_size: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let counting = self.of_size.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        counting.map(|(place, weight)| Some(weight * at_size(place)?)).sum()
    }
}
