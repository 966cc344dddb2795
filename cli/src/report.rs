//! `nettoll report`.

use std::path::{Path, PathBuf};

use analysis::Collector;
use analysis::result::Analysis;
use analysis::verdict::Gate;
use analysis::verdict::conclude;
use anyhow::Context;
use lab::study::StudyError;
use model::plan::Group;
use model::run::Status;
use model::warning::Warning;
use model::{Plan, Refusal, Run, Summary, TrialRecord, schedule};
use report::receipt::Flames;
use store::{Moment, RunReader, StoreError};

use crate::args::{FormatArgs, HtmlArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::rules::{self, Own};
use crate::{attach, exact, output, top};

/// The page of a run, in its directory.
const PAGE: &str = "report.html";

/// Analyses a stored run, prints what it shows and writes its report. Of a run
/// with arms the verdicts decide how it ends.
///
/// # Errors
/// A run that is not there or that another version wrote.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let path = args.runs.find(&args.run)?;
    if store::is_attached(&path) {
        return attach::report(&path, args);
    }
    if store::is_recording(&path) {
        return top::recording::report(&path, args);
    }
    if store::is_exact(&path) {
        return exact::report(&path, args);
    }
    let (rules, gate) = (rules::load(&args.rules)?, &args.gate.gate());
    if let Some(place) = &args.picture {
        let picture = report::html::picture(&collect(&path, rules.as_ref())?.finish(), args.size)?;
        output::file(place, &picture)?;
        output::write(&format!("Picture: {}", place.display()))?;
        return Ok(Exit::Done);
    }
    let (html, format) = (&args.html, &args.format);
    analyse_and_print(
        &path,
        &Answer { rules, show_rules: args.rules.show_rules, gate, markdown: args.markdown, html, format, is_new: false },
    )
}

/// Form of the answer: how a run is analysed and what is printed of it.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Rules in place of those that come with nettoll.
    pub rules: Option<Own>,
    /// Whether each rule's share is printed.
    pub show_rules: bool,
    /// The metrics that the conclusion on arms follows from.
    pub gate: &'a Gate,
    /// Whether arms are printed as Markdown, and nothing else.
    pub markdown: bool,
    /// Whether the page is written to a file of the user's as well.
    pub html: &'a HtmlArgs,
    /// In which form.
    pub format: &'a FormatArgs,
    /// Whether the run has just been measured: what it was to make and did not is a failure then.
    pub is_new: bool,
}

/// Analyses the run in a directory, writes `report.html` there, with `stacks/`
/// where there are samples, and prints.
///
/// # Errors
/// A file that cannot be read or written. In JSON nothing is printed then: the failure stands alone.
pub fn analyse_and_print(path: &Path, answer: &Answer) -> Result<Exit, Failure> {
    let format = answer.format;
    let usual = path.join(PAGE);
    let asked = answer.html.place(&usual)?.filter(|place| *place != usual);
    let (analysis, page, written) = analyse_and_write(path, answer.rules.as_ref(), answer.gate)?;
    output::page(asked.as_deref(), || page)?;
    let concluded = concluded(&analysis, answer.is_new);
    if format.json {
        written?;
        output::print(&analysis, format)?;
        return Ok(concluded);
    }
    if answer.markdown {
        written?;
        output::write(&report::arms_as_markdown(&analysis))?;
        return Ok(concluded);
    }
    output::print(&analysis, format)?;
    let timed = if format.csv { Vec::new() } else { exact::timed(path, &analysis)? };
    if !timed.is_empty() {
        output::write("")?;
        output::show(&report::microscope::timed(&timed), format.verbose)?;
    }
    if answer.show_rules {
        output::write("")?;
        output::show(&report::receipt::shares_of_rules(&analysis), false)?;
    }
    let place = written?;
    if !format.csv {
        output::report_at(&asked.unwrap_or(place))?;
        if let Some(exit) = analysis::answer::of(&analysis).exit.filter(|exit| exit.code == concluded as u8) {
            output::sentence(&format!("Exit {}: {}.", exit.code, exit.reason))?;
        }
    }
    Ok(concluded)
}

/// Reports a study or a fleet however its measuring ended: whatever happened, what was measured is worth a report. But a failure in
/// JSON stands alone, and where nothing was measured there is nothing to show.
///
/// # Errors
/// The failure that it ended with, or a file that cannot be read or written.
pub fn finish(path: Option<&Path>, plan: &Plan, outcome: Result<Status, StudyError>, answer: &Answer) -> Result<Exit, Failure> {
    let Some(path) = path else {
        outcome?;
        output::note("interrupted before anything was measured");
        return Ok(Exit::Failed);
    };
    let nothing = matches!(&outcome, Err(error) if error.says_nothing_of_trials());
    let reported = match nothing || outcome.is_err() && answer.format.json {
        true => write(path, answer.rules.as_ref(), answer.gate).map(|_| Exit::Done),
        false => analyse_and_print(path, answer),
    };
    let (study, command) = match plan.fleet {
        Some(_) => ("the fleet".to_owned(), "fleet"),
        None => (format!("study '{}'", plan.name), "study"),
    };
    let (place, id) = (path.display(), path.file_name().unwrap_or_default().display());
    let status = outcome.with_context(|| format!("{study} stopped; its finished trials are in {place}"))?;
    let concluded = reported?;
    if status != Status::Interrupted {
        return Ok(concluded);
    }
    output::note(&format!("interrupted; every finished trial is kept in {place}; go on with `nettoll {command} --resume {id}`"));
    Ok(Exit::Failed)
}

