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
fn code_without_a_name_below_what_runs_filters_is_a_classic_filter() {
    let list = b"1000 T _stext\n1000 T entry\n1100 T __seccomp_filter.isra.0\n1200 T _etext\n";
    let rings = vec![[sample(false, 1, &[], &[0x9000, 0x1150]), sample(false, 2, &[], &[0x9000, 0x1050])].concat()];
    let (profile, _) = fold(&[recording(rings, Layout::default())], &Symbols::parse(list, b"").unwrap(), Tasks::All, None);
    assert_eq!(profile.symbols, ["[unknown]", "__seccomp_filter.isra.0", "bpf_prog_classic [bpf]", "entry"]);
    assert_eq!(profile.stacks.iter().map(|stack| &stack.frames[..]).collect::<Vec<_>>(), [[0, 3], [2, 1]]);
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

/// A sample is counted by where its timer fired, also one that was due while the task before left.
#[test]
fn samples_are_of_the_task_in_which_the_timer_fired() {
    let of = |task: u64, time: u64| {
        let mut bytes = sample(false, time, &[], &[0x1210]);
        bytes[16..24].copy_from_slice(&(task << 32 | task).to_ne_bytes());
        bytes
    };
    let switch = |task, time, out, other| Switch { pid: task, tid: task, time, out, runnable: true, other: Some(other) };
    let switches = vec![switch(3, 50, true, 7), switch(7, 52, false, 3), switch(7, 90, true, 3)];
    let ring = [of(3, 40), of(7, 53), of(7, 80), of(3, 95)].concat();
    let recording = Recording { counted: Some(100), switches: Some(vec![switches]), ..recording(vec![ring], Layout::default()) };
    let window = Window { start: Nanos::new(0), end: Nanos::new(100) };
    let (profile, _) = fold(&[recording], &symbols(), Tasks::Process(7), Some(window));
    let account = profile.account.unwrap();
    assert_eq!((profile.samples(), account.recorded, account.on_cpu, account.counted), (2, 4, Some(Nanos::new(40)), Some(100)));
}

proptest! {
    #[test]
    fn any_bytes_give_a_sound_profile(rings in vec(vec(any::<u8>(), 0..300), 0..3), samples in 0..40_u64, at in any::<usize>(), byte in any::<u8>(), times in vec((any::<u64>(), any::<bool>()), 0..9), counted in any::<u64>(), edges in any::<[u64; 2]>()) {
        let mut rings = rings;
        let mut good: Vec<u8> = (0..samples).flat_map(|time| sample(false, time, &[], &[0x1000 + time * 0x90, 0x1100])).collect();
        if !good.is_empty() {
            let place = at % good.len();
            good[place] = byte;
        }
        rings.push(good);
        let switches: Vec<Switch> = times.into_iter().map(|(time, out)| Switch { pid: 7, tid: 7, time, out, runnable: false, other: None }).collect();
        // As much as a recording can count in this test's time.
        let counted = Some(counted % 1_000_000);
        let recording = Recording { counted, switches: Some(vec![switches; rings.len()]), ..recording(rings, Layout::default()) };
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
