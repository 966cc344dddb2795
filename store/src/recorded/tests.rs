//! Recordings that go round, are cut short and are damaged.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use model::Nanos;
use model::recording::{RECORDING_FORMAT, RecordedUnit, RecordedWindow, Recording};
use proptest::prelude::{any, prop_assert, proptest};

use super::{Limits, MOST_NAME_BYTES, Names, RecordingDirectory, parse_recorded, read_recorded};
use crate::read_recording;

const HOUR_MS: u64 = 3_600_000;
const DAY: Limits = Limits { time_ms: 24 * HOUR_MS, bytes: 100 << 20 };

fn head() -> Recording {
    Recording { format: RECORDING_FORMAT, started_ms: 1, tool: "0".to_owned(), host: "h".to_owned(), ..Recording::default() }
}

/// A window of a busy machine.
fn window(time_ms: u64, units: u64) -> RecordedWindow {
    let unit = |number: u64| RecordedUnit {
        name: format!("/kubepods.slice/kubepods-burstable.slice/kubepods-pod{number:032}.slice"),
        call: 137 + (number * 31 + time_ms / 10_000) % 400,
        softirq: 91 + (number * 17 + time_ms / 10_000) % 300,
        shared: 40 + number % 40,
        messages: 1_234_567 + number * time_ms % 999_999,
        bytes: 1_234_567_890 + number * time_ms % 999_999_999,
    };
    let parts = ["tcp", "ip", "netdev", "driver", "socket", "syscall", "sched", "mm", "netfilter", "bpf"];
    RecordedWindow {
        time_ms,
        elapsed: Nanos::new(10_000_123_456),
        cpus: 16,
        period: Nanos::new(10_101_010),
        samples: [15_840, 15_777],
        own: Nanos::new(123_456_789),
        layers: parts.iter().map(|name| ((*name).to_owned(), 1_234)).collect(),
        kinds: parts.iter().take(6).map(|name| (format!("{name}-work"), 2_345)).collect(),
        has_messages: true,
        units: (0..units).map(unit).collect(),
    }
}

fn read(path: &Path) -> (Vec<RecordedWindow>, u64) {
    let mut all = Vec::new();
    let bad = read_recorded(path, |window| all.push(window)).unwrap();
    (all, bad)
}

fn bytes(path: &Path) -> u64 {
    fs::read_dir(path.join("windows")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn a_day_of_forty_units_is_below_twenty_megabytes_and_is_read_as_it_was_written() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RecordingDirectory::create(root.path(), &head(), Limits { time_ms: 48 * HOUR_MS, ..DAY }).unwrap();
    let made = |number: u64| window(1_795_292_045_999 + number * 10_000, 40);
    (0..8_640).for_each(|number| directory.append(&made(number)).unwrap());
    let size = bytes(directory.path());
    assert!(size <= 20_000_000, "{size} bytes");
    let (all, bad) = read(directory.path());
    assert_eq!((all.len(), bad), (8_640, 0));
    assert_eq!([&all[0], &all[4_321]], [&made(0), &made(4_321)]);
    assert_eq!(read_recording(directory.path()).unwrap().id, directory.id());
    assert_eq!(crate::find(root.path(), Path::new("latest")).unwrap(), directory.path());
    assert!(crate::list(root.path()).unwrap().is_empty(), "it is no run of a study");
}

#[test]
fn old_windows_go_by_time_and_by_bytes() {
    let root = tempfile::tempdir().unwrap();
    let mut by_time = RecordingDirectory::create(root.path(), &head(), Limits { time_ms: 3 * HOUR_MS, ..DAY }).unwrap();
    let long = |time_ms| RecordedWindow { elapsed: Nanos::from_millis(HOUR_MS / 12), ..window(time_ms, 3) };
    (0..10 * 12).for_each(|number| by_time.append(&long(HOUR_MS + number * HOUR_MS / 12)).unwrap());
    let (all, _) = read(by_time.path());
    let span = all.last().unwrap().time_ms - all[0].time_ms;
    assert!((3 * HOUR_MS - HOUR_MS / 12..=4 * HOUR_MS).contains(&span), "{span}");
    let limits = Limits { bytes: 200_000, ..DAY };
    let mut by_bytes = RecordingDirectory::create(root.path(), &head(), limits).unwrap();
    for number in 0..500 {
        by_bytes.append(&window(HOUR_MS + number * 1_000, 40)).unwrap();
        assert!(bytes(by_bytes.path()) <= 200_000 + 16_000);
    }
    let (all, bad) = read(by_bytes.path());
    assert!(all.len() > 30 && bad == 0 && all.last().unwrap().time_ms == HOUR_MS + 499_000);
    // A clock that is set back loses nothing.
    by_bytes.append(&window(1_000, 2)).unwrap();
    assert_eq!(read(by_bytes.path()).0.last().unwrap().time_ms, 1_000);
}

#[test]
fn a_clock_that_is_set_makes_no_window_old() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RecordingDirectory::create(root.path(), &head(), DAY).unwrap();
    let year = 365 * 24 * HOUR_MS;
    // Ten years ahead for some windows, then right again, then in 1970.
    let times: Vec<u64> = (0..30).map(|number| number * 10_000 + [50, 60, 50, 0, 50][number as usize / 6] * year).collect();
    times.iter().for_each(|time| directory.append(&window(*time, 3)).unwrap());
    let (all, bad) = read(directory.path());
    assert_eq!((all.iter().map(|window| window.time_ms).collect::<Vec<_>>(), bad), (times, 0));
}

