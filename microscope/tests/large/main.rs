//! `nettoll top` in a guest of 128 CPUs, of which some go off line and come back, and whose clock is set: `make test-large`.
//!
//! Two CPUs of a usual machine emulate so many too slowly for the usual rate of samples. So the rate is lower, and claims are about
//! counts and sums, which no speed changes.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod guest;

use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use microscope::cache::Cache;
use microscope::emulator::Emulator;
use microscope::errand::{Errand, ErrandOutput};
use microscope::kernel::Kernel;
use microscope::{Failed, GuestSize};
use serde_json::Value;
use testkit::claims::{self, Skip};

use guest::{COUNTERS, GONE, GONE_SHORTLY, SET};

testkit::claims!(
    every_cpu_is_sampled_and_rows_add_up,
    a_cpu_that_goes_and_comes_is_sampled_again,
    a_clock_that_is_set_changes_no_length_and_no_counter,
);

const SERIES: &str = "6.12";
/// A number of CPUs other than 128.
const CPUS: &str = "CPUS";
/// A guest that is not done by then hangs.
const LONGEST: Duration = Duration::from_secs(900);
/// Samples a second of each CPU.
const RATE: u64 = 10;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match &words[..] {
        [place, step, command @ ..] if place == "guest" => guest::run(step, command),
        _ => claims::test_in_turn(&[("", ALL)]),
    }
}

fn cpus() -> u64 {
    let number = env::var(CPUS).map_or(128, |number| number.parse().unwrap_or_else(|_| panic!("{CPUS}={number} is no number")));
    assert!(number > *GONE_SHORTLY.iter().max().unwrap(), "{CPUS}={number}: CPUs that go off line are among the first nine");
    number
}

/// What the guest left, which is booted once, or why it left nothing.
fn guest_log() -> Result<&'static ErrandOutput, Skip> {
    static GUEST: OnceLock<Result<Result<ErrandOutput, String>, Skip>> = OnceLock::new();
    let ran = GUEST.get_or_init(boot).as_ref().map_err(|Skip(why)| Skip(why.clone()))?;
    Ok(ran.as_ref().unwrap_or_else(|why| panic!("{why}")))
}

fn boot() -> Result<Result<ErrandOutput, String>, Skip> {
    let programs = testkit::guest::with_libraries(&[("nettoll", &testkit::guest::program()?), ("large", &env::current_exe().unwrap())]);
    let open = || -> Result<_, Failed> {
        let cache = Cache::open(None)?;
        let emulator = Emulator::find(&cache, false)?;
        let kernel = Kernel::find(&cache, SERIES, None, false)?;
        Ok((cache, emulator, kernel))
    };
    let (cache, emulator, kernel) = open().map_err(|why| Skip(why.to_string()))?;
    let files: Vec<(&str, &[u8])> = programs.iter().map(|(path, content)| (path.as_str(), content.as_slice())).collect();
    let top = |step: &str, more: &str| format!("/large guest {step} /nettoll top -J --rate {RATE} {more}");
    let commands = [
        ("cpus", top("cpus", "-t 70s")),
        // The sixth window is one stretch, with which the counters are written.
        ("clock", top("clock", &format!("-t 51s --record --runs /tmp/runs --textfile {COUNTERS}"))),
        ("report", "/nettoll report latest --runs /tmp/runs -J".to_owned()),
    ];
    let size = GuestSize { cpus: cpus() as u32, memory: 4096, longest: LONGEST };
    let begun = Instant::now();
    let ran = Errand { kernel: &kernel, size, modules: &[], files: &files, cards: None, commands: &commands }.run(&cache, &emulator);
    let first = ran.iter().find_map(|ran| ran.ended(commands[0].0).ok()).map_or_else(String::new, |ended| ended.wrote);
    let booted = first.lines().next().unwrap_or("not booted");
    println!("{}, {} CPUs, {booted}: {:.0} s", kernel.name, size.cpus, begun.elapsed().as_secs_f64());
    Ok(ran.map_err(|why| format!("{}: {why}", kernel.name)))
}

