//! Time and memory of the analysis of large runs, and their growth with the trials.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use model::run::{RUN_FORMAT, Run, Status};
use model::trial::Outcome;
use model::{Cell, Protocol, Test, TrialRecord};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use stats::median::median;
use store::RunDirectory;

use crate::bars::Row;
use crate::ours;

/// Rounds in which the same commands are run one after the other.
const ROUNDS: usize = 5;

/// What a command took.
struct Spent {
    wall: f64,
    cpu: f64,
}

/// Measures `nettoll report` on stored runs of 25,000 and 100,000 trials, and
/// `nettoll compare` on two of 10,000.
pub fn measure(nettoll: &Path) -> anyhow::Result<Vec<Row>> {
    let root = tempfile::tempdir()?;
    let stored = |name: &str, trials| store_copies(&root.path().join(name), trials);
    let (few, many) = (stored("few", 25_000)?, stored("many", 100_000)?);
    let sides = [stored("baseline", 10_000)?, stored("candidate", 10_000)?];
    let mut compared = Vec::new();
    let mut reported = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        reported[0].push(run(Command::new(nettoll).args(["report", "-J"]).arg(&few), &[0])?);
        reported[1].push(run(Command::new(nettoll).args(["report", "-J"]).arg(&many), &[0])?);
        // What it finds between two runs of some milliseconds is all the same here.
        compared.push(run(Command::new(nettoll).arg("compare").args(&sides).arg("-J"), &[0, 3, 4])?);
    }
    let resident = resident()?;
    let middle = |all: &[Spent], of: fn(&Spent) -> f64| median(&all.iter().map(of).collect::<Vec<_>>()).context("no round");
    let both = middle(&compared, |spent| spent.wall)?;
    let large = middle(&reported[1], |spent| spent.wall)?;
    // Wall time shows the neighbours on a shared machine as well.
    let growth = middle(&reported[1], |spent| spent.cpu)? / middle(&reported[0], |spent| spent.cpu)?;
    let mut rows = vec![
        Row::printed("compare of two runs of 10,000 trials", both, "s", ROUNDS).against("<= 2 s", both <= 2.0),
        Row::printed("report on 100,000 trials", large, "s", ROUNDS).against("<= 10 s", large <= 10.0),
        Row::printed("memory of the largest", resident, "MiB", ROUNDS).against("<= 500 MiB", resident <= 500.0),
        Row::printed("its CPU time over that of 25,000 trials", growth, "x", ROUNDS).against("linear: <= 4.4", growth <= 4.4),
    ];
    rows.extend(of_a_million(nettoll, root.path())?);
    Ok(rows)
}

/// Measures what reads a run of a million trials, each command once: it takes long enough.
fn of_a_million(nettoll: &Path, root: &Path) -> anyhow::Result<Vec<Row>> {
    let directory = root.join("million");
    let run_path = store_copies(&directory, 1_000_000)?;
    let timed = |words: &[&str], path: Option<&Path>| run(Command::new(nettoll).args(words).args(path).current_dir(root), &[0, 3]);
    let report = timed(&["report", "-J"], Some(&run_path))?;
    let cells = timed(&["export", "--csv"], Some(&run_path))?;
    let trials = timed(&["export", "--trials"], Some(&run_path))?;
    let lines = timed(&["export", "--benchstat"], Some(&run_path))?;
    let history = run(Command::new(nettoll).args(["history", "-J", "--runs"]).arg(&directory), &[0, 3])?;
    // Of all commands by now, of which these are the largest.
    let resident = resident()?;
    let row = |name: &str, spent: &Spent| Row::printed(name, spent.wall, "s", 1);
    Ok(vec![
        row("report on 1,000,000 trials", &report).against("<= 25 s", report.wall <= 25.0),
        row("export --csv of them", &cells),
        row("export --trials of them", &trials),
        row("export --benchstat of them", &lines),
        row("history of them", &history),
        Row::printed("memory of the largest of these", resident, "MiB", 1).against("<= 500 MiB", resident <= 500.0),
    ])
}

/// The largest memory that an ended child had, in MiB.
fn resident() -> anyhow::Result<f64> {
    Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 / 1024.0)
}

/// Runs a command whose output nobody reads.
fn run(command: &mut Command, codes: &[i32]) -> anyhow::Result<Spent> {
    let cpu = || -> anyhow::Result<f64> {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
        Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
    };
    let (before, begun) = (cpu()?, Instant::now());
    let status = command.stdout(Stdio::null()).status().with_context(|| format!("run {command:?}"))?;
    ensure!(status.code().is_some_and(|code| codes.contains(&code)), "{command:?} failed");
    Ok(Spent { wall: begun.elapsed().as_secs_f64(), cpu: cpu()? - before })
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
    let samples =
        plan.cells.iter().map(|cell| ours::measure(&mut session, &ours::plan(cell.clone(), 5, 20))).collect::<anyhow::Result<Vec<_>>>()?;
    let mut directory = RunDirectory::create(root, "bench", 0)?;
    let run = Run {
        format: RUN_FORMAT,
        id: directory.id().to_owned(),
        plan: plan.clone(),
        started_ms: 0,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        status: Status::BlocksDone,
        warnings: Vec::new(),
        proof: None,
        pooled: None,
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
