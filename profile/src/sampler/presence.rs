//! Times at which tasks were on a CPU, from the records of switches next to the samples.
//!
//! What samples are compared with is the time between these records, of whole CPUs scaled up from the second
//! halves of the sampler's periods ([`Recording::sampled_for`]). The process's CPU
//! clock is not that time: from its wake-up on a thread is charged before it runs, on
//! idle virtual CPUs 7 to 19 µs each time, and no timer of its own or of its CPU shows it there.

use model::Nanos;
use model::end::Window;

use super::record::{Recording, Switch, Tasks};

/// A stretch of time on a CPU: its start and end, in ns of `CLOCK_MONOTONIC`.
pub(super) type Stretch = (u64, u64);

/// The longest time for which interrupts are off before a task's leaving is recorded, in ns: 6 µs were seen on a virtual
/// machine. A stretch that a sample lengthens goes on for longer.
pub(super) const LONGEST_LEAVING: u64 = 10_000;

impl Recording {
    /// Time that the tasks were on a CPU within `window`; `None` without records of switches.
    pub fn on_cpu(&self, tasks: Tasks, window: Window) -> Option<Nanos> {
        let rings = self.switches.as_ref()?.iter();
        let clipped = |(from, to): Stretch| to.min(window.end.get()).saturating_sub(from.max(window.start.get()));
        Some(Nanos::new(rings.flat_map(|ring| stretches(ring, tasks)).map(clipped).fold(0, u64::saturating_add)))
    }
}

/// Returns whether a CPU's switches tell of its idle time, should it have had any. Not every kernel has it among the
/// records of every CPU: then a task leaves, and nobody comes for long.
pub(super) fn tells_idle(ring: &[Switch]) -> bool {
    let nobody_comes = |pair: &[Switch]| pair[0].out && !pair[1].out && pair[1].time.saturating_sub(pair[0].time) > LONGEST_LEAVING;
    ring.iter().any(|switch| (switch.pid, switch.tid) == (0, 0)) || !ring.windows(2).any(nobody_comes)
}

/// Stretches of the tasks on a CPU, as one ring tells them, in order of time. A ring is of one
/// CPU or one thread, so that one task at most is there; a thread that ends leaves under
/// another number. Tasks that are first seen leaving were there from the start, those that
/// never leave to the end.
///
/// Interrupts are off from the record of who leaves until after that of who comes: a timer that
/// is due between the two strikes in who comes, whose stretch therefore begins with the other's
/// leaving, where the ring is of a whole CPU and tells it, of idle time too.
pub(super) fn stretches(ring: &[Switch], tasks: Tasks) -> Vec<Stretch> {
    let mut since = ring.first().filter(|first| first.out && tasks.have(first.pid, first.tid)).map(|_| 0);
    let mut found = Vec::new();
    let mut left = None;
    let tells_idle = tells_idle(ring);
    for switch in ring {
        let before = left.take().filter(|(task, _)| tells_idle && switch.cpu_wide && *task != switch.tid).map(|(_, time)| time);
        if switch.out {
            left = Some((switch.tid, switch.time));
        }
        if !tasks.have(switch.pid, switch.tid) {
            continue;
        }
        if switch.out {
            found.extend(since.take().map(|from| (from, switch.time)));
        } else {
            since = Some(before.unwrap_or(switch.time));
        }
    }
    found.extend(since.map(|from| (from, u64::MAX)));
    found
}

#[cfg(test)]
mod tests;
