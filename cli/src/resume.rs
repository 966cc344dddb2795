//! Going on with a stored run, of a study or of a fleet.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use analysis::stopping::Observer;
use lab::study::{Past, Resumed, StudyError};
use lab::woven::Rest;
use lab::{Event, Listener};
use model::Plan;
use model::host::HostFacts;
use model::plan::ApprovedPlan;
use model::run::Status;
use model::woven::Slice;
use store::{Moment, Reopened, RunDirectory, RunReader};

use crate::consent::{self, Consent};
use crate::events::Events;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::recorder::Recorder;
use crate::{output, version};

/// A run that was gone on with.
pub struct ResumedRun {
    /// Its directory.
    pub path: PathBuf,
    /// Its plan.
    pub plan: ApprovedPlan,
    /// How it ended this time.
    pub outcome: Result<Status, StudyError>,
}

/// Goes on with a plan where its stored run stopped.
type GoOn<'a> = &'a dyn Fn(&ApprovedPlan, Past, &mut dyn Listener) -> Result<Resumed, StudyError>;

/// Opens a run again and has it gone on with; `fleet` where it has to be one of a fleet. Its events are written as well.
///
/// # Errors
/// A run that cannot be opened, of the other kind, or by another build, and what the user does
/// not consent to. What comes then is in [`ResumedRun`].
pub fn run(
    path: &Path,
    fleet: bool,
    consent: Consent,
    interrupted: Arc<AtomicBool>,
    events: &Events,
    go_on: GoOn,
) -> Result<ResumedRun, Failure> {
    // Before anything is written there, and again of what was read.
    consent::own(path)?;
    let Reopened { mut directory, cut } = RunDirectory::reopen(path)?;
    let path = directory.path().to_owned();
    let reader = RunReader::open(&path)?;
    // What is shown is what is carried out: it is not read again.
    let run = reader.run().clone();
    if run.plan.fleet.is_some() != fleet {
        let (what, command) = if fleet { ("a study", "study") } else { ("a fleet", "fleet") };
        let id = path.file_name().unwrap_or_default().display();
        return Err(Failure::misuse(format!("{} is a run of {what}: go on with it by `nettoll {command} --resume {id}`", path.display())));
    }
    let plan = consent::to_stored(&path, run.plan.clone(), consent)?;
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
    let warnings = run.warnings.clone();
    let hosts: Vec<HostFacts> = reader.hosts(Moment::Before).cloned().collect();
    let mut seen = Observer::new(&plan);
    if io::stderr().is_terminal() {
        reader.trials()?.flatten().for_each(|trial| seen.push(&trial));
    }
    let slices = if plan.woven { keep_whole(&mut directory, &reader, &plan)? } else { Vec::new() };
    if plan.receipt.is_some() {
        // Instances of a block that was cut short are measured again, and the last of each counts.
        (0..plan.groups().len()).try_for_each(|group| store::keep_slices(directory.path(), group, |_| true).map(drop))?;
    }
    let mut progress = Progress::new(&plan, seen);
    slices.iter().for_each(|(group, instance, slices)| progress.hear(&Event::Slices { group: *group, instance: *instance, slices }));
    // A trial in turn that cannot be read is measured again; the report names its line.
    let mut trials = reader.trials()?.filter_map(Result::ok);
    let past = Past { hosts: &hosts, warnings: &warnings, trials: &mut trials, slices: &mut slices.into_iter() };
    let mut recorder = Recorder::again(directory, run, progress, interrupted).with_events(events);
    let outcome = go_on(&plan, past, &mut recorder);
    drop(recorder);
    if matches!(&outcome, Ok(Resumed { nothing_left: true, .. })) {
        output::note(&format!("{} is complete: nothing is left to run", path.display()));
    }
    Ok(ResumedRun { path, plan, outcome: outcome.map(|resumed| resumed.status) })
}

/// Cuts off the trials and slices of an instance that was cut short, and returns the slices of all before it.
fn keep_whole(directory: &mut RunDirectory, reader: &RunReader, plan: &Plan) -> Result<Vec<(usize, u32, Vec<Slice>)>, Failure> {
    let rest = Rest::after(plan, &mut reader.trials()?.map(Result::ok))?;
    directory.keep_trials(rest.lines)?;
    let mut slices = Vec::new();
    for group in 0..plan.groups().len() {
        let kept = store::keep_slices(directory.path(), group, |instance| rest.has(group, instance))?;
        slices.extend(kept.into_iter().map(|one| (group, one.instance, one.slices)));
    }
    Ok(slices)
}
