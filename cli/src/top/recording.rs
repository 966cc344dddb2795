//! Recordings of `nettoll top`: made while it runs, and what other commands do with them.

use std::path::{Path, PathBuf};

use ::report::top::recording as pages;
use analysis::top::{Machine, Recorded, RecordingsCompared, STRETCHES, UnitOutcome, recorded};
use lab::host::facts_of_this_machine;
use model::host::hardware;
use model::recording::{RECORDING_FORMAT, Recording};
use model::sorting::Order;
use model::{Bytes, Nanos};
use store::{Limits, RecordingDirectory};

use super::host;
use crate::args::{CompareArgs, HistoryArgs, RecordArgs, ReportArgs, TopArgs};
use crate::exit::{Exit, Failure};
use crate::{output, version};

/// Length of a window that is stored.
const WINDOW: Nanos = Nanos::from_millis(1_000 * STRETCHES as u64);
/// The fewest bytes that are kept: each of the files that they go by holds several windows.
const LEAST_BYTES: Bytes = Bytes::new(1 << 20);

/// Checks that a recording would have windows, and keep them.
///
/// # Errors
/// Limits that leave none.
pub fn check(args: &TopArgs) -> Result<(), Failure> {
    let RecordArgs { record, keep, keep_bytes, .. } = &args.record;
    let refused = match () {
        () if !record => return Ok(()),
        () if args.time.is_some_and(|time| time < WINDOW) => format!("-t: a window of --record takes {WINDOW}: give as much or more"),
        () if *keep < WINDOW => format!("--keep {keep}: a window takes {WINDOW}: give as much or more, such as 24h"),
        () if *keep_bytes < LEAST_BYTES => format!("--keep-bytes {keep_bytes}: give {LEAST_BYTES} or more"),
        () => return Ok(()),
    };
    Err(Failure::misuse(refused))
}

/// Makes the directory of a recording.
///
/// # Errors
/// When the system refuses.
pub fn create(args: &RecordArgs) -> Result<RecordingDirectory, Failure> {
    let started_ms = sys::clock::unix_ms();
    let facts = facts_of_this_machine();
    let head = Recording {
        format: RECORDING_FORMAT,
        id: String::new(),
        started_ms,
        tool: version::SHORT.to_owned(),
        host: host(),
        machine: hardware(std::slice::from_ref(&facts)),
        kernel: facts.kernel,
        cpu_model: facts.cpu_model,
    };
    let limits = Limits { time_ms: args.keep.get() / 1_000_000, bytes: args.keep_bytes.get() };
    let directory = RecordingDirectory::create(&args.runs.directory, &head, limits)?;
    output::note(&format!("recording to {}", directory.path().display()));
    Ok(directory)
}

