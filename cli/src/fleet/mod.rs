//! `nettoll fleet`.

mod hosts;
mod manifest;

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::fleet::{all_rounds, usual_rounds};
use lab::study::{Past, StudyError};
use lab::{Event, Listener};
use model::Plan;
use model::plan::raw::RawTrial;
use model::plan::{ApprovedPlan, FleetPlan, Override, PlanError, RawPlan, resolve};
use model::run::Status;

use crate::args::{FleetArgs, FleetTask, Rounds};
use crate::consent::Consent;
use crate::events::Events;
use crate::exit::{Exit, Failure};
use crate::recorder::Recorder;
use crate::report::{self, Answer};
use crate::resume::{self, ResumedRun};
use crate::{measure, output, signals};

/// The plan of a fleet, but for its hosts and rounds.
const PLAN: &str = include_str!("../../../plans/fleet.toml");

/// Measures pairs of many hosts and says which are outliers, or does what goes with it.
///
/// # Errors
/// Hosts that make no fleet, fewer than two that can be reached, a disk that is full. What was
/// measured by then is stored.
pub fn run(args: &FleetArgs) -> Result<Exit, Failure> {
    if let Some(FleetTask::Manifest(args)) = &args.task {
        output::write(&manifest::text(args)?)?;
        return Ok(Exit::Done);
    }
    if let Some(word) = &args.resume {
        return go_on(&args.runs.find(word)?, args);
    }
    let started_ms = sys::clock::unix_ms();
    let plan = plan(args, started_ms)?;
    if args.offline {
        return dry_run(&plan, &[], args);
    }
    let credentials = args.access.credentials()?;
    let interrupted = signals::listen()?;
    if args.dry_run {
        let mut listener = Patient(interrupted);
        let Some(absent) = lab::fleet::look_ahead(&plan, &credentials, &mut listener)? else {
            output::note("interrupted while hosts were reached");
            return Ok(Exit::Failed);
        };
        return dry_run(&plan, &absent, args);
    }
    args.html.place("report.html")?;
    let mut recorder = Recorder::new(&args.runs.directory, &plan, started_ms, interrupted);
    let outcome = lab::fleet::run(&plan, &credentials, &mut recorder);
    let path = recorder.path();
    drop(recorder);
    conclude(path.as_deref(), &plan, outcome, args)
}

/// Goes on with the run in a directory.
fn go_on(path: &Path, args: &FleetArgs) -> Result<Exit, Failure> {
    args.html.place("report.html")?;
    let credentials = args.access.credentials()?;
    let interrupted = signals::listen()?;
    let consent = Consent { host_wide: false, allow_exec: args.allow_exec, yes: args.yes };
    let resumed = |plan: &ApprovedPlan, past: Past, listener: &mut dyn Listener| lab::fleet::resume(plan, &credentials, past, listener);
    let ResumedRun { path, plan, outcome } = resume::run(path, true, consent, interrupted, &Events::default(), &resumed)?;
    conclude(Some(&path), &plan, outcome, args)
}

fn plan(args: &FleetArgs, seed: u64) -> Result<ApprovedPlan, Failure> {
    let hosts = hosts::named(&args.members)?;
    let rounds = match args.rounds.rounds {
        Some(Rounds::Count(count)) => count,
        Some(Rounds::All) => all_rounds(hosts.len()) as u32,
        None => usual_rounds(hosts.len()) as u32,
    };
    let mut raw = RawPlan::parse(PLAN)?;
    let asked = &args.rounds;
    raw.trial = RawTrial { length: asked.length.or(raw.trial.length), warmup: asked.warmup.or(raw.trial.warmup), ..RawTrial::default() };
    raw.data_port = asked.data_port;
    raw.seed = asked.seed;
    // Too few hosts have no rounds; what is wrong with them is said by the plan.
    (raw.blocks.least, raw.blocks.most) = (Some(rounds.max(1)), Some(rounds.max(1)));
    raw.fleet = Some(FleetPlan { hosts, rounds: rounds.max(1), parallel: asked.parallel, least: asked.least });
    let overrides: Vec<Override> = args.factors.overrides().map_err(PlanError::from)?;
    Ok(resolve(&raw, &overrides, asked.seed.unwrap_or(seed))?)
}

/// Says what would be measured and what it could find.
fn dry_run(plan: &Plan, absent: &[(String, String)], args: &FleetArgs) -> Result<Exit, Failure> {
    let notes: Vec<String> = absent.iter().map(|(_, error)| format!("not there: {error}")).collect();
    let told = ::report::plan::DryRun { plan, earlier: None, smallest: None, shortened: None, notes: &notes };
    measure::preview(&told, args.format.json, false)?;
    Ok(Exit::Done)
}

fn conclude(path: Option<&Path>, plan: &Plan, outcome: Result<Status, StudyError>, args: &FleetArgs) -> Result<Exit, Failure> {
    let gate = &analysis::verdict::Gate::default();
    let answer = Answer { rules: None, show_rules: false, gate, markdown: false, html: &args.html, format: &args.format, is_new: true };
    report::finish(path, plan, outcome, &answer)
}

/// Waits until it is asked to end.
struct Patient(Arc<AtomicBool>);

impl Listener for Patient {
    fn hear(&mut self, _: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        Ok(if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
