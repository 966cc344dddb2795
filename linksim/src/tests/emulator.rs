//! The rules of a wire.

use model::Nanos;
use model::link::Wire;
use model::plan::LinkKind;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};

use crate::emulator::{Delivered, End, LinkEmulator, Tally};

pub(super) fn wire(text: &str) -> Wire {
    match format!("relay {text}").parse() {
        Ok(LinkKind::Relay(wire)) => wire,
        other => panic!("{text}: {other:?}"),
    }
}

/// Everything that comes out, in order.
fn all(link: &mut LinkEmulator<u32>) -> Vec<Delivered<u32>> {
    std::iter::from_fn(|| link.take(Nanos::new(u64::MAX))).collect()
}

/// Arrival of each of a number of full frames of one end, in µs.
fn arrivals(text: &str, frames: u32) -> Vec<f64> {
    let mut link = LinkEmulator::new(wire(text), 1);
    for frame in 0..frames {
        assert!(link.hand(Nanos::new(0), End::A, 1_514, frame));
    }
    all(&mut link).iter().map(|frame| frame.at.get() as f64 / 1e3).collect()
}

#[test]
fn frames_follow_each_other_at_the_rate_of_the_wire() {
    // 1,526 byte times to the last bit, 1,538 from frame to frame.
    assert_eq!(arrivals("10M", 3), [1_220.8, 2_451.2, 3_681.6]);
    assert_eq!(arrivals("10M delay=1ms", 2), [2_220.8, 3_451.2]);
    assert_eq!(arrivals("", 2), [0.0, 0.0]);
}

#[test]
fn a_delay_of_the_host_shifts_frames_and_its_work_spaces_them() {
    assert_eq!(arrivals("10M host=delay:2ms", 3), [5_220.8, 6_451.2, 7_681.6]);
    // Each frame takes 2 ms at the sender and, besides, 2 ms at the receiver.
    assert_eq!(arrivals("10M host=serial:2ms", 3), [5_220.8, 7_220.8, 9_220.8]);
}

#[test]
fn a_host_works_on_one_frame_at_a_time_sent_or_received() {
    let mut link = LinkEmulator::new(wire("host-a=serial:1ms"), 1);
    link.hand(Nanos::new(0), End::B, 60, 0);
    link.hand(Nanos::new(0), End::A, 60, 1);
    let times: Vec<_> = all(&mut link).iter().map(|frame| (frame.load, frame.at.get())).collect();
    // Whichever host a took first, the other frame had to wait for it.
    assert_eq!(times.iter().map(|(_, at)| *at).max(), Some(2_000_000));
}

#[test]
fn the_time_of_a_slow_host_holds_what_the_real_one_took() {
    let answered_after = |us: u64| {
        let mut link = LinkEmulator::new(wire("host=delay:1ms"), 1);
        link.hand(Nanos::new(0), End::A, 60, 0);
        assert_eq!(link.take(Nanos::new(10_000_000)).unwrap().at, Nanos::new(2_000_000));
        link.hand(Nanos::new(2_000_000 + us * 1_000), End::B, 60, 1);
        all(&mut link)[0].at.get() / 1_000
    };
    // An answer at once, and one within the host's time, arrive at the same time.
    assert_eq!((answered_after(0), answered_after(300), answered_after(1_000)), (4_000, 4_000, 4_000));
    // A slower one is ready as soon as it is there; what is no answer costs its own time.
    assert_eq!((answered_after(1_500), answered_after(5_000)), (4_500, 9_000));
}

#[test]
fn directions_share_a_shared_wire_and_nothing_else() {
    let last = |text: &str| {
        let mut link = LinkEmulator::new(wire(text), 1);
        for frame in 0..10 {
            link.hand(Nanos::new(0), End::BOTH[frame as usize % 2], 1_514, frame);
        }
        all(&mut link).last().unwrap().at.get()
    };
    assert_eq!(last("10M"), (4 * 1_538 + 1_526) * 800);
    assert_eq!(last("10M medium=shared"), (9 * 1_538 + 1_526) * 800);
    assert!(last("10M medium=half") > (9 * 1_538 + 1_526) * 800);
}

#[test]
fn both_ends_collide_when_both_waited() {
    let mut link = LinkEmulator::new(wire("10M medium=half"), 7);
    for end in [End::A, End::A, End::B] {
        link.hand(Nanos::new(0), end, 1_514, 0);
    }
    assert_eq!(all(&mut link).len(), 3);
    let (a, b) = (*link.tally(End::A), *link.tally(End::B));
    assert!(a.collisions >= 1 && a.collisions == b.collisions, "{a:?}");
    assert_eq!((a.delivered, b.delivered, a.aborted, b.aborted), (2, 1, 0, 0));
    // One end alone never collides.
    let mut alone = LinkEmulator::new(wire("10M medium=half"), 7);
    (0..10).for_each(|frame| assert!(alone.hand(Nanos::new(0), End::A, 1_514, frame)));
    assert_eq!((all(&mut alone).len(), alone.tally(End::A).collisions), (10, 0));
}

