//! The power of a gate in CI: two builds of nettoll as woven arms, one of them slowed by a filter of system calls, or
//! neither.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use engine::injection::{calibrate, filter_with};
use model::control::Injection;
use serde_json::Value;
use stats::median::median;

use crate::bars::Row;

/// What the candidate adds to the CPU time of both ends, as a share.
const ADDED: f64 = 0.10;
/// The gate's threshold.
const THRESHOLD: &str = "5%";
/// The longest run.
const LONGEST: Duration = Duration::from_secs(60);
/// Runs of each kind for which the bars hold.
const FULL: u32 = 10;
/// Instructions by which a filter's pace is found.
const SAMPLE: u32 = 2_000;

/// The traffic: its test and size.
const TRAFFIC: [(&str, &str); 2] = [("UDP_STREAM", "1024"), ("TCP_STREAM", "1448")];

/// Runs by which the length of a filter is found: a length makes calls dearer than it does alone, since its
/// instructions displace the kernel's from the caches.
const TRIALS: u32 = 3;

/// A run of the gate.
struct Run {
    code: Option<i32>,
    lasted: Duration,
    analysis: Value,
}

/// Becomes another program, whose sending calls take so many instructions more.
///
/// # Errors
/// A refusal of the system.
pub fn run_slowed(instructions: u32, command: &[OsString]) -> anyhow::Result<()> {
    filter_with(instructions).context("set a filter of system calls (seccomp)")?;
    let (program, arguments) = command.split_first().context("name a program")?;
    Err(Command::new(program).args(arguments).exec()).with_context(|| format!("start {}", program.display()))
}

/// Runs the gate so many times for each traffic with equal sides, and as often with a slower candidate.
pub fn measure(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let tools = Tools::new(nettoll)?;
    let base = tools.tool("base", 0)?;
    let pace = pace()?;
    let (mut rows, mut equal) = (vec![Row::printed("an instruction of the filter", pace, "ns", 1)], Vec::new());
    for (test, size) in TRAFFIC {
        let same = tools.tool(&format!("equal-{test}"), 0)?;
        let of_this = repeat(runs, || tools.gate([&base, &same], test, size))?;
        let slowed_by = |wanted: f64| {
            let instructions = (wanted / pace).round() as u32;
            anyhow::ensure!(Injection::Filter(instructions).is_bounded(), "a filter of {instructions} instructions is too long");
            tools.tool(&format!("slower-{test}"), instructions)
        };
        let mut wanted = ADDED * median(&of_this.iter().filter_map(Run::cost).collect::<Vec<_>>()).context("no cost of a message")?;
        let tried = slowed_by(wanted)?;
        let tried = repeat(TRIALS, || tools.gate([&base, &tried], test, size))?;
        wanted *= scale(median(&changes(&tried)).context("no change of a slowed candidate")?);
        let slower = slowed_by(wanted)?;
        let slowed = repeat(runs, || tools.gate([&base, &slower], test, size))?;
        let what = format!("{test}, {size} B, a filter of {wanted:.0} ns");
        let found = ended(&slowed, 3);
        let row = Row::printed(format!("{what}: runs that exit 3"), found as f64, "", slowed.len());
        rows.push(row.against_if(runs == FULL, ">= 9 of 10", found >= 9));
        rows.push(Row::printed(
            format!("{what}: change found, in the median run"),
            median(&changes(&slowed)).map_or(f64::NAN, |change| 1.0 + change),
            "x",
            slowed.len(),
        ));
        rows.push(duration(&what, &slowed));
        equal.extend(of_this);
    }
    let (worse, passed) = (ended(&equal, 3), ended(&equal, 0));
    let row = |what: &str, count: usize| Row::printed(format!("equal sides: {what}"), count as f64, "", equal.len());
    rows.push(row("runs that exit 3", worse).against_if(runs == FULL, "<= 1 of 20", worse <= 1));
    rows.push(row("runs that exit 0", passed).against_if(runs == FULL, ">= 10 of 20", passed >= 10));
    rows.push(duration("equal sides", &equal));
    Ok(rows)
}

