//! `nettoll study`.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::variance::Components;
use lab::Listener;
use lab::congestion::{self, NoCongestionControl};
use lab::lacking;
use lab::study::{Past, StudyError};
use model::plan::raw::{RawLink, RawTrial};
use model::plan::{
    ApprovedPlan, Factor, LOOKS, Level, Override, PRESETS, PlanEnd, PlanError, RawPlan, Shortened, preset as known_preset, resolve,
};
use model::run::Status;
use model::{Cell, Nanos, Plan, Refusal, Role};

use crate::again;
use crate::args::{ExtentArgs, StudyArgs};
use crate::consent::{self, Consent};
use crate::events::Events;
use crate::exit::{Exit, Failure};
use crate::recorder::Recorder;
use crate::report::{self, Answer};
use crate::resume::{self, ResumedRun};
use crate::rules::{self, Own};
use crate::signals;
use crate::weave::{self, Comparison};
use crate::{measure, output};

/// Runs a study, or goes on with one, analyses it and prints what it shows.
///
/// # Errors
/// A plan that cannot be carried out, hosts that cannot be made, a disk that
/// is full. What was measured by then is stored.
pub fn run(args: &StudyArgs) -> Result<Exit, Failure> {
    let events = Events::open(args.events.as_deref(), &args.format)?;
    let outcome = begin(args, &events);
    events.end(&outcome);
    outcome
}

fn begin(args: &StudyArgs, events: &Events) -> Result<Exit, Failure> {
    if let Some(word) = &args.resume {
        return go_on(&args.runs.find(word)?, args, events);
    }
    if args.bare {
        return presets(args.format.json);
    }
    let started_ms = sys::clock::unix_ms();
    let again = args.again.as_deref().map(|word| again::plan(word, args, started_ms)).transpose()?;
    let (WrittenPlan { plan, shortened, few }, pooled) = match again {
        Some((plan, pooled)) => (WrittenPlan { plan, shortened: None, few: None }, Some(pooled)),
        None => (plan(args, args.extent.length, started_ms)?, None),
    };
    let author = || self::plan(args, None, started_ms).map(|written| written.plan);
    let fallback = plan.clone();
    let Comparison { plan, in_turn, way } = weave::decide(plan, args, author)?;
    let missing = congestion::missing_here(&plan);
    if let Some(first) = missing.first().filter(|_| asks_for_control(args)) {
        return Err(Failure::misuse(first));
    }
    let shortened = shortened.filter(|_| !plan.woven);
    let few = few.map(|factors| ::report::plan::few_cells(&plan, &factors));
    if args.dry_run {
        if args.weave.pilot {
            let pilot = weave::pilot(&plan, way.as_deref())?;
            if !measure_pilot(&pilot, args, started_ms)? {
                return Ok(Exit::Failed);
            }
        }
        few.iter().chain(&way).for_each(|line| output::note(line));
        if args.weave.check {
            output::note("the arms would be compared the other way as well");
        }
        return dry_run(&plan, shortened, missing, args);
    }
    if matches!(plan.end, PlanEnd::Bytes(_)) {
        // The clock ends no trial of it, so nobody knows how long it takes.
        output::note(&::report::plan::expected_time(&plan));
    }
    if let Some(shortened) = shortened {
        output::note(&::report::plan::shorter(shortened));
    }
    // Before anything is measured: a file that cannot be used must not cost a study.
    let rules = rules::load(&args.rules)?;
    args.html.place("report.html")?;
    let credentials = args.credentials()?;
    let interrupted = signals::listen()?;
    let carry_out = |plan: &ApprovedPlan, started_ms, pooled| {
        let recorder = Recorder::new(&args.runs.directory, plan, started_ms, Arc::clone(&interrupted));
        measure::carry_out(plan, &args.arms.gate.gate(), &credentials, recorder.pooled_with(pooled).with_events(events))
    };
    few.iter().chain(&way).for_each(|line| output::note(line));
    let mut plan = plan;
    let (path, outcome) = match carry_out(&plan, started_ms, pooled) {
        // It shows only where the hosts are made.
        (_, Err(StudyError::NotWoven(why))) if !args.weave.woven && !fallback.woven => {
            output::note(&weave::in_turn(&fallback, &why.to_string()));
            plan = fallback;
            carry_out(&plan, started_ms, None)
        }
        came => came,
    };
    let exit = conclude(path.as_deref(), &plan, outcome, rules, args)?;
    if args.weave.check
        && exit != Exit::Failed
        && let Some(path) = path
    {
        events.end(&Ok(exit));
        weave::check(&path, &plan, in_turn, args, |plan| carry_out(plan, sys::clock::unix_ms(), None))?;
    }
    Ok(exit)
}

