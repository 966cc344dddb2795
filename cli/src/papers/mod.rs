//! `nettoll papers`.

mod measuring;
mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use analysis::Analysis;
use analysis::workload::{SMALL_MESSAGES, WorkloadRuns};
use anyhow::Context;
use literature::claims::evidence::Evidence;
use literature::years::Year;
use literature::{Comparison, DRAWS, ReferenceAnalysis, Study, years};
use report::papers::{Part, Runs};

use crate::args::PapersArgs;
use crate::exit::{Exit, Failure};
use crate::{exact, output, reference, workload};
use measuring::Batch;

/// The document of the papers, with what was measured for it.
///
/// # Errors
/// A year of no paper, a table or a run that cannot be read, a page that cannot be written; nothing could be measured.
pub fn run(args: &PapersArgs) -> Result<Exit, Failure> {
    let chosen = chosen(&args.only)?;
    let papers = || analysed(&chosen, &args.table);
    let asked = args.html.place(PAGE)?;
    if args.then || !args.runs_from.is_empty() {
        let found = args.runs_from.iter().map(|run| args.runs.find(run)).collect::<Result<Vec<_>, _>>()?;
        return show(args, papers()?, &found, Vec::new(), asked);
    }
    let batch = Batch::of(args, &chosen)?;
    if args.dry_run {
        let parts = batch.plan();
        output::result(args.json.then(|| report::papers::parts_json(&parts)), || report::papers::dry_run(&parts), args.verbose)?;
        return Ok(Exit::Done);
    }
    // A table that cannot be read must not cost what is measured.
    let papers = papers()?;
    let (outcomes, interrupted) = batch.measure()?;
    let failed = outcomes.iter().any(|outcome| outcome.failed);
    let runs: Vec<PathBuf> = outcomes.iter().filter_map(|outcome| outcome.run.clone()).collect();
    let parts: Vec<_> = outcomes.into_iter().map(|outcome| outcome.line).collect();
    let place = batch.directory();
    // Where no part could begin, no run has made it.
    fs::create_dir_all(place).with_context(|| format!("make {}; is its parent writable?", place.display()))?;
    let exit = show(args, papers, &runs, parts, Some(asked.unwrap_or_else(|| place.join(PAGE))))?;
    if interrupted && !runs.is_empty() {
        let place = place.display();
        output::note(&format!("interrupted; what was measured is kept in {place}; go on with `nettoll papers --resume {place}`"));
    }
    Ok(if interrupted || failed || runs.is_empty() { Exit::Failed } else { exit })
}

/// The page, where no file is named.
const PAGE: &str = "papers.html";

/// The papers, ruled by their own tables and by those that the user gives.
fn analysed(chosen: &[Study], files: &[PathBuf]) -> Result<Vec<ReferenceAnalysis>, Failure> {
    let mut papers = chosen.iter().map(|study| literature::analyse(*study, DRAWS)).collect::<Result<Vec<_>, _>>()?;
    for (label, table) in reference::tables(files)? {
        let ruled = |paper: &mut ReferenceAnalysis| paper.study.map_or(Ok(()), |study| paper.rule(study, &label, &table));
        papers.iter_mut().try_for_each(ruled)?;
    }
    Ok(papers)
}

/// Prints the document of the papers and these runs, and writes its page. It has failed where a run could not be read.
fn show(
    args: &PapersArgs,
    mut papers: Vec<ReferenceAnalysis>,
    found: &[PathBuf],
    parts: Vec<Part>,
    place: Option<PathBuf>,
) -> Result<Exit, Failure> {
    let runs = Runs { parts, ..today(found, &mut papers)? };
    let mut years = years::all()?;
    years.extend_from_slice(&runs.costs);
    // Stored runs were asked for, and there is none.
    if let ([], [], Some(reason)) = (&runs.parts[..], &runs.names[..], runs.unread.first()) {
        return Err(anyhow::anyhow!("{reason}").into());
    }
    let exit = if runs.unread.is_empty() { Exit::Done } else { Exit::Failed };
    let document = report::papers::document(&papers, &years, &runs);
    output::page(place.as_deref(), || output::html(&document))?;
    if args.json {
        output::write(&report::json::pretty(&report::papers::value(&papers, &years, &runs)))?;
        return Ok(exit);
    }
    if args.markdown {
        output::write(&report::markdown::page(&document))?;
        return Ok(exit);
    }
    output::show(&document, args.verbose)?;
    let next = place
        .map_or_else(|| "Every claim, figure and table: the same with --html".to_owned(), |place| format!("Report: {}", place.display()));
    output::write(&format!("\n{next}"))?;
    Ok(exit)
}

