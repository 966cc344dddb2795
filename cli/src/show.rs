//! `nettoll show`.

use std::fs;
use std::path::Path;

use model::Summary;
use report::show::{self, Listed};
use store::{Moment, RunReader};

use crate::args::ShowArgs;
use crate::exit::{Exit, Failure};
use crate::{attach, exact, output, top};

/// Bytes of trials that are read of runs without a summary, such as those that were killed.
const MOST_READ: u64 = 4 << 20;

/// Bytes of windows of recordings that are read for a list, the latest recording first: those of a day or two.
const MOST_WINDOWS: u64 = 32 << 20;

/// Lists the stored runs, the earliest first, or tells of one. Each run has a summary from its
/// last report; of runs without one no more trials are read than [`MOST_READ`], the latest first.
///
/// # Errors
/// A directory or run that cannot be read.
pub fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    match &args.run {
        Some(word) => match args.runs.find(word)? {
            path if store::is_attached(&path) => attach::print(&path, args.json)?,
            path if store::is_recording(&path) => top::recording::print(&path, args.json)?,
            path if store::is_exact(&path) => exact::show(&path, args.json)?,
            path => one(&path, args.json)?,
        },
        None => all(args)?,
    }
    Ok(Exit::Done)
}

fn all(args: &ShowArgs) -> Result<(), Failure> {
    let found = store::list(&args.runs.directory)?;
    let paths = store::paths(&args.runs.directory)?;
    let attached: Vec<String> = paths.iter().filter(|path| store::is_attached(path)).map(|path| attach::line(path)).collect();
    let counted: Vec<String> = paths.iter().filter(|path| store::is_exact(path)).map(|path| exact::line(path)).collect();
    let mut room = MOST_WINDOWS;
    let recordings = paths.iter().rev().filter(|path| store::is_recording(path));
    let mut recorded: Vec<String> = recordings.map(|path| top::recording::line(path, &mut room)).collect();
    recorded.reverse();
    let errors: Vec<String> = found.iter().map(|one| one.run.as_ref().err().map_or_else(String::new, ToString::to_string)).collect();
    let mut room = MOST_READ;
    let mut summaries: Vec<_> = found.iter().rev().map(|one| summary(&one.path, &mut room)).collect();
    summaries.reverse();
    let ids: Vec<String> = found.iter().map(|one| name(&one.path)).collect();
    let listed: Vec<Listed> = (found.iter().zip(&errors))
        .zip(ids.iter().zip(&summaries))
        .map(|((one, error), (id, summary))| Listed { id, run: one.run.as_ref().map_err(|_| error.as_str()), summary: summary.as_ref() })
        .collect();
    let others_alone = listed.is_empty() && !(attached.is_empty() && counted.is_empty() && recorded.is_empty());
    if args.json || !others_alone {
        output::result(args.json.then(|| show::list_json(&listed)), || show::list(&listed), false)?;
    }
    // The JSON is a list of studies' runs, as it has been.
    for (title, lines) in [("Attached runs", attached), ("Recordings of top", recorded), ("Runs of the microscope", counted)] {
        if !args.json && !lines.is_empty() {
            output::items(&format!("{title}:"), &lines)?;
        }
    }
    Ok(())
}

fn one(path: &Path, json: bool) -> Result<(), Failure> {
    let reader = RunReader::open(path)?;
    let (summary, id) = (summary(path, &mut { MOST_READ }), name(path));
    let listed = Listed { id: &id, run: Ok(reader.run()), summary: summary.as_ref() };
    let hosts: Vec<_> = reader.hosts(Moment::Before).cloned().collect();
    let document = || show::one(&listed, &hosts, &path.display().to_string());
    Ok(output::result(json.then(|| show::one_json(&listed)), document, false)?)
}

/// The summary of a run, made here where there is none and `room` for its trials.
fn summary(path: &Path, room: &mut u64) -> Option<Summary> {
    let known = store::read_summary(path);
    if known.is_some() {
        return known;
    }
    *room = room.checked_sub(fs::metadata(path.join("trials.jsonl")).ok()?.len())?;
    crate::report::summary(path).ok()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
