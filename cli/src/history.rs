//! `nettoll history`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ::report::history as told;
use analysis::history::{HistoryCollector, HistoryRun};
use model::host::{HostFacts, hardware, hardware_of_many, kind};
use model::plan::FleetPlan;
use model::{Plan, Run};
use store::{Listed, Moment, RunReader};

use crate::args::HistoryArgs;
use crate::exit::{Exit, Failure};
use crate::{output, report, top, version};

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
    let (study, settings) = (newest.run.plan.name.clone(), settings(&newest.run.plan));
    let (same, others): (Vec<&StoredRun>, Vec<&StoredRun>) = known.iter().partition(|known| self::settings(&known.run.plan) == settings);
    if !others.is_empty() {
        notes.push(format!("{} of the study left out: other links, hosts or lengths of trials than the newest run's", others.len()));
    }
    let machine = match &newest.run.plan.fleet {
        Some(fleet) => one_fleet(fleet, &same)?,
        None => one_machine(&same)?,
    };
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
    let document = told::document(&history, args.by.into(), &notes, version::SHORT);
    if let Some(place) = &place {
        output::page(place, &::report::html::document(&document))?;
    }
    match args.json {
        true => output::write(&::report::json::pretty(&history))?,
        false => output::show(&document, false)?,
    }
    if let Some(place) = place.filter(|_| !args.json) {
        output::write(&format!("\nReport: {}", place.display()))?;
    }
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

/// What two runs must have in common for their figures to stand in one series.
fn settings(plan: &Plan) -> (String, String) {
    let mut hosts: Vec<String> = plan.hosts.iter().map(|(name, place)| format!("{name}={place}")).collect();
    // Pairs that are measured at once disturb each other.
    hosts.extend(plan.fleet.iter().map(|fleet| format!("fleet {} at once: {}", fleet.fingerprint(), fleet.parallel)));
    let settings = format!("{:?} {:?} after {}", plan.link, plan.end, plan.warmup); // words:allow
    (settings, hosts.join(" "))
}

/// The machine or the fleet of a run, in words.
fn machine(plan: &Plan, hosts: &[HostFacts]) -> String {
    plan.fleet.as_ref().map_or_else(|| hardware(hosts), |fleet| of_fleet(fleet, hosts))
}

fn of_fleet<'a>(fleet: &FleetPlan, hosts: impl IntoIterator<Item = &'a HostFacts>) -> String {
    format!("fleet {} of {} hosts: {}", fleet.fingerprint(), fleet.hosts.len(), hardware_of_many(hosts))
}

/// The fleet of all runs, in words. A host may have been away from some of them, but not have
/// become another machine.
fn one_fleet(fleet: &FleetPlan, runs: &[&StoredRun]) -> Result<String, Failure> {
    let mut hosts: BTreeMap<&str, &HostFacts> = BTreeMap::new();
    for host in runs.iter().rev().flat_map(|known| &known.hosts) {
        let newest = *hosts.entry(&host.name).or_insert(host);
        let (then, now) = (kind(host), kind(newest));
        if then != now {
            return Err(Failure::misuse(format!(
                "host {} of the fleet is not the machine that it was, so its figures make no one series:\n  once {then}\n  now {now}\n\
                 Begin with the first run after that: --since RUN",
                host.name
            )));
        }
    }
    Ok(of_fleet(fleet, hosts.into_values()))
}

/// The hardware of all runs, in words.
fn one_machine(runs: &[&StoredRun]) -> Result<String, Failure> {
    let mut machines: BTreeMap<String, u32> = BTreeMap::new();
    runs.iter().for_each(|known| *machines.entry(hardware(&known.hosts)).or_default() += 1);
    if machines.len() > 1 {
        let list: Vec<String> = machines.iter().map(|(words, runs)| format!("  {runs} on {words}")).collect();
        return Err(Failure::misuse(format!(
            "these runs are of {} machines, whose figures make no one series:\n{}\nName one of them by some of its words: --machine WORDS",
            machines.len(),
            list.join("\n")
        )));
    }
    Ok(machines.into_keys().next().unwrap_or_default())
}
