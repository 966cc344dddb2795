//! Samples in softirqs of the network outside a program.
//!
//! On whose behalf such a softirq ran cannot be told from a sample: the sum is an upper bound of
//! what others' contexts did for a program.

use std::collections::HashMap;

use model::end::Window;

use crate::sampler::record::Record;
use crate::sampler::{Recording, Tasks};
use crate::symbols::Symbols;

/// Functions that are on the chain of everything in a softirq of the network.
const NETWORK: [&str; 3] = ["net_rx_action", "net_tx_action", "napi_threaded_poll"];

/// Samples within the window in softirqs of the network that interrupted none of `tasks`.
pub fn softirq_samples(recordings: &[Recording], symbols: &Symbols, tasks: Tasks, window: Window) -> u64 {
    let mut known: HashMap<u64, bool> = HashMap::new();
    let mut found = 0;
    for record in recordings.iter().flat_map(Recording::records) {
        let Ok(Record::Sample(sample)) = record else { continue };
        if sample.user || !window.contains(sample.time) || tasks.have(sample.pid, sample.tid) {
            continue;
        }
        let network = |address: u64| *known.entry(address).or_insert_with(|| NETWORK.contains(&symbols.caller(address)));
        found += u64::from(sample.kernel_chain().any(network));
    }
    found
}
