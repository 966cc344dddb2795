//! `nettoll compare`.

use std::path::{Path, PathBuf};
use std::thread;

use ::report::receipt::Flames;
use analysis::receipt::compare_studies;
use analysis::result::Analysis;
use analysis::runs::{Demands, RunComparison, RunsCompared, compare_runs};
use analysis::table::TrialTable;
use lab::host_diff;
use model::Plan;

use crate::args::{CompareArgs, RulesArgs, Side};
use crate::exit::{Exit, Failure};
use crate::rules::{self, Own};
use crate::{attach, exact, output, report, top};

/// A run, as far as it is compared.
struct One {
    analysis: Analysis,
    trials: TrialTable,
    flames: Flames,
}

/// Runs that are no study's: each kind is compared in its own way.
#[derive(Debug, Clone, Copy)]
enum Other {
    Attached,
    Recording,
    Exact,
}

impl Other {
    const ALL: [Self; 3] = [Self::Attached, Self::Recording, Self::Exact];

    /// Returns whether a stored run is of this kind.
    fn includes(self, path: &Path) -> bool {
        match self {
            Self::Attached => store::is_attached(path),
            Self::Recording => store::is_recording(path),
            Self::Exact => store::is_exact(path),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Attached => "an attached run",
            Self::Recording => "a recording of top",
            Self::Exact => "a run of the microscope",
        }
    }
}

/// Compares runs with the first, and says what follows.
///
/// # Errors
/// A run that cannot be read, or a page that cannot be written.
pub fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let rules = rules::load(&RulesArgs { rules: args.rules.clone(), show_rules: false })?;
    let place = args.html.place("compare.html")?;
    let found = |Side(words): &Side| Ok(Side(words.iter().map(|word| args.directory.find(word)).collect::<Result<_, Failure>>()?));
    let named: Vec<Side> = args.runs.iter().map(found).collect::<Result<_, Failure>>()?;
    let all = || named.iter().flat_map(|Side(paths)| paths).map(PathBuf::as_path);
    if let Some(other) = Other::ALL.into_iter().find(|other| all().any(|path| other.includes(path))) {
        let name = other.name();
        if !args.gate.has_usual_metrics() {
            return Err(Failure::misuse("--gate chooses among metrics of studies; what is compared here has one figure: leave it out"));
        }
        if args.markdown {
            return Err(Failure::misuse(format!("--markdown is for runs of studies, not for {name}")));
        }
        let paths: Vec<&Path> = all().filter(|path| other.includes(path)).collect();
        let (2, 2, &[a, b]) = (named.len(), all().count(), paths.as_slice()) else {
            return Err(Failure::misuse(format!("{name} is compared with another of its kind: give the one before, and the one after")));
        };
        return match other {
            Other::Attached => attach::compare([a, b], args, rules.as_ref(), place.as_deref()),
            Other::Recording => top::recording::compare([a, b], args, place.as_deref()),
            Other::Exact => exact::compare([a, b], args, place.as_deref()),
        };
    }
    let mut runs = read_all(&named, rules.as_ref(), place.is_some())?.into_iter();
    let sides: Vec<Vec<One>> = named.iter().map(|Side(paths)| runs.by_ref().take(paths.len()).collect()).collect();
    let Some((baseline, candidates)) = sides.split_first() else { return Err(Failure::misuse("give at least two runs")) };
    let between = RunComparison::from_candidates(candidates.iter().filter_map(|candidate| compared(baseline, candidate, args)).collect());
    let document = ::report::verdict::document(&between);
    let page = || match sides.as_slice() {
        [a, b] if a.len() + b.len() == 2 => {
            let stacks = [&a[0], &b[0]].map(|run| (&run.analysis, &run.flames));
            output::html(&::report::verdict::with_flames(&between, stacks))
        }
        _ => output::html(&document),
    };
    output::page(place.as_deref(), page)?;
    match (args.json, args.markdown) {
        (true, _) => output::write(&::report::verdict::json(&between))?,
        (_, true) => output::write(&::report::markdown::render(&document))?,
        _ => output::show(&document, args.verbose)?,
    }
    if !args.json && !args.markdown {
        output::write("")?;
        if let Some(place) = place {
            output::write(&format!("Report: {}", place.display()))?;
        }
        if let Some(exit) = analysis::answer::between(&between).exit.filter(|exit| exit.code == between.conclusion.exit_code()) {
            output::sentence(&format!("Exit {}: {}.", exit.code, exit.reason))?;
        }
    }
    Ok(Exit::of(between.conclusion))
}

