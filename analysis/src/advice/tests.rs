use model::attach::{Device, Pattern, Way};
use model::end::ZeroCopy;
use model::link::Offload;
use model::replay::{Giving, Replay, Replayed};
use model::{Nanos, Protocol};
use proptest::prelude::{prop, prop_assert, proptest};

use super::{Advice, CallRate, LEAST, Measure, Now, Observed, Rule, all, ranked, verify};

/// An echo server: 10,000 answers/s of one call each, for 12 µs of CPU time.
pub fn echo() -> Observed {
    Observed {
        windows: 5,
        window_seconds: 2.0,
        exchanges: 10_000.0,
        patterns: vec![(pattern("tcp", 36, &[100]), 1.0)],
        calls: vec![taken("read", Way::In, "tcp", 10_000.0, 36.0), taken("write", Way::Out, "tcp", 10_000.0, 100.0)],
        sends: 10_000.0,
        receives: 10_000.0,
        wake_ups: 1.0,
        cpu_of_exchange: 12_000.0,
        cpu_of_answer: 12_000.0,
        cpu_of_receive: 12_000.0,
        busy: 0.12,
        own: Some(0.05),
        lost: Some((0.0, 0.0)),
        held_back: (0.0, 5),
        connections: (1.0, 1.0),
        buffers: [Some(212_992), Some(2_626_560)],
        sending: (1_000_000, 0),
        ..Observed::default()
    }
}

pub fn pattern(protocol: &str, received: u64, sends: &[u64]) -> Pattern {
    let (protocol, call, sends) = (protocol.to_owned(), "sendto".to_owned(), sends.to_vec());
    Pattern { protocol, receives: 1, received, call, calls: Vec::new(), sends, apart: 900, count: 9 }
}

fn taken(call: &str, way: Way, protocol: &str, per_second: f64, mean: f64) -> CallRate {
    let asked = (way == Way::In).then_some(4096.0);
    let short = asked.map(|asked| f64::from(u8::from(mean < asked)));
    CallRate { call: call.to_owned(), way, protocol: protocol.to_owned(), per_second, mean, usual: (mean as u64, 1.0), asked, short }
}

/// A program that takes datagrams alone.
pub fn sink() -> Observed {
    Observed {
        exchanges: 0.0,
        patterns: vec![],
        calls: vec![taken("recvfrom", Way::In, "udp", 20_000.0, 64.0)],
        sends: 0.0,
        receives: 20_000.0,
        wake_ups: 0.1,
        connections: (0.0, 1.0),
        ..echo()
    }
}

fn rules(observed: &Observed) -> Vec<Rule> {
    all(observed).iter().map(|advice| advice.rule).collect()
}

#[test]
fn a_program_without_any_inefficiency_gets_no_advice() {
    assert_eq!(rules(&echo()), []);
    assert_eq!(rules(&sink()), []);
    assert_eq!(rules(&Observed::default()), []);
}