/// Reads the runs of today, lays each next to the paper that it repeats, and rules all claims by them. One that cannot be
/// read costs no other.
fn today(found: &[PathBuf], papers: &mut [ReferenceAnalysis]) -> Result<Runs, Failure> {
    let (mut runs, mut of_workload) = (Runs::default(), WorkloadRuns::default());
    for path in found {
        if let Err(failure) = take(path, papers, &mut runs, &mut of_workload) {
            runs.unread.push(failure.to_string());
        }
    }
    if let Some(sizes) = of_workload.sizes {
        match workload::predicted(SMALL_MESSAGES, sizes, of_workload.mixes) {
            Ok(study) => runs.curves.extend(analysis::workload::evidence(&study)),
            Err(failure) => runs.unread.push(failure.to_string()),
        }
    }
    runs.curves.extend(analysis::published::memory(&runs.curves));
    if !runs.names.is_empty() {
        for paper in papers {
            let curves = runs.curves.iter().filter(|(study, _)| Some(*study) == paper.study).map(|(_, curve)| curve.clone());
            paper.rule_today(&Evidence { curves: curves.collect() })?;
        }
    }
    Ok(runs)
}

/// Takes the names, curves and costs of a run.
fn take<'a>(
    path: &'a Path,
    papers: &mut [ReferenceAnalysis],
    runs: &mut Runs,
    of_workload: &mut WorkloadRuns<&'a Path>,
) -> Result<(), Failure> {
    if store::is_exact(path) {
        let stored = exact::of_run(path)?;
        runs.curves.extend(stored.iter().flat_map(|stored| analysis::published::exact(&stored.measured)));
        runs.names.extend(stored.and_then(|stored| stored.run).map(|run| run.id));
        return Ok(());
    }
    let analysis = crate::report::analyse(path)?;
    let repeated = analysis.published().map(|published| published.name.as_str());
    let paper = papers.iter_mut().find(|paper| Some(paper.name.as_str()) == repeated);
    if let Some(paper) = paper {
        paper.compare(&analysis::published::as_foreign(&analysis), DRAWS);
        runs.costs.extend(paper.comparisons.last().iter().flat_map(|compared| costs(&analysis, compared)));
    }
    runs.curves.extend(analysis::published::evidence(&analysis));
    if runs.machine.is_none() {
        runs.machine = analysis.hosts.first().map(report::papers::machine);
    }
    of_workload.take(&analysis.run.plan, path);
    runs.names.push(analysis.run.id);
    Ok(())
}

/// Costs of a message and a byte in a run of today.
fn costs(analysis: &Analysis, compared: &Comparison) -> Vec<Year> {
    let kernel = analysis.hosts.first().map_or("", |facts| facts.kernel.as_str());
    let release = kernel.split('.').take(2).collect::<Vec<_>>().join(".");
    let today = years::PresentRun { year: store::year(analysis.run.started_ms), kernel: &format!("Linux {release}") };
    today.costs(compared)
}

/// The papers of these years; all without any.
fn chosen(years: &[u16]) -> Result<Vec<Study>, Failure> {
    if let Some(other) = years.iter().find(|year| Study::ALL.iter().all(|study| study.year() != **year)) {
        let known: Vec<String> = Study::ALL.iter().map(|study| study.year().to_string()).collect();
        return Err(Failure::misuse(format!("--only {other}: there is no paper of that year. There are: {}", known.join(", "))));
    }
    Ok(Study::ALL.into_iter().filter(|study| years.is_empty() || years.contains(&study.year())).collect())
}
