//! Trials back to back for as long as a day of usual ones: what grows shows.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use testkit::processes;

use crate::bars::Row;
use crate::endure;
use crate::endure::agent::Agent;
use crate::endure::tool::{Study, Tool};
use crate::endure::traces::{Traces, unfinished};

/// Cells of the plan; UDP, whose losses cost a silence between machines, runs
/// on this machine only.
const HERE: [&str; 3] = ["UDP_STREAM", "TCP_STREAM", "TCP_RR"];
const OVER_AGENTS: [&str; 3] = ["TCP_MAERTS", "TCP_STREAM", "TCP_RR"];
/// Messages of a trial: a window of 1 ms may be empty where this machine
/// pauses for longer. It takes 1 to 4 ms.
const MESSAGES: u32 = 200;
/// Interval at which the processes are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// A trial that takes longer has hung.
const HANG: Duration = Duration::from_secs(60);
/// Files that a host holds for the trial that runs; a look may not have come
/// between two trials.
const PIPES: f64 = 3.0;
/// Most growth of memory: this many KiB, or this share.
const GROWTH_KIB: f64 = 1_024.0;
const GROWTH: f64 = 0.05;

/// Memory in KiB and open files of each process, by what it is.
type Look = BTreeMap<String, (u64, usize)>;

/// The observations of a soak.
struct Soaked {
    early: Look,
    late: Look,
    failed: usize,
    leftovers: Vec<String>,
    seconds: f64,
}

/// Runs `count` trials, a tenth of them over an agent.
pub fn measure(nettoll: &Path, count: u32) -> anyhow::Result<Vec<Row>> {
    let remote = (count / 10).max(30);
    let mut rows = rows("local", count.saturating_sub(remote), &soak(nettoll, HERE, count.saturating_sub(remote), false)?);
    rows.extend(self::rows("over an agent", remote, &soak(nettoll, OVER_AGENTS, remote, true)?));
    Ok(rows)
}

fn soak(nettoll: &Path, tests: [&str; 3], count: u32, remote: bool) -> anyhow::Result<Soaked> {
    let tool = Tool::new(nettoll)?;
    let mut traces = Traces::now();
    let agent = if remote { Some(Agent::start(&tool, &[], &["--listen", "127.0.0.1", "--port", "0"])?) } else { None };
    let blocks = (count / tests.len() as u32).max(1);
    let plan = format!(
        "name = \"soak\"\ntrial = {{ messages = {MESSAGES} }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n\
         [[cells]]\ntest = {tests:?}\nsize = 1024\nnodelay = true\n"
    );
    let host = agent.as_ref().map(|agent| format!("b={}", agent.address));
    let arguments: Vec<&str> = host.iter().flat_map(|host| ["--host", host]).collect();
    let begun = Instant::now();
    let mut study = tool.start(&[], &plan, &arguments)?;
    let planned = blocks as usize * tests.len();
    let (early, late) = watch(&tool, &mut study, &mut traces, planned)?;
    let status = study.wait(HANG).context("the study did not end after its last trial")?;
    ensure!(status.success(), "the study ended with {status}: {}", study.words());
    let seconds = begun.elapsed().as_secs_f64();
    let mut leftovers = Vec::new();
    if agent.is_some_and(|agent| !agent.end()) {
        leftovers.push("the agent does not end".to_owned());
    }
    let stored = tool.stored().context("the run is gone")?;
    leftovers.extend(traces.leftovers(&tool, |_| false));
    leftovers.extend(unfinished(stored.path()).iter().map(|path| path.display().to_string()));
    let errors = stored.failed_of_all()?;
    if let Some(error) = errors.first() {
        println!("  the first trial that failed: {error}");
    }
    Ok(Soaked { early, late, failed: errors.len(), leftovers, seconds })
}

