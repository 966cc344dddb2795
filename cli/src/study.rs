//! `nettoll study`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use analysis::result::Metric;
use analysis::variance::Components;
use anyhow::Context;
use lab::study::{Past, Resumed, StudyError};
use model::Plan;
use model::host::HostFacts;
use model::plan::raw::{RawLink, RawTrial};
use model::plan::{Factor, Level, Override, PRESETS, PlanEnd, PlanError, RawPlan, preset as known_preset, resolve};
use model::run::Status;
use store::{Moment, Reopened, RunDirectory, RunReader};

use crate::args::StudyArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::recorder::Recorder;
use crate::report::{self, Answer};
use crate::rules::{self, Own};
use crate::{consent, signals, version};

/// Runs a study, or goes on with one, analyses it and prints what it shows.
///
/// # Errors
/// A plan that cannot be carried out, hosts that cannot be made, a disk that
/// is full. What was measured by then is stored.
pub fn run(args: &StudyArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.resume {
        return resume(path, args);
    }
    let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let plan = plan(args, started_ms)?;
    if args.dry_run {
        let earlier = earlier(&args.like, &args.arms.gate.gate)?;
        output::styled(&::report::plan::render(&plan, earlier.as_ref(), output::style()))?;
        return Ok(Exit::Done);
    }
    if matches!(plan.end, PlanEnd::Bytes(_)) {
        // The clock ends no trial of it, so nobody knows how long it takes.
        output::note(&::report::plan::expected_time(&plan));
    }
    // Before anything is measured: a file that cannot be used must not cost a study.
    let rules = rules::load(&args.rules)?;
    let credentials = args.trust.load()?;
    let interrupted = signals::listen()?;
    let mut recorder = Recorder::create(&args.runs, &plan, started_ms, interrupted)?;
    let path = recorder.path();
    let outcome = lab::study::run(&plan, &credentials, &mut recorder);
    drop(recorder);
    conclude(&path, &plan, outcome, rules, args)
}

/// How earlier runs scatter; `None` without any.
fn earlier(runs: &[PathBuf], gate: &[Metric]) -> Result<Option<Components>, Failure> {
    if runs.is_empty() {
        return Ok(None);
    }
    let tables = runs.iter().map(|path| Ok(report::collect(path, None)?.into_table())).collect::<Result<Vec<_>, Failure>>()?;
    let found = Components::of_runs(&tables.iter().collect::<Vec<_>>(), gate);
    found.map(Some).ok_or_else(|| {
        Failure::misuse("--like: the runs have no cell in common with 6 blocks or more of them, which it takes to tell how trials scatter; name longer runs of one study")
    })
}

/// Goes on with the run in a directory.
fn resume(path: &Path, args: &StudyArgs) -> Result<Exit, Failure> {
    let rules = rules::load(&args.rules)?;
    let credentials = args.trust.load()?;
    let interrupted = signals::listen()?;
    let Reopened { directory, cut } = RunDirectory::reopen(path)?;
    let path = directory.path().to_owned();
    let reader = RunReader::open(&path)?;
    // What is shown is what is carried out: it is not read again.
    let run = reader.run().clone();
    consent::to_resume(&path, &run.plan, args)?;
    // By the build that began it: two commits of one version may measure otherwise.
    if run.tool != version::SHORT {
        let (run, tool, here) = (path.display(), &run.tool, version::SHORT);
        return Err(anyhow::anyhow!(
            "{run} was measured by nettoll {tool}, this is {here}, and their trials would not compare: go on with that build"
        )
        .into());
    }
    if cut > 0 {
        output::note(&format!("half a trial ({cut} bytes) was cut off: it is measured again"));
    }
    let (plan, warnings) = (run.plan.clone(), run.warnings.clone());
    let hosts: Vec<HostFacts> = reader.hosts(Moment::Before).cloned().collect();
    // A trial that cannot be read is measured again; the report names its line.
    let mut trials = reader.trials()?.filter_map(Result::ok);
    let past = Past { hosts: &hosts, warnings: &warnings, trials: &mut trials };
    let mut recorder = Recorder::again(directory, run, interrupted);
    let outcome = lab::study::resume(&plan, &credentials, past, &mut recorder);
    drop(recorder);
    if matches!(&outcome, Ok(Resumed { nothing_left: true, .. })) {
        output::note(&format!("{} is complete: nothing is left to run", path.display()));
    }
    conclude(&path, &plan, outcome.map(|resumed| resumed.status), rules, args)
}