/// Stores the window of a machine.
///
/// # Errors
/// When the disk refuses.
pub fn append(directory: &mut RecordingDirectory, machine: &Machine<'_>) -> Result<(), store::StoreError> {
    match machine.snapshot().and_then(|snapshot| recorded(&snapshot)) {
        Some(window) => directory.append(&window),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<Recorded, Failure> {
    let mut recorded = Recorded::new(store::read_recording(path)?);
    recorded.damaged += store::read_recorded(path, |window| recorded.push(&window))?;
    Ok(recorded)
}

/// `nettoll report` of a recording: its page, and what it shows.
///
/// # Errors
/// A recording that cannot be read, flags that it has nothing for.
pub fn report(path: &Path, args: &ReportArgs) -> Result<Exit, Failure> {
    if !args.gate.is_usual() {
        return Err(Failure::misuse("--gate and --threshold are for arms of studies, and this is a recording of top; see nettoll compare"));
    }
    if args.picture.is_some() || args.markdown || args.rules.show_rules || args.rules.rules.is_some() {
        return Err(Failure::misuse(
            "--picture, --markdown, --rules and --show-rules are for runs of studies, and this is a recording of top",
        ));
    }
    let page = args.html.place(path.join("report.html"))?;
    let recorded = read(path)?;
    if recorded.windows() == 0 {
        return Err(Failure::from(anyhow::anyhow!("{} has no whole window yet: one takes 10 s", path.display())));
    }
    let document = pages::document(&recorded);
    let text = output::html(&document);
    let written = store::write_report(path, &text);
    output::page(page.as_deref(), || text)?;
    match () {
        // In JSON a failure stands alone.
        () if args.format.json => {
            written?;
            output::write(&pages::json(&recorded))?;
        }
        () if args.format.csv => {
            export(path, true)?;
            written?;
        }
        () => {
            output::show(&document, args.format.verbose)?;
            let written = written?;
            output::report_at(&page.unwrap_or(written))?;
        }
    }
    Ok(Exit::Done)
}

/// `nettoll show` of a recording.
///
/// # Errors
/// A recording that cannot be read.
pub fn print(path: &Path, json: bool) -> Result<(), Failure> {
    let recorded = read(path)?;
    Ok(output::result(json.then(|| pages::json(&recorded)), || pages::document(&recorded), false)?)
}

/// A line for a list of runs; `room` is the number of bytes that may still be read for such lines.
pub fn line(path: &Path, room: &mut u64) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let bytes = store::recorded_bytes(path);
    let Some(left) = room.checked_sub(bytes) else {
        return format!("{name} {} of windows: `nettoll show` with its name adds them up", Bytes::new(bytes));
    };
    *room = left;
    match read(path) {
        Ok(recorded) => format!("{name} {}", pages::headline(&recorded)),
        Err(_) => format!("{name} cannot be read: `nettoll show` with its name says why"),
    }
}

/// Prints the windows of a recording as CSV; `first`: with the names of the columns.
///
/// # Errors
/// A recording that cannot be read.
pub fn export(path: &Path, first: bool) -> Result<(), Failure> {
    let run = store::read_recording(path)?;
    if first {
        output::write(&pages::csv_head(&run))?;
    }
    let mut written = Ok(());
    store::read_recorded(path, |window| {
        let rows = pages::csv_rows(&run, &window);
        if written.is_ok() && !rows.is_empty() {
            written = output::write(&rows);
        }
    })?;
    Ok(written?)
}

/// `nettoll history` of recordings, the earliest first.
///
/// # Errors
/// Recordings of several machines, none at all, flags that they have nothing for.
pub fn history(paths: &[PathBuf], args: &HistoryArgs) -> Result<Exit, Failure> {
    if !args.has_usual_form() {
        return Err(Failure::misuse("METRIC and --by are for runs of studies; recordings of top have CPU time by unit, over time"));
    }
    let page = args.html.place("history.html")?;
    let since = args.since.as_ref().map(|word| args.runs.find(word)).transpose()?;
    let begin = since.map(|path| store::read_recording(&path)).transpose()?.map_or(0, |run| run.started_ms);
    let (mut known, mut notes) = (Vec::new(), Vec::new());
    for path in paths {
        match store::read_recording(path) {
            Ok(run) if run.started_ms >= begin && args.machine.as_ref().is_none_or(|words| run.host.contains(words)) => {
                known.push((path, run));
            }
            Ok(_) => {}
            Err(error) => notes.push(format!("a recording cannot be read and is left out: {error}")),
        }
    }
    let mut hosts: Vec<&str> = known.iter().map(|(_, run)| run.host.as_str()).collect();
    hosts.order();
    hosts.dedup();
    if hosts.len() > 1 {
        let list = hosts.join(", ");
        return Err(Failure::misuse(format!("these recordings are of {} machines: {list}; name one: --machine WORDS", hosts.len())));
    }
    let Some((_, first)) = known.first() else {
        let left_out = notes.first().map_or_else(String::new, |note| format!("; {note}"));
        return Err(anyhow::anyhow!("{} holds no such recording of top{left_out}", args.runs.directory.display()).into());
    };
    let mut recorded = Recorded::new(first.clone());
    for (path, _) in &known {
        match store::read_recorded(path, |window| recorded.push(&window)) {
            Ok(damaged) => recorded.damaged += damaged,
            Err(error) => notes.push(error.to_string()),
        }
    }
    let runs: Vec<Recording> = known.into_iter().map(|(_, run)| run).collect();
    let json = args.json.then(|| pages::history_json(&recorded, &runs, &notes));
    output::result_with_page(json, &pages::history(&recorded, &runs, &notes), page.as_deref())?;
    Ok(Exit::Done)
}

/// `nettoll compare` of two recordings.
///
/// # Errors
/// Recordings that cannot be read, or are too short.
pub fn compare([first, second]: [&Path; 2], args: &CompareArgs, page: Option<&Path>) -> Result<Exit, Failure> {
    if args.rules.is_some() {
        return Err(Failure::misuse("--rules is for runs of studies, not for a recording of top"));
    }
    let Some(found) = RecordingsCompared::of(&read(first)?, &read(second)?, args.gate.threshold) else {
        return Err(Failure::misuse("one of the two recordings is too short: each needs at least four windows of 10 s"));
    };
    let document = pages::compared(&found);
    output::page(page, || output::html(&document))?;
    output::result(args.json.then(|| ::report::json::pretty(&found)), || document, args.verbose)?;
    match () {
        () if !args.trust_single_runs => {
            output::note("inconclusive: what differs may be the load and not the work; --trust-single-runs decides all the same");
            Ok(Exit::Inconclusive)
        }
        () if found.has(UnitOutcome::More) => Ok(Exit::Against),
        () if found.has(UnitOutcome::Open) => {
            output::note("inconclusive: of some units neither a change beyond the threshold nor that there is none is shown");
            Ok(Exit::Inconclusive)
        }
        () => Ok(Exit::Done),
    }
}
