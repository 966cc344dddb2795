//! Steps that trials of several machines take at one time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use model::Nanos;

/// Trials that are carried out at once, each by a thread.
#[derive(Debug)]
pub struct Together {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    members: usize,
    here: usize,
    /// Steps that all have taken.
    steps: u64,
    /// Latest time that those who are here brought.
    latest: Nanos,
    /// That of the last step.
    agreed: Nanos,
}

/// A trial's part in it. Dropped, the others wait for it no more.
#[derive(Debug)]
pub struct Member<'a>(pub &'a Together);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.members = state.members.saturating_sub(1);
        self.0.go_on(&mut state);
    }
}

impl Together {
    /// Of so many trials.
    pub const fn new(members: usize) -> Self {
        let state = State { members, here: 0, steps: 0, latest: Nanos::new(0), agreed: Nanos::new(0) };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The number of trials that are still carried out.
    pub fn members(&self) -> u32 {
        u32::try_from(self.lock().members).unwrap_or(u32::MAX)
    }

    /// Waits until all are here; returns the latest of the times that they bring, and `None` where that takes beyond the
    /// deadline.
    pub fn meet(&self, time: Nanos, deadline: Instant) -> Option<Nanos> {
        let mut state = self.lock();
        let step = state.steps;
        state.here += 1;
        state.latest = state.latest.max(time);
        self.go_on(&mut state);
        while state.steps == step {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.here -= 1;
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(state.agreed)
    }

    fn go_on(&self, state: &mut State) {
        if state.here > 0 && state.here >= state.members {
            (state.agreed, state.latest, state.here) = (state.latest, Nanos::new(0), 0);
            state.steps += 1;
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use model::Nanos;

    use super::{Member, Together};

    #[test]
    fn all_take_the_latest_time_and_who_leaves_is_not_waited_for() {
        let together = Together::new(3);
        let deadline = Instant::now() + Duration::from_secs(60);
        let times = thread::scope(|scope| {
            let threads = [1, 2, 3].map(|time| {
                let together = &together;
                scope.spawn(move || {
                    let _member = Member(together);
                    let first = together.meet(Nanos::new(time), deadline);
                    // The third leaves.
                    (first, (time < 3).then(|| together.meet(Nanos::new(10 * time), deadline)))
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        let first = Some(Nanos::new(3));
        let second = Some(Some(Nanos::new(20)));
        assert_eq!(times, [(first, second), (first, second), (first, None)]);
        assert_eq!(together.members(), 0);
    }

    #[test]
    fn nobody_is_waited_for_beyond_the_deadline() {
        let together = Together::new(2);
        assert_eq!(together.meet(Nanos::new(1), Instant::now() + Duration::from_millis(5)), None);
        assert_eq!(together.lock().here, 0);
    }
}
