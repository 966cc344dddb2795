//! Samples of a whole CPU by who had it when they were due, and the time that they stand for.
//!
//! Around a switch interrupts are off from before the record of who leaves until after that of who comes, so
//! that a timer that is due while a task leaves strikes in `finish_task_switch` of the next one. Receivers that ran for 9
//! and 15 µs at a time lost 6 and 3 % of their samples to idle time that way, and got half as many of
//! idle time's: 0.97 of their time was sampled. By who had the CPU when they were due it was 1.00 and 0.99.
//!
//! Linux 6.18 on a virtual machine records idle time, in samples and switches, on its first CPU only. On the others
//! a sample that was due while the task left for idle time is in no record: receivers of fragments,
//! which ran for 4 to 6 µs at a time, lacked 20 to 30 % of their samples there. Those are
//! counted by the times at which the timer was due ([`Dated::unseen`]).
//!
//! The same kernel makes no sample of some strikes, and counts none as lost. Senders of small datagrams lacked 2 to 3 % of
//! their samples there; five in six of the missing were due at one instruction, `udp_send_skb+0x5`. Tracepoints show that
//! the timer's function ran. `perf record` lacks these samples as well, whatever the event's attributes. They are
//! counted apart, for nobody knows what they would have shown ([`Dated::missed`]).

use model::Nanos;
use model::end::Window;
use model::profile::SampleSource;

use super::presence::{LONGEST_LEAVING, Stretch, stretches, tells_idle};
use super::record::{Record, Recording, Records, Sample, Switch, Tasks};
use super::timer::Timer;

/// A process and one of its threads.
pub type Task = (u32, u32);
/// What the kernel calls idle time.
const IDLE: Task = (0, 0);
/// A timer that strikes this much late, in ns, may meet idle time after the task: hypervisors are some 10 µs late, and seldom more.
const LATE: u64 = 50_000;

/// The samples of one CPU with the records of its switches, and the timer that made them.
#[derive(Debug)]
pub struct Dated<'a> {
    switches: &'a [Switch],
    /// Times of the samples, in order.
    times: Vec<u64>,
    timer: Option<Timer>,
    /// The timer struck with the tick.
    with_tick: bool,
    tells_idle: bool,
    /// `true` if no sample is known to be lost.
    whole: bool,
    /// The longest that the recording can have been, where it is known.
    counted: Option<u64>,
}

