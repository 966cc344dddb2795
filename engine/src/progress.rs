//! Progress of an endpoint, told while messages flow.

use std::time::Duration;

use model::control::Task;
use model::end::{Counts, Progress, Window};
use model::{Nanos, Role};

use crate::stage::SoFar;
use model::counts::{difference, merge, sum};

/// The shortest interval: threads that are asked more often would be measured
/// answering.
const SHORTEST: Duration = Duration::from_millis(10);
/// Most intervals that are told and kept; the last one then is long.
const MOST: usize = 5_000;

/// The intervals of a trial so far. Each thread answers with all that it has
/// counted, so that the differences add up to it exactly, whichever of them
/// answered late.
#[derive(Debug)]
pub struct Intervals {
    role: Role,
    both_send: bool,
    told: Vec<Progress>,
    counts: Counts,
    back: Counts,
    /// Messages that were told to be missing.
    missing: u64,
}

/// The interval at which a task wants reports, if at all.
pub fn interval(task: &Task) -> Option<Duration> {
    task.progress.map(|interval| Duration::from(interval).max(SHORTEST))
}

impl Intervals {
    /// None yet.
    pub fn for_task(task: &Task) -> Self {
        Self {
            role: task.role,
            both_send: task.cell.bidirectional,
            told: Vec::new(),
            counts: Counts::default(),
            back: Counts::default(),
            missing: 0,
        }
    }

    /// Returns whether no more can be told.
    pub fn are_full(&self) -> bool {
        self.told.len() >= MOST
    }

    /// One more, which ends `now`; `None` before a measured part has begun.
    pub fn add(&mut self, now: Nanos, flows: impl Iterator<Item = (Role, SoFar)>) -> Option<&Progress> {
        let flows: Vec<(Role, SoFar)> = flows.collect();
        let began = flows.iter().filter_map(|(_, flow)| flow.began).min()?;
        let of = |role: Role| flows.iter().filter(move |(its, _)| *its == role).map(|(_, flow)| flow);
        let all = |role: Role| of(role).map(|flow| flow.counts).fold(Counts::default(), sum);
        let (counts, back) = (all(self.role), all(self.role.other()));
        let interval = Window { start: self.told.last().map_or(began, |last| last.interval.end), end: now };
        // What came late after all is not taken off an interval that has been told.
        let missing = flows.iter().filter_map(|(_, flow)| Some(flow.way?.missing)).reduce(u64::saturating_add);
        let missing = missing.map(|all| all.saturating_sub(self.missing));
        self.told.push(Progress {
            interval,
            counts: difference(counts, self.counts),
            back: self.both_send.then(|| difference(back, self.back)),
            tcp: merge(of(self.role).filter_map(|flow| flow.tcp)),
            jitter: jitter(flows.iter().map(|(_, flow)| flow)),
            missing,
        });
        (self.counts, self.back) = (counts, back);
        self.missing += missing.unwrap_or(0);
        self.told.last()
    }

    /// All of them, with a last one to the end of `window`: they add up to
    /// `counts` and `back`, those within the window. `last` has what is known at the end besides counts; what is
    /// missing in it is that of the whole window.
    pub fn close(mut self, window: Window, counts: Counts, back: Option<Counts>, last: Progress) -> Vec<Progress> {
        // Where flows ended before their time, nothing came after their end.
        while self.told.last().is_some_and(|told| told.interval.start >= window.end && is_empty(told)) {
            self.told.pop();
        }
        if let Some(first) = self.told.first_mut() {
            first.interval.start = window.start;
        }
        if let Some(last) = self.told.last_mut() {
            last.interval.end = last.interval.end.min(window.end).max(last.interval.start);
        }
        let interval = Window { start: self.told.last().map_or(window.start, |last| last.interval.end), end: window.end };
        let back = back.map(|back| difference(back, self.back));
        let missing = last.missing.map(|all| all.saturating_sub(self.missing));
        let rest = Progress { interval, counts: difference(counts, self.counts), back, missing, ..last };
        if interval.length() > Nanos::default() || !is_empty(&rest) {
            self.told.push(rest);
        }
        self.told
    }
}