/// Whatever happened, what was measured is worth a report; but a failure in
/// JSON stands alone, and where nothing was measured there is nothing to show.
fn conclude(path: &Path, plan: &Plan, outcome: Result<Status, StudyError>, rules: Option<Own>, args: &StudyArgs) -> Result<Exit, Failure> {
    let nothing = matches!(&outcome, Err(error) if error.says_nothing_of_trials());
    let silent = nothing || outcome.is_err() && args.format.json;
    let gate = &args.arms.gate.gate;
    let reported = match silent {
        true => report::write(path, rules.as_ref(), gate).map(|_| Exit::Done),
        false => {
            let answer = Answer { rules, show_rules: args.rules.show_rules, gate, markdown: false, format: &args.format };
            report::analyse_and_print(path, &answer)
        }
    };
    let status = outcome.with_context(|| format!("study '{}' stopped; its finished trials are in {}", plan.name, path.display()))?;
    let concluded = reported?;
    Ok(if status == Status::Interrupted { Exit::Failed } else { concluded })
}

fn plan(args: &StudyArgs, seed: u64) -> Result<Plan, Failure> {
    let text = match (&args.plan, &args.name) {
        (Some(file), _) => fs::read_to_string(file).map_err(|answer| unreadable(file, &answer))?,
        (None, name) => preset(name.as_deref().unwrap_or_default())?.to_owned(),
    };
    let mut raw = RawPlan::parse(&text)?;
    override_extent(&mut raw, args);
    override_receipt(&mut raw, args);
    override_link(&mut raw, args);
    override_hosts(&mut raw, args);
    override_arms(&mut raw, args);
    let links = (args.link.link.len() > 1).then(|| (Factor::Link, args.link.link.iter().copied().map(Level::Link).collect()));
    let overrides: Vec<Override> = args.factors.overrides().map_err(PlanError::from)?.into_iter().chain(links).collect();
    Ok(resolve(&raw, &overrides, args.extent.seed.unwrap_or(seed))?)
}

fn unreadable(file: &Path, answer: &io::Error) -> Failure {
    anyhow::anyhow!("cannot read the plan {}: {answer}; check the path, or name a preset (`nettoll study quick`)", file.display()).into()
}

fn preset(name: &str) -> Result<&'static str, Failure> {
    let names = || PRESETS.iter().map(|(name, _)| *name);
    known_preset(name).ok_or_else(|| {
        let hint = model::nearest(name, names()).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        let all = names().collect::<Vec<_>>().join(", ");
        Failure::misuse(format!("there is no study '{name}'{hint} Presets: {all}; or give a plan of your own with --plan FILE"))
    })
}

fn override_extent(raw: &mut RawPlan, args: &StudyArgs) {
    let extent = &args.extent;
    if let Some(length) = extent.length {
        raw.trial = RawTrial { length: Some(length), ..without_end(&raw.trial) };
    }
    if let Some(messages) = extent.messages {
        raw.trial = RawTrial { messages: Some(messages), budget: raw.trial.budget, ..without_end(&raw.trial) };
    }
    if let Some(bytes) = extent.bytes {
        raw.trial = RawTrial { bytes: Some(bytes), ..without_end(&raw.trial) };
    }
    raw.trial.warmup = extent.warmup.or(raw.trial.warmup);
    if let Some(blocks) = extent.blocks {
        (raw.blocks.least, raw.blocks.most) = (Some(blocks), Some(blocks));
    }
    if let Some(interval) = extent.interval {
        // Asked for by name, it decides; without a limit given, up to the last look.
        raw.blocks.interval = Some(interval);
        raw.blocks.most = Some(extent.most.unwrap_or(100));
        raw.trial.budget = None;
    }
    raw.blocks.most = extent.most.or(raw.blocks.most);
    raw.seed = extent.seed.or(raw.seed);
}

/// A trial of which only the warm-up is known.
fn without_end(trial: &RawTrial) -> RawTrial {
    RawTrial { warmup: trial.warmup, ..RawTrial::default() }
}

fn override_receipt(raw: &mut RawPlan, args: &StudyArgs) {
    let asked = &args.receipt;
    if asked.receipt || asked.period.is_some() || asked.samples.is_some() {
        let receipt = raw.receipt.get_or_insert_default();
        receipt.period = asked.period.or(receipt.period);
        receipt.samples = asked.samples.or(receipt.samples);
    }
}

fn override_link(raw: &mut RawPlan, args: &StudyArgs) {
    if let [kind] = args.link.link[..] {
        raw.force_link(kind);
    }
    raw.link.mtu = args.link.mtu.or(raw.link.mtu);
    raw.link.offloads.extend(args.link.offload.iter().copied());
}

fn override_arms(raw: &mut RawPlan, args: &StudyArgs) {
    if !args.arms.arm.is_empty() {
        raw.arms.clone_from(&args.arms.arm);
    }
    raw.host_wide = args.arms.host_wide;
}

fn override_hosts(raw: &mut RawPlan, args: &StudyArgs) {
    if !args.remote.host.is_empty() {
        // The plan's link is between hosts that nettoll makes; what joins machines is there already.
        raw.link =
            RawLink { kind: args.link.link.first().copied(), mtu: args.link.mtu, offloads: args.link.offload.iter().copied().collect() };
    }
    raw.hosts.extend(args.remote.host.iter().cloned());
    raw.on_loss = args.remote.on_loss.or(raw.on_loss);
    raw.data_port = args.remote.data_port.or(raw.data_port);
}
