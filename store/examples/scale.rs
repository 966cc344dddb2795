//! How long a large run takes to write and to read, and in how much memory.
//!
//! `cargo run --release -p nettoll-store --example scale -- [TRIALS]`
#![allow(clippy::print_stdout, clippy::unwrap_used)] // Printing is what it is for; the fixtures are those of tests.

#[allow(dead_code, unused_imports, reason = "it uses a part of it")]
#[path = "../tests/runs/support.rs"]
mod support;

use std::error::Error;
use std::fs;
use std::time::Instant;

use store::{RunDirectory, RunReader};
use support::{STARTED, run, trial};

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse())?;
    let root = tempfile::tempdir()?;
    let mut directory = RunDirectory::create(root.path(), "scale", STARTED)?;
    directory.write_run(&run(directory.id()))?;

    let started = Instant::now();
    for number in 0..count {
        directory.append_trial(&trial(number))?;
    }
    directory.sync()?;
    let bytes = fs::metadata(directory.path().join("trials.jsonl"))?.len();
    println!("wrote {count} trials of {} B in {:.2} s", bytes / count.max(1), started.elapsed().as_secs_f64());

    let started = Instant::now();
    let good = RunReader::open(directory.path())?.trials()?.filter(Result::is_ok).count();
    println!("read {good} in {:.2} s; peak resident {}", started.elapsed().as_secs_f64(), peak()?);
    Ok(())
}

fn peak() -> Result<String, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    Ok(status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned())
}
