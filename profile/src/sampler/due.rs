//! Samples by who had the CPU when they were due.
//!
//! The timer of a whole CPU keeps its phase: it is due at even distances, whatever runs, and
//! strikes later where interrupts are off. Around a switch they are off from before the record of
//! who leaves until after that of who comes, so that what is due while a task leaves strikes in
//! `finish_task_switch` of the next one. Receivers that ran for 9 and 15 µs at a time lost 6 and 3 %
//! of their samples to idle time that way, and got half as many of idle time's: 0.97 of their time
//! was sampled. By who had the CPU when they were due it was 1.00 and 0.99.

use super::Recording;
use super::record::{Record, Records, Switch};
use model::profile::SampleSource;

/// Fewest samples from which a phase is told.
const FEWEST: usize = 16;

/// A process and one of its threads.
pub type Task = (u32, u32);

impl Recording {
    /// Returns who had the CPU when each sample of a ring was due, in the order of samples. `None`
    /// stands for whom it struck, and so does a list that ends early: without a timer of a whole CPU
    /// or records of its switches nobody else is known.
    pub fn due(&self, ring: usize) -> Vec<Option<Task>> {
        let switches = self.switches.as_ref().and_then(|rings| rings.get(ring)).filter(|ring| ring.iter().all(|one| one.cpu_wide));
        let (Some(switches), SampleSource::CpuClock) = (switches, self.source) else { return Vec::new() };
        let records = Records::new(&self.rings[ring], &self.layout);
        let times: Vec<u64> =
            records.filter_map(|record| if let Ok(Record::Sample(sample)) = record { Some(sample.time) } else { None }).collect();
        let late = lateness(&times, self.spacing);
        times.iter().zip(late).map(|(time, late)| owner(switches, time.saturating_sub(late))).collect()
    }
}

/// Whose stretch on the CPU a time lies in: it ends with the record of its leaving, and begins with that of the
/// task before it.
fn owner(switches: &[Switch], time: u64) -> Option<Task> {
    let next = switches.partition_point(|switch| switch.time <= time);
    let leaves = switches[next..].iter().find(|switch| switch.out);
    let stays = switches.last().filter(|last| !last.out);
    leaves.or(stays).map(|switch| (switch.pid, switch.tid))
}

/// By how much later than due each of these times is. Nine in ten are at most a part of the period
/// late, so that the shortest stretch of the period that holds them begins with those in time;
/// none is where there is no such stretch, as after a timer that was begun again.
fn lateness(times: &[u64], period: u64) -> Vec<u64> {
    let mut phases: Vec<u64> = times.iter().map(|time| time % period.max(1)).collect();
    phases.sort_unstable();
    let (count, most) = (phases.len(), (phases.len() * 9).div_ceil(10));
    let stretch = |first: usize| {
        let (from, to) = (phases[first], phases[(first + most - 1) % count]);
        if to >= from { to - from } else { to + period - from }
    };
    let base = (0..count).filter(|_| count >= FEWEST).min_by_key(|first| stretch(*first)).filter(|first| stretch(*first) < period / 2);
    let Some(base) = base.map(|first| phases[first]) else { return vec![0; times.len()] };
    let late = |time: &u64| (time % period + period - base) % period;
    // One that is a little earlier than the stretch was in time.
    times.iter().map(late).map(|late| if late > period / 4 * 3 { 0 } else { late }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::super::record::Switch;
    use super::{lateness, owner};

    const fn switch(task: u32, time: u64, out: bool) -> Switch {
        Switch { pid: task, tid: task, time, out, cpu_wide: true }
    }

    #[test]
    fn a_time_is_of_who_leaves_next() {
        let ring = [switch(0, 90, true), switch(7, 92, false), switch(7, 200, true), switch(0, 203, false)];
        let of = |time| owner(&ring, time).map(|(_, thread)| thread);
        assert_eq!(
            [of(10), of(89), of(90), of(91), of(199), of(200), of(900)],
            [Some(0), Some(0), Some(7), Some(7), Some(7), Some(0), Some(0)]
        );
        assert_eq!(owner(&[], 5), None);
        assert_eq!(owner(&ring[..3], 300), None, "nobody says who came");
    }

    #[test]
    fn a_timer_that_begins_again_has_no_phase() {
        let times: Vec<u64> = (0..64).map(|number| number * 1_000 + number * 617 % 1_000).collect();
        assert!(lateness(&times, 1_000).iter().all(|late| *late == 0));
        assert!(lateness(&[1, 2, 3], 1_000).iter().all(|late| *late == 0), "too few");
        assert!(lateness(&[], 0).is_empty());
    }

    proptest! {
        /// A timer of any phase, some strikes of which are late.
        #[test]
        fn lateness_is_told_whatever_the_phase(phase in 0..100_000_u64, late in proptest::collection::vec(0..100_u64, 40..200)) {
            // One in four is later than the rest.
            let late: Vec<u64> = late.iter().map(|ns| if ns % 4 == 0 { ns * 200 } else { ns % 4 }).collect();
            let times: Vec<u64> = late.iter().zip(1..).map(|(late, number)| phase + number * 100_000 + late).collect();
            for (told, late) in lateness(&times, 100_000).iter().zip(&late) {
                prop_assert!(told.abs_diff(*late) <= 3, "{told} {late}");
            }
        }
    }
}