/// Averaged by messages, as at the end.
fn jitter<'a>(flows: impl Iterator<Item = &'a SoFar>) -> Option<u64> {
    let weighed = flows.filter_map(|flow| Some((u128::from(flow.way?.jitter), u128::from(flow.counts.messages.max(1)))));
    let (sum, messages) = weighed.fold((0, 0), |(sum, all), (jitter, messages)| (sum + jitter * messages, all + messages));
    u64::try_from(sum.checked_div(messages)?).ok()
}

fn is_empty(told: &Progress) -> bool {
    told.counts == Counts::default() && told.back.unwrap_or_default() == Counts::default()
}

#[cfg(test)]
mod tests {
    use super::Intervals;
    use crate::stage::{SoFar, WaySoFar};
    use model::counts::sum;
    use model::end::{Counts, Progress, Window};
    use model::{Nanos, Role};
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    fn intervals() -> Intervals {
        Intervals {
            role: Role::Receiver,
            both_send: false,
            told: Vec::new(),
            counts: Counts::default(),
            back: Counts::default(),
            missing: 0,
        }
    }

    fn counted(messages: u64) -> Counts {
        Counts { calls: messages, messages, bytes: 7 * messages, sent: messages, ..Counts::default() }
    }

    fn flow(messages: u64) -> (Role, SoFar) {
        (Role::Receiver, SoFar { began: Some(Nanos::new(100)), counts: counted(messages), ..SoFar::default() })
    }

    #[test]
    fn gaps_are_told_once_and_the_rest_with_the_last() {
        let skipped = |missing: u64| {
            let (role, flow) = flow(5);
            (role, SoFar { way: Some(WaySoFar { jitter: 7, missing }), ..flow })
        };
        let mut told = intervals();
        // Of two flows; three that were told came after all.
        for (number, (one, other)) in [(2, 1), (2, 5), (2, 2), (6, 2)].into_iter().enumerate() {
            told.add(Nanos::new(200 + 10 * number as u64), [skipped(one), skipped(other)].into_iter());
        }
        let last = Progress { jitter: Some(9), missing: Some(11), ..Progress::default() };
        let told = told.close(Window { start: Nanos::new(100), end: Nanos::new(1_000) }, counted(40), None, last);
        assert_eq!(told.iter().map(|one| one.missing.unwrap()).collect::<Vec<_>>(), [3, 4, 0, 1, 3]);
        assert_eq!(told.iter().map(|one| one.jitter.unwrap()).collect::<Vec<_>>(), [7, 7, 7, 7, 9]);
    }

    proptest! {
        #[test]
        fn intervals_are_without_gaps_and_add_up(steps in prop::collection::vec((0u64..50, 0u64..50), 0..20), rest in 0u64..50) {
            let mut told = intervals();
            let (mut one, mut other) = (0, 0);
            for (number, (more, much_more)) in steps.iter().enumerate() {
                (one, other) = (one + more, other + much_more);
                told.add(Nanos::new(200 + 10 * number as u64), [flow(one), flow(other)].into_iter());
            }
            let window = Window { start: Nanos::new(101), end: Nanos::new(1_000) };
            let all = counted(one + other + rest);
            let told = told.close(window, all, None, Progress::default());
            prop_assert_eq!(told.iter().map(|one| one.counts).fold(Counts::default(), sum), all);
            prop_assert_eq!((told[0].interval.start, told[told.len() - 1].interval.end), (window.start, window.end));
            prop_assert!(told.windows(2).all(|two| two[0].interval.end == two[1].interval.start));
        }
    }

    #[test]
    fn nothing_is_told_before_the_measured_part() {
        let idle = (Role::Receiver, SoFar::default());
        assert_eq!(intervals().add(Nanos::new(5), [idle].into_iter()), None);
    }

    #[test]
    fn what_was_told_after_the_end_of_all_flows_is_taken_back() {
        let mut told = intervals();
        for now in [200, 300, 400] {
            told.add(Nanos::new(now), [flow(9)].into_iter());
        }
        let window = Window { start: Nanos::new(100), end: Nanos::new(150) };
        let told = told.close(window, counted(9), None, Progress::default());
        assert_eq!((told.len(), told[0].interval, told[0].counts), (1, window, counted(9)));
    }
}