/// Conclusion on the arms; a run without any is done. A new one that was to make receipts and
/// made none has failed.
fn concluded(analysis: &Analysis, is_new: bool) -> Exit {
    if is_new && analysis.receipt().is_some_and(|study| study.cells.iter().all(|cell| cell.receipts().next().is_none())) {
        return Exit::Failed;
    }
    match analysis.verdicts() {
        [] => Exit::Done,
        verdicts => Exit::of(conclude(verdicts.iter().map(|verdict| verdict.compared.conclusion))),
    }
}

/// Analyses the run in a directory and writes `report.html` and `stacks/` there.
///
/// # Errors
/// A file that cannot be read or written.
pub fn write(path: &Path, rules: Option<&Own>, gate: &Gate) -> Result<PathBuf, Failure> {
    Ok(analyse_and_write(path, rules, gate)?.2?)
}

/// An analysis, its page, and where that was written.
type Written = (Analysis, String, Result<PathBuf, StoreError>);

fn analyse_and_write(path: &Path, rules: Option<&Own>, gate: &Gate) -> Result<Written, Failure> {
    let (collector, duration_ms) = collect_timed(path, rules)?;
    let collector = collector.with_gate(gate);
    let mut stacks = Ok(());
    let flames = flames(&collector, rules, |file, folded| {
        if stacks.is_ok() {
            stacks = store::write_stacks(path, file, folded).map(drop);
        }
    });
    let analysis = collector.finish();
    let page = report::html::render_timed(&analysis, &flames, &exact::timed(path, &analysis)?);
    let written = store::write_report(path, &page);
    let summary = store::write_summary(path, report::show::summary(&analysis, duration_ms)).map(drop);
    Ok((analysis, page, stacks.and(written).and_then(|place| summary.map(|()| place))))
}

/// Flame graphs of a run; each file of its stacks is shown to `keep`.
pub fn flames(collector: &Collector, rules: Option<&Own>, mut keep: impl FnMut(&str, &str)) -> Flames {
    let mut flames = Flames::default().with_rules(rules.map(|own| own.rules.clone()));
    for (file, folded) in collector.stacks() {
        flames.push(&file, &folded);
        keep(&file, &folded);
    }
    flames
}

/// Reads a run and makes its summary.
///
/// # Errors
/// A run that is not there or that another version wrote.
pub fn summary(path: &Path) -> Result<Summary, Failure> {
    let (collector, duration_ms) = collect_timed(path, None)?;
    Ok(report::show::summary(&collector.finish(), duration_ms))
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
    Ok(collect_timed(path, rules)?.0)
}

/// The same, with the time from the start of the run to that of its last trial, in milliseconds.
fn collect_timed(path: &Path, rules: Option<&Own>) -> Result<(Collector, u64), Failure> {
    let reader = RunReader::open(path)?;
    let hosts = reader.hosts(Moment::Before).cloned().collect();
    let mut collector = Collector::new(reader.run().clone(), hosts);
    if let Some(Own { source, rules }) = rules {
        collector = collector.with_rules(source.clone(), rules.clone());
    }
    for warning in reader.warnings() {
        collector.push_warning(warning.clone());
    }
    let begun = earlier(path, reader.run(), &mut collector)?;
    let mut last = reader.run().started_ms;
    for trial in reader.trials()? {
        match trial {
            Ok(mut record) => {
                last = last.max(record.started_ms);
                record.block = record.block.saturating_add(begun);
                collector.push(&record);
            }
            Err(bad) => collector.push_warning(Warning::BadLine { line: bad.line, reason: bad.reason }),
        }
    }
    slices(&reader, reader.run(), begun, &mut collector)?;
    Ok((collector, last.saturating_sub(reader.run().started_ms)))
}

/// Adds the trials of the runs that a run goes on with, and says at which block its own begin: blocks of one
/// group have their roles drawn together, so that no group is of two runs.
fn earlier(path: &Path, run: &Run, collector: &mut Collector) -> Result<u32, Failure> {
    let Some(pooled) = &run.pooled else { return Ok(0) };
    let mut begun = 0;
    for id in &pooled.runs {
        let place = store::beside(path, id)?;
        let reader = RunReader::open(&place).map_err(|error| {
            let run = path.display();
            anyhow::anyhow!("{run} goes on with {id}, which cannot be read: {error}; put it next to that run again")
        })?;
        let mut next = begun;
        for record in reader.trials()?.flatten().filter(|record| run.plan.cells.contains(&record.cell)) {
            let block = record.block.saturating_add(begun);
            next = next.max(schedule::end_of_group(block).saturating_add(1));
            collector.push(&TrialRecord { block, ..record });
        }
        slices(&reader, run, begun, collector)?;
        begun = next;
    }
    Ok(begun)
}

/// Adds the slices of woven arms or ways, or of receipts, of a run or of an earlier one that it goes on with, whose
/// instances are the blocks from `begun` on.
fn slices(reader: &RunReader, run: &Run, begun: u32, collector: &mut Collector) -> Result<(), Failure> {
    if !run.plan.woven && run.plan.receipt.is_none() {
        return Ok(());
    }
    let cells = |plan: &Plan, group: &Group| group.members.iter().map(|one| (plan.cells[one.cell].clone(), one.arm)).collect::<Vec<_>>();
    let own: Vec<_> = run.plan.groups().iter().map(|group| cells(&run.plan, group)).collect();
    for (place, group) in reader.run().plan.groups().iter().enumerate() {
        let members = cells(&reader.run().plan, group);
        let Some(group) = own.iter().position(|own| *own == members) else { continue };
        let (instances, cut) = reader.slices(place)?;
        instances.iter().for_each(|one| collector.push_slices(group, one.instance.saturating_add(begun), &one.slices));
        if let Some(answer) = cut {
            let remedy = "The instances before it are kept; the others are left out.";
            collector.push_warning(Warning::Absent(Refusal::new(format!("slices of group {group}"), answer, remedy)));
        }
    }
    Ok(())
}
