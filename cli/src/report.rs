//! `nettoll report`.

use std::path::{Path, PathBuf};

use analysis::Collector;
use analysis::result::Analysis;
use model::warning::Warning;
use store::{Moment, RunReader, StoreError};

use crate::args::{FormatArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Analyses a stored run, prints what it shows and writes its report.
///
/// # Errors
/// A run that is not there or that another version wrote.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let path = match &args.run {
        Some(run) => run.clone(),
        None => store::latest(&args.runs)?,
    };
    analyse_and_print(&path, &args.format)?;
    Ok(Exit::Done)
}

/// Analyses the run in a directory, writes `report.html` there and prints.
///
/// # Errors
/// What cannot be read or written. In JSON nothing is printed then: the failure stands alone.
pub fn analyse_and_print(path: &Path, format: &FormatArgs) -> Result<(), Failure> {
    let (analysis, written) = analyse_and_write(path)?;
    if format.json {
        written?;
        return Ok(output::print(&analysis, format)?);
    }
    output::print(&analysis, format)?;
    let place = written?;
    if !format.csv {
        output::write(&format!("\nReport: {}", place.display()))?;
    }
    Ok(())
}

/// Analyses the run in a directory and writes `report.html` there.
///
/// # Errors
/// What cannot be read or written.
pub fn write(path: &Path) -> Result<PathBuf, Failure> {
    Ok(analyse_and_write(path)?.1?)
}

fn analyse_and_write(path: &Path) -> Result<(Analysis, Result<PathBuf, StoreError>), Failure> {
    let analysis = analyse(path)?;
    let written = store::write_report(path, &report::html::render(&analysis));
    Ok((analysis, written))
}

/// Reads a run, one trial at a time, and analyses it.
fn analyse(path: &Path) -> Result<Analysis, Failure> {
    let reader = RunReader::open(path)?;
    let hosts = reader.hosts(Moment::Before).cloned().collect();
    let mut collector = Collector::new(reader.run().clone(), hosts);
    for warning in reader.warnings() {
        collector.push_warning(warning.clone());
    }
    for trial in reader.trials()? {
        match trial {
            Ok(record) => collector.push(&record),
            Err(bad) => collector.push_warning(Warning::BadLine { line: bad.line, reason: bad.reason }),
        }
    }
    Ok(collector.finish())
}
