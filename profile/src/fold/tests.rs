use super::fold;
use crate::sampler::record::Switch;
use crate::sampler::{Layout, Recording, Tasks};
use crate::symbols::{CodeMap, Symbols};
use model::Nanos;
use model::end::Window;
use model::profile::SampleSource;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

const KERNEL_CONTEXT: u64 = -128_i64 as u64;

fn symbols() -> Symbols {
    let list = b"1000 T _stext\n1000 T entry\n1100 T udp_sendmsg\n1200 T csum_partial\n1300 T _etext\n";
    Symbols::parse(list, b"").unwrap()
}

/// A record with the given kind, flags and body of whole words.
fn record(kind: u32, misc: u16, body: &[u64]) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(misc.to_ne_bytes());
    bytes.extend((8 + body.len() as u16 * 8).to_ne_bytes());
    bytes.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
    bytes
}

fn sample(user: bool, time: u64, reads: &[u64], chain: &[u64]) -> Vec<u8> {
    let mut body = vec![chain.first().copied().unwrap_or(0x1105), 7 << 32 | 7, time, 0];
    body.extend(reads);
    body.push(if chain.is_empty() { 0 } else { chain.len() as u64 + 1 });
    if !chain.is_empty() {
        body.push(KERNEL_CONTEXT);
        body.extend(chain);
    }
    record(9, if user { 2 } else { 1 }, &body)
}

fn recording(rings: Vec<Vec<u8>>, layout: Layout) -> Recording {
    Recording {
        source: SampleSource::CpuClock,
        period: 100,
        spacing: 100,
        due_at: None,
        layout,
        rings,
        lost: None,
        counted: None,
        switches: None,
        forks: vec![],
        code: CodeMap::default(),
        notes: vec![],
    }
}

#[test]
fn chains_are_counted_and_named_innermost_first() {
    let chain = [0x1210, 0x1150, 0x1100];
    let rings = vec![[sample(false, 1, &[], &chain), sample(true, 2, &[], &[])].concat(), sample(false, 3, &[], &chain)];
    let (profile, counters) = fold(&[recording(rings, Layout::default())], &symbols(), Tasks::All, None);
    assert_eq!(profile.symbols, ["[user]", "csum_partial", "entry", "udp_sendmsg"]);
    let found: Vec<_> = profile.stacks.iter().map(|stack| (stack.frames.clone(), stack.user, stack.count)).collect();
    // 0x1100 is where a call returns to that was the last instruction of `entry`.
    assert_eq!(found, [(vec![0], true, 1), (vec![1, 3, 2], false, 2)]);
    assert!(profile.samples() == 3 && counters.is_none() && (profile.lost, profile.broken) == (0, 0));
}

#[test]
fn the_window_cuts_samples_and_pauses_but_not_losses() {
    let ring = [sample(false, 9, &[], &[0x1210]), sample(false, 10, &[], &[0x1210]), sample(false, 20, &[], &[0x1210])];
    let mut ring = ring.concat();
    ring.extend(record(5, 0, &[9, 1, 1]));
    ring.extend(record(5, 0, &[19, 1, 1]));
    ring.extend(record(2, 0, &[1, 4]));
    let window = Window { start: Nanos::new(10), end: Nanos::new(20) };
    let (profile, _) = fold(&[recording(vec![ring], Layout::default())], &symbols(), Tasks::All, Some(window));
    assert_eq!((profile.samples(), profile.throttled, profile.lost), (1, 1, 4));
}

#[test]
fn a_sample_without_a_chain_is_kept_and_called_broken() {
    let ring = [sample(false, 1, &[], &[]), vec![1; 5]].concat();
    let (profile, _) = fold(&[recording(vec![ring], Layout::default())], &symbols(), Tasks::All, None);
    assert_eq!((profile.samples(), profile.broken), (1, 2));
    assert_eq!(profile.symbols, ["udp_sendmsg"]);
}

#[test]
fn counters_are_charged_by_what_they_moved() {
    let layout = Layout { reads: true, reads_lost: false, counters: vec![(11, 0), (12, 1)] };
    let reads = |instructions, misses| [3, 1000, 10, instructions, 11, misses, 12];
    let ring = [
        sample(false, 1, &reads(100, 3), &[0x1210]),
        sample(false, 2, &reads(250, 3), &[0x1110]),
        sample(false, 3, &reads(300, 9), &[0x1210]),
    ];
    let (profile, counters) = fold(&[recording(vec![ring.concat()], layout)], &symbols(), Tasks::All, None);
    let counters = counters.unwrap();
    assert_eq!(profile.symbols, ["csum_partial", "udp_sendmsg"]);
    assert_eq!(counters.names, ["instructions", "cache-misses"]);
    assert_eq!(counters.of_stacks, [[150, 9], [150, 0]]);
}