impl Recording {
    /// Dates the samples of a ring; `None` where they are not those of a CPU's timer, with records of its switches.
    pub fn dated(&self, ring: usize) -> Option<Dated<'_>> {
        let switches = self.switches.as_ref()?.get(ring)?;
        if self.source != SampleSource::CpuClock || !switches.iter().all(|one| one.cpu_wide) {
            return None;
        }
        let (mut times, mut whole) = (Vec::new(), self.lost.unwrap_or(0) == 0);
        for record in Records::new(self.rings.get(ring)?, &self.layout) {
            match record {
                Ok(Record::Sample(sample)) => times.push(sample.time),
                Ok(Record::Lost(_) | Record::Throttle(_)) | Err(_) => whole = false,
                Ok(Record::Switch(_) | Record::Fork(_) | Record::Other) => {}
            }
        }
        // How the timer was set is known to some µs; when it strikes is better known, if there are samples enough.
        let timer = Timer::of(&times, self.spacing).or_else(|| Some(Timer::at(self.due_at?, self.spacing)));
        let with_tick = self.due_at.is_some();
        Some(Dated { switches, times, timer, with_tick, tells_idle: tells_idle(switches), whole, counted: self.counted })
    }

    /// Time on a CPU within `window` that the tasks' samples should sum to; `None` without records of switches.
    ///
    /// A sample changes what follows it: of a task that sleeps often, its own time and that of what has come meanwhile
    /// lengthen the stretch in which it was taken, which the next ones make up for, and in idle time
    /// it has the CPU awake for what comes. The timer of a whole CPU meets only what is left of that after a
    /// period. So the task's share of the second halves of periods stands for all. Receivers on a
    /// virtual machine that ran for 3 to 6 µs at a time had 1.0 to 1.4 times their usual share of the first 33 of
    /// 531 µs, and in the second half 0.96 to 1.01 times.
    ///
    /// Of a timer that strikes with the tick chance moves the sum of its few samples by more than that: there it is the
    /// number of times at which the timer was due while the task had the CPU, and that number is what may be by chance.
    pub fn sampled_for(&self, tasks: Tasks, window: Window) -> Option<Nanos> {
        let [start, end] = [window.start, window.end.max(window.start)].map(Nanos::get);
        let of = |(place, ring): (usize, &Vec<Switch>)| {
            let cut = |(from, to): Stretch| (from.clamp(start, end), to.clamp(start, end));
            let stretches: Vec<Stretch> = stretches(ring, tasks).into_iter().map(cut).collect();
            let dated = self.dated(place);
            if let Some(times) = dated.as_ref().and_then(|dated| dated.times_due(tasks, window)) {
                return times.saturating_mul(self.period);
            }
            match dated.and_then(|dated| dated.undisturbed(&stretches, window)) {
                Some(share) => (share * (end - start) as f64) as u64,
                None => stretches.iter().map(|(from, to)| to.saturating_sub(*from)).fold(0, u64::saturating_add),
            }
        };
        Some(Nanos::new(self.switches.as_ref()?.iter().enumerate().map(of).fold(0, u64::saturating_add)))
    }

    /// Returns whether nine in ten samples came soon after the times at which a timer that strikes with the tick was due.
    pub(super) fn strikes_when_due(&self) -> bool {
        let Some(timer) = self.due_at.map(|due| Timer::at(due, self.spacing)) else { return true };
        let (mut samples, mut late) = (0_u64, 0);
        for record in self.records() {
            if let Ok(Record::Sample(sample)) = record {
                (samples, late) = (samples + 1, late + u64::from(timer.since(sample.time) > self.spacing / 4));
            }
        }
        late <= samples / 10
    }

    /// Every sample with who had the CPU when it was due, ring by ring.
    pub fn owned_samples(&self) -> impl Iterator<Item = (Sample<'_>, Task)> {
        self.rings.iter().enumerate().flat_map(|(place, ring)| {
            let owners: Vec<Option<Task>> = self.dated(place).map(|dated| dated.owners().collect()).unwrap_or_default();
            let mut owners = owners.into_iter();
            Records::new(ring, &self.layout).filter_map(move |record| {
                let Ok(Record::Sample(sample)) = record else { return None };
                let owner = owners.next().flatten().unwrap_or((sample.pid, sample.tid));
                Some((sample, owner))
            })
        })
    }
}

