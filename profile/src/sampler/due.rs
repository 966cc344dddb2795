//! Samples by who had the CPU when they were due.
//!
//! Around a switch interrupts are off from before the record of who leaves until after that of who comes, so
//! that a timer that is due while a task leaves strikes in `finish_task_switch` of the next one. Receivers that ran for 9
//! and 15 µs at a time lost 6 and 3 % of their samples to idle time that way, and got half as many of
//! idle time's: 0.97 of their time was sampled. By who had the CPU when they were due it was 1.00 and 0.99.
//!
//! Linux 6.18 on a virtual machine records idle time, in samples and switches, on its first CPU only. On the others
//! a sample that was due while the task left for idle time is in no record: receivers of fragments,
//! which ran for 4 to 6 µs at a time, lacked 20 to 30 % of their samples there. Those are
//! counted by the times at which the timer was due ([`Recording::unseen`]).

use model::Nanos;
use model::end::Window;
use model::profile::SampleSource;

use super::presence::{stretches, tells_idle};
use super::record::{Record, Recording, Records, Switch, Tasks};
use super::timer::Timer;

/// A process and one of its threads.
pub type Task = (u32, u32);
/// What the kernel calls idle time.
const IDLE: Task = (0, 0);

/// For how long interrupts are off, at most, before a task's leaving is recorded: on a virtual machine 6 µs,
/// the kernel's look for another task among them. A stretch that a sample lengthens goes on for longer.
const LEAVING: u64 = 10_000;

impl Recording {
    /// Returns who had the CPU when each sample of a ring was due, in the order of samples. `None`
    /// stands for whom it struck, and so does a list that ends early: without a timer of a whole CPU
    /// or records of its switches nobody else is known.
    pub fn due(&self, ring: usize) -> Vec<Option<Task>> {
        let Some(switches) = self.of_whole_cpu(ring) else { return Vec::new() };
        let (times, timer) = self.timer(ring);
        let tells_idle = tells_idle(switches);
        times.iter().map(|time| owner(switches, tells_idle, timer.map_or(*time, |timer| timer.due(*time)))).collect()
    }

    /// Counts the samples of tasks that were due in a ring while the task left its CPU for idle time, of
    /// which the ring has no records.
    pub fn unseen(&self, ring: usize, tasks: Tasks, window: Option<Window>) -> u64 {
        self.without_record(ring, window, |switches| {
            let stretches = stretches(switches, tasks);
            move |due| {
                let begun = stretches.partition_point(|(from, _)| *from <= due);
                begun
                    .checked_sub(1)
                    .is_some_and(|last| stretches[last].1.checked_sub(due).is_some_and(|left| (1..=LEAVING).contains(&left)))
            }
        })
    }

    /// Counts the samples that were due in idle time of which a ring has no records.
    pub fn unseen_idle(&self, ring: usize) -> u64 {
        self.without_record(ring, None, |switches| move |due| owner(switches, false, due) == Some(IDLE))
    }

    /// Counts the times of a window, or of the whole recording, at which the timer was due without a sample, and that
    /// are wanted; 0 where the ring has records of idle time.
    fn without_record<'a, W: Fn(u64) -> bool>(
        &'a self,
        ring: usize,
        window: Option<Window>,
        wanted: impl FnOnce(&'a [Switch]) -> W,
    ) -> u64 {
        let Some(switches) = self.of_whole_cpu(ring).filter(|switches| !tells_idle(switches)) else { return 0 };
        let (times, timer) = self.timer(ring);
        // No longer than the event counted: times in records may be anything.
        let whole = || {
            let (first, last) = (*times.first()?, *times.last()?);
            Some(Window { start: Nanos::new(first), end: Nanos::new(last.min(first.saturating_add(self.counted?))) })
        };
        let (Some(timer), Some(window)) = (timer, window.or_else(whole)) else { return 0 };
        let struck = |due: u64| times.get(times.partition_point(|time| *time < due)).is_some_and(|time| timer.due(*time) == due);
        let wanted = wanted(switches);
        timer.all(window).filter(|due| wanted(*due) && !struck(*due)).count() as u64
    }

    /// The records of switches in a ring, where its samples are those of a CPU's timer.
    pub(super) fn of_whole_cpu(&self, ring: usize) -> Option<&[Switch]> {
        let switches = self.switches.as_ref()?.get(ring)?;
        (self.source == SampleSource::CpuClock && switches.iter().all(|one| one.cpu_wide)).then_some(switches.as_slice())
    }

    /// The times of a ring's samples, in order, and the timer that made them.
    pub(super) fn timer(&self, ring: usize) -> (Vec<u64>, Option<Timer>) {
        let records = self.rings.get(ring).map(|ring| Records::new(ring, &self.layout)).into_iter().flatten();
        let times: Vec<u64> =
            records.filter_map(|record| if let Ok(Record::Sample(sample)) = record { Some(sample.time) } else { None }).collect();
        let timer = Timer::of(&times, self.spacing);
        (times, timer)
    }
}

/// Whose stretch on the CPU a time lies in: it ends with the record of its leaving, and begins with that of the
/// task before it; where idle time leaves no records, with that of its own coming.
fn owner(switches: &[Switch], tells_idle: bool, time: u64) -> Option<Task> {
    let next = switches.partition_point(|switch| switch.time <= time);
    if !tells_idle && switches.get(next).is_some_and(|switch| !switch.out) {
        return Some(IDLE);
    }
    let leaves = switches[next..].iter().find(|switch| switch.out);
    let stays = switches.last().filter(|last| !last.out);
    leaves.or(stays).map(|switch| (switch.pid, switch.tid))
}

#[cfg(test)]
mod tests {
    use super::super::record::Switch;
    use super::{IDLE, owner};

    const fn switch(task: u32, time: u64, out: bool) -> Switch {
        Switch { pid: task, tid: task, time, out, cpu_wide: true }
    }

    #[test]
    fn a_time_is_of_who_leaves_next() {
        let ring = [switch(0, 90, true), switch(7, 92, false), switch(7, 200, true), switch(0, 203, false)];
        let of = |time| owner(&ring, true, time).map(|(_, thread)| thread);
        assert_eq!(
            [of(10), of(89), of(90), of(91), of(199), of(200), of(900)],
            [Some(0), Some(0), Some(7), Some(7), Some(7), Some(0), Some(0)]
        );
        assert_eq!(owner(&[], true, 5), None);
        assert_eq!(owner(&ring[..3], true, 300), None, "nobody says who came");
    }

    #[test]
    fn a_time_is_idle_between_leaving_and_coming_where_idle_time_has_no_records() {
        let ring = [switch(7, 92, false), switch(7, 200, true), switch(7, 300, false), switch(7, 320, true)];
        let of = |time| owner(&ring, false, time);
        assert_eq!(
            [of(91), of(92), of(199), of(200), of(299), of(310)],
            [Some(IDLE), Some((7, 7)), Some((7, 7)), Some(IDLE), Some(IDLE), Some((7, 7))]
        );
    }
}
