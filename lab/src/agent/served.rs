//! The controllers that an agent serves, and who makes room when there are many.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::queue::Bell;

/// Number of controllers served at once, waiting ones included.
pub const MOST_CONTROLLERS: usize = 32;
/// Number of these that may come from one source. The other places stay free for others,
/// since whoever waits for a turn keeps its place.
const MOST_OF_ONE_SOURCE: usize = 24;
/// Time that a controller may do nothing before it may have to make room.
pub const IDLE: Duration = Duration::from_secs(30);

/// All of them.
#[derive(Debug, Default)]
pub struct Served(Mutex<Vec<Arc<Presence>>>);

/// One of them.
#[derive(Debug)]
pub struct Presence {
    /// Network that it counts with.
    source: IpAddr,
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
    /// Returns why there is no room for another from `source`, if so. The one that has been
    /// idle longest, and long enough, is then sent away, of those of `source` where that has
    /// all its places: whoever comes again soon finds room.
    pub fn full(&self, source: IpAddr) -> Option<String> {
        let all = lock(&self.0);
        let of_source = all.iter().filter(|one| one.source == source).count();
        let has_its_share = of_source >= MOST_OF_ONE_SOURCE;
        if !has_its_share && all.len() < MOST_CONTROLLERS {
            return None;
        }
        let idle = |one: &&Arc<Presence>| {
            Some(*lock(&one.state)).filter(|state| !state.busy && state.worked.elapsed() >= IDLE).map(|state| state.worked)
        };
        let may_go = all.iter().filter(|one| !has_its_share || one.source == source);
        let longest = may_go.filter_map(|one| idle(&one).map(|since| (since, one))).min_by_key(|(since, _)| *since);
        if let Some((_, one)) = longest {
            lock(&one.state).evicted = true;
            one.bell.ring();
        }
        Some(if has_its_share {
            format!("{of_source} controllers from {source} are here already; try again later")
        } else {
            format!("{MOST_CONTROLLERS} controllers are here already; try again later")
        })
    }

    /// Adds one from `source` that is notified by `bell`.
    pub fn add(self: &Arc<Self>, source: IpAddr, bell: &Arc<Bell>) -> Place {
        let state = State { worked: Instant::now(), busy: false, evicted: false };
        let presence = Arc::new(Presence { source, state: Mutex::new(state), bell: Arc::clone(bell) });
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
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;
    use std::time::Instant;

    use super::super::queue::Bell;
    use super::{IDLE, MOST_CONTROLLERS, MOST_OF_ONE_SOURCE, Place, Served, lock};

    const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 99));

    /// Of three sources: no one of them has all its places.
    const fn source(number: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, (number % 3) as u8))
    }

    fn all_places(served: &Arc<Served>) -> Vec<Place> {
        let bell = Arc::new(Bell::new().unwrap());
        (0..MOST_CONTROLLERS).map(|number| served.add(source(number), &bell)).collect()
    }

    fn idle_for_long(place: &Place, longer: u32) {
        lock(&place.presence.state).worked = Instant::now().checked_sub(IDLE * longer).unwrap();
    }

    #[test]
    fn the_longest_idle_makes_room_and_nobody_else() {
        let served = Arc::new(Served::default());
        let mut places = all_places(&served);
        assert!(served.full(STRANGER).is_some());
        assert!(places.iter().all(|place| !place.presence().is_evicted()), "all have just asked for something");
        idle_for_long(&places[3], 2);
        idle_for_long(&places[7], 3);
        idle_for_long(&places[8], 4);
        places[8].presence().asks(true, false);
        assert!(served.full(STRANGER).is_some());
        let evicted: Vec<bool> = places.iter().map(|place| place.presence().is_evicted()).collect();
        assert_eq!(evicted.iter().position(|evicted| *evicted), Some(7), "of those that hold no turn");
        assert_eq!(evicted.iter().filter(|evicted| **evicted).count(), 1);
        places.remove(7);
        assert_eq!(served.full(STRANGER), None);
    }

    #[test]
    fn signs_of_life_keep_no_place() {
        let served = Arc::new(Served::default());
        let places = all_places(&served);
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
        assert!(served.full(STRANGER).is_some());
        assert_eq!(evicted(), Some(5), "the clock that it asked for gives it no time");
        // Nor does another word take back that it has to go.
        places[5].presence().asks(false, false);
        assert_eq!(evicted(), Some(5));
        // A turn does: it is served, and somebody else goes.
        places[5].presence().asks(true, false);
        assert!(served.full(STRANGER).is_some());
        assert_eq!(evicted(), Some(6));
    }

    #[test]
    fn one_source_leaves_places_to_others() {
        let served = Arc::new(Served::default());
        let bell = Arc::new(Bell::new().unwrap());
        let (crowd, other) = (source(0), source(1));
        let places: Vec<Place> = (0..MOST_OF_ONE_SOURCE).map(|_| served.add(crowd, &bell)).collect();
        let stranger = served.add(other, &bell);
        // All of them wait for a turn, which would keep their places for ever.
        places.iter().for_each(|place| place.presence().asks(true, false));
        assert_eq!(served.full(crowd).as_deref(), Some("24 controllers from 192.0.2.0 are here already; try again later"));
        assert_eq!(served.full(other), None);
        // Room for one more of them is made by one of them.
        idle_for_long(&stranger, 4);
        idle_for_long(&places[2], 2);
        places[2].presence().asks(false, false);
        assert!(served.full(crowd).is_some());
        assert!(places[2].presence().is_evicted() && !stranger.presence().is_evicted());
    }
}