#[test]
fn each_rule_fires_on_its_own_evidence_alone() {
    let pieces = Observed { patterns: vec![(pattern("tcp", 36, &[25; 4]), 1.0)], ..echo() };
    assert_eq!(rules(&pieces), [Rule::SmallWrites]);
    assert_eq!(rules(&Observed { held_back: (0.9, 20), ..pieces }), [Rule::Nagle]);
    let row = Observed { patterns: vec![(pattern("udp", 36, &[1200; 8]), 1.0)], ..echo() };
    assert_eq!(rules(&row), [Rule::DatagramBursts]);
    let calls = vec![CallRate { asked: Some(512.0), short: Some(0.01), ..taken("read", Way::In, "tcp", 90_000.0, 512.0) }];
    let reader = Observed { exchanges: 1.0, calls, queued: [0.8, 0.0], receives: 90_000.0, patterns: vec![], ..echo() };
    assert_eq!(rules(&reader), [Rule::ShortReads]);
    assert_eq!(rules(&Observed { queued: [0.0; 2], ..reader }), []);
    let losing = Observed { lost: Some((5_000.0, 0.2)), ..sink() };
    assert_eq!(rules(&losing), [Rule::LostDatagrams]);
    assert_eq!(rules(&Observed { busy: 1.0, ..losing }), [], "a program that is too slow loses whatever its buffer");
    assert_eq!(rules(&Observed { sending: (1_000_000, 400_000), ..echo() }), [Rule::SendBuffer]);
    assert_eq!(rules(&Observed { wake_ups: 0.95, ..sink() }), [Rule::WakeUps]);
    let bound = Observed { cpus: vec![0], busy: 0.5, ..echo() };
    assert_eq!(rules(&bound), [Rule::BusyPoll]);
    assert_eq!(rules(&Observed { busy: 0.1, ..bound.clone() }), [], "it is not busy enough to take a CPU");
    assert_eq!(rules(&Observed { exchanges: 900.0, ..bound }), [], "the next is far away");
    let many = Observed { connections: (1.0, 4_000.0), patterns: vec![], exchanges: 0.0, ..echo() };
    assert_eq!(rules(&many), [Rule::Connects]);
    let large = Observed {
        patterns: vec![(pattern("tcp", 36, &[65_536]), 1.0)],
        calls: vec![taken("read", Way::In, "tcp", 9_000.0, 36.0), taken("write", Way::Out, "tcp", 9_000.0, 65_536.0)],
        files: 0.2,
        ..echo()
    };
    assert_eq!(rules(&large), [Rule::StaticAnswers]);
    let kept = Observed { files: 0.0, ..large.clone() };
    assert_eq!(rules(&kept), [Rule::LargeAnswers], "nothing says that its answers come from files");
    let [now, then] = all(&kept).remove(0).replays;
    assert_eq!((now.giving, then), (Giving::Calls, Replay { giving: Giving::ZeroCopy, ..now.clone() }));
    let uneven = vec![CallRate { usual: (65_536, 0.1), ..taken("write", Way::Out, "tcp", 9_000.0, 65_536.0) }];
    assert_eq!(rules(&Observed { calls: uneven, ..kept }), []);
}

/// Both of an exchange and of a stream, and not of small sends, nor where everything is on.
#[test]
fn offloads_that_are_off_are_advised_to_who_sends_much_at_a_time() {
    let off = vec![Offload::Tx, Offload::Tso];
    let device = Device { name: "eth0".to_owned(), mtu: 1500, connections: 2, acknowledged: 1 << 30, off: off.clone() };
    let large = Observed {
        patterns: vec![(pattern("tcp", 36, &[65_536]), 1.0)],
        calls: vec![CallRate { usual: (65_536, 0.1), ..taken("write", Way::Out, "tcp", 9_000.0, 65_536.0) }],
        device: Some((device.clone(), 5e8)),
        ..echo()
    };
    let found = all(&large);
    let [advice] = &found[..] else { panic!("{found:#?}") };
    assert!(advice.rule == Rule::Offloads && advice.change.contains("ethtool -K eth0 tx on tso on"), "{advice:#?}");
    assert!(advice.evidence[0].contains("(tx)") && advice.evidence[0].contains("(tso)"), "{advice:#?}");
    let [now, then] = &advice.replays;
    let links = [now, then].map(|replay| replay.link.clone().unwrap());
    for (link, on) in links.iter().zip([false, true]) {
        assert_eq!((link.mtu, link.offloads.clone()), (Some(1500), off.iter().map(|offload| (*offload, on)).collect()));
    }
    assert_eq!(*then, Replay { link: then.link.clone(), ..now.clone() });
    assert!((advice.now.most() - 11_400.0).abs() < 1.0, "without the program's own code: {:?}", advice.now);
    let stream = Observed { patterns: Vec::new(), exchanges: 0.0, ..large.clone() };
    assert_eq!((rules(&stream), all(&stream)[0].replays[0].answer.len()), (vec![Rule::Offloads], 16));
    let on = Device { off: Vec::new(), ..device.clone() };
    assert_eq!(rules(&Observed { device: Some((on, 5e8)), ..large.clone() }), []);
    assert_eq!(rules(&Observed { device: None, ..large.clone() }), []);
    assert_eq!(rules(&Observed { device: Some((device, 5e8)), ..echo() }), [], "a hundred bytes are no work for it");
}

