//! Host load on a real machine. Started again with `__load`, this program is one
//! of the load's own processes; the usual harness has threads of its own to get in
//! the way.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use lab::load::Load;
use model::Nanos;
use model::condition::MOST_UNITS;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use testkit::{Skip, claims};

claims!(
    a_unit_works_and_says_what_it_took,
    a_load_says_what_it_took_while_it_was_measured,
    units_and_a_spinning_thread_share_a_cpu_evenly,
    nothing_is_left_of_a_load,
    too_many_units_are_refused,
);

const LENGTH: Duration = Duration::from_millis(1_500);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "__load") {
        return match lab::load::play(&words[1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    // One after the other: they look at CPU time, and at what is left.
    claims::test_in_turn(&[("", ALL)])
}

/// The last CPU that this process may use: others prefer the first.
fn cpu() -> u32 {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count()).rev().find(|cpu| set.is_set(*cpu).unwrap()).unwrap() as u32
}

fn a_unit_works_and_says_what_it_took() -> Result<(), Skip> {
    let load = Load::start(1, &[cpu()]).unwrap();
    thread::sleep(LENGTH);
    let taken = load.stop().unwrap();
    assert!(taken.jobs >= 3, "{taken:?}");
    // What others take of this CPU is missing here; the bar of 95 % is held in benches.
    let share = taken.cpu.get() as f64 / taken.elapsed.get() as f64;
    println!("one unit took {:.1} % of its CPU, {} jobs in {}", share * 100.0, taken.jobs, taken.elapsed);
    assert!((0.05..1.05).contains(&share), "{taken:?}");
    Ok(())
}

fn a_load_says_what_it_took_while_it_was_measured() -> Result<(), Skip> {
    let cpu = cpu();
    for (units, length) in [(1, Some(400)), (4, Some(400)), (4, None)] {
        let mut load = Load::start(units, &[cpu]).unwrap();
        // The load runs twice as long as is measured.
        load.measure(Nanos::from_millis(300), length.map(Nanos::from_millis));
        thread::sleep(Duration::from_millis(700));
        if length.is_none() {
            load.measured();
        }
        thread::sleep(Duration::from_millis(500));
        let taken = load.stop().unwrap();
        let (cpu, elapsed) = (taken.cpu.get() as f64, taken.elapsed.get() as f64);
        println!("{units} units took {:.1} % of their CPU in {}", cpu / elapsed * 100.0, taken.elapsed);
        // Each edge may be late, on a CPU that is loaded; neither is the load's own.
        assert!((250e6..900e6).contains(&elapsed), "{taken:?}");
        // Clocks lag by a tick each.
        assert!(cpu > 0.02 * elapsed && cpu <= elapsed + 20e6, "{taken:?}");
    }
    Ok(())
}

fn units_and_a_spinning_thread_share_a_cpu_evenly() -> Result<(), Skip> {
    let cpu = cpu();
    for units in [1, 3] {
        let load = Load::start(units, &[cpu]).unwrap();
        let spun = thread::spawn(move || spin(cpu)).join().unwrap();
        let taken = load.stop().unwrap();
        let share = spun.as_secs_f64() / (spun.as_secs_f64() + Duration::from(taken.cpu).as_secs_f64());
        let fair = 1.0 / f64::from(units + 1);
        println!("{units} units leave a spinning thread {share:.3} of what both take; a fair share is {fair:.3}");
        assert!((0.7 * fair..1.4 * fair).contains(&share), "{units} units: {share} {taken:?}");
    }
    Ok(())
}

/// CPU time of a thread that never waits.
fn spin(cpu: u32) -> Duration {
    let mut only = CpuSet::new();
    only.set(cpu as usize).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
    let end = Instant::now() + LENGTH;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

/// Processes of this program in one of the load's parts, and its directories.
fn traces() -> Vec<String> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains("__load") {
            found.push(line);
        }
    }
    for place in ["/dev/shm".into(), std::env::temp_dir()] {
        let names = std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        found.extend(names.filter(|name| name.starts_with("nettoll-load") || name.starts_with("unit-")));
    }
    found
}

fn nothing_is_left_of_a_load() -> Result<(), Skip> {
    let before = traces();
    let load = Load::start(2, &[]).unwrap();
    assert!(traces().len() > before.len(), "a load is seen");
    drop(load);
    let deadline = Instant::now() + Duration::from_secs(10);
    while traces().len() > before.len() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(traces(), before);
    Ok(())
}

fn too_many_units_are_refused() -> Result<(), Skip> {
    let error = Load::start(MOST_UNITS + 1, &[]).unwrap_err().to_string();
    assert!(error.contains("at most 64"), "{error}");
    Ok(())
}
