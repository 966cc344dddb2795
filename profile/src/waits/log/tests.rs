use super::{Event, EventKind, WaitLog};
use EventKind::{Came, Left, Preempted, Woken};
use model::Nanos;
use model::end::Window;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

fn log(events: &[(u64, EventKind)]) -> WaitLog {
    let events = events.iter().map(|(time, kind)| Event { time: *time, tid: 7, kind: *kind }).collect();
    WaitLog::new(events, 0, Nanos::new(0))
}

fn window(start: u64, end: u64) -> Window {
    Window { start: Nanos::new(start), end: Nanos::new(end) }
}

fn waits(events: &[(u64, EventKind)], start: u64, end: u64) -> (u64, u64, u64) {
    let waits = log(events).waits(7, window(start, end)).unwrap();
    (waits.blocked.get(), waits.runnable.get(), waits.switches)
}

#[test]
fn sleeping_ends_with_the_waking() {
    assert_eq!(waits(&[(10, Left), (50, Woken), (60, Came)], 0, 100), (40, 10, 1));
}

#[test]
fn who_is_not_woken_never_slept() {
    assert_eq!(waits(&[(10, Left), (60, Came)], 0, 100), (0, 50, 1));
    assert_eq!(waits(&[(10, Preempted), (30, Woken), (60, Came)], 0, 100), (0, 50, 1));
}

#[test]
fn woken_before_it_was_off_is_ready_at_once() {
    assert_eq!(waits(&[(9, Woken), (10, Left), (60, Came)], 0, 100), (0, 50, 1));
}

#[test]
fn what_was_before_the_first_event_is_unseen() {
    let unseen = |events: &[(u64, EventKind)], start| log(events).waits(7, window(start, 100)).unwrap().unseen.get();
    assert_eq!(unseen(&[(60, Left), (80, Woken), (90, Came)], 10), 50);
    assert_eq!((unseen(&[(5, Left), (60, Came)], 10), unseen(&[], 10), unseen(&[(200, Left)], 10)), (0, 0, 90));
}

#[test]
fn the_window_cuts_waits_and_counts_its_own_switches() {
    let events = [(10, Left), (50, Woken), (60, Came), (90, Left), (120, Woken), (130, Came)];
    assert_eq!(waits(&events, 40, 100), (10 + 10, 10, 1));
    assert_eq!(waits(&events, 55, 56), (0, 1, 0));
    assert_eq!(waits(&[(10, Left)], 0, 100), (90, 0, 1));
}

#[test]
fn a_thread_that_never_left_has_no_waits_and_a_broken_log_says_so() {
    assert_eq!(waits(&[], 0, 100), (0, 0, 0));
    let lost = WaitLog::new(vec![], 3, Nanos::new(0));
    assert!(lost.waits(7, window(0, 1)).unwrap_err().answer.contains("3 events"));
    let late = WaitLog::new(vec![], 0, Nanos::new(5));
    assert!(late.waits(7, window(4, 9)).unwrap_err().answer.contains("before the recording"));
}

proptest! {
    #[test]
    fn waits_never_exceed_the_window(events in vec((0..1000_u64, 0..4_u8, 1..3_u32), 0..60), start in 0..500_u64, length in 0..500_u64) {
        let kinds = [Left, Preempted, Came, Woken];
        let events = events.iter().map(|(time, kind, tid)| Event { time: *time, tid: *tid, kind: kinds[*kind as usize] }).collect();
        let log = WaitLog::new(events, 0, Nanos::new(0));
        let waits = log.waits(1, window(start, start + length)).unwrap();
        prop_assert!(waits.blocked.get() + waits.runnable.get() <= length);
    }

    #[test]
    fn two_halves_make_the_whole(times in vec(1..100_u64, 0..40), middle in 0..4000_u64) {
        let mut now = 0;
        let kinds = [Left, Woken, Came, Preempted, Came];
        let events: Vec<_> = times.iter().zip(kinds.iter().cycle()).map(|(step, kind)| { now += step; (now, *kind) }).collect();
        let middle = middle.min(now + 1);
        let (whole, first, second) = (waits(&events, 0, now + 1), waits(&events, 0, middle), waits(&events, middle, now + 1));
        // One that is away at the cut, and not woken yet, counts as asleep in the first half only if it was woken later.
        prop_assert_eq!(whole.0 + whole.1, first.0 + first.1 + second.0 + second.1);
        prop_assert_eq!(whole.2, first.2 + second.2);
    }

    #[test]
    fn no_bytes_make_an_event_panic(bytes in vec(any::<u8>(), 0..40)) {
        let _ = Event::parse(&bytes);
    }
}