/// A server that writes an answer in 8 pieces and does a side job: 60 us of an exchange are its sends, 60 us
/// files and memory. Gathering the pieces saves two thirds of the former, and nothing of the latter.
#[test]
fn a_side_job_is_no_part_of_what_an_exchange_saves() {
    let replayed = |cpu: u64| Replayed { exchanges: 1, cpu: Nanos::new(cpu), wall: Nanos::new(100_000), ..Replayed::default() };
    let pieces = Observed { patterns: vec![(pattern("tcp", 36, &[25; 8]), 1.0)], cpu_of_exchange: 120_000.0, own: Some(0.0), ..echo() };
    let saved = |observed: &Observed| {
        let [advice] = <[Advice; 1]>::try_from(all(observed)).unwrap();
        (verify(advice.clone(), &vec![[replayed(60_000), replayed(20_000)]; 8], 0.0).saving.unwrap().value, advice)
    };
    let (saving, advice) = saved(&Observed { not_sent: 0.5, ..pieces.clone() });
    assert!((saving - 40_000.0).abs() < 1.0 && advice.now == Now::Observed(60_000.0), "{saving} {advice:?}");
    // All of it is its sends.
    assert!((saved(&pieces).0 - 80_000.0).abs() < 1.0);
    // What it is for is not known: no more than the replay itself saves, and that is said.
    let (saving, advice) = saved(&Observed { own: None, ..pieces.clone() });
    assert!((saving - 40_000.0).abs() < 1.0 && advice.evidence.iter().any(|text| text.contains("is not known")), "{saving} {advice:?}");
    // Nor more than the program has at all.
    let (saving, _) = saved(&Observed { own: None, cpu_of_exchange: 30_000.0, ..pieces });
    assert!((saving - 20_000.0).abs() < 1.0, "{saving}");
}

#[test]
fn the_two_replays_differ_in_what_is_proposed_alone() {
    let pieces = Observed { patterns: vec![(pattern("tcp", 36, &[25; 4]), 1.0)], ..echo() };
    let advice = all(&pieces).remove(0);
    let [now, then] = advice.replays;
    assert_eq!(then, Replay { giving: Giving::Gathered, ..now.clone() });
    assert_eq!((now.request, now.answer, now.work), (36, vec![25; 4], Nanos::new(600)));
}

/// The kernel's own word stands beside a saving that is not shown.
#[test]
fn what_the_kernel_copied_after_all_is_said() {
    let lent = |copied| Replayed { zero_copy: Some(ZeroCopy { sends: 200, copied }), ..costing(20_000) };
    let reason = |copied| verify(advice(Measure::Cpu), &[[costing(20_000), lent(copied)]; 12], 0.0).reason.unwrap();
    assert!(reason(200).ends_with("the kernel copied 100 % of the sends that it was lent memory for"), "{}", reason(200));
    assert!(reason(0).ends_with("10 % or more"), "{}", reason(0));
}

fn advice(measure: Measure) -> Advice {
    let replay = Replay::new(Protocol::Udp, 1, vec![]);
    let evidence = vec!["seen".to_owned()];
    Advice {
        rule: Rule::WakeUps,
        change: String::new(),
        evidence,
        measure,
        now: Now::Observed(10_000.0),
        replays: [replay.clone(), replay],
    }
}

#[test]
fn a_replay_has_room_for_some_exchanges() {
    let of = |measure, now| Advice { now: Now::Observed(now), ..advice(measure) }.length().get();
    assert_eq!(
        [of(Measure::Time, 45e6), of(Measure::Time, 1e4), of(Measure::Time, 1e12), of(Measure::Cpu, 45e6)],
        [225_000_000, 100_000_000, 1_000_000_000, 100_000_000]
    );
}

fn costing(cpu: u64) -> Replayed {
    Replayed { exchanges: 100, cpu: Nanos::new(cpu * 100), wall: Nanos::new(1), ..Replayed::default() }
}

#[test]
fn a_saving_is_a_share_of_what_the_program_has() {
    let blocks: Vec<[Replayed; 2]> = (0..12).map(|block| [costing(20_000 + block * 10), costing(10_000 + block * 5)]).collect();
    let found = verify(advice(Measure::Cpu), &blocks, 0.0);
    let (share, saving) = (found.share.unwrap(), found.saving.unwrap());
    assert!(found.shown && (share.value - 0.5).abs() < 0.01 && (saving.value - 5_000.0).abs() < 100.0, "{found:?}");
    let ends = saving.interval.unwrap();
    assert!(ends.low < 4_100.0 && ends.low > 3_250.0 && ends.high > 5_900.0 && ends.high < 6_750.0, "within 35 %: {ends:?}");
}

