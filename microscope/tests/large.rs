//! `nettoll top` in a guest of 128 processors, of which some go off and on line, and whose clock is set: `make test-large`.
//!
//! Two CPUs of a usual machine emulate 128 too slowly for the usual rate of samples. So the rate is lower, and what is claimed are
//! counts and sums, which no speed changes.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs};

use microscope::cache::Cache;
use microscope::emulator::Emulator;
use microscope::errand::{Errand, Ran, command};
use microscope::kernel::Kernel;
use microscope::{Failed, GuestSize};
use serde_json::Value;
use testkit::claims::{self, Skip};

testkit::claims!(
    every_processor_is_sampled_and_rows_add_up,
    a_processor_that_goes_and_comes_is_followed,
    a_clock_that_is_set_changes_no_length_and_no_counter,
);

/// Names the static program, which `scripts/guests.sh` builds.
const PROGRAM: &str = "NETTOLL_STATIC";
const SERIES: &str = "6.12";
const CPUS: u64 = 128;
const SIZE: GuestSize = GuestSize { cpus: CPUS as u32, memory: 4096, longest: Duration::from_secs(1500) };
/// Samples a second of each processor.
const RATE: u64 = 10;
/// CAP_IPC_LOCK, without which a user's rings have to fit into `kernel.perf_event_mlock_kb`.
const IPC_LOCK: u32 = 14;
/// Processors that go for some windows, and for a moment.
const GONE: u64 = 5;
const GONE_SHORTLY: [u64; 3] = [6, 7, 8];
/// Seconds by which the clock is set.
const SET: f64 = 3600.0;

fn main() -> ExitCode {
    claims::test_in_turn(&[("", ALL)])
}

fn online(cpu: u64, on: bool) -> String {
    format!("write /sys/devices/system/cpu/cpu{cpu}/online {}", u8::from(on))
}

/// The guest's steps. A process sends datagrams to itself all the time.
fn steps() -> Vec<String> {
    let top = format!("/nettoll top -J --rate {RATE}");
    let moments = GONE_SHORTLY.map(|cpu| [online(cpu, false), online(cpu, true)].join("; ")).join("; ");
    // Behind the first line of the recording, which says where it is.
    let recorded = |windows: u32| format!("await lines={} file=/o/clock", windows + 1);
    vec![
        format!("drop capability={IPC_LOCK}"),
        "meanwhile run name=load kind=udp size=112 n=1000000000".to_owned(),
        command("once", &format!("{top} --once")),
        format!(
            "meanwhile await lines=1 file=/o/cpus; {}; await lines=3 file=/o/cpus; {}; await lines=4 file=/o/cpus; {moments}",
            online(GONE, false),
            online(GONE, true)
        ),
        command("cpus", &format!("{top} -t 70s")),
        format!("meanwhile {}; clock s={SET}; {}; clock s=-{SET}", recorded(1), recorded(3)),
        command("clock", &format!("{top} -t 51s --record --runs /tmp/runs --textfile /tmp/top.prom")),
        "tell /tmp/top.prom".to_owned(),
        command("report", "/nettoll report latest --runs /tmp/runs -J"),
    ]
}

/// What the guest left, which is booted once.
fn guest() -> Result<&'static Ran, Skip> {
    static GUEST: OnceLock<Result<Ran, String>> = OnceLock::new();
    GUEST.get_or_init(boot).as_ref().map_err(|why| Skip(why.clone()))
}