impl Dated<'_> {
    /// Returns who had the CPU when each sample was due, in the order of samples; `None` stands for whom it struck.
    pub fn owners(&self) -> impl Iterator<Item = Option<Task>> {
        let due = |time: u64| self.timer.map_or(time, |timer| timer.due(time));
        self.times.iter().map(move |time| owner(self.switches, self.tells_idle, due(*time)))
    }

    /// Counts the samples of tasks that were due while the task left its CPU for idle time of which there are no
    /// records. 0 where samples were lost: those would be among them.
    pub fn unseen(&self, tasks: Tasks, window: Option<Window>) -> u64 {
        let stretches = stretches(self.switches, tasks);
        let leaves = |due| left(&stretches, due).is_some_and(|left| (1..=LONGEST_LEAVING).contains(&left));
        self.without_record(window, leaves)
    }

    /// Counts the samples of tasks that were due while one of them ran, and of which there is none. `None`
    /// where the timer's phase is not known, samples were lost, which would be among them, or a late strike may have
    /// met idle time without records most of the time. Strikes that are late by more than leaving takes are counted where a
    /// timer strikes with the tick, whose samples are few.
    pub fn missed(&self, tasks: Tasks, window: Option<Window>) -> Option<u64> {
        let stretches = stretches(self.switches, tasks);
        if stretches.is_empty() {
            return Some(0);
        }
        let margin = match (self.tells_idle, self.with_tick) {
            (true, _) => 0,
            (false, true) => LONGEST_LEAVING,
            (false, false) => LATE,
        };
        let time =
            |margin: u64| stretches.iter().map(|(from, to)| to.saturating_sub(*from).saturating_sub(margin)).fold(0, u64::saturating_add);
        if time(margin) <= time(0) / 2 {
            return None;
        }
        self.without_sample(window, |due| left(&stretches, due).is_some_and(|left| left > margin))
    }

    /// Counts the samples that were due in idle time of which there are no records.
    pub fn unseen_idle(&self) -> u64 {
        self.without_record(None, |due| owner(self.switches, self.tells_idle, due) == Some(IDLE))
    }

    /// The share of stretches in a window, as the second halves of the timer's periods have it; `None` where the
    /// timer's phase is not known.
    fn undisturbed(&self, stretches: &[Stretch], window: Window) -> Option<f64> {
        let timer = self.timer?;
        let on_cpu = stretches.iter().map(|(from, to)| timer.undisturbed(*from, *to)).fold(0, u64::saturating_add);
        Some(on_cpu as f64 / timer.undisturbed(window.start.get(), window.end.get()).max(1) as f64)
    }

    /// Counts the times in a window at which a timer that strikes with the tick was due while one of the tasks had the CPU;
    /// `None` of other timers.
    fn times_due(&self, tasks: Tasks, window: Window) -> Option<u64> {
        let (timer, counted) = (self.timer.filter(|_| self.with_tick)?, self.counted?);
        // Never longer than the event counted: a window may be any.
        let end = window.end.min(window.start + Nanos::new(counted));
        let owned = |due: &u64| owner(self.switches, self.tells_idle, *due).is_some_and(|(process, thread)| tasks.have(process, thread));
        Some(timer.all(Window { end, ..window }).filter(owned).count() as u64)
    }

    /// Counts the times in a window, or in the whole recording, at which the timer was due without a sample, and that
    /// are `wanted`; `None` where samples were lost, or those times are not known.
    fn without_sample(&self, window: Option<Window>, wanted: impl Fn(u64) -> bool) -> Option<u64> {
        let (timer, first, last, counted) = (self.timer?, self.times.first()?, self.times.last()?, self.counted?);
        if !self.whole {
            return None;
        }
        // Never longer than the event counted: a record may have any time, and a window too.
        let (mut start, mut end) = (*first, (*last).min(first.saturating_add(counted)));
        if let Some(window) = window {
            (start, end) = (start.max(window.start.get()), end.min(window.end.get()));
        }
        let window = Window { start: Nanos::new(start), end: Nanos::new(end) };
        Some(timer.all(window).filter(|due| wanted(*due) && !self.struck(timer, *due)).count() as u64)
    }

    /// The same where idle time has no records, which takes samples away; 0 where it has, or nothing is known.
    fn without_record(&self, window: Option<Window>, wanted: impl Fn(u64) -> bool) -> u64 {
        if self.tells_idle { 0 } else { self.without_sample(window, wanted).unwrap_or(0) }
    }

    /// Returns whether there is a sample for a time at which the timer was due: a little before it, or late. One that is nearly
    /// a period late is in the room of the next, which then has two.
    fn struck(&self, timer: Timer, due: u64) -> bool {
        let samples = |due: u64| {
            let [from, to] = timer.room(due).map(|edge| self.times.partition_point(|time| *time < edge));
            to.saturating_sub(from)
        };
        samples(due) > 0 || samples(timer.after(due)) > 1
    }
}

/// The rest of the stretch that a time lies in; `None` where it lies in none.
fn left(stretches: &[Stretch], time: u64) -> Option<u64> {
    let begun = stretches.partition_point(|(from, _)| *from <= time);
    begun.checked_sub(1).and_then(|last| stretches[last].1.checked_sub(time))
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
        let end = Some((7, 7));
        assert_eq!([of(91), of(92), of(199), of(200), of(299), of(310)], [Some(IDLE), end, end, Some(IDLE), Some(IDLE), end]);
    }
}