/// The end runs for 20 of each 1,000 µs. What was due while it left strikes in idle time, and the other
/// way round; where idle time has no records, only the times tell.
#[test]
fn a_sample_is_of_who_had_the_cpu_when_it_was_due() {
    const END: u32 = 7;
    let list = b"1000 T _stext\n1000 T finish_task_switch\n1100 T __schedule\n1200 T udp_recvmsg\n1300 T _etext\n";
    let symbols = Symbols::parse(list, b"").unwrap();
    let of = |task: u32, time: u64, chain: &[u64]| {
        let mut bytes = sample(false, time, &[], chain);
        bytes[16..24].copy_from_slice(&(u64::from(task) << 32 | u64::from(task)).to_ne_bytes());
        bytes
    };
    let (work, back, idle) = ([0x1210, 0x1210], [0x1010, 0x1110, 0x1210], [0x1010]);
    let found = |tells_idle: bool, lost: Option<u64>| {
        let mut ring = Vec::new();
        let mut switches = Vec::new();
        for run in 1..=20_u64 {
            let start = run * 1_000;
            // Samples are due 9 µs after the millisecond.
            let (came, task, chain) = match run {
                // In time, while the end runs.
                1..=13 => (start - 5, END, &work[..]),
                // While it came: the sample shows where it had left.
                14 => (start + 9, END, &back[..]),
                // While it came back already.
                15 => (start + 7, END, &back[..]),
                // While it left, and struck after that.
                16..=18 => (start - 9, 0, &idle[..]),
                // In idle time, and struck when the end had come.
                _ => (start + 12, END, &back[..]),
            };
            let strike = match run {
                1..=13 => start + 10,
                14 | 15 => start + 11,
                16..=18 => start + 13,
                _ => start + 14,
            };
            for (task, time, out) in [(0, came, true), (END, came + 1, false), (END, came + 20, true), (0, came + 21, false)] {
                if task == END || tells_idle {
                    switches.push(Switch { pid: task, tid: task, time: time * 1_000, out, cpu_wide: true });
                }
            }
            if task == END || tells_idle {
                ring.extend(of(task, strike * 1_000, chain));
            }
        }
        let period = 1_000_000;
        let recording = Recording {
            period,
            spacing: period,
            counted: Some(20 * period),
            lost,
            switches: Some(vec![switches]),
            ..recording(vec![ring], Layout::default())
        };
        let owned = recording.owned_samples().filter(|(sample, owner)| (sample.tid, owner.1) == (END, END)).count();
        assert_eq!(owned, if tells_idle { 15 } else { 14 });
        let all = Window { start: Nanos::new(0), end: Nanos::new(21 * period) };
        let (profile, _) = fold(&[recording], &symbols, Tasks::Process(END), Some(all));
        let missing = if tells_idle || lost.is_none() { 0 } else { 3 };
        assert_eq!(profile.account.unwrap().recorded, 20 - missing, "with those that idle time would show");
        let name = |frames: &[u32]| frames.iter().map(|frame| profile.symbols[*frame as usize].as_str()).collect::<Vec<_>>().join(" ");
        profile.stacks.iter().map(|stack| (name(&stack.frames), stack.count)).collect::<Vec<_>>()
    };
    let all = |back| [("__schedule udp_recvmsg", 3), ("finish_task_switch __schedule udp_recvmsg", back), ("udp_recvmsg udp_recvmsg", 13)];
    let named = |all: &[(&str, u64)]| all.iter().map(|(chain, count)| ((*chain).to_owned(), *count)).collect::<Vec<_>>();
    assert_eq!(found(true, None), named(&all(2)));
    assert_eq!(found(false, None), named(&all(1)), "its stretch begins when it comes");
    assert_eq!(found(false, Some(3)), named(&all(1)[1..]), "what was lost is not taken for what idle time would show");
}