fn duration(what: &str, runs: &[Run]) -> Row {
    let longest = runs.iter().map(|run| run.lasted).max().unwrap_or_default();
    Row::printed(format!("{what}: the longest run"), longest.as_secs_f64(), "s", runs.len()).against("<= 60 s", longest <= LONGEST)
}

fn repeat(runs: u32, run: impl Fn() -> anyhow::Result<Run>) -> anyhow::Result<Vec<Run>> {
    (0..runs).map(|_| run()).collect()
}

fn ended(runs: &[Run], code: i32) -> usize {
    runs.iter().filter(|run| run.code == Some(code)).count()
}

/// The changes of both ends' CPU time that runs found, as shares.
fn changes(runs: &[Run]) -> Vec<f64> {
    runs.iter().filter_map(|run| run.analysis["answer"]["parts"][0]["value"].as_f64()).collect()
}

/// Time of an instruction of a filter, in ns.
pub fn pace() -> anyhow::Result<f64> {
    // A filter stays with its thread.
    let measured = std::thread::spawn(|| calibrate(Injection::Filter(SAMPLE))).join();
    let cost = measured.ok().context("the calibration ended early")?.context("measure a filter of system calls")?;
    let pace = cost.map_or(0.0, |cost| cost.get() as f64) / f64::from(SAMPLE);
    anyhow::ensure!(pace > 0.0, "the time of a filter cannot be told from none here");
    Ok(pace)
}

impl Run {
    /// CPU time of both ends for each delivered message, in ns.
    fn cost(&self) -> Option<f64> {
        self.analysis["cells"][0]["metrics"]["cpu_per_message_ns"]["value"].as_f64()
    }
}

/// What a filter that changed the cost by `found` is to be longer by, to change it by [`ADDED`]; at most eight times.
fn scale(found: f64) -> f64 {
    ADDED / found.max(ADDED / 8.0)
}

/// Builds of nettoll that are compared.
struct Tools<'a> {
    nettoll: &'a Path,
    directory: tempfile::TempDir,
}

impl<'a> Tools<'a> {
    fn new(nettoll: &'a Path) -> anyhow::Result<Self> {
        Ok(Self { nettoll, directory: tempfile::tempdir().context("make a directory")? })
    }

    /// A nettoll behind a filter. Each has one, so that sides differ in its length alone.
    fn tool(&self, name: &str, instructions: u32) -> anyhow::Result<PathBuf> {
        let (this, nettoll) = (std::env::current_exe()?, fs::canonicalize(self.nettoll).context("find nettoll; build it first")?);
        let script = format!("#!/bin/sh\nexec '{}' __slow {instructions} '{}' \"$@\"\n", this.display(), nettoll.display());
        let place = self.directory.path().join(name);
        fs::write(&place, script)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
        Ok(place)
    }

    /// Runs the gate of two builds.
    fn gate(&self, [base, candidate]: [&Path; 2], test: &str, size: &str) -> anyhow::Result<Run> {
        let mut command = Command::new(self.nettoll);
        command.args(["study", "size", "-J", "--gate", "cpu", "--threshold", THRESHOLD, "--test", test, "--size", size]);
        for (name, tool) in [("base", base), ("candidate", candidate)] {
            command.arg("--arm").arg(format!("{name}: tool={}", tool.display()));
        }
        let begun = Instant::now();
        let output = command.arg("--runs").arg(self.directory.path().join("runs")).output().context("start nettoll; build it first")?;
        let (code, lasted) = (output.status.code(), begun.elapsed());
        let analysis: Value = serde_json::from_slice(&output.stdout).context("read the answer of nettoll")?;
        // Runs take minutes together.
        eprintln!("{test}: {} in {:.1} s, {}", output.status, lasted.as_secs_f64(), analysis["answer"]["brief"]);
        anyhow::ensure!(matches!(code, Some(0 | 3 | 4)), "the gate ended with {}: {analysis}", output.status);
        Ok(Run { code, lasted, analysis })
    }
}