/// Measures how the instances of a plan scatter, in a run of its own.
/// `false` where it was interrupted.
fn measure_pilot(pilot: &ApprovedPlan, args: &StudyArgs, started_ms: u64) -> Result<bool, Failure> {
    output::note(&format!("the pilot measures {} instances of each cell", pilot.blocks.most));
    let mut recorder = Recorder::new(&args.runs.directory, pilot, started_ms, signals::listen()?);
    let status = lab::woven::run(pilot, &args.arms.gate.gate(), &args.credentials()?, &mut recorder)?;
    let done = matches!(status, Status::BlocksDone | Status::Settled);
    match recorder.path().filter(|_| done) {
        Some(path) => output::note(&format!("the pilot is {}", path.display())),
        None => output::note("the pilot was interrupted"),
    }
    Ok(done)
}

/// Lists the studies that come with nettoll. That is what was asked for, so it is no misuse,
/// as `nettoll reference` lists the published ones.
fn presets(json: bool) -> Result<Exit, Failure> {
    let plans = PRESETS
        .iter()
        .map(|(_, text)| resolve(&RawPlan::parse(text)?, &[], 0).map(ApprovedPlan::into_plan))
        .collect::<Result<Vec<_>, PlanError>>()?;
    output::result(json.then(|| ::report::plan::list_json(&plans)), || ::report::plan::list(&plans), false)?;
    Ok(Exit::Done)
}

/// Returns whether a congestion control was asked for on the command line, where a slip is
/// likely. One that a plan names and this kernel lacks fails its cells, and the rest goes on.
fn asks_for_control(args: &StudyArgs) -> bool {
    args.factors.names(Factor::Cc) || !args.arms.arm.is_empty()
}

/// Says what would be run, or why it cannot be.
fn dry_run(
    plan: &ApprovedPlan,
    shortened: Option<Shortened>,
    mut missing: Vec<NoCongestionControl>,
    args: &StudyArgs,
) -> Result<Exit, Failure> {
    let earlier = earlier(args)?;
    let mut ahead = lab::study::look_ahead(plan, &args.credentials()?)?;
    missing.append(&mut ahead.missing);
    let programs = lacking::programs(plan);
    let without = |cell: &Cell| cell.cc.as_ref().is_some_and(|name| missing.iter().any(|one| one.name == *name));
    if let Some(first) = missing.first().filter(|_| asks_for_control(args) || plan.cells_run().iter().all(without)) {
        return Err(Failure::misuse(first));
    }
    let without = |cell: &Cell| {
        [Role::Sender, Role::Receiver].iter().any(|role| programs.iter().any(|(program, _)| cell.external(*role) == Some(*program)))
    };
    if let Some((_, refusal)) = programs.first().filter(|_| plan.cells_run().iter().all(without)) {
        return Err(Failure::misuse(format!("every trial would fail: {refusal}")));
    }
    let programs = programs.iter().map(|(_, refusal)| format!("trials will fail: {refusal}"));
    // Of other machines it is not known beforehand.
    let here = plan.receipt.is_some() && plan.hosts.is_empty() && plan.fleet.is_none();
    let refused = if here { lab::doctor::no_receipts() } else { None };
    let none = refused.iter().map(|Refusal { what, answer, remedy }| format!("no receipt can be made here: {what}: {answer}. {remedy}"));
    let notes: Vec<String> = missing.iter().map(ToString::to_string).chain(programs).chain(measure::notes(&ahead)).chain(none).collect();
    let smallest = if plan.woven { weave::scatter(&args.runs.directory)?.smallest(plan, args.arms.gate.threshold) } else { None };
    let told = ::report::plan::DryRun { plan, earlier: earlier.as_ref(), smallest: smallest.as_ref(), shortened, notes: &notes };
    measure::preview(&told, args.format.json, args.format.verbose)?;
    Ok(if refused.is_some() { Exit::Failed } else { Exit::Done })
}

