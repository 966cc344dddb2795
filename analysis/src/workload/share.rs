//! A workload, and the share of it that a protocol can send.
//!
//! A mix is sent, and predicted by weights on the sizes that were measured.

use attribution::{SizeDistribution, WorkloadError};
use model::mix::{Mix, MixError};
use model::{Cell, Protocol};
use serde::Serialize;

/// W1 to W5 of Montazeri et al., "Homa", SIGCOMM 2018: name, what it is of, sizes.
pub const WORKLOADS: [(&str, &str, &str); 5] = [
    ("W1", "Facebook's key-value store", include_str!("../../../reference/workloads/w1.csv")),
    ("W2", "a search application at Google", include_str!("../../../reference/workloads/w2.csv")),
    ("W3", "all applications of a Google datacentre", include_str!("../../../reference/workloads/w3.csv")),
    ("W4", "a Hadoop cluster at Facebook", include_str!("../../../reference/workloads/w4.csv")),
    ("W5", "web search", include_str!("../../../reference/workloads/w5.csv")),
];

/// A distribution of message sizes with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// `W1` to `W5`, or the name of a file.
    pub name: String,
    /// Its description.
    pub title: String,
    /// Sizes and shares.
    pub sizes: SizeDistribution,
}

/// A workload that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkloadFileError {
    /// Not a file of sizes.
    #[error("{name}: {error}")]
    File {
        /// The file.
        name: String,
        /// The problem.
        error: WorkloadError,
    },
    /// Sizes that cannot be sent.
    #[error("{name}: {error}")]
    Mix {
        /// The workload.
        name: String,
        /// The problem.
        error: MixError,
    },
    /// All messages are larger than a datagram.
    #[error("{name}: every message is larger than the largest datagram, {limit} B; send it over TCP alone (--test TCP_STREAM)")]
    NoDatagram {
        /// The workload.
        name: String,
        /// The largest datagram.
        limit: u64,
    },
}

impl Workload {
    /// The workloads that come with nettoll.
    ///
    /// # Errors
    /// None: files of our own, which a test reads.
    pub fn built_in() -> Result<Vec<Self>, WorkloadFileError> {
        WORKLOADS.iter().map(|(name, title, text)| Self::parse(name, title, text)).collect()
    }

    /// Reads the text of a file, as in `reference/workloads`.
    ///
    /// # Errors
    /// The problem, its line, and the remedy.
    pub fn parse(name: &str, title: &str, text: &str) -> Result<Self, WorkloadFileError> {
        let sizes = SizeDistribution::parse(text).map_err(|error| WorkloadFileError::File { name: name.to_owned(), error })?;
        let title = if sizes.was_in_per_cent() { format!("{title} (shares in per cent)").trim().to_owned() } else { title.to_owned() };
        Ok(Self { name: name.to_owned(), title, sizes })
    }

    /// The share of it that cells like this one can send.
    ///
    /// # Errors
    /// When nothing is left of it.
    pub fn share_of(&self, cell: &Cell) -> Result<Share, WorkloadFileError> {
        let limit = match cell.protocol() {
            Protocol::Udp => cell.family.largest_datagram(),
            Protocol::Tcp => u64::MAX,
        };
        let shares = self.sizes.points();
        // A size without a message is no message too large.
        let cut: f64 = shares.iter().filter(|(size, _)| *size > limit).map(|(_, share)| share).sum();
        let left: Vec<(u64, f64)> = shares.iter().copied().filter(|(size, share)| *size <= limit && *share > 0.0).collect();
        let whole: f64 = left.iter().map(|(_, share)| share).sum();
        if whole <= 0.0 {
            return Err(WorkloadFileError::NoDatagram { name: self.name.clone(), limit });
        }
        let bytes: f64 = left.iter().map(|(size, share)| *size as f64 * share).sum();
        let cut = (cut > 0.0).then(|| Cut { limit, messages: cut, bytes: 1.0 - bytes / self.sizes.mean() });
        let sizes = left.into_iter().map(|(size, share)| (size, share / whole)).collect();
        Ok(Share { sizes: SizeDistribution::new(sizes), cut })
    }

    /// A cell that sends it, otherwise like `cell`.
    ///
    /// # Errors
    /// A size that no message has, or more sizes than a cell carries.
    pub fn cell_like(&self, cell: &Cell, seed: u64) -> Result<Cell, WorkloadFileError> {
        let share = self.share_of(cell)?;
        let mix =
            Mix::new(&self.name, seed, share.sizes.points()).map_err(|error| WorkloadFileError::Mix { name: self.name.clone(), error })?;
        Ok(cell.of_mix(mix))
    }
}

/// The part of a workload that is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Its sizes; the shares of messages sum to 1 again.
    pub sizes: SizeDistribution,
    /// The part that was left out; `None`: nothing.
    pub cut: Option<Cut>,
}

/// Messages that are too large to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cut {
    /// The largest that can be, in bytes.
    pub limit: u64,
    /// Share of the messages that are larger, 0 to 1.
    pub messages: f64,
    /// Share of the bytes that these hold.
    pub bytes: f64,
}

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