/// Of a task that runs for long, and leaves once.
#[test]
fn samples_that_were_due_and_not_made_are_counted_apart() {
    const PERIOD: u64 = 1_000_000;
    let without = |lacking: &[u64], lost: Option<u64>| {
        let strikes = (1..=40_u64).filter(|strike| !lacking.contains(strike));
        // Some are late, two by more than it takes to leave.
        let late = |strike: u64| match strike {
            7 => 30_000,
            9 => 800_000,
            _ => strike % 3 * 200,
        };
        let ring: Vec<u8> = strikes.flat_map(|strike| sample(false, strike * PERIOD + late(strike), &[], &[0x1210])).collect();
        let switch = |time, out| Switch { pid: 7, tid: 7, time, out, cpu_wide: true };
        // It leaves 5 µs after a sample was due, which may then be another's.
        let switches = vec![switch(PERIOD / 2, false), switch(30 * PERIOD + 5_000, true), switch(30 * PERIOD + 600_000, false)];
        let (counted, switches) = (Some(41 * PERIOD), Some(vec![switches]));
        let recording = Recording { period: PERIOD, spacing: PERIOD, counted, lost, switches, ..recording(vec![ring], Layout::default()) };
        let window = Window { start: Nanos::new(0), end: Nanos::new(42 * PERIOD) };
        let (profile, _) = fold(&[recording], &symbols(), Tasks::Process(7), Some(window));
        profile.account.unwrap().missed
    };
    assert_eq!(without(&[], Some(0)), Some(0));
    assert_eq!(without(&[3, 20, 21], Some(0)), Some(3));
    assert_eq!(without(&[8, 10], Some(0)), Some(2), "next to one that is late");
    assert_eq!(without(&[20, 30], None), Some(1), "near its leaving it is not counted");
    assert_eq!(without(&[3], Some(1)), None, "samples were lost");
    let all: Vec<u64> = (3..=40).collect();
    assert_eq!(without(&all, Some(0)), None, "too few to tell when they were due");
}

/// A strike that is so late that it meets idle time is one that is missed, where samples are few.
#[test]
fn with_the_tick_a_sample_that_is_not_there_is_missed_although_the_task_left_soon() {
    const PERIOD: u64 = 1_000_000;
    let of = |due_at| {
        let ring = (3..=40_u64).filter(|strike| *strike != 30).flat_map(|strike| sample(false, strike * PERIOD + 30_000, &[], &[0x1210]));
        let switch = |time, out| Switch { pid: 7, tid: 7, time, out, cpu_wide: true };
        let switches = vec![switch(PERIOD / 2, false), switch(30 * PERIOD + 49_000, true), switch(30 * PERIOD + 600_000, false)];
        let (counted, switches) = (Some(41 * PERIOD), Some(vec![switches]));
        let recording = Recording {
            period: PERIOD,
            spacing: PERIOD,
            due_at,
            counted,
            lost: Some(0),
            switches,
            ..recording(vec![ring.collect()], Layout::default())
        };
        let window = Window { start: Nanos::new(0), end: Nanos::new(42 * PERIOD) };
        let account = fold(&[recording], &symbols(), Tasks::Process(7), Some(window)).0.account.unwrap();
        (account.missed, account.with_tick)
    };
    assert_eq!(of(Some(5 * PERIOD)), (Some(1), true));
    assert_eq!(of(None), (Some(0), false));
}

proptest! {
    #[test]
    fn any_bytes_give_a_sound_profile(rings in vec(vec(any::<u8>(), 0..300), 0..3), samples in 0..40_u64, due_at in any::<Option<u64>>(), at in any::<usize>(), byte in any::<u8>(), times in vec((any::<u64>(), any::<bool>()), 0..9), counted in any::<u64>(), edges in any::<[u64; 2]>()) {
        let mut rings = rings;
        let mut good: Vec<u8> = (0..samples).flat_map(|time| sample(false, time, &[], &[0x1000 + time * 0x90, 0x1100])).collect();
        if !good.is_empty() {
            let place = at % good.len();
            good[place] = byte;
        }
        rings.push(good);
        let switches: Vec<Switch> = times.into_iter().map(|(time, out)| Switch { pid: 7, tid: 7, time, out, cpu_wide: true }).collect();
        // As much as a recording can count in this test's time.
        let counted = Some(counted % 1_000_000);
        let recording = Recording { due_at, counted, switches: Some(vec![switches; rings.len()]), ..recording(rings, Layout::default()) };
        let window = Window { start: Nanos::new(edges[0]), end: Nanos::new(edges[1]) };
        fold(std::slice::from_ref(&recording), &symbols(), Tasks::Process(7), Some(window));
        let (profile, _) = fold(&[recording], &symbols(), Tasks::All, None);
        for stack in &profile.stacks {
            prop_assert!(stack.count > 0 && !stack.frames.is_empty());
            prop_assert!(stack.frames.iter().all(|frame| (*frame as usize) < profile.symbols.len()));
        }
        let mut sorted = profile.symbols.clone();
        sorted.sort();
        sorted.dedup();
        prop_assert_eq!(sorted, profile.symbols);
    }
}
