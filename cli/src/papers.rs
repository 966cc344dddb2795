//! `nettoll papers`.

use literature::claims::evidence::Evidence;
use literature::{DRAWS, ReferenceAnalysis, Study, years};
use report::papers::Runs;

use crate::args::PapersArgs;
use crate::exit::{Exit, Failure};
use crate::{output, reference};

/// The document of the papers.
///
/// # Errors
/// A year of no paper, a table or a run that cannot be read, a page that cannot be written.
pub fn run(args: &PapersArgs) -> Result<Exit, Failure> {
    let mut papers = chosen(&args.only)?.into_iter().map(|study| literature::analyse(study, DRAWS)).collect::<Result<Vec<_>, _>>()?;
    for (label, table) in reference::tables(&args.table)? {
        let ruled = |paper: &mut ReferenceAnalysis| paper.study.map_or(Ok(()), |study| paper.rule(study, &label, &table));
        papers.iter_mut().try_for_each(ruled)?;
    }
    let runs = today(args, &mut papers)?;
    let years = years::all()?;
    let place = args.html.place("papers.html")?;
    let document = report::papers::document(&papers, &years, &runs, crate::version::SHORT);
    if let Some(place) = &place {
        output::page(place, &report::html::document(&document))?;
    }
    if args.json {
        output::write(&report::json::pretty(&report::papers::value(&papers, &years)))?;
        return Ok(Exit::Done);
    }
    if args.markdown {
        output::write(&report::markdown::page(&document))?;
        return Ok(Exit::Done);
    }
    output::show(&document, args.verbose)?;
    let next = place
        .map_or_else(|| "Every claim, figure and table: the same with --html".to_owned(), |place| format!("Report: {}", place.display()));
    output::write(&format!("\n{next}"))?;
    Ok(Exit::Done)
}

/// Reads the runs of today, lays each next to the paper that it repeats, and rules all claims by them.
fn today(args: &PapersArgs, papers: &mut [ReferenceAnalysis]) -> Result<Runs, Failure> {
    let mut runs = Runs::default();
    for run in &args.runs_from {
        let analysis = crate::report::analyse(&args.runs.find(run)?)?;
        let repeated = analysis.published().map(|published| published.name.as_str());
        let paper = papers.iter_mut().find(|paper| Some(paper.name.as_str()) == repeated);
        paper.into_iter().for_each(|paper| paper.compare(&analysis::published::as_foreign(&analysis), DRAWS));
        runs.curves.extend(analysis::published::evidence(&analysis));
        runs.names.push(analysis.run.id.clone());
    }
    if !runs.names.is_empty() {
        for paper in papers {
            let curves = runs.curves.iter().filter(|(study, _)| Some(*study) == paper.study).map(|(_, curve)| curve.clone());
            paper.rule_today(&Evidence { curves: curves.collect() })?;
        }
    }
    Ok(runs)
}

/// The papers of these years; all without any.
fn chosen(years: &[u16]) -> Result<Vec<Study>, Failure> {
    if let Some(other) = years.iter().find(|year| Study::ALL.iter().all(|study| study.year() != **year)) {
        let known: Vec<String> = Study::ALL.iter().map(|study| study.year().to_string()).collect();
        return Err(Failure::misuse(format!("--only {other}: there is no paper of that year. There are: {}", known.join(", "))));
    }
    Ok(Study::ALL.into_iter().filter(|study| years.is_empty() || years.contains(&study.year())).collect())
}
