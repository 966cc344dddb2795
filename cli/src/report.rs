//! `nettoll report`.

use std::path::Path;

use analysis::Collector;
use analysis::result::Analysis;
use model::warning::Warning;
use store::{Moment, RunReader};

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
/// What cannot be read or written.
pub fn analyse_and_print(path: &Path, format: &FormatArgs) -> Result<(), Failure> {
    let analysis = analyse(path)?;
    let written = store::write_report(path, &report::html::render(&analysis));
    output::print(&analysis, format)?;
    let place = written?;
    if !format.json && !format.csv {
        output::write(&format!("\nReport: {}", place.display()))?;
    }
    Ok(())
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
