//! What a sampler hands over when it has finished.

use model::profile::SampleSource;

use super::open::Layout;
use super::record::{Malformed, Record, Records};
use crate::symbols::CodeMap;
use model::Unavailable;

/// Everything that was written while a sampler ran, still in the kernel's form.
#[derive(Debug)]
pub struct Recording {
    /// Clock that spaces the samples.
    pub source: SampleSource,
    /// Their distance: ns of CPU time, or cycles.
    pub period: u64,
    /// Parts of a sample.
    pub layout: Layout,
    /// The bytes of each ring, in order.
    pub rings: Vec<Vec<u8>>,
    /// Samples for which there was no room, where the kernel counts them.
    pub lost: Option<u64>,
    /// Files of the process's code.
    pub code: CodeMap,
    /// Limits met on the way.
    pub notes: Vec<Unavailable>,
}

impl Recording {
    /// All records, ring after ring.
    pub fn records(&self) -> impl Iterator<Item = Result<Record<'_>, Malformed>> {
        self.rings.iter().flat_map(|ring| Records::new(ring, &self.layout))
    }
}
