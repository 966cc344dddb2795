use model::Nanos;
use model::end::Window;
use model::profile::SampleSource;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use crate::sampler::record::Switch;
use crate::sampler::{Layout, Recording, Tasks};
use crate::symbols::CodeMap;

/// The end, and idle time.
const END: u32 = 7;
const IDLE: u32 = 0;

const fn switch(task: u32, time: u64, out: bool) -> Switch {
    Switch { pid: task, tid: task, time, out, cpu_wide: true }
}

fn recording(switches: Vec<Switch>) -> Recording {
    Recording {
        source: SampleSource::CpuClock,
        period: 1_000,
        spacing: 1_000,
        due_at: None,
        layout: Layout::default(),
        rings: vec![],
        lost: None,
        counted: None,
        switches: Some(vec![switches]),
        forks: vec![],
        code: CodeMap::default(),
        notes: vec![],
    }
}

/// A sample's record without a chain.
fn sample(task: u32, time: u64) -> Vec<u8> {
    let words = [9 | 1 << 32 | 48 << 48, 0, u64::from(task) << 32 | u64::from(task), time, 0, 0];
    words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect()
}

fn window(start: u64, end: u64) -> Window {
    Window { start: Nanos::new(start), end: Nanos::new(end) }
}

#[test]
fn times_on_a_cpu_are_cut_at_the_window() {
    let ring = [switch(END, 100, true), switch(END, 200, false), switch(END, 300, true), switch(3, 310, false), switch(END, 500, false)];
    let recording = recording(ring.to_vec());
    let on_cpu = |start, end| recording.on_cpu(Tasks::Process(END), window(start, end)).unwrap().get();
    assert_eq!(on_cpu(0, 1_000), 100 + 100 + 500, "there from the start, and to the end");
    assert_eq!(on_cpu(50, 250), 50 + 50);
    assert_eq!(on_cpu(320, 400), 0);
    assert_eq!(recording.on_cpu(Tasks::Threads(&[3]), window(0, 400)).unwrap().get(), 100, "from when the one before left");
}

#[test]
fn samples_stand_for_the_time_on_every_cpu_where_no_timer_is_known() {
    let ring = vec![switch(END, 200, false), switch(END, 300, true), switch(3, 310, false), switch(END, 500, false)];
    let both = Recording { switches: Some(vec![ring.clone(), ring]), rings: vec![vec![], vec![]], ..recording(vec![]) };
    let of = |tasks| [both.sampled_for(tasks, window(250, 600)), both.on_cpu(tasks, window(250, 600))].map(|time| time.unwrap().get());
    assert_eq!(of(Tasks::Process(END)), [2 * 150, 2 * 150]);
    assert_eq!(Recording { switches: None, ..recording(vec![]) }.sampled_for(Tasks::All, window(0, 9)), None);
}

#[test]
fn a_switch_belongs_to_whoever_comes() {
    let ring = [switch(IDLE, 90, true), switch(END, 100, false), switch(END, 200, true), switch(IDLE, 210, false)];
    let on_cpu = |ring: &[Switch], task| recording(ring.to_vec()).on_cpu(Tasks::Process(task), window(0, 300)).unwrap().get();
    assert_eq!((on_cpu(&ring, END), on_cpu(&ring, IDLE)), (110, 90 + 100));
    // Of one task alone nobody tells who was there before.
    let alone = ring.map(|one| Switch { cpu_wide: false, ..one });
    assert_eq!(on_cpu(&alone, END), 100);
}

#[test]
fn a_stretch_begins_with_its_coming_where_idle_time_has_no_records() {
    let ring = [switch(3, 10_000, true), switch(END, 30_000, false), switch(END, 35_000, true), switch(END, 60_000, false)];
    let on_cpu = |ring: &[Switch]| recording(ring.to_vec()).on_cpu(Tasks::Process(END), window(0, 50_000)).unwrap().get();
    assert_eq!(on_cpu(&ring), 5_000);
    // With records of idle time what lies between is told.
    let told = [ring[0], switch(IDLE, 10_100, false), switch(IDLE, 29_900, true), ring[1], ring[2], switch(IDLE, 35_100, false)];
    assert_eq!(on_cpu(&told), 5_100);
}