/// The processes in the second tenth of the trials and in the last, before the
/// last trial: the report that follows is no part of the soak.
fn watch(tool: &Tool, study: &mut Study, traces: &mut Traces, planned: usize) -> anyhow::Result<(Look, Look)> {
    let (mut early, mut late) = (Look::new(), Look::new());
    let mut lines = Lines::default();
    let mut grown = Instant::now();
    while !study.is_over() {
        thread::sleep(LOOK);
        let before = lines.count;
        let look = look(tool);
        lines.read_on(tool);
        if lines.count > before {
            grown = Instant::now();
        }
        ensure!(grown.elapsed() < HANG || lines.count >= planned, "no trial ended for {HANG:?}, after {} of them", lines.count);
        match lines.count * 10 / planned {
            1 => {
                traces.see(tool);
                keep(&mut early, look, |first, _| first);
            }
            9 if lines.count < planned => keep(&mut late, look, |_, last| last),
            _ => {}
        }
    }
    ensure!(!early.is_empty() && !late.is_empty(), "the soak was over before it was looked at");
    Ok((early, late))
}

/// Adds a look: of memory the first or the last counts, of files the fewest,
/// which are those between two trials.
fn keep(all: &mut Look, look: Look, memory: fn(u64, u64) -> u64) {
    for (kind, (kib, files)) in look {
        let entry = all.entry(kind).or_insert((kib, files));
        *entry = (memory(entry.0, kib), entry.1.min(files));
    }
}

/// The lines of the growing file of trials, each read once.
#[derive(Default)]
struct Lines {
    file: Option<std::fs::File>,
    count: usize,
}

impl Lines {
    fn read_on(&mut self, tool: &Tool) {
        use std::io::Read;
        if self.file.is_none() {
            self.file = tool.stored().and_then(|stored| std::fs::File::open(stored.path().join("trials.jsonl")).ok());
        }
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.file {
            let _ = file.read_to_end(&mut bytes);
        }
        self.count += bytes.iter().filter(|byte| **byte == b'\n').count();
    }
}

/// Endpoints come and go; all others stay.
fn look(tool: &Tool) -> Look {
    let all = processes::marked(tool.mark());
    let lasting = all.iter().filter(|process| process.kind != "__endpoint");
    let seen = lasting.filter_map(|process| {
        let kind = match (process.kind.as_str(), process.name.as_str()) {
            ("study", _) => "controller".to_owned(),
            ("agent", _) => "agent".to_owned(),
            (_, name) => format!("host process {name}"),
        };
        Some((kind, (endure::kib(process.pid, "VmRSS").ok()?, endure::descriptors(process.pid))))
    });
    seen.collect()
}

fn rows(way: &str, count: u32, soaked: &Soaked) -> Vec<Row> {
    let n = count as usize;
    for leftover in &soaked.leftovers {
        println!("  soak, {way}: left: {leftover}");
    }
    let mut rows = vec![
        Row::printed(format!("soak, {way}: failed trials"), soaked.failed as f64, "", n).against("0", soaked.failed == 0),
        Row::printed(format!("soak, {way}: leftovers"), soaked.leftovers.len() as f64, "", n).against("0", soaked.leftovers.is_empty()),
        Row::printed(format!("  soak, {way}: time for each trial"), soaked.seconds / n as f64 * 1e3, "ms", n),
    ];
    for (kind, (early, files)) in &soaked.early {
        let Some((late, late_files)) = soaked.late.get(kind) else {
            let gone = Row::printed(format!("soak, {way}: {kind} lasts"), 0.0, "", n);
            rows.push(gone.against("the same processes to the end", false));
            continue;
        };
        let growth = *late as f64 - *early as f64;
        let flat = growth < GROWTH_KIB || growth < *early as f64 * GROWTH;
        println!("  {kind}: {early} KiB and {files} files after a tenth, {late} KiB and {late_files} files at the end");
        rows.push(
            Row::printed(format!("soak, {way}: growth of the {kind} from 10 % to 100 %"), growth / 1_024.0, "MiB", n)
                .against("< 1 MiB or < 5 %", flat),
        );
        let more = *late_files as f64 - *files as f64;
        rows.push(
            Row::printed(format!("soak, {way}: more open files of the {kind}"), more, "", n)
                .against(format!("<= {PIPES}: those of the trial that runs"), more <= PIPES),
        );
    }
    rows
}