/// How earlier runs scatter; `None` without any.
fn earlier(args: &StudyArgs) -> Result<Option<Components>, Failure> {
    if args.like.is_empty() {
        return Ok(None);
    }
    let table = |word: &PathBuf| Ok(report::collect(&args.runs.find(word)?, None)?.into_table());
    let tables = args.like.iter().map(table).collect::<Result<Vec<_>, Failure>>()?;
    let found = Components::of_runs(&tables.iter().collect::<Vec<_>>(), &args.arms.gate.gate);
    found.map(Some).ok_or_else(|| {
        Failure::misuse("--like: the runs have no cell in common with 6 blocks or more of them, which it takes to tell how trials scatter; name longer runs of one study")
    })
}

/// Goes on with the run in a directory.
fn go_on(path: &Path, args: &StudyArgs, events: &Events) -> Result<Exit, Failure> {
    let rules = rules::load(&args.rules)?;
    args.html.place("report.html")?;
    let credentials = args.credentials()?;
    let interrupted = signals::listen()?;
    let consent = Consent { host_wide: args.arms.host_wide, allow_exec: args.allow_exec, yes: args.yes };
    let gate = args.arms.gate.gate();
    let go_on = |plan: &ApprovedPlan, past: Past, listener: &mut dyn Listener| match plan.woven {
        true => lab::woven::resume(plan, &gate, &credentials, past, listener),
        false => lab::study::resume(plan, &credentials, past, listener),
    };
    let ResumedRun { path, plan, outcome } = resume::run(path, false, consent, interrupted, events, &go_on)?;
    conclude(Some(&path), &plan, outcome, rules, args)
}

fn conclude(
    path: Option<&Path>,
    plan: &Plan,
    outcome: Result<Status, StudyError>,
    rules: Option<Own>,
    args: &StudyArgs,
) -> Result<Exit, Failure> {
    let (show_rules, gate) = (args.rules.show_rules, &args.arms.gate.gate());
    let answer = Answer { rules, show_rules, gate, markdown: false, html: &args.html, format: &args.format, is_new: true };
    report::finish(path, plan, outcome, &answer)
}

/// A plan that is asked for.
pub struct WrittenPlan {
    /// The plan.
    pub plan: ApprovedPlan,
    /// Its trials are shorter than written.
    shortened: Option<Shortened>,
    /// Its arms have few cells: the factors that give others.
    few: Option<BTreeSet<Factor>>,
}

