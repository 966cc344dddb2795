//! `nettoll report`.

use std::path::{Path, PathBuf};

use analysis::Collector;
use analysis::result::{Analysis, Metric};
use analysis::verdict::conclude;
use model::warning::Warning;
use report::receipt::Flames;
use store::{Moment, RunReader, StoreError};

use crate::args::{FormatArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::rules::{self, Own};

/// Analyses a stored run, prints what it shows and writes its report. Of a run
/// with arms the verdicts decide how it ends.
///
/// # Errors
/// A run that is not there or that another version wrote.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let path = match &args.run {
        Some(run) => run.clone(),
        None => store::latest(&args.runs)?,
    };
    let (rules, gate) = (rules::load(&args.rules)?, &args.gate.gate);
    analyse_and_print(&path, &Answer { rules, show_rules: args.rules.show_rules, gate, markdown: args.markdown, format: &args.format })
}

/// Form of the answer: how a run is analysed and what is printed of it.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Rules in place of those that come with nettoll.
    pub rules: Option<Own>,
    /// Whether each rule's share is printed.
    pub show_rules: bool,
    /// The metrics that the conclusion on arms follows from.
    pub gate: &'a [Metric],
    /// Whether arms are told as Markdown, and nothing else.
    pub markdown: bool,
    /// In which form.
    pub format: &'a FormatArgs,
}

/// Analyses the run in a directory, writes `report.html` there, with `stacks/`
/// where there are samples, and prints.
///
/// # Errors
/// A file that cannot be read or written. In JSON nothing is printed then: the failure stands alone.
pub fn analyse_and_print(path: &Path, answer: &Answer) -> Result<Exit, Failure> {
    let format = answer.format;
    let (analysis, written) = analyse_and_write(path, answer.rules.as_ref(), answer.gate)?;
    let concluded = concluded(&analysis);
    if format.json {
        written?;
        output::print(&analysis, format)?;
        return Ok(concluded);
    }
    if answer.markdown {
        written?;
        output::write(&report::verdict::arms_as_markdown(&analysis))?;
        return Ok(concluded);
    }
    output::print(&analysis, format)?;
    if answer.show_rules {
        output::write("")?;
        output::styled(&report::receipt::shares_of_rules(&analysis, output::style()))?;
    }
    let place = written?;
    if !format.csv {
        output::write(&format!("\nReport: {}", place.display()))?;
    }
    Ok(concluded)
}

/// Conclusion on the arms; a run without any is done.
fn concluded(analysis: &Analysis) -> Exit {
    match analysis.verdicts() {
        [] => Exit::Done,
        verdicts => Exit::of(conclude(verdicts.iter().map(|verdict| verdict.compared.conclusion))),
    }
}

/// Analyses the run in a directory and writes `report.html` and `stacks/` there.
///
/// # Errors
/// A file that cannot be read or written.
pub fn write(path: &Path, rules: Option<&Own>, gate: &[Metric]) -> Result<PathBuf, Failure> {
    Ok(analyse_and_write(path, rules, gate)?.1?)
}

fn analyse_and_write(path: &Path, rules: Option<&Own>, gate: &[Metric]) -> Result<(Analysis, Result<PathBuf, StoreError>), Failure> {
    let collector = collect(path, rules)?.with_gate(gate);
    let mut flames = Flames::default();
    let mut stacks = Ok(());
    for (file, folded) in collector.stacks() {
        flames.push(&file, &folded);
        if stacks.is_ok() {
            stacks = store::write_stacks(path, &file, &folded).map(drop);
        }
    }
    let analysis = collector.finish();
    let written = store::write_report(path, &report::html::render_with(&analysis, &flames));
    Ok((analysis, stacks.and(written)))
}

/// Reads a run and analyses it.
///
/// # Errors
/// A run that is not there or that another version wrote.
pub fn analyse(path: &Path) -> Result<Analysis, Failure> {
    Ok(collect(path, None)?.finish())
}

/// Reads a run, one trial at a time.
///
/// # Errors
/// A run that is not there or that another version wrote.
pub fn collect(path: &Path, rules: Option<&Own>) -> Result<Collector, Failure> {
    let reader = RunReader::open(path)?;
    let hosts = reader.hosts(Moment::Before).cloned().collect();
    let mut collector = Collector::new(reader.run().clone(), hosts);
    if let Some(Own { source, rules }) = rules {
        collector = collector.with_rules(source.clone(), rules.clone());
    }
    for warning in reader.warnings() {
        collector.push_warning(warning.clone());
    }
    for trial in reader.trials()? {
        match trial {
            Ok(record) => collector.push(&record),
            Err(bad) => collector.push_warning(Warning::BadLine { line: bad.line, reason: bad.reason }),
        }
    }
    Ok(collector)
}
