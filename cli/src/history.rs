//! `nettoll history`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::report::history as told;
use analysis::comparable::{Settings, machine, one_machine};
use analysis::history::{HistoryCollector, HistoryRun};
use model::Run;
use model::host::HostFacts;
use store::{Listed, Moment, RunReader};

use crate::args::HistoryArgs;
use crate::exit::{Exit, Failure};
use crate::{output, report, top};

/// The word for recordings of `nettoll top`.
const RECORDINGS: &str = "top";

/// Tells how a metric went over all runs of a study on one machine.
///
/// # Errors
/// Runs of several machines, no run at all, one that cannot be read.
pub fn run(args: &HistoryArgs) -> Result<Exit, Failure> {
    let listed = store::list(&args.runs.directory)?;
    if is_of_recordings(&listed, args) {
        let recordings: Vec<PathBuf> = store::paths(&args.runs.directory)?.into_iter().filter(|path| store::is_recording(path)).collect();
        if !recordings.is_empty() {
            return top::recording::history(&recordings, args);
        }
    }
    let place = args.html.place("history.html")?;
    let since = args.since.as_ref().map(|word| args.runs.find(word)).transpose()?;
    let mut notes = unread(&listed);
    let known = known(&listed, since.as_deref(), args)?;
    let newest = known.last().ok_or_else(|| none(args))?;
    let (study, settings) = (newest.run.plan.name.clone(), Settings::of(&newest.run.plan));
    let (same, others): (Vec<&StoredRun>, Vec<&StoredRun>) = known.iter().partition(|known| Settings::of(&known.run.plan) == settings);
    if !others.is_empty() {
        notes.push(format!("{} of the study left out: other links, hosts or lengths of trials than the newest run's", others.len()));
    }
    let hosts: Vec<&[HostFacts]> = same.iter().map(|known| known.hosts.as_slice()).collect();
    let machine = one_machine(&newest.run.plan, &hosts).map_err(Failure::misuse)?;
    let mut collector = HistoryCollector::new(args.metric);
    for one in &same {
        let (kernels, tools): (BTreeSet<&str>, BTreeSet<&str>) =
            one.hosts.iter().map(|host| (host.kernel.as_str(), host.tool.as_str())).unzip();
        let words = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(", ");
        let tool = if tools.is_empty() { one.run.tool.clone() } else { words(tools) };
        let run = HistoryRun { id: one.run.id.clone(), started_ms: one.run.started_ms, kernel: words(kernels), tool };
        collector.push(run, &report::collect(one.path, None)?.into_table());
    }
    let history = collector.finish(study, machine);
    let json = args.json.then(|| ::report::json::pretty(&history));
    output::result_with_page(json, &told::document(&history, args.by.into(), &notes), place.as_deref())?;
    Ok(if history.worse { Exit::Against } else { Exit::Done })
}

/// True where recordings of `nettoll top` are meant: by their name, which a study of that name has first, or where no study has run.
fn is_of_recordings(listed: &[Listed], args: &HistoryArgs) -> bool {
    let mut studies = listed.iter().filter_map(|one| one.run.as_ref().ok()).map(|run| run.plan.name.as_str());
    match &args.study {
        Some(name) => name == RECORDINGS && studies.all(|study| study != RECORDINGS),
        None => listed.is_empty(),
    }
}

/// A run of the study.
struct StoredRun<'a> {
    path: &'a Path,
    run: &'a Run,
    hosts: Vec<HostFacts>,
}

/// Runs that another version wrote, or that are damaged.
fn unread(listed: &[Listed]) -> Vec<String> {
    let errors: Vec<String> = listed.iter().filter_map(|one| one.run.as_ref().err().map(ToString::to_string)).collect();
    let more = errors.len().saturating_sub(1);
    let behind = if more > 0 { format!(", and {more} more") } else { String::new() };
    errors.first().map(|first| format!("a run cannot be read and is left out: {first}{behind}")).into_iter().collect()
}

/// The runs of the study asked for, on the machine asked for, the earliest first.
fn known<'a>(listed: &'a [Listed], since: Option<&Path>, args: &HistoryArgs) -> Result<Vec<StoredRun<'a>>, Failure> {
    let readable = || listed.iter().filter_map(|one| Some((one.path.as_path(), one.run.as_ref().ok()?)));
    let name = match &args.study {
        Some(name) => name.clone(),
        None => readable().next_back().map(|(_, run)| run.plan.name.clone()).unwrap_or_default(),
    };
    let begin = since.map(|path| RunReader::open(path).map(|reader| reader.run().started_ms)).transpose()?;
    let mut known = Vec::new();
    for (path, run) in readable().filter(|(_, run)| run.plan.name == name && begin.is_none_or(|begin| run.started_ms >= begin)) {
        let hosts: Vec<HostFacts> = RunReader::open(path)?.hosts(Moment::Before).cloned().collect();
        if args.machine.as_ref().is_none_or(|words| machine(&run.plan, &hosts).contains(words)) {
            known.push(StoredRun { path, run, hosts });
        }
    }
    Ok(known)
}

fn none(args: &HistoryArgs) -> Failure {
    let study = args.study.as_ref().map_or_else(String::new, |name| format!(" of study '{name}'"));
    let machine = args.machine.as_ref().map_or_else(String::new, |words| format!(" on a machine with '{words}'"));
    anyhow::anyhow!("{} holds no run{study}{machine}; `nettoll show` lists the runs", args.runs.directory.display()).into()
}
