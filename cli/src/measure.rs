//! A plan that a command made, measured.

use std::path::{Path, PathBuf};

use ::report::plan::DryRun;
use analysis::verdict::Gate;
use anyhow::Context;
use lab::connection::Credentials;
use lab::study::{Ahead, StudyError};
use model::plan::ApprovedPlan;
use model::run::Status;

use crate::exit::Failure;
use crate::recorder::Recorder;
use crate::weave::{self, Comparison};
use crate::{output, progress, report, signals};

/// Measures a plan and writes its report; returns the run's directory and how it ended.
///
/// # Errors
/// Hosts that cannot be made, a disk that is full. What was measured by then is stored.
pub fn measure(plan: &ApprovedPlan, runs: &Path, credentials: &Credentials, started_ms: u64) -> Result<(PathBuf, Status), Failure> {
    let (path, outcome) = carry_out(plan, &Gate::default(), credentials, Recorder::new(runs, plan, started_ms, signals::listen()?));
    conclude(plan, path, outcome)
}

/// The same, of ways of sending: woven, or in turn where this shows to be impossible only once the hosts are made.
///
/// # Errors
/// See [`measure`].
pub fn compare(ways: &Comparison, runs: &Path, credentials: &Credentials, started_ms: u64) -> Result<(PathBuf, Status), Failure> {
    ways.way.iter().for_each(|way| output::note(way));
    let recorder = Recorder::new(runs, &ways.plan, started_ms, signals::listen()?);
    let (path, outcome) = carry_out(&ways.plan, &Gate::default(), credentials, recorder);
    match outcome {
        Err(StudyError::NotWoven(why)) if ways.plan.woven => {
            output::note(&weave::in_turn(&ways.in_turn, &why.to_string()));
            measure(&ways.in_turn, runs, credentials, started_ms)
        }
        outcome => conclude(&ways.plan, path, outcome),
    }
}

fn conclude(plan: &ApprovedPlan, path: Option<PathBuf>, outcome: Result<Status, StudyError>) -> Result<(PathBuf, Status), Failure> {
    let Some(path) = path else {
        outcome?;
        return Err(anyhow::anyhow!("interrupted before anything was measured").into());
    };
    report::write(&path, None, &Gate::default())?;
    let status = outcome.with_context(|| format!("study '{}' stopped; its finished trials are in {}", plan.name, path.display()))?;
    Ok((path, status))
}

/// Measures a plan; returns the run's directory, if it was begun, and how it ended.
pub fn carry_out(
    plan: &ApprovedPlan,
    gate: &Gate,
    credentials: &Credentials,
    mut recorder: Recorder,
) -> (Option<PathBuf>, Result<Status, StudyError>) {
    let outcome = match plan.woven {
        true => lab::woven::run(plan, gate, credentials, &mut recorder),
        false => lab::study::run(plan, credentials, &mut recorder),
    };
    (recorder.path(), outcome)
}

/// Says what would be measured.
///
/// # Errors
/// Hosts that cannot be reached, or standard output.
pub fn dry_run(plan: &ApprovedPlan, credentials: &Credentials, json: bool) -> Result<(), Failure> {
    let ahead = lab::study::look_ahead(plan, credentials)?;
    let notes: Vec<String> = ahead.missing.iter().map(ToString::to_string).chain(notes(&ahead)).collect();
    preview(&DryRun { plan, earlier: None, smallest: None, shortened: None, notes: &notes }, json, false)
}

/// Notes on the hosts of a plan: addresses of messages, warnings, a host that is busy.
pub fn notes(ahead: &Ahead) -> impl Iterator<Item = String> {
    let between = ahead.between.iter().map(|pair| progress::found(*pair));
    let warnings = ahead.warnings.iter().map(|warning| format!("{warning}. {}", warning.remedy()));
    let busy = ahead.busy.iter().map(|host| format!("host {host} is busy with another controller; its facts are unavailable"));
    between.chain(warnings).chain(busy)
}

/// Prints a dry run. Its notes are part of the JSON, or go to standard error.
///
/// # Errors
/// Standard output.
pub fn preview(dry_run: &DryRun, json: bool, verbose: bool) -> Result<(), Failure> {
    output::result(json.then(|| dry_run.json()), || dry_run.document(), verbose)?;
    dry_run.notes.iter().filter(|_| !json).for_each(|note| output::note(note));
    Ok(())
}
