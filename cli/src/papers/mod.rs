//! `nettoll papers`.

mod measuring;
mod parts;

use std::path::PathBuf;

use analysis::Analysis;
use literature::claims::evidence::Evidence;
use literature::years::Year;
use literature::{Comparison, DRAWS, ReferenceAnalysis, Study, years};
use model::plan::LinkKind;
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
        return show(args, papers()?, &found, Vec::new(), asked).map(|()| Exit::Done);
    }
    let batch = Batch::of(args, &chosen)?;
    if args.dry_run {
        let parts = batch.plan();
        match args.json {
            true => output::write(&report::papers::parts_json(&parts))?,
            false => output::show(&report::papers::dry_run(&parts), args.verbose)?,
        }
        return Ok(Exit::Done);
    }
    // A table that cannot be read must not cost what is measured.
    let papers = papers()?;
    let (outcomes, interrupted) = batch.measure()?;
    let failed = outcomes.iter().any(|outcome| outcome.failed);
    let runs: Vec<PathBuf> = outcomes.iter().filter_map(|outcome| outcome.run.clone()).collect();
    let parts: Vec<_> = outcomes.into_iter().map(|outcome| outcome.line).collect();
    let page = asked.unwrap_or_else(|| batch.directory().join(PAGE));
    if runs.is_empty() {
        let why = parts.iter().find_map(|part| part.lacks.as_ref().map(|lacks| format!("{}: {lacks}", part.name)));
        return Err(anyhow::anyhow!("nothing was measured; {}", why.unwrap_or_else(|| "there is no part".to_owned())).into());
    }
    show(args, papers, &runs, parts, Some(page))?;
    if interrupted {
        let place = batch.directory().display();
        output::note(&format!("interrupted; what was measured is kept in {place}; go on with `nettoll papers --resume {place}`"));
    }
    Ok(if interrupted || failed { Exit::Failed } else { Exit::Done })
}

/// Small messages, whose costs are predicted from the sizes of a run with receipts.
const WORKLOAD: &str = "W1";

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

/// Prints the document of the papers and these runs, and writes its page.
fn show(
    args: &PapersArgs,
    mut papers: Vec<ReferenceAnalysis>,
    found: &[PathBuf],
    parts: Vec<Part>,
    place: Option<PathBuf>,
) -> Result<(), Failure> {
    let runs = Runs { parts, ..today(found, &mut papers)? };
    let mut years = years::all()?;
    years.extend_from_slice(&runs.costs);
    let document = report::papers::document(&papers, &years, &runs, crate::version::SHORT);
    if let Some(place) = &place {
        output::page(place, &report::html::document(&document))?;
    }
    if args.json {
        return Ok(output::write(&report::json::pretty(&report::papers::value(&papers, &years, &runs)))?);
    }
    if args.markdown {
        return Ok(output::write(&report::markdown::page(&document))?);
    }
    output::show(&document, args.verbose)?;
    let next = place
        .map_or_else(|| "Every claim, figure and table: the same with --html".to_owned(), |place| format!("Report: {}", place.display()));
    Ok(output::write(&format!("\n{next}"))?)
}

/// Reads the runs of today, lays each next to the paper that it repeats, and rules all claims by them.
fn today(found: &[PathBuf], papers: &mut [ReferenceAnalysis]) -> Result<Runs, Failure> {
    let mut runs = Runs::default();
    let (mut sizes, mut mixes) = (None, None);
    for path in found {
        if store::is_exact(path) {
            let stored = exact::of_run(path)?;
            runs.curves.extend(stored.iter().flat_map(|stored| analysis::published::exact(&stored.measured)));
            runs.names.extend(stored.and_then(|stored| stored.run).map(|run| run.id));
            continue;
        }
        let analysis = crate::report::analyse(path)?;
        let repeated = analysis.published().map(|published| published.name.as_str());
        let paper = papers.iter_mut().find(|paper| Some(paper.name.as_str()) == repeated);
        if let Some(paper) = paper {
            paper.compare(&analysis::published::as_foreign(&analysis), DRAWS);
            runs.costs.extend(paper.comparisons.last().iter().flat_map(|compared| costs(&analysis, compared)));
        }
        runs.curves.extend(analysis::published::evidence(&analysis));
        runs.machine = runs.machine.or_else(|| analysis.hosts.first().map(report::papers::machine));
        let plan = &analysis.run.plan;
        sizes =
            sizes.or_else(|| (plan.receipt.is_some() && plan.link.kind == LinkKind::Veth && plan.link.offloads.is_empty()).then_some(path));
        mixes = mixes.or_else(|| plan.cells.iter().any(|cell| cell.mix.as_ref().is_some_and(|mix| mix.name == WORKLOAD)).then_some(path));
        runs.names.push(analysis.run.id.clone());
    }
    if let Some(sizes) = sizes {
        let study = workload::predicted(WORKLOAD, sizes, mixes.map(PathBuf::as_path))?;
        runs.curves.extend(analysis::workload::evidence(&study));
    }
    if !runs.names.is_empty() {
        for paper in papers {
            let curves = runs.curves.iter().filter(|(study, _)| Some(*study) == paper.study).map(|(_, curve)| curve.clone());
            paper.rule_today(&Evidence { curves: curves.collect() })?;
        }
    }
    Ok(runs)
}

/// Costs of a message and a byte in a run of today.
fn costs(analysis: &Analysis, compared: &Comparison) -> Vec<Year> {
    let kernel = analysis.hosts.first().map_or("", |facts| facts.kernel.as_str());
    let release = kernel.split('.').take(2).collect::<Vec<_>>().join(".");
    let today = years::Today { year: store::year(analysis.run.started_ms), kernel: &format!("Linux {release}") };
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