#[test]
fn what_is_not_shown_says_why() {
    let same: Vec<[Replayed; 2]> = (0..12).map(|_| [costing(20_000), costing(19_500)]).collect();
    let found = verify(advice(Measure::Cpu), &same, 0.0);
    assert!(!found.shown && found.reason.as_ref().unwrap().contains("no saving"), "{found:?}");
    let few = vec![[costing(20_000), costing(1_000)]; 3];
    assert!(verify(advice(Measure::Cpu), &few, 0.0).reason.unwrap().contains("too few blocks"));
    // Nothing was lost in the observed way, so nothing was brought about.
    let whole = Replayed { handed: 100, taken: 100, ..Replayed::default() };
    assert!(verify(advice(Measure::Lost), &[[whole, whole]; 12], 0.0).reason.unwrap().contains("does not show"));
    assert!(verify(advice(Measure::Cpu), &[], 0.0).reason.is_some());
    let none = Replayed::default();
    assert!(!verify(advice(Measure::Cpu), &[[none, none]; 12], 0.0).shown);
    // A busy machine may keep a replay from any exchange in some blocks, not in most.
    let some_without = |count: usize| {
        let mut blocks = [[costing(20_000), costing(10_000)]; 12];
        blocks.iter_mut().take(count).for_each(|both| both[1] = none);
        verify(advice(Measure::Cpu), &blocks, 0.0)
    };
    assert_eq!(some_without(3).share.map(|share| (share.value, share.n)), Some((0.5, 9)));
    assert!(some_without(4).reason.unwrap().contains("does not show"));
}

/// A program whose replays wait for the CPUs that it and its clients use was not replayed alone.
#[test]
fn replays_that_have_less_of_the_cpus_are_disturbed() {
    let waited = |delay: u64| Replayed { delay: Nanos::new(delay), ..costing(10_000) };
    let found = |delay, delayed| verify(advice(Measure::Cpu), &[[waited(delay), waited(delay)]; 12], delayed);
    let (alone, crowded) = (found(0, 0.0), found(1_000_000, 0.0));
    assert!(!alone.disturbed && crowded.disturbed && (crowded.delayed - 0.5).abs() < 1e-9, "{crowded:?}");
    assert!(!found(1_000_000, 0.45).disturbed, "the program waited as well");
}

#[test]
fn the_largest_shown_saving_stands_first() {
    let saving = |then: u64| verify(advice(Measure::Cpu), &[[costing(20_000), costing(then)]; 12], 0.0);
    let order: Vec<f64> = ranked(vec![saving(15_000), saving(19_900), saving(4_000)]).iter().map(|one| one.share.unwrap().value).collect();
    assert!((order[0] - 0.8).abs() < 1e-9 && (order[1] - 0.25).abs() < 1e-9 && order[2] < LEAST);
}

proptest! {
    #[test]
    fn any_replays_are_judged(numbers in prop::collection::vec((0..u64::MAX / 4, 0..1_000_u64, 0..1_000_u64), 0..20)) {
        for measure in Measure::ALL {
            let blocks: Vec<[Replayed; 2]> = numbers.iter().map(|(cpu, exchanges, taken)| {
                let one = Replayed { exchanges: *exchanges, cpu: Nanos::new(*cpu), wall: Nanos::new(*cpu), handed: *exchanges, taken: *taken, ..Replayed::default() };
                [one, Replayed { taken: exchanges.saturating_sub(*taken), ..one }]
            }).collect();
            let found = verify(advice(*measure), &blocks, 0.0);
            prop_assert!(found.shown != found.reason.is_some());
            prop_assert!(found.share.is_none_or(|share| !share.value.is_nan()));
        }
    }

    /// Whatever was observed, no rule fires without evidence or proposes what it found.
    #[test]
    fn no_rule_fires_without_evidence(held in 0.0..1.0_f64, wake in 0.0..2.0_f64, lost in 0.0..1.0_f64, busy in 0.0..4.0_f64, size in 1..100_000_u64, pieces in 1..17_usize) {
        for protocol in ["tcp", "udp"] {
            let observed = Observed {
                patterns: vec![(pattern(protocol, 36, &vec![size; pieces]), 1.0)],
                held_back: (held, 9),
                lost: Some((lost * 1e4, lost)),
                wake_ups: wake,
                busy,
                ..echo()
            };
            for advice in all(&observed) {
                prop_assert!(!advice.evidence.is_empty() && advice.replays[0] != advice.replays[1] && advice.now.most() > 0.0);
            }
        }
    }
}