/// What a command wrote, which ended well.
fn wrote(name: &str) -> Result<String, Skip> {
    let ended = guest_log()?.ended(name).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(ended.code, 0, "{name}: {}", ended.wrote);
    Ok(ended.wrote)
}

/// Windows that a command wrote, each of which holds by itself.
fn windows(name: &str) -> Result<Vec<Value>, Skip> {
    let text = wrote(name)?;
    let windows: Vec<Value> = text.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
    windows.iter().for_each(|window| holds(name, window));
    Ok(windows)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

fn seconds(window: &Value) -> f64 {
    number(&window["elapsed_ns"]) / 1e9
}

/// Samples of each CPU that is on line at the end.
fn by_cpu(window: &Value) -> BTreeMap<u64, u64> {
    window["per_cpu"].as_array().unwrap().iter().map(|row| (count(&row["cpu"]), count(&row["made"]))).collect()
}

/// Samples of the network's work by a table of rows.
fn network(window: &Value, table: &str) -> u64 {
    window[table].as_array().unwrap().iter().map(|row| count(&row["samples"])).sum()
}

/// CPUs that have samples due.
fn due_cpus(window: &Value) -> f64 {
    number(&window["samples"]["due"]) / (number(&window["hz"]) * seconds(window))
}

/// Claims that the parts of a window add up, whatever its CPUs and its clock did.
fn holds(name: &str, window: &Value) {
    let samples = &window["samples"];
    let [due, made, lost] = ["due", "made", "lost"].map(|key| count(&samples[key]));
    let of_network = network(window, "units");
    println!("{name}: {:.1} s, {} CPUs, {made} of {due} samples, {of_network} of the network", seconds(window), window["cpus"]);
    assert_eq!(window["refused"], Value::Array(Vec::new()), "{name}");
    assert_eq!(lost, 0, "{name}");
    // Distances of samples differ by at most 0.6 %.
    assert!((number(&window["hz"]) / RATE as f64 - 1.0).abs() < 0.006, "{name}: {}", window["hz"]);
    // One of the window before may be in this one, on each CPU.
    assert!(made > 0 && made <= due + cpus(), "{name}: {samples}");
    assert!(["processes", "interrupted"].iter().all(|table| network(window, table) == of_network), "{name}: {window}");
    let sum: f64 = ["busy", "idle", "missing"].iter().map(|key| number(&window[key])).sum();
    let most = due_cpus(window) * made.max(due) as f64 / due as f64;
    assert!((sum / most - 1.0).abs() < 0.01, "{name}: {sum} of {most}");
    let by_cpu = by_cpu(window);
    assert_eq!(by_cpu.len() as u64, count(&window["cpus"]), "{name}");
    // The rings are read one after the other, which takes a part of a second here.
    let most = number(&window["hz"]) * (seconds(window) + 0.5) + 2.0;
    assert!(by_cpu.values().all(|made| *made as f64 <= most), "{name}: {by_cpu:?}");
}

/// Claims that some CPUs, and no others, had samples due in a whole window, and that each was sampled.
fn all_sampled(window: &Value, cpus: u64) {
    let by_cpu = by_cpu(window);
    assert_eq!((count(&window["cpus"]), by_cpu.len() as u64), (cpus, cpus));
    assert!((due_cpus(window) / cpus as f64 - 1.0).abs() < 0.001, "{} of {cpus}", due_cpus(window));
    assert_eq!(by_cpu.values().sum::<u64>(), count(&window["samples"]["made"]));
    assert!(by_cpu.values().all(|made| *made > 0), "{by_cpu:?}");
    assert!(network(window, "units") > 0, "{window}");
}

fn every_cpu_is_sampled_and_rows_add_up() -> Result<(), Skip> {
    all_sampled(&windows("cpus")?[0], cpus());
    windows("clock")?[..5].iter().for_each(|window| all_sampled(window, cpus()));
    Ok(())
}

fn a_cpu_that_goes_and_comes_is_sampled_again() -> Result<(), Skip> {
    let windows = windows("cpus")?;
    let made: Vec<BTreeMap<u64, u64>> = windows.iter().map(by_cpu).collect();
    let of = |cpu: u64| made.iter().map(|by_cpu| by_cpu.get(&cpu)).collect::<Vec<_>>();
    println!("samples of CPU {GONE}: {:?}; of {GONE_SHORTLY:?}: {:?}", of(GONE), GONE_SHORTLY.map(of));
    assert_eq!(windows.len(), 7);
    assert!(windows.iter().all(|window| (10.0..SET as f64).contains(&seconds(window))));
    all_sampled(&windows[2], cpus() - 1);
    assert_eq!(made[2].get(&GONE), None);
    // All have come back before the last window.
    all_sampled(&windows[6], cpus());
    let mut counts: Vec<u64> = made[6].values().copied().collect();
    counts.sort_unstable();
    let median = counts[counts.len() / 2];
    assert!(std::iter::once(GONE).chain(GONE_SHORTLY).all(|cpu| made[6][&cpu] * 2 > median), "{:?}", made[6]);
    Ok(())
}

/// A counter of a page of Prometheus, over its labels.
fn counter(page: &str, name: &str, labels: &str) -> f64 {
    let rows = page.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{')) && line.contains(labels));
    rows.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

fn a_clock_that_is_set_changes_no_length_and_no_counter() -> Result<(), Skip> {
    let (windows, set) = (windows("clock")?, SET as f64);
    assert_eq!(windows.len(), 6);
    assert!(windows[..5].iter().all(|window| (10.0..set).contains(&seconds(window))));
    // The clock went on by the length of each window, and was set forward in one and back in another.
    let ends: Vec<f64> = windows.iter().map(|window| number(&window["time_ns"]) / 1e9).collect();
    let moved: Vec<f64> = (1..windows.len()).map(|place| ends[place] - ends[place - 1] - seconds(&windows[place])).collect();
    println!("the clock was set by {moved:.1?} s");
    let times = |by: &f64| (by / set).round();
    assert_eq!(moved.iter().map(times).filter(|times| *times != 0.0).collect::<Vec<f64>>(), [1.0, -1.0]);
    assert!(moved.iter().all(|by| (by - times(by) * set).abs() < 1.0), "{moved:?}");

    // Every stretch is counted once.
    let page = wrote("clock")?;
    let sum = |of: &dyn Fn(&Value) -> u64| windows.iter().map(of).sum::<u64>() as f64;
    let samples = |result: &str| counter(&page, "nettoll_samples_total", &format!("result=\"{result}\""));
    assert_eq!(samples("busy") + samples("idle"), sum(&|window| count(&window["samples"]["made"])), "{page}");
    assert_eq!(samples("lost"), 0.0);
    let time = sum(&|window| network(window, "units")) / number(&windows[0]["hz"]);
    for name in ["nettoll_network_cpu_seconds_total", "nettoll_unit_network_cpu_seconds_total"] {
        let counted = counter(&page, name, "");
        assert!((counted / time - 1.0).abs() < 1e-4, "{name}: {counted}, and {time} by windows");
    }

    let text = wrote("report")?;
    let report: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    assert_eq!((count(&report["windows"]), count(&report["damaged"])), (5, 0));
    let started = number(&report["run"]["started_ms"]) / 1e3;
    assert!((0.0..set).contains(&(ends[0] - seconds(&windows[0]) - started)), "{started} {ends:?}");
    let stored: Vec<u64> = report["parts"]["ends_ms"].as_array().unwrap().iter().map(count).collect();
    let shown: Vec<u64> = windows[..5].iter().map(|window| count(&window["time_ns"]) / 1_000_000).collect();
    assert_eq!(stored, shown);
    let made: u64 = windows[..5].iter().map(|window| count(&window["samples"]["made"])).sum();
    assert_eq!(number(&report["samples"]["made"]), made as f64);
    Ok(())
}
