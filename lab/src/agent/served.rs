//! The controllers that an agent serves, and who makes room when there are many.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::queue::Bell;

/// Number of controllers served at once, waiting ones included.
pub const MOST_CONTROLLERS: usize = 32;
/// Time that a controller may do nothing before it may have to make room.
pub const IDLE: Duration = Duration::from_secs(30);

/// All of them.
#[derive(Debug, Default)]
pub struct Served(Mutex<Vec<Arc<Presence>>>);

/// One of them.
#[derive(Debug)]
pub struct Presence {
    state: Mutex<State>,
    bell: Arc<Bell>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// When it last ran anything; before that, when it came.
    worked: Instant,
    /// It has a turn or waits for one.
    busy: bool,
    /// It has to go.
    evicted: bool,
}

/// A place among the served. Dropped, it is free.
#[derive(Debug)]
pub struct Place {
    served: Arc<Served>,
    presence: Arc<Presence>,
}

impl Served {
    /// Returns whether there is room for another. If not, the one that has been idle
    /// longest, and long enough, is told to go: whoever comes again soon finds room.
    pub fn has_room(&self) -> bool {
        let all = lock(&self.0);
        if all.len() < MOST_CONTROLLERS {
            return true;
        }
        let idle = |one: &&Arc<Presence>| {
            Some(*lock(&one.state)).filter(|state| !state.busy && state.worked.elapsed() >= IDLE).map(|state| state.worked)
        };
        let longest = all.iter().filter_map(|one| idle(&one).map(|since| (since, one))).min_by_key(|(since, _)| *since);
        if let Some((_, one)) = longest {
            lock(&one.state).evicted = true;
            one.bell.ring();
        }
        false
    }

    /// Adds one that is told by `bell`.
    pub fn add(self: &Arc<Self>, bell: &Arc<Bell>) -> Place {
        let state = State { worked: Instant::now(), busy: false, evicted: false };
        let presence = Arc::new(Presence { state: Mutex::new(state), bell: Arc::clone(bell) });
        lock(&self.0).push(Arc::clone(&presence));
        Place { served: Arc::clone(self), presence }
    }
}

impl Presence {
    /// It asks for something: `busy` if it has a turn or waits for one, `works` if it runs
    /// an endpoint. Nothing else gives it time, so that no other message, however often
    /// it comes, keeps its place against those who wait.
    pub fn asks(&self, busy: bool, works: bool) {
        let mut state = lock(&self.state);
        let worked = if works { Instant::now() } else { state.worked };
        *state = State { worked, busy, evicted: state.evicted && !busy };
    }

    /// Returns whether it has to make room for another.
    pub fn is_evicted(&self) -> bool {
        lock(&self.state).evicted
    }
}

impl Place {
    /// Its holder.
    pub fn presence(&self) -> &Presence {
        &self.presence
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.served.0).retain(|one| !Arc::ptr_eq(one, &self.presence));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::super::queue::Bell;
    use super::{IDLE, MOST_CONTROLLERS, Place, Served, lock};

    fn idle_for_long(place: &Place, longer: u32) {
        lock(&place.presence.state).worked = Instant::now().checked_sub(IDLE * longer).unwrap();
    }

    #[test]
    fn the_longest_idle_makes_room_and_nobody_else() {
        let served = Arc::new(Served::default());
        let bell = Arc::new(Bell::new().unwrap());
        let mut places: Vec<Place> = (0..MOST_CONTROLLERS).map(|_| served.add(&bell)).collect();
        assert!(!served.has_room());
        assert!(places.iter().all(|place| !place.presence().is_evicted()), "all have just asked for something");
        idle_for_long(&places[3], 2);
        idle_for_long(&places[7], 3);
        idle_for_long(&places[8], 4);
        places[8].presence().asks(true, false);
        assert!(!served.has_room());
        let evicted: Vec<bool> = places.iter().map(|place| place.presence().is_evicted()).collect();
        assert_eq!(evicted.iter().position(|evicted| *evicted), Some(7), "of those that hold no turn");
        assert_eq!(evicted.iter().filter(|evicted| **evicted).count(), 1);
        places.remove(7);
        assert!(served.has_room());
    }

    #[test]
    fn signs_of_life_keep_no_place() {
        let served = Arc::new(Served::default());
        let bell = Arc::new(Bell::new().unwrap());
        let places: Vec<Place> = (0..MOST_CONTROLLERS).map(|_| served.add(&bell)).collect();
        let evicted = || places.iter().position(|place| place.presence().is_evicted());
        places.iter().for_each(|place| idle_for_long(place, 2));
        // One has run a trial; of two it is not for lack of asking, and one asked for a turn
        // that it gave back unused.
        places[0].presence().asks(false, true);
        idle_for_long(&places[5], 4);
        idle_for_long(&places[6], 3);
        places[5].presence().asks(false, false);
        places[6].presence().asks(true, false);
        places[6].presence().asks(false, false);
        assert!(!served.has_room());
        assert_eq!(evicted(), Some(5), "the clock that it asked for gives it no time");
        // Nor does another word take back that it has to go.
        places[5].presence().asks(false, false);
        assert_eq!(evicted(), Some(5));
        // A turn does: it is served, and somebody else goes.
        places[5].presence().asks(true, false);
        assert!(!served.has_room());
        assert_eq!(evicted(), Some(6));
    }
}
