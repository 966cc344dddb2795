//! Time of the analysis of a large run, and its growth with the trials.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use lab::event::Quiet;
use model::run::{RUN_FORMAT, Run, Status};
use model::trial::Outcome;
use model::{Cell, Protocol, Test, TrialRecord};
use nix::sys::resource::{UsageWho, getrusage};
use store::RunDirectory;

use crate::ours;
use stress::bars::Row;

/// Measures `nettoll report` on stored runs of 25,000 and 100,000 trials, and
/// `nettoll compare` on two of 10,000.
pub fn measure(nettoll: &Path) -> anyhow::Result<Vec<Row>> {
    let (few, _) = report(nettoll, 25_000)?;
    let (many, resident) = report(nettoll, 100_000)?;
    let both = compare(nettoll, 10_000)?;
    Ok(vec![
        Row::printed("compare of two runs of 10,000 trials", both, "s", 1).against("<= 2 s", both <= 2.0),
        Row::printed("report on 100,000 trials", many, "s", 1).against("<= 10 s", many <= 10.0),
        Row::printed("its memory", resident, "MiB", 1).against("<= 500 MiB", resident <= 500.0),
        Row::printed("its time over that of 25,000 trials", many / few, "x", 1).against("linear: <= 4.4", many / few <= 4.4),
    ])
}

/// Seconds and MiB that a report on `trials` stored trials takes.
fn report(nettoll: &Path, trials: u32) -> anyhow::Result<(f64, f64)> {
    let root = tempfile::tempdir()?;
    let path = store_copies(root.path(), trials)?;
    let begun = Instant::now();
    let status = Command::new(nettoll)
        .args(["report", "-J"])
        .arg(&path)
        .stdout(std::process::Stdio::null())
        .status()
        .context("run nettoll report")?;
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(status.success(), "nettoll report failed");
    Ok((seconds, getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 / 1024.0))
}

/// Seconds that a comparison of two runs of `trials` stored trials takes.
fn compare(nettoll: &Path, trials: u32) -> anyhow::Result<f64> {
    let roots = [tempfile::tempdir()?, tempfile::tempdir()?];
    let paths = [store_copies(roots[0].path(), trials)?, store_copies(roots[1].path(), trials)?];
    let begun = Instant::now();
    let status = Command::new(nettoll).arg("compare").args(&paths).arg("-J").stdout(std::process::Stdio::null()).status();
    let code = status.context("run nettoll compare")?.code();
    let seconds = begun.elapsed().as_secs_f64();
    // What it finds between two runs of some milliseconds is all the same here.
    ensure!(matches!(code, Some(0 | 3 | 4)), "nettoll compare failed");
    Ok(seconds)
}

/// A run of real trials, each stored many times over with its time changed a little.
fn store_copies(root: &Path, trials: u32) -> anyhow::Result<std::path::PathBuf> {
    let mut session = ours::session()?;
    // Streams of both protocols, and the dear part: histograms of round trips.
    let sizes = [1, 64, 512, 1_024, 1_448, 2_032, 8_192, 16_384];
    let streams = |protocol, read: Option<u64>| sizes.map(|size| ours::stream(protocol, size, read.unwrap_or(size)));
    let rr = [Test::TcpRr, Test::UdpRr].map(|test| Cell { test, ..ours::stream(Protocol::Tcp, 1, 1) });
    let cells: Vec<Cell> = streams(Protocol::Udp, None).into_iter().chain(streams(Protocol::Tcp, Some(128 << 10))).chain(rr).collect();
    let mut plan = ours::plan(cells[0].clone(), 5, 20);
    plan.cells = cells;
    let samples = plan
        .cells
        .iter()
        .map(|cell| Ok(lab::trial::run(&mut session, lab::trial::TrialSpec::clean(&plan, cell, false), &mut Quiet)?.measured))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut directory = RunDirectory::create(root, "bench", 0)?;
    let run = Run {
        format: RUN_FORMAT,
        id: directory.id().to_owned(),
        plan: plan.clone(),
        started_ms: 0,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        status: Status::BlocksDone,
        warnings: Vec::new(),
    };
    directory.write_run(&run)?;
    for number in 0..trials {
        let at = number as usize % samples.len();
        let mut measured = samples[at].clone();
        measured.receiver.counts.messages += u64::from(number % 97);
        directory.append_trial(&TrialRecord {
            block: number / samples.len() as u32,
            position: at as u32,
            swapped: number / samples.len() as u32 % 2 == 1,
            ..TrialRecord::new(plan.cells[at].clone(), Outcome::Measured(Box::new(measured)))
        })?;
    }
    Ok(directory.path().to_owned())
}
