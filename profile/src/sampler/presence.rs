//! Times at which tasks were on a CPU, from the records of switches next to the samples.
//!
//! What samples are compared with is the time between these records, of whole CPUs scaled up from the second
//! halves of the sampler's periods ([`Recording::sampled_for`]). The process's CPU
//! clock is not that time: from its wake-up on a thread is charged before it runs, on
//! idle virtual CPUs 7 to 19 µs each time, and no timer of its own or of its CPU shows it there.

use model::Nanos;
use model::end::Window;

use super::due::LONGEST_LEAVING;
use super::record::{Recording, Switch, Tasks};

/// A stretch of time on a CPU: its start and end, in ns of `CLOCK_MONOTONIC`.
pub(super) type Stretch = (u64, u64);

impl Recording {
    /// Time that the tasks were on a CPU within `window`; `None` without records of switches.
    pub fn on_cpu(&self, tasks: Tasks, window: Window) -> Option<Nanos> {
        let rings = self.switches.as_ref()?.iter();
        let clipped = |(from, to): Stretch| to.min(window.end.get()).saturating_sub(from.max(window.start.get()));
        Some(Nanos::new(rings.flat_map(|ring| stretches(ring, tasks)).map(clipped).fold(0, u64::saturating_add)))
    }

    /// Time on a CPU within `window` that the tasks' samples should sum to; `None` without records of switches.
    ///
    /// A sample changes what follows it: of a task that sleeps often, its own time and that of what has come meanwhile
    /// lengthen the stretch in which it was taken, which the next ones make up for, and in idle time
    /// it has the CPU awake for what comes. The timer of a whole CPU meets only what is left of that after a
    /// period. So the task's share of the second halves of periods stands for all. Receivers on a
    /// virtual machine that ran for 3 to 6 µs at a time had 1.0 to 1.4 times their usual share of the first 33 of
    /// 531 µs, and 0.96 to 1.01 of it in the second half.
    pub fn sampled_for(&self, tasks: Tasks, window: Window) -> Option<Nanos> {
        let [start, end] = [window.start, window.end.max(window.start)].map(Nanos::get);
        let of = |(place, ring): (usize, &Vec<Switch>)| {
            let cut = |(from, to): Stretch| (from.clamp(start, end), to.clamp(start, end));
            let stretches: Vec<Stretch> = stretches(ring, tasks).into_iter().map(cut).collect();
            match self.dated(place).and_then(|dated| dated.undisturbed(&stretches, window)) {
                Some(share) => (share * (end - start) as f64) as u64,
                None => stretches.iter().map(|(from, to)| to.saturating_sub(*from)).fold(0, u64::saturating_add),
            }
        };
        Some(Nanos::new(self.switches.as_ref()?.iter().enumerate().map(of).fold(0, u64::saturating_add)))
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
