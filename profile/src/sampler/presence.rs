//! Times at which tasks were on a CPU, from the records of switches next to the samples.
//!
//! They give a receipt its level: samples say how the time on a CPU divides, these records how much time
//! there was. The process's CPU clock is not that time: it runs from a wake-up on, before the thread has a CPU.

use model::Nanos;
use model::end::Window;

use super::record::{Recording, Switch, Tasks};

/// A stretch of time on a CPU: its start and end, in ns of `CLOCK_MONOTONIC`.
type Stretch = (u64, u64);

impl Recording {
    /// Time that the tasks were on a CPU within `window`; `None` without records of switches.
    pub fn on_cpu(&self, tasks: Tasks, window: Window) -> Option<Nanos> {
        let rings = self.switches.as_ref()?.iter();
        let clipped = |(from, to): Stretch| to.min(window.end.get()).saturating_sub(from.max(window.start.get()));
        Some(Nanos::new(rings.flat_map(|ring| stretches(ring, tasks)).map(clipped).fold(0, u64::saturating_add)))
    }
}

/// Stretches of the tasks on a CPU, in order of time. A ring is of one CPU or one thread, so that one task at
/// most is there; a thread that ends leaves under another number. Tasks that are first seen leaving were there
/// from the start, those that never leave to the end.
///
/// Interrupts are off from the record of a task's leaving to that of the next one's coming: a timer that is due
/// between the two fires in the one that comes. The time between is therefore its own, where the records say that
/// no other was there meanwhile: not every kernel records the idle task on every CPU. Behind the idle task it is not:
/// an end that leaves its CPU idle loses as much to the idle task, by timers that are due while it leaves. A task of
/// another namespace of process ids has the idle task's number: one that slept was none, one that was
/// interrupted is taken for it.
fn stretches(ring: &[Switch], tasks: Tasks) -> Vec<Stretch> {
    let mut since = ring.first().filter(|first| first.out && tasks.have(first.pid, first.tid)).map(|_| 0);
    let mut found = Vec::new();
    let mut before: Option<&Switch> = None;
    for switch in ring {
        let left =
            before.replace(switch).filter(|before| before.out && !(before.tid == 0 && before.runnable) && switch.other == Some(before.tid));
        if !tasks.have(switch.pid, switch.tid) {
            continue;
        }
        if switch.out {
            found.extend(since.take().map(|from| (from, switch.time)));
        } else {
            since = Some(left.map_or(switch.time, |left| left.time));
        }
    }
    found.extend(since.map(|from| (from, u64::MAX)));
    found
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::end::Window;
    use model::profile::SampleSource;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use crate::sampler::record::Switch;
    use crate::sampler::{Layout, Recording, Tasks};
    use crate::symbols::CodeMap;

    /// The end, and idle time.
    const END: u32 = 7;
    const IDLE: u32 = 0;

    const fn switch(task: u32, time: u64, out: bool) -> Switch {
        Switch { pid: task, tid: task, time, out, runnable: task == IDLE, other: None }
    }

    fn recording(switches: Vec<Switch>) -> Recording {
        Recording {
            source: SampleSource::CpuClock,
            period: 1_000,
            layout: Layout::default(),
            rings: vec![],
            lost: None,
            counted: None,
            switches: Some(vec![switches]),
            forks: vec![],
            code: CodeMap::default(),
            notes: vec![],
        }
    }

    fn window(start: u64, end: u64) -> Window {
        Window { start: Nanos::new(start), end: Nanos::new(end) }
    }

    #[test]
    fn times_on_a_cpu_are_cut_at_the_window() {
        let ring =
            [switch(END, 100, true), switch(END, 200, false), switch(END, 300, true), switch(3, 310, false), switch(END, 500, false)];
        let recording = recording(ring.to_vec());
        let on_cpu = |start, end| recording.on_cpu(Tasks::Process(END), window(start, end)).unwrap().get();
        assert_eq!(on_cpu(0, 1_000), 100 + 100 + 500, "there from the start, and to the end");
        assert_eq!(on_cpu(50, 250), 50 + 50);
        assert_eq!(on_cpu(320, 400), 0);
        assert_eq!(recording.on_cpu(Tasks::Threads(&[3]), window(0, 400)).unwrap().get(), 90);
    }

    #[test]
    fn every_cpu_counts() {
        let ring = vec![switch(END, 200, false), switch(END, 300, true), switch(3, 310, false), switch(END, 500, false)];
        let both = Recording { switches: Some(vec![ring.clone(), ring]), ..recording(vec![]) };
        assert_eq!(both.on_cpu(Tasks::Process(END), window(250, 600)).unwrap().get(), 2 * 150);
    }

    #[test]
    fn the_time_of_a_switch_is_that_of_the_task_that_comes() {
        const OTHER: u32 = 3;
        let came = Switch { other: Some(OTHER), ..switch(END, 100, false) };
        let on_cpu = |ring: &[Switch], task| recording(ring.to_vec()).on_cpu(Tasks::Process(task), window(0, 300)).unwrap().get();
        let ring = [switch(OTHER, 90, true), came, switch(END, 200, true), Switch { other: Some(END), ..switch(IDLE, 210, false) }];
        assert_eq!((on_cpu(&ring, END), on_cpu(&ring, IDLE)), (110, 100));
        // Behind idle time, where no record names the other, and where another was there between.
        let idle = Switch { other: Some(IDLE), ..came };
        for ring in [[switch(IDLE, 90, true), idle, ring[2]], [switch(OTHER, 90, true), idle, ring[2]]] {
            assert_eq!(on_cpu(&ring, END), 100);
        }
        assert_eq!(on_cpu(&[switch(OTHER, 90, true), switch(END, 100, false), ring[2]], END), 100);
        // One of another namespace has the number of idle time, which never sleeps.
        let foreign = Switch { runnable: false, ..switch(IDLE, 90, true) };
        assert_eq!(on_cpu(&[foreign, idle, ring[2]], END), 110);
    }

    #[test]
    fn a_thread_that_ends_leaves_under_another_number() {
        let exit = Switch { pid: END, tid: u32::MAX, time: 300, out: true, runnable: false, other: None };
        let recording = recording(vec![switch(END, 100, false), exit]);
        assert_eq!(recording.on_cpu(Tasks::Process(END), window(0, 1_000)).unwrap().get(), 200);
    }

    #[test]
    fn nothing_is_said_without_records_of_switches() {
        let recording = Recording { switches: None, ..recording(vec![]) };
        assert_eq!(recording.on_cpu(Tasks::All, window(0, 1_000)), None);
    }

    proptest! {
        /// The parts of a window make the whole, and no more time than it has.
        #[test]
        fn no_time_is_made_or_lost(edges in proptest::collection::vec(0..100_000_u64, 0..40), cut in 0..100_000_u64) {
            let mut edges = edges;
            edges.sort_unstable();
            edges.dedup();
            let ring: Vec<Switch> = edges.iter().enumerate().flat_map(|(place, time)| {
                let (leaves, comes) = if place % 2 == 0 { (IDLE, END) } else { (END, IDLE) };
                [switch(leaves, *time, true), switch(comes, *time, false)]
            }).collect();
            let recording = recording(ring);
            let on_cpu = |tasks, start, end| recording.on_cpu(tasks, window(start, end)).unwrap().get();
            let (end, idle) = (Tasks::Process(END), Tasks::Process(IDLE));
            if !edges.is_empty() {
                prop_assert_eq!(on_cpu(end, 0, 100_000) + on_cpu(idle, 0, 100_000), 100_000);
            }
            prop_assert_eq!(on_cpu(end, 0, cut) + on_cpu(end, cut, 100_000), on_cpu(end, 0, 100_000));
            prop_assert!(on_cpu(end, 0, cut) <= cut);
        }
    }
}
