//! `nettoll reference`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use literature::read::{self, csv};
use literature::{DRAWS, Foreign, ReadError, ReferenceAnalysis, Study};

use crate::args::ReferenceArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Lists the published studies, or analyses one with the tables and runs compared with it.
///
/// # Errors
/// A study that there is not, a file or run that cannot be read.
pub fn run(args: &ReferenceArgs) -> Result<Exit, Failure> {
    let run = args.run.as_ref().or(args.run_option.as_ref()).map(|run| args.runs.find(run)).transpose()?;
    let Some(analysis) = analysis(args, run.as_ref())? else {
        output::result(args.json.then(report::reference::list_json), report::reference::list, false)?;
        return Ok(Exit::Done);
    };
    let place = args.html.place("reference.html")?;
    let json = args.json.then(|| report::json::pretty(&analysis));
    output::result_with_page(json, &report::reference::document(&analysis), place.as_deref())?;
    Ok(Exit::Done)
}

/// The analysis asked for; `None` when nothing is.
fn analysis(args: &ReferenceArgs, run: Option<&PathBuf>) -> Result<Option<ReferenceAnalysis>, Failure> {
    let mut foreign = Vec::new();
    if let Some(run) = run {
        foreign.push(analysis::published::as_foreign(&crate::report::analyse(run)?));
    }
    foreign.extend(peers("iperf3", &args.iperf3, read::iperf3::parse)?);
    foreign.extend(peers("netperf", &args.netperf, read::netperf::parse)?);
    let tables = tables(&args.table)?;
    if let Some(name) = &args.name {
        let study = study(name)?;
        let mut analysis = literature::analyse(study, DRAWS)?;
        for (label, table) in &tables {
            analysis.rule(study, label, table)?;
            foreign.push(Foreign::of_table(label, table));
        }
        foreign.iter().for_each(|foreign| analysis.compare(foreign, DRAWS));
        return Ok(Some(analysis));
    }
    // The first stands by itself, the others next to it.
    let mut analysis: Option<ReferenceAnalysis> = None;
    for (label, table) in &tables {
        match &mut analysis {
            None => analysis = Some(literature::of_table(label, table, DRAWS)),
            Some(first) => first.compare(&Foreign::of_table(label, table), DRAWS),
        }
    }
    for foreign in &foreign {
        match &mut analysis {
            None => analysis = Some(literature::of_foreign(foreign, DRAWS)),
            Some(first) => first.compare(foreign, DRAWS),
        }
    }
    Ok(analysis)
}

/// Tables of files, each with its name.
///
/// # Errors
/// A file that cannot be read, or that is no table with the columns of a published one.
pub fn tables(paths: &[PathBuf]) -> Result<Vec<(String, csv::Table)>, Failure> {
    paths.iter().map(|path| Ok((label(path), understood(path, csv::parse(&text(path)?.0))?))).collect()
}

fn study(name: &str) -> Result<Study, Failure> {
    let names = || Study::ALL.iter().map(|study| study.name());
    Study::named(name).ok_or_else(|| {
        let hint = model::suggestion(name, names());
        let all: Vec<&str> = names().collect();
        Failure::misuse(format!("there is no reference study '{name}'{hint} There are: {}", all.join(", ")))
    })
}

/// Results of another tool, all files together; `None` without any.
fn peers<F>(tool: &str, paths: &[PathBuf], parse: F) -> Result<Option<Foreign>, Failure>
where
    F: Fn(&str) -> Result<Vec<read::PeerResult>, ReadError>,
{
    let mut results = Vec::new();
    for path in paths {
        let (text, mark) = text(path)?;
        let mut found = understood(path, parse(&text))?;
        let faults = found.iter_mut().flat_map(|result| &mut result.faults);
        faults.for_each(|fault| *fault = format!("{}: {fault}", label(path)));
        if let (Some(first), Some(mark)) = (found.first_mut(), mark) {
            first.faults.push(format!("{}: {mark}", label(path)));
        }
        results.extend(found);
    }
    Ok((!results.is_empty()).then(|| Foreign::of_peer(tool, results)))
}

/// The file's name, for a heading.
fn label(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Text of a file, and a remark on its encoding. Of one that is a little longer than what is understood, the reader says so.
fn text(path: &Path) -> Result<(String, Option<String>), Failure> {
    let held = sys::file::read(path, 2 * read::MOST_BYTES as u64).with_context(|| format!("read {}; check the path", path.display()))?;
    Ok(read::decode(&held))
}

fn understood<T>(path: &Path, read: Result<T, ReadError>) -> Result<T, Failure> {
    Ok(read.with_context(|| format!("{} cannot be used", path.display()))?)
}