/// The runs of all sides in their order, as many at once as there are CPUs: reading and
/// modelling a run is most of a comparison's time. With `stacks` their flame graphs are kept.
fn read_all(sides: &[Side], rules: Option<&Own>, stacks: bool) -> Result<Vec<One>, Failure> {
    let paths: Vec<&PathBuf> = sides.iter().flat_map(|Side(paths)| paths).collect();
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let mut runs = Vec::with_capacity(paths.len());
    for some in paths.chunks(at_once) {
        let read = thread::scope(|scope| {
            let readers: Vec<_> = some.iter().map(|path| scope.spawn(|| read(path, rules, stacks))).collect();
            readers.into_iter().map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect::<Vec<_>>()
        });
        runs.extend(read.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    Ok(runs)
}

fn read(path: &Path, rules: Option<&Own>, stacks: bool) -> Result<One, Failure> {
    let collector = report::collect(path, rules)?;
    let flames = if stacks { report::flames(&collector, rules, |_, _| ()) } else { Flames::default() };
    let (analysis, trials) = collector.finish_with_table();
    Ok(One { analysis, trials, flames })
}

/// One side compared with another; `None` where one has no run.
fn compared(baseline: &[One], candidate: &[One], args: &CompareArgs) -> Option<RunsCompared> {
    let (first, rest) = baseline.split_first()?;
    let (a, b) = (&first.analysis, &candidate.first()?.analysis);
    let (mut differences, mut slight) = (Vec::new(), Vec::new());
    for other in rest.iter().chain(candidate).map(|run| &run.analysis) {
        let found = host_diff::compare(&a.hosts, &other.hosts);
        let grave = settings(&a.run.plan, &other.run.plan).into_iter().chain(found.grave);
        for (all, more) in [(&mut differences, grave.collect::<Vec<_>>()), (&mut slight, found.slight)] {
            all.extend(more.into_iter().filter(|one| !all.contains(one)).collect::<Vec<_>>());
        }
    }
    let alone = baseline.len() + candidate.len() == 2;
    let receipts = a.receipt().zip(b.receipt()).filter(|_| alone).map(|(a, b)| compare_studies(a, b));
    let demands = Demands {
        threshold: args.gate.threshold,
        confidence: a.run.plan.blocks.confidence,
        gate: &args.gate.gate,
        trust_single_runs: args.trust_single_runs,
    };
    let ids = |side: &[One]| side.iter().map(|run| run.analysis.run.id.clone()).collect();
    let [ours, theirs] = [baseline, candidate].map(|side| side.iter().map(|run| &run.trials).collect::<Vec<_>>());
    Some(RunsCompared {
        baseline: ids(baseline),
        candidate: ids(candidate),
        differences,
        slight,
        figures: compare_runs([&ours, &theirs], a.models(), &demands),
        receipts,
    })
}

/// Settings in which two plans differ; their cells are compared one by one.
fn settings(a: &Plan, b: &Plan) -> Vec<String> {
    let pairs = ::report::plan_settings(a).into_iter().zip(::report::plan_settings(b));
    pairs.filter(|((_, a), (_, b))| a != b).map(|((what, a), (_, b))| format!("{what} was {a}, is {b}")).collect()
}