fn boot() -> Result<Ran, String> {
    let path = env::var_os(PROGRAM).ok_or_else(|| format!("{PROGRAM} names no static nettoll: use `make test-large`"))?;
    let program = fs::read(path).unwrap();
    let open = || -> Result<_, Failed> {
        let cache = Cache::open(None)?;
        let emulator = Emulator::find(&cache, false)?;
        let kernel = Kernel::find(&cache, SERIES, None, false)?;
        Ok((cache, emulator, kernel))
    };
    let (cache, emulator, kernel) = open().map_err(|why| why.to_string())?;
    let files: [(&str, &[u8]); 1] = [("nettoll", &program)];
    let errand = Errand { kernel: &kernel, size: SIZE, modules: &[], files: &files, cards: None, steps: &steps() };
    let ran = errand.run(&cache, &emulator).unwrap_or_else(|why| panic!("{}: {why}", kernel.name));
    assert!(ran.log.failures.is_empty(), "{:?}", ran.log.failures);
    Ok(ran)
}

/// What a command wrote, which ended well.
fn wrote(name: &str) -> Result<String, Skip> {
    let ended = guest()?.ended(name).unwrap_or_else(|why| panic!("{why}"));
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

/// Samples of each processor that is online.
fn by_cpu(window: &Value) -> BTreeMap<u64, u64> {
    window["per_cpu"].as_array().unwrap().iter().map(|row| (count(&row["cpu"]), count(&row["made"]))).collect()
}

/// Samples of the network's work by a table of rows.
fn network(window: &Value, table: &str) -> u64 {
    window[table].as_array().unwrap().iter().map(|row| count(&row["samples"])).sum()
}

/// Claims that the parts of a window add up, whatever its processors did.
fn holds(name: &str, window: &Value) {
    let samples = &window["samples"];
    let [due, made, lost] = ["due", "made", "lost"].map(|key| count(&samples[key]));
    println!(
        "{name}: {:.1} s, {} CPUs, {made} of {due} samples, {} of the network",
        seconds(window),
        window["cpus"],
        network(window, "units")
    );
    assert_eq!(window["refused"], Value::Array(Vec::new()), "{name}");
    assert_eq!(lost, 0, "{name}");
    // Distances of samples differ by at most 0.6 %.
    assert!((number(&window["hz"]) / RATE as f64 - 1.0).abs() < 0.006, "{name}: {}", window["hz"]);
    // One of the stretch before may be in this one, on each processor.
    assert!(made > 0 && made <= due + CPUS, "{name}: {samples}");
    assert!(network(window, "units") > 0, "{name}: {window}");
    assert!(["processes", "interrupted"].iter().all(|table| network(window, table) == network(window, "units")), "{name}: {window}");
    let cpus = due as f64 / (number(&window["hz"]) * seconds(window));
    let sum: f64 = ["busy", "idle", "missing"].iter().map(|key| number(&window[key])).sum();
    assert!((sum / cpus - 1.0).abs() < 0.01, "{name}: {sum} of {cpus}");
    let names = by_cpu(window);
    assert_eq!(names.len() as u64, count(&window["cpus"]), "{name}");
}

fn every_processor_is_sampled_and_rows_add_up() -> Result<(), Skip> {
    let windows = windows("once")?;
    let [window] = &windows[..] else { panic!("{windows:?}") };
    assert_eq!(count(&window["cpus"]), CPUS);
    let due = CPUS as f64 * RATE as f64 * seconds(window);
    assert!((count(&window["samples"]["due"]) as f64 / due - 1.0).abs() < 0.01, "{} of {due}", window["samples"]);
    let by_cpu = by_cpu(window);
    assert_eq!(by_cpu.values().sum::<u64>(), count(&window["samples"]["made"]));
    assert!(by_cpu.values().all(|made| *made > 0), "{by_cpu:?}");
    Ok(())
}

fn a_processor_that_goes_and_comes_is_followed() -> Result<(), Skip> {
    let windows = windows("cpus")?;
    let made: Vec<BTreeMap<u64, u64>> = windows.iter().map(by_cpu).collect();
    let of = |cpu: u64| made.iter().map(|by_cpu| by_cpu.get(&cpu)).collect::<Vec<_>>();
    println!("samples of CPU {GONE}: {:?}; of {GONE_SHORTLY:?}: {:?}", of(GONE), GONE_SHORTLY.map(of));
    assert_eq!(windows.len(), 7);
    let cpus: Vec<u64> = windows.iter().map(|window| count(&window["cpus"])).collect();
    assert_eq!([cpus[0], cpus[2], cpus[6]], [CPUS, CPUS - 1, CPUS], "{cpus:?}");
    // Of one that is not there no sample is counted.
    assert!(!made[2].contains_key(&GONE), "{:?}", made[2]);
    assert_eq!(made[2].values().sum::<u64>(), count(&windows[2]["samples"]["made"]));
    let all_have_some = |by_cpu: &BTreeMap<u64, u64>| by_cpu.values().all(|made| *made > 0);
    assert!(all_have_some(&made[0]) && all_have_some(&made[2]) && all_have_some(&made[6]), "{made:?}");
    Ok(())
}

/// A counter of a page of Prometheus, over its labels.
fn counter(page: &str, name: &str, labels: &str) -> f64 {
    let rows = page.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{')) && line.contains(labels));
    rows.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

fn a_clock_that_is_set_changes_no_length_and_no_counter() -> Result<(), Skip> {
    let windows = windows("clock")?;
    assert_eq!(windows.len(), 6);
    // The clock went on by the length of each window, and was set forward in one and back in another.
    let ends: Vec<f64> = windows.iter().map(|window| number(&window["time_ns"]) / 1e9).collect();
    let set: Vec<f64> = (1..windows.len()).map(|place| ends[place] - ends[place - 1] - seconds(&windows[place])).collect();
    println!("the clock was set by {set:.1?} s");
    let times: Vec<i64> = set.iter().map(|by| (by / SET).round() as i64).filter(|times| *times != 0).collect();
    assert_eq!(times, [1, -1]);
    assert!(set.iter().all(|by| (by - (by / SET).round() * SET).abs() < 1.0), "{set:?}");
    // A window of ten stretches of 1 s and more.
    assert!(windows[..5].iter().all(|window| (10.0..SET).contains(&seconds(window))), "{ends:?}");

    // Every stretch is counted once.
    let page = &guest()?.log.files["/tmp/top.prom"];
    let sum = |of: &dyn Fn(&Value) -> u64| windows.iter().map(of).sum::<u64>() as f64;
    let samples = |result: &str| counter(page, "nettoll_samples_total", &format!("result=\"{result}\""));
    assert_eq!(samples("busy") + samples("idle"), sum(&|window| count(&window["samples"]["made"])), "{page}");
    assert_eq!(samples("lost"), 0.0);
    let period = 1.0 / number(&windows[0]["hz"]);
    let time = sum(&|window| network(window, "units")) * period;
    for name in ["nettoll_network_cpu_seconds_total", "nettoll_unit_network_cpu_seconds_total"] {
        let counted = counter(page, name, "");
        assert!((counted / time - 1.0).abs() < 1e-4, "{name}: {counted}, and {time} by windows");
    }

    let text = wrote("report")?;
    let report: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let stored = &report["parts"]["ends_ms"];
    println!("recorded from {} on: {stored}", report["run"]["started_ms"]);
    assert_eq!((count(&report["windows"]), count(&report["damaged"])), (5, 0));
    let started = number(&report["run"]["started_ms"]) / 1e3;
    assert!((0.0..SET).contains(&(ends[0] - seconds(&windows[0]) - started)), "{started} {ends:?}");
    let ends_ms: Vec<u64> = ends[..5].iter().map(|end| (end * 1e3) as u64).collect();
    assert!(stored.as_array().unwrap().iter().zip(&ends_ms).all(|(stored, end)| count(stored).abs_diff(*end) <= 1), "{stored} {ends_ms:?}");
    let made: u64 = windows[..5].iter().map(|window| count(&window["samples"]["made"])).sum();
    assert_eq!(count(&report["samples"]["made"]), made);
    Ok(())
}
