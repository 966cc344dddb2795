//! Samples outside a program, on the CPUs that were sampled for it.

use std::collections::HashMap;

use model::end::Window;
use model::profile::Account;
use sys::process::own_id_namespace;

use crate::sampler::record::{Record, Sample};
use crate::sampler::{Recording, Tasks};
use crate::symbols::Symbols;

/// Functions that are on the chain of everything in a softirq of the network.
const NETWORK: [&str; 3] = ["net_rx_action", "net_tx_action", "napi_threaded_poll"];
/// Functions that are on the chain of everything in a softirq, before and since Linux 6.10.
const SOFTIRQ: [&str; 2] = ["__do_softirq", "handle_softirqs"];
/// Functions that are on the chain of whatever the idle task does.
pub const IDLE: [&str; 2] = ["cpu_startup_entry", "do_idle"];

/// Samples within a window outside a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outside {
    /// Samples of other programs.
    pub others: u64,
    /// Samples of other programs or of idle time: nothing says which.
    pub untold: u64,
    /// In softirqs of the network, in any context. On whose behalf such a softirq ran cannot be distinguished from a
    /// sample: an upper bound of what others' contexts did for the program.
    pub network: u64,
    /// In softirqs that interrupted idle time.
    pub idle_softirq: u64,
}

/// Counts samples within the window that are of none of `own`.
///
/// In a namespace of process ids the kernel writes 0 for tasks of other namespaces, as for the idle task. Those are
/// told by their chains: what the idle task does has its loop at the outer end.
pub fn outside(recordings: &[Recording], symbols: &Symbols, own: &[Tasks], window: Window) -> Outside {
    let first = own_id_namespace().is_none();
    let mut known: HashMap<u64, [bool; 3]> = HashMap::new();
    let mut found = Outside::default();
    for record in recordings.iter().flat_map(Recording::records) {
        let Ok(Record::Sample(sample)) = record else { continue };
        if !window.contains(sample.time) || own.iter().any(|tasks| tasks.have(sample.pid, sample.tid)) {
            continue;
        }
        let (mut chain, mut frames) = ([false; 3], 0);
        for address in sample.kernel_chain().filter(|_| !sample.user) {
            let of = *known.entry(address).or_insert_with(|| {
                let name = symbols.caller(address);
                [NETWORK.contains(&name), SOFTIRQ.contains(&name), IDLE.contains(&name)]
            });
            chain.iter_mut().zip(of).for_each(|(any, this)| *any |= this);
            frames += 1;
        }
        let [network, softirq, in_idle_loop] = chain;
        found.network += u64::from(network);
        match idle(&sample, frames, in_idle_loop, first) {
            Some(true) => found.idle_softirq += u64::from(softirq),
            Some(false) => found.others += 1,
            None => found.untold += 1,
        }
    }
    found
}

/// Returns whether a sample is of idle time; `None` where it is unknown.
const fn idle(sample: &Sample, frames: usize, in_idle_loop: bool, first_namespace: bool) -> Option<bool> {
    match sample.pid {
        0 if first_namespace || in_idle_loop => Some(true),
        // The outer end of the chain is missing.
        0 if !sample.user && frames < 2 => None,
        _ => Some(false),
    }
}

impl Outside {
    /// The account of a program next to whose samples these are.
    pub fn with(self, account: Account) -> Account {
        Account { others: Some(self.others), untold: self.untold, idle_softirq: Some(self.idle_softirq), ..account }
    }
}