#[test]
fn the_end_that_recovers_slowly_lets_the_other_go_first() {
    for seed in 0..20 {
        let mut link = LinkEmulator::new(wire("10M medium=half recovery-b=10ms"), seed);
        link.hand(Nanos::new(0), End::A, 1_514, 0);
        link.hand(Nanos::new(1), End::A, 1_514, 1);
        link.hand(Nanos::new(1), End::B, 60, 2);
        assert_eq!(all(&mut link).iter().map(|frame| frame.load).collect::<Vec<_>>(), [0, 1, 2]);
    }
}

#[test]
fn a_full_queue_refuses_and_counts() {
    let mut link = LinkEmulator::new(wire("10M queue=5K"), 1);
    let taken = (0..10).filter(|frame| link.hand(Nanos::new(0), End::A, 1_514, *frame)).count();
    // One on the wire and three that wait.
    assert_eq!((taken, link.tally(End::A).refused, link.queued(End::A)), (4, 6, 3 * 1_514));
    assert_eq!(all(&mut link).len(), 4);
    assert!(link.is_idle() && link.queued(End::A) == 0);
}

#[test]
fn frames_are_lost_by_the_share_that_was_asked() {
    let mut link = LinkEmulator::new(wire("loss=5%"), 3);
    for frame in 0..20_000 {
        link.hand(Nanos::new(0), End::A, 60, frame);
    }
    let arrived = all(&mut link).len() as u64;
    let Tally { lost, delivered, handed, .. } = *link.tally(End::A);
    assert_eq!((handed, delivered, lost), (20_000, arrived, 20_000 - arrived));
    // 1,000 with a standard deviation of 31.
    assert!((850..=1_150).contains(&lost), "{lost}");
}

#[test]
fn only_frames_that_skip_the_delay_overtake() {
    let order = |text: &str| {
        let mut link = LinkEmulator::new(wire(text), 5);
        for frame in 0..1_000 {
            let now = Nanos::new(u64::from(frame) * 10_000);
            link.hand(now, End::A, 60, frame);
        }
        let loads: Vec<u32> = all(&mut link).iter().map(|frame| frame.load).collect();
        assert_eq!(loads.len(), 1_000);
        (loads.is_sorted(), link.tally(End::A).overtaking)
    };
    assert_eq!(order("delay=1ms jitter=500us"), (true, 0));
    let (sorted, overtaking) = order("delay=1ms reorder=10%");
    assert!(!sorted && (50..=150).contains(&overtaking), "{overtaking}");
}

/// Wires of every kind, as text.
fn wires() -> impl Strategy<Value = String> {
    let medium = proptest::sample::select(vec!["full", "shared", "half"]);
    let order = proptest::sample::select(vec!["delay", "serial"]);
    (medium, order, 0_u64..2_000, 0_u64..2_000, 0_u64..2_000, 0_u32..50).prop_map(|(medium, order, host, delay, jitter, loss)| {
        format!("10M medium={medium} host={order}:{host}us delay={delay}us jitter={jitter}us loss={loss}% queue=20K")
    })
}

proptest! {
    #[test]
    fn every_frame_is_in_one_count(text in wires(), frames in proptest::collection::vec((0_u64..3_000, proptest::bool::ANY, 60_u32..1_515), 0..80)) {
        let mut link = LinkEmulator::new(wire(&text), 1);
        let (mut now, mut arrived) = (0, 0);
        for (gap, from_a, counted) in frames {
            now += gap * 1_000;
            while link.take(Nanos::new(now)).is_some() { arrived += 1; }
            link.hand(Nanos::new(now), if from_a { End::A } else { End::B }, counted, 0);
        }
        arrived += all(&mut link).len() as u64;
        let sum = |count: fn(&Tally) -> u64| End::BOTH.map(|end| count(link.tally(end))).iter().sum::<u64>();
        prop_assert_eq!(sum(|t| t.delivered), arrived);
        prop_assert_eq!(sum(|t| t.handed), sum(|t| t.refused + t.aborted + t.lost + t.delivered));
        prop_assert!(link.is_idle());
    }

    /// A relay that wakes late delivers late, but the wire does not lose time.
    #[test]
    fn who_asks_late_gets_the_same_times(text in wires(), lateness in 1_u64..5_000_000) {
        let times = |step: u64| {
            let mut link = LinkEmulator::new(wire(&text), 1);
            for frame in 0..20 {
                link.hand(Nanos::new(0), End::BOTH[frame as usize % 2], 1_514, frame);
            }
            let mut found = Vec::new();
            let mut now = 0;
            while !link.is_idle() {
                now += step;
                found.extend(std::iter::from_fn(|| link.take(Nanos::new(now))).map(|frame| (frame.at, frame.load)));
            }
            found
        };
        prop_assert_eq!(times(lateness), times(u64::MAX / 4));
    }
}
