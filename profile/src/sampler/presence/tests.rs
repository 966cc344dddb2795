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
fn samples_stand_for_the_time_on_every_cpu_where_they_added_nothing() {
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