#[test]
fn a_thread_that_ends_leaves_under_another_number() {
    let exit = Switch { pid: END, tid: u32::MAX, time: 300, out: true, cpu_wide: true };
    let recording = recording(vec![switch(END, 100, false), exit]);
    assert_eq!(recording.on_cpu(Tasks::Process(END), window(0, 1_000)).unwrap().get(), 200);
}

#[test]
fn nothing_is_said_without_records_of_switches() {
    let recording = Recording { switches: None, ..recording(vec![]) };
    assert_eq!(recording.on_cpu(Tasks::All, window(0, 1_000)), None);
}

/// A task that runs for 5 to 20 µs and sleeps for 5 to 35, of random lengths, and a timer that costs it `cost` ns where it
/// meets it. Some of that is work of the next stretch.
fn watched(cost: u64, period: u64, seed: u64) -> (Recording, Window) {
    let (mut now, mut due, mut random, mut done) = (10_000_u64, seed * 997 + 10_000, seed, 0);
    let (mut switches, mut ring) = (vec![switch(IDLE, now, false)], Vec::new());
    for _ in 0..60_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (length, sleep) = (5_000 + (random >> 33) % 15_000, 5_000 + (random >> 20) % 30_000);
        now += sleep;
        switches.extend([switch(IDLE, now, true), switch(END, now, false)]);
        let mut to = now + (length - done).max(1_000);
        done = 0;
        while due < to {
            let runs = due >= now;
            ring.extend(sample(if runs { END } else { IDLE }, due + 1_000));
            (to, done) = if runs { (to + cost, cost / 8) } else { (to, done) };
            due += period;
        }
        now = to;
        switches.extend([switch(END, now, true), switch(IDLE, now, false)]);
    }
    (Recording { period, spacing: period, rings: vec![ring], ..recording(switches) }, window(10_000, now))
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(32))]
    #[test]
    fn samples_stand_for_what_would_have_been_without_them(cost in 0..40_000_u64, period in 300_000..1_000_000_u64, seed in 1..1_000_u64) {
        let task = Tasks::Process(END);
        let share = |time: Option<Nanos>, window: Window| time.unwrap().get() as f64 / window.length().get() as f64;
        let (without, all) = watched(0, period, seed);
        let wanted = share(without.on_cpu(task, all), all);
        let (with, all) = watched(cost, period, seed);
        let found = share(with.sampled_for(task, all), all);
        // Five standard errors of the shares of 30,000 stretches.
        prop_assert!((found / wanted - 1.0).abs() <= 0.02, "{found} of {wanted}");
        if cost > 30_000 && period < 600_000 {
            prop_assert!(share(with.on_cpu(task, all), all) > 1.025 * wanted, "samples change what is there");
        }
    }
}

proptest! {
    /// What of a window the end was on its CPU and what it was not make the whole.
    #[test]
    fn no_time_is_made_or_lost(edges in proptest::collection::vec(0..100_000_u64, 0..40), cut in 0..100_000_u64) {
        let mut edges = edges;
        edges.sort_unstable();
        edges.dedup();
        let ring: Vec<Switch> = edges.iter().enumerate().flat_map(|(place, time)| {
            let (leaves, comes) = if place % 2 == 0 { (IDLE, END) } else { (END, IDLE) };
            [switch(leaves, *time, true), switch(comes, *time, false)]
        }).collect();
        let recording = recording(ring);
        let on_cpu = |tasks, start, end| recording.on_cpu(tasks, window(start, end)).unwrap().get();
        let (end, idle) = (Tasks::Process(END), Tasks::Process(IDLE));
        if !edges.is_empty() {
            prop_assert_eq!(on_cpu(end, 0, 100_000) + on_cpu(idle, 0, 100_000), 100_000);
        }
        prop_assert_eq!(on_cpu(end, 0, cut) + on_cpu(end, cut, 100_000), on_cpu(end, 0, 100_000));
        prop_assert!(on_cpu(end, 0, cut) <= cut);
    }
}
