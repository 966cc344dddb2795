//! A workload, and the share of it that a protocol can send.

use model::mix::{Mix, MixError};
use model::{Cell, Protocol};
use serde::Serialize;

use crate::studies::receipt::WORKLOADS;
use attribution::{SizeDistribution, WorkloadError};

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