/// The plan that is asked for, with trials of `length` in place of its author's, its order drawn from the seed where none
/// is.
///
/// # Errors
/// No such study, a plan that cannot be read or be.
pub fn plan(args: &StudyArgs, length: Option<Nanos>, seed: u64) -> Result<WrittenPlan, Failure> {
    let text = match (&args.plan, &args.name) {
        (Some(file), _) => sys::file::read_text(file, LONGEST_PLAN).map_err(|answer| unreadable(file, &answer))?,
        (None, Some(name)) => preset(name)?.to_owned(),
        (None, None) => {
            return Err(Failure::misuse("name a study, such as quick, or give a plan with --plan FILE; `nettoll study` lists the studies"));
        }
    };
    let mut raw = RawPlan::parse(&text)?;
    override_extent(&mut raw, &args.extent, length);
    override_receipt(&mut raw, args);
    override_link(&mut raw, args);
    override_hosts(&mut raw, args)?;
    override_arms(&mut raw, args);
    let links = (args.link.link.len() > 1).then(|| (Factor::Link, args.link.link.iter().copied().map(Level::Link).collect()));
    let overrides: Vec<Override> = args.factors.overrides().map_err(PlanError::from)?.into_iter().chain(links).collect();
    let plan = resolve(&raw, &overrides, args.extent.seed.unwrap_or(seed))?;
    if let Some(file) = &args.plan {
        consent::named_file(file, consent::starts(&plan))?;
    }
    Ok(WrittenPlan { shortened: Shortened::of(&raw, &plan), few: raw.few_for_arms(&overrides), plan })
}

/// The longest plan that is read.
const LONGEST_PLAN: u64 = 4 << 20;

fn unreadable(file: &Path, answer: &io::Error) -> Failure {
    anyhow::anyhow!("cannot read the plan {}: {answer}; check the path, or name a preset (`nettoll study quick`)", file.display()).into()
}

fn preset(name: &str) -> Result<&'static str, Failure> {
    let names = || PRESETS.iter().map(|(name, _)| *name);
    known_preset(name).ok_or_else(|| {
        let hint = model::suggestion(name, names());
        let all = names().collect::<Vec<_>>().join(", ");
        Failure::misuse(format!("there is no study '{name}'{hint} Presets: {all}; or give a plan of your own with --plan FILE"))
    })
}

/// The most blocks of a study that goes on until it is precise.
const LAST_LOOK: u32 = 100;

fn override_extent(raw: &mut RawPlan, extent: &ExtentArgs, length: Option<Nanos>) {
    if let Some(length) = length {
        raw.trial = RawTrial { length: Some(length), ..without_end(&raw.trial) };
    }
    if let Some(messages) = extent.messages {
        raw.trial = RawTrial { messages: Some(messages), budget: raw.trial.budget, ..without_end(&raw.trial) };
    }
    if let Some(bytes) = extent.bytes {
        raw.trial = RawTrial { bytes: Some(bytes), ..without_end(&raw.trial) };
    }
    raw.trial.warmup = extent.warmup.or(raw.trial.warmup);
    let least = raw.blocks.least;
    if let Some(blocks) = extent.blocks {
        (raw.blocks.least, raw.blocks.most) = (Some(blocks), Some(blocks));
    }
    if let Some(precision) = extent.precision {
        // Asked for by name, it decides; without a limit given, up to the last look.
        raw.blocks.precision = Some(precision);
        let most = extent.blocks.or(extent.most).unwrap_or(LAST_LOOK);
        (raw.blocks.least, raw.blocks.most) = (Some(least.unwrap_or(LOOKS[0]).min(most)), Some(most));
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

fn override_hosts(raw: &mut RawPlan, args: &StudyArgs) -> Result<(), Failure> {
    let named = &args.remote.host;
    if let Some((name, _)) = named.iter().enumerate().find_map(|(at, host)| named[..at].iter().find(|(name, _)| *name == host.0)) {
        return Err(Failure::misuse(format!("host {name} is given twice: further hosts at its side are {name}2, {name}3 and so on")));
    }
    if !args.remote.host.is_empty() {
        // The plan's link is between hosts that nettoll makes; what joins machines is there already.
        raw.link =
            RawLink { kind: args.link.link.first().copied(), mtu: args.link.mtu, offloads: args.link.offload.iter().copied().collect() };
    }
    raw.hosts.extend(args.remote.host.iter().cloned());
    if args.plan.is_none() {
        raw.fit_hosts();
    }
    raw.on_loss = args.remote.on_loss.or(raw.on_loss);
    raw.data_port = args.remote.data_port.or(raw.data_port);
    Ok(())
}
