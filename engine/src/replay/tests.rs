use std::time::Duration;

use model::replay::{Giving, Replay, Replayed, Taking};
use model::{Nanos, Protocol, Refusal};

use super::Ends;

fn replayed(replay: &Replay) -> Replayed {
    run(replay, Duration::from_millis(20), Duration::from_millis(60)).unwrap()
}

fn run(replay: &Replay, warmup: Duration, length: Duration) -> Result<Replayed, Refusal> {
    super::run(replay, &Ends::LOOPBACK, warmup, length)
}

#[test]
fn every_way_of_giving_answers_whole() {
    for giving in [Giving::Calls, Giving::Gathered, Giving::ReadWrite, Giving::Sendfile] {
        for connections in [1, 3] {
            let replay = Replay { giving, connections, ..Replay::new(Protocol::Tcp, 36, vec![25; 4]) };
            let found = replayed(&replay);
            // Each client waits for the whole answer before it asks again.
            assert!(found.exchanges > 10 && found.cpu.get() > 0 && found.wall.get() > 0, "{giving} {connections}: {found:?}");
        }
    }
    let each = vec![Giving::Gathered, Giving::Sendfile, Giving::Calls];
    let found = replayed(&Replay { each, ..Replay::new(Protocol::Tcp, 36, vec![200, 70_000, 5]) });
    assert!(found.exchanges > 10, "each in its own way: {found:?}");
    for giving in [Giving::Calls, Giving::Many, Giving::Segmented] {
        let found = replayed(&Replay { giving, ..Replay::new(Protocol::Udp, 36, vec![200; 8]) });
        assert!(found.exchanges > 10 && found.taken == found.handed, "{giving}: {found:?}");
    }
}

/// Over loopback the kernel copies after all, and says so of every send.
#[test]
fn lent_memory_answers_whole_and_its_copies_are_told() {
    for connections in [1, 3] {
        let answer = vec![20_000, 70_000];
        let replay = Replay { giving: Giving::ZeroCopy, connections, ..Replay::new(Protocol::Tcp, 36, answer) };
        let found = replayed(&replay);
        let told = found.zero_copy.unwrap();
        assert!(found.exchanges > 10 && told.sends >= 2 * found.exchanges && told.copied == told.sends, "{connections}: {found:?}");
    }
    assert_eq!(replayed(&Replay::new(Protocol::Tcp, 36, vec![100])).zero_copy, None);
}

#[test]
fn a_connection_for_each_request_is_made() {
    let found = replayed(&Replay { reconnect: true, ..Replay::new(Protocol::Tcp, 36, vec![100]) });
    assert!(found.exchanges > 10, "{found:?}");
}

#[test]
fn a_small_buffer_loses_of_a_burst_what_it_has_no_room_for() {
    let burst = Replay {
        burst: 300,
        pace: Nanos::from_millis(10),
        work: Nanos::new(2_000),
        receive_buffer: Some(32 << 10),
        ..Replay::new(Protocol::Udp, 200, Vec::new())
    };
    let few = replayed(&burst);
    assert!(few.taken < few.handed && few.taken > 0, "{few:?}");
    let all = replayed(&Replay { receive_buffer: Some(2 << 20), ..burst });
    assert!(all.handed - all.taken < all.handed / 50, "{all:?}");
}

/// Their clients' last datagrams are no requests, and those before them are not left in the queue.
#[test]
fn whatever_clients_sent_is_taken_before_the_end() {
    for (taking, connections) in [(Taking::Calls, 1), (Taking::Many, 1), (Taking::Calls, 3), (Taking::Many, 3)] {
        let replay = Replay { taking, connections, pace: Nanos::from_millis(2), ..Replay::new(Protocol::Udp, 64, Vec::new()) };
        let found = replayed(&replay);
        assert!(found.handed > 0 && found.taken == found.handed, "{taking} {connections}: {found:?}");
    }
}

#[test]
fn a_nap_takes_many_at_a_time() {
    let each = Replay { pace: Nanos::new(50_000), ..Replay::new(Protocol::Udp, 64, Vec::new()) };
    let many = Replay { taking: Taking::Many, nap: Nanos::from_millis(1), ..each.clone() };
    let per_message = |found: Replayed| found.wake_ups as f64 / found.exchanges.max(1) as f64;
    // On a busy machine even who waits for each message finds several at once, for a while.
    let fewer = (0..5).any(|_| per_message(replayed(&many)) < per_message(replayed(&each)) / 2.0);
    assert!(fewer, "{:?} {:?}", replayed(&each), replayed(&many));
}

#[test]
fn who_asks_again_is_not_woken() {
    let asleep = Replay { pace: Nanos::new(300_000), ..Replay::new(Protocol::Tcp, 36, vec![100]) };
    let asking = Replay { spin: Nanos::from_millis(20), ..asleep.clone() };
    let (asleep, asking) = (replayed(&asleep), replayed(&asking));
    let per_exchange = |found: Replayed| found.wake_ups as f64 / found.exchanges.max(1) as f64;
    assert!(asking.exchanges > 10 && per_exchange(asking) < per_exchange(asleep) / 2.0, "{asleep:?} {asking:?}");
}

#[test]
fn nagle_with_delayed_acknowledgements_waits() {
    let slow = Replay { nodelay: false, ..Replay::new(Protocol::Tcp, 36, vec![25; 4]) };
    let found = run(&slow, Duration::from_millis(300), Duration::from_millis(300)).unwrap();
    let fast = replayed(&Replay { nodelay: true, ..slow });
    let each = |found: Replayed| found.wall.get() / found.exchanges.max(1);
    assert!(each(found) > 20 * each(fast), "{found:?} {fast:?}");
}

#[test]
fn sizes_that_are_too_large_are_refused() {
    let uneven = Replay { each: vec![Giving::Sendfile], ..Replay::new(Protocol::Tcp, 1, vec![1, 1]) };
    for replay in [Replay::new(Protocol::Tcp, u64::MAX, vec![1]), Replay::new(Protocol::Tcp, 1, vec![0]), uneven] {
        assert!(run(&replay, Duration::ZERO, Duration::ZERO).is_err());
    }
}