#[test]
fn files_that_went_by_other_hands_stop_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RecordingDirectory::create(root.path(), &head(), Limits { bytes: 100_000, ..DAY }).unwrap();
    let file = |number: u64| directory.path().join(format!("windows/{number:06}.jsonl"));
    let [first, absent] = [file(1), file(2)];
    let store = |directory: &mut RecordingDirectory, number: u64| directory.append(&window(HOUR_MS + number, 40)).unwrap();
    while !absent.exists() {
        let number = directory.next;
        store(&mut directory, number);
    }
    fs::remove_file(first).unwrap();
    (0..200).for_each(|number| store(&mut directory, 10 + number));
    assert!(bytes(directory.path()) <= 120_000, "the limit holds on");
    // A reader meets a name whose file the writer removes: here one that leads nowhere.
    std::os::unix::fs::symlink(root.path().join("gone"), &absent).unwrap();
    let (all, bad) = read(directory.path());
    assert!(!all.is_empty() && bad == 0);
}

#[test]
fn names_without_end_take_no_memory() {
    let mut names = Names::default();
    let line = |number: u64| {
        format!("{{\"v\":1,\"w\":[1,2,3,4,5,6,7],\"l\":{{}},\"k\":{{}},\"m\":true,\"n\":[\"{number}{}\"],\"u\":[]}}", "x".repeat(1 << 20))
    };
    let taken = (0..100).filter(|number| parse_recorded(line(*number).as_bytes(), &mut names).is_some()).count();
    assert!((60..64).contains(&taken) && names.bytes <= MOST_NAME_BYTES, "{taken}");
}

#[test]
fn a_torn_line_costs_only_itself() {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RecordingDirectory::create(root.path(), &head(), DAY).unwrap();
    (0..5).for_each(|number| directory.append(&window(1_000 + number, 3)).unwrap());
    let file = directory.path().join("windows/000001.jsonl");
    let whole = fs::read(&file).unwrap();
    for cut in 1..200 {
        fs::write(&file, &whole[..whole.len() - cut]).unwrap();
        let (all, bad) = read(directory.path());
        // Without its end alone the last line is whole.
        assert_eq!((all.len() as u64, bad), if cut == 1 { (5, 0) } else { (4, 1) }, "{cut}");
    }
    OpenOptions::new().append(true).open(&file).unwrap().write_all(b"\0\0\n\n{\"v\":9}\n").unwrap();
    assert_eq!(read(directory.path()).0.len(), 4);
    fs::write(directory.path().join("top.json"), "{\"format\":9}").unwrap();
    assert!(read_recording(directory.path()).unwrap_err().to_string().contains("version"));
    fs::write(directory.path().join("top.json"), "{\"format\":1,").unwrap();
    let said = read_recording(directory.path()).unwrap_err().to_string();
    assert!(said.contains("top.json is damaged") && said.contains("the windows next to it are not touched"), "{said}");
}

proptest! {
    #[test]
    fn no_line_ends_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300), place in any::<u64>()) {
        let mut names = Names::default();
        prop_assert!(parse_recorded(&bytes, &mut names).is_none());
        let line = format!("{{\"v\":1,\"w\":[1,2,3,4,5,6,7],\"l\":{{}},\"k\":{{}},\"m\":true,\"n\":[\"/a\"],\"u\":[[{place},1,1,1,1,1]]}}");
        prop_assert!(parse_recorded(line.as_bytes(), &mut names).is_some() == (place == 0));
    }
}
