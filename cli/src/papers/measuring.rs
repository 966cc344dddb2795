//! Measures the parts of `nettoll papers`, one after the other, as runs of one directory.
//!
//! The parts of one command share their seed, which says when it began. `--resume` knows them by it
//! and by their names, which the plan of a run of trials has, and a mark of a run of the microscope.

use std::cell::OnceCell;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::microscope::Failed;
use ::microscope::cache::Cache;
use ::microscope::emulator::Emulator;
use ::report::papers::Part as Line;
use analysis::duration::PlanDuration;
use analysis::verdict::Gate;
use attribution::exact::PartOf;
use lab::Listener;
use lab::connection::Credentials;
use lab::study::{Past, StudyError};
use literature::Study;
use model::Run;
use model::plan::ApprovedPlan;
use model::run::Status;
use store::{RunReader, StoreError};

use super::parts::{Need, PARTS, PREFIX, Part, Work};
use crate::args::{MicroscopeArgs, PapersArgs};
use crate::consent::Consent;
use crate::events::Events;
use crate::exit::Failure;
use crate::recorder::Recorder;
use crate::resume::{self, ResumedRun};
use crate::{exact, measure, microscope, output, report, signals};

/// Parts of one command.
pub struct Batch {
    directory: PathBuf,
    seed: u64,
    quick: bool,
    tasks: Vec<Task>,
    /// Reason for which this machine makes no receipts: it is looked for once.
    no_receipts: OnceCell<Option<String>>,
}

/// A part, and what is known of it before it is measured.
struct Task {
    part: &'static Part,
    work: Work,
    seconds: f64,
    /// The run that `--resume` found.
    stored: Option<PathBuf>,
    /// That run is whole.
    complete: bool,
    /// Reason for which this machine cannot measure it.
    lacks: Option<String>,
}

/// What became of a part.
pub struct Outcome {
    /// Its line in the document.
    pub line: Line,
    /// Its run, if there is one.
    pub run: Option<PathBuf>,
    /// It could be measured here, and was not.
    pub failed: bool,
}

/// Whether a run has all that its plan asks for.
const fn is_whole(status: &Status) -> bool {
    matches!(status, Status::IntervalMet | Status::Settled | Status::BlocksDone)
}

impl Batch {
    /// The parts for these papers: of a new batch, or of the last one in the directory.
    ///
    /// # Errors
    /// Nothing to go on with; a directory that cannot be read.
    pub fn of(args: &PapersArgs, papers: &[Study]) -> Result<Self, Failure> {
        let directory = args.resume.clone().flatten().unwrap_or_else(|| args.runs.directory.clone());
        let now = sys::clock::unix_ms();
        let mut batch = Self { directory, seed: now, quick: args.quick, tasks: Vec::new(), no_receipts: OnceCell::new() };
        let stored = if args.resume.is_some() { batch.find_last()? } else { Vec::new() };
        for part in PARTS.iter().filter(|part| papers.iter().any(|paper| part.years.contains(&paper.year()))) {
            let task = batch.task(part, &stored)?;
            batch.tasks.push(task);
        }
        Ok(batch)
    }

    /// The runs of the last batch, which becomes this one.
    fn find_last(&mut self) -> Result<Vec<(PathBuf, Run)>, Failure> {
        let listed = match store::list(&self.directory) {
            Err(StoreError::NoRuns { .. }) => Vec::new(),
            listed => listed?,
        };
        // A run that cannot be read is measured again.
        let readable = |path: &Path| RunReader::open(path).is_ok();
        let known = listed.into_iter().filter_map(|listed| Some((listed.path, listed.run.ok()?))).filter(|(path, _)| readable(path));
        let mut parts: Vec<(PathBuf, Run)> = known.filter(|(_, run)| run.plan.name.starts_with(PREFIX)).collect();
        // What `study --again` makes of a part is none.
        parts.retain(|(_, run)| run.pooled.is_none() && Part::named(run.plan.name.trim_start_matches(PREFIX)).is_ok());
        let Some((_, last)) = parts.last() else {
            let place = self.directory.display();
            return Err(Failure::misuse(format!(
                "{place} holds no part of `nettoll papers` to go on with: without --resume they are measured, and stored where --runs says"
            )));
        };
        self.seed = last.plan.seed;
        parts.retain(|(_, run)| run.plan.seed == self.seed);
        // It goes on as it began, by the parts that are measured otherwise in less time.
        for (_, run) in &parts {
            let part = Part::named(run.plan.name.trim_start_matches(PREFIX))?;
            let [quick, whole] = [part.work(true, self.seed)?, part.work(false, self.seed)?];
            let is = |work: &Work| work.plan().is_some_and(|plan| **plan == run.plan);
            self.quick |= is(&quick) && !is(&whole);
        }
        Ok(parts)
    }

    fn task(&self, part: &'static Part, stored: &[(PathBuf, Run)]) -> Result<Task, Failure> {
        let work = part.work(self.quick, self.seed)?;
        let (seconds, found) = match &work {
            Work::Trials(plan) => {
                let run = stored.iter().rev().find(|(_, run)| run.plan == ***plan);
                (PlanDuration::of(plan).time.as_secs_f64(), run.map(|(path, run)| (path.clone(), is_whole(&run.status))))
            }
            Work::Counts(args) => {
                let run = if stored.is_empty() { None } else { self.counted(part)? };
                (microscope::planned::seconds(args)? as f64, run.map(|path| (path, true)))
            }
        };
        let (stored, complete) = found.map_or((None, false), |(path, whole)| (Some(path), whole));
        let lacks = if complete { None } else { self.lacks(part) };
        Ok(Task { part, work, seconds, stored, complete, lacks })
    }

    /// The last run of the microscope that was counted as this part of the batch.
    fn counted(&self, part: &Part) -> Result<Option<PathBuf>, Failure> {
        let wanted = self.part_of(part);
        // One that cannot be read is none of these, and one without the mark is the user's own.
        let mark = |path: &PathBuf| exact::of_run(path).ok().flatten().and_then(|stored| stored.run?.part);
        let mut paths = store::paths(&self.directory)?.into_iter().rev().filter(|path| store::is_exact(path));
        Ok(paths.find(|path| mark(path).as_ref() == Some(&wanted)))
    }

    /// The mark of a part's run that has no plan.
    fn part_of(&self, part: &Part) -> PartOf {
        PartOf { name: format!("{PREFIX}{}", part.name), seed: self.seed }
    }

    /// Reason for which this machine cannot measure a part.
    fn lacks(&self, part: &Part) -> Option<String> {
        match part.needs {
            Need::Nothing => None,
            Need::Receipts => {
                let look =
                    || lab::doctor::no_receipts().map(|refusal| format!("{}: {}; see `nettoll doctor`", refusal.what, refusal.answer));
                self.no_receipts.get_or_init(look).clone()
            }
            Need::Emulator => match Cache::look().and_then(|cache| Emulator::look(cache.as_ref())) {
                Ok(_) => None,
                Err(Failed::NoEmulator(_)) => Some("there is no QEMU in PATH or in the cache: `nettoll microscope` fetches one".to_owned()),
                Err(other) => Some(other.to_string()),
            },
            Need::Run(name) => {
                let sizes = self.tasks.iter().find(|task| task.part.name == name);
                sizes.is_none_or(|task| task.lacks.is_some()).then(|| format!("it is predicted from {name}, which is not measured"))
            }
        }
    }

    /// The directory of its runs.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What it would measure.
    pub fn plan(&self) -> Vec<Line> {
        self.tasks.iter().map(|task| self.line(task, None, task.lacks.clone())).collect()
    }

    fn line(&self, task: &Task, run: Option<&Path>, lacks: Option<String>) -> Line {
        Line {
            name: task.part.name.to_owned(),
            year: task.part.years.first().copied().unwrap_or_default(),
            command: format!("nettoll {}", task.part.command(self.quick)),
            seconds: if task.complete { 0.0 } else { task.seconds },
            run: run.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()),
            lacks,
        }
    }

    /// Measures what is not there yet. A part that fails is said, and the next begins; a signal ends it after the trial at hand,
    /// and guests at once.
    ///
    /// # Errors
    /// No signal can be listened for.
    pub fn measure(&self) -> Result<(Vec<Outcome>, bool), Failure> {
        let stop = signals::listen()?;
        let left = |from: usize| {
            self.tasks[from..].iter().filter(|task| task.lacks.is_none() && !task.complete).map(|task| task.seconds).sum::<f64>()
        };
        let mut outcomes: Vec<Outcome> = Vec::new();
        for (place, task) in self.tasks.iter().enumerate() {
            if task.lacks.is_none() && !task.complete && !stop.load(Ordering::Relaxed) && io::stderr().is_terminal() {
                let (of, min) = (self.tasks.len(), left(place) / 60.0);
                output::note(&format!(
                    "part {} of {of}: {}, about {:.0} s of {min:.0} min that are left",
                    place + 1,
                    task.part.name,
                    task.seconds
                ));
            }
            let (run, lacks) = self.measured(task, &outcomes, &stop);
            let failed = task.lacks.is_none() && lacks.is_some();
            outcomes.push(Outcome { line: self.line(task, run.as_deref(), lacks), run, failed });
        }
        Ok((outcomes, stop.load(Ordering::Relaxed)))
    }

    /// Measures a part; its run, and what is to be said of it.
    fn measured(&self, task: &Task, before: &[Outcome], stop: &Arc<AtomicBool>) -> (Option<PathBuf>, Option<String>) {
        if task.complete || task.lacks.is_some() {
            return (task.stored.clone(), task.lacks.clone());
        }
        if stop.load(Ordering::Relaxed) {
            return (task.stored.clone(), Some("interrupted before it".to_owned()));
        }
        let needed = if let Need::Run(name) = task.part.needs { before.iter().find(|one| one.line.name == name) } else { None };
        if let Some(needed) = needed.filter(|one| one.run.is_none()) {
            return (None, Some(format!("it is predicted from {}, which was not measured", needed.line.name)));
        }
        let done = match (&task.work, &task.stored) {
            (Work::Counts(args), _) => self.count(task.part, args, stop),
            (Work::Trials(plan), stored) => trials(plan, &self.directory, stored.as_deref(), stop),
        };
        done.unwrap_or_else(|failure| (task.stored.clone(), Some(failure.to_string())))
    }

    fn count(&self, part: &Part, args: &MicroscopeArgs, stop: &Arc<AtomicBool>) -> Result<(Option<PathBuf>, Option<String>), Failure> {
        let cache = Cache::open(args.cache.as_deref())?;
        Ok((Some(microscope::counted(&cache, args, &self.directory, Some(self.part_of(part)), Arc::clone(stop))?.1), None))
    }
}

/// Measures a plan, or goes on with its run; writes the run's page.
fn trials(
    plan: &ApprovedPlan,
    directory: &Path,
    stored: Option<&Path>,
    stop: &Arc<AtomicBool>,
) -> Result<(Option<PathBuf>, Option<String>), Failure> {
    let credentials = Credentials::default();
    let (path, outcome) = match stored {
        Some(path) => {
            let go_on =
                |plan: &ApprovedPlan, past: Past, listener: &mut dyn Listener| lab::study::resume(plan, &credentials, past, listener);
            let ResumedRun { path, outcome, .. } =
                resume::run(path, false, Consent::default(), Arc::clone(stop), &Events::default(), &go_on)?;
            (Some(path), outcome)
        }
        None => {
            let now = sys::clock::unix_ms();
            let recorder = Recorder::new(directory, plan, now, Arc::clone(stop));
            measure::carry_out(plan, &Gate::default(), &credentials, recorder)
        }
    };
    let Some(path) = path else { return Ok((None, Some(said(outcome).unwrap_or_else(|| "interrupted before it began".to_owned())))) };
    let page = report::write(&path, None, &Gate::default());
    Ok((Some(path), said(outcome).or_else(|| page.err().map(|failure| failure.to_string()))))
}

/// What is to be said of how a run ended.
fn said(outcome: Result<Status, StudyError>) -> Option<String> {
    match outcome {
        Ok(status) if is_whole(&status) => None,
        Ok(status) => Some(status.describe()),
        Err(error) => Some(Failure::from(error).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::Run;
    use model::run::{RUN_FORMAT, Status};
    use store::RunDirectory;

    use attribution::exact::{PartOf, StoredRun};

    use super::{Batch, Need};
    use crate::args::{self, Command};
    use crate::exact;
    use crate::papers::parts::Part;

    /// A batch as a command line asks for it.
    fn batch(words: &[&str], papers: &[literature::Study]) -> Result<Batch, crate::exit::Failure> {
        let Some(Command::Papers(args)) = args::command(std::iter::once("papers").chain(words.iter().copied())).unwrap() else { panic!() };
        Batch::of(&args, papers)
    }

    /// Stores a run of a part, as if it had been measured and had ended so.
    fn store(root: &Path, name: &str, quick: bool, seed: u64, status: Status) -> String {
        let plan = Part::named(name).unwrap().work(quick, seed).unwrap().plan().unwrap().clone().into_plan();
        let directory = RunDirectory::create(root, &plan.name, seed).unwrap();
        let (id, started_ms) = (directory.id().to_owned(), seed);
        let run = Run {
            format: RUN_FORMAT,
            id: id.clone(),
            plan,
            started_ms,
            tool: "x".to_owned(),
            status,
            warnings: Vec::new(),
            proof: None,
            pooled: None,
        };
        directory.write_run(&run).unwrap();
        id
    }

    #[test]
    fn what_is_measured_is_gone_on_with_and_nothing_else_is() {
        const OLD: u64 = 1_700_000_000_000;
        const NEW: u64 = 1_700_000_900_000;
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_str().unwrap();
        let papers = [literature::Study::Jacobson1988, literature::Study::Bidulock2007];
        let nothing = batch(&["--resume", place], &papers).err().unwrap();
        assert!(nothing.to_string().contains(place), "{nothing}");
        store(folder.path(), "buffers", true, OLD, Status::BlocksDone);
        let whole = store(folder.path(), "jacobson1988", true, NEW, Status::BlocksDone);
        let half = store(folder.path(), "send-buffers", true, NEW + 1, Status::Running);
        // The last batch has a seed, and one run of it has another here: it is a batch of its own.
        let alone = batch(&["--resume", place], &papers).unwrap();
        assert_eq!((alone.seed, alone.quick), (NEW + 1, true));
        std::fs::remove_dir_all(folder.path().join(half)).unwrap();
        let half = store(folder.path(), "send-buffers", true, NEW, Status::Interrupted);
        let found = batch(&["--resume", place], &papers).unwrap();
        let task = |name: &str| found.tasks.iter().find(|task| task.part.name == name).unwrap();
        let run = |name: &str| task(name).stored.as_ref().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        assert_eq!((run("jacobson1988"), task("jacobson1988").complete), (Some(whole), true));
        assert_eq!((run("send-buffers"), task("send-buffers").complete), (Some(half), false));
        assert_eq!(run("buffers"), None, "that of the batch before stays where it is");
        assert!(found.tasks.iter().all(|task| task.part.years.iter().any(|year| [1988, 2007].contains(year))));
        let seconds = |name: &str| found.plan().into_iter().find(|line| line.name == name).unwrap().seconds;
        assert!(seconds("jacobson1988") == 0.0 && seconds("send-buffers") > 0.0);
        // A run of the microscope is the part that bears its mark, and no other: a user's may be newer.
        let counted = |part: Option<PartOf>| {
            let (path, id) = store::create_exact(folder.path(), NEW + 5).unwrap();
            let run = StoredRun { id, started_ms: NEW + 5, tool: "x".to_owned(), part };
            exact::write(&path, Some(run), &[]).unwrap();
            path
        };
        let mark = |seed: u64| Some(PartOf { name: "papers-microscope".to_owned(), seed });
        let taken = || batch(&["--resume", place], &[literature::Study::Kim1997]).unwrap().tasks.pop().unwrap().stored;
        counted(None);
        counted(mark(OLD));
        assert_eq!(taken(), None);
        let own = counted(mark(NEW));
        counted(None);
        assert_eq!(taken(), Some(own));
        // A new command measures everything.
        let new = batch(&["--runs", place, "--quick"], &papers).unwrap();
        assert!(new.seed > NEW && new.tasks.iter().all(|task| task.stored.is_none()));
    }

    #[test]
    fn a_part_that_needs_another_says_so_where_that_cannot_be() {
        let folder = tempfile::tempdir().unwrap();
        let mut found = batch(&["--runs", folder.path().to_str().unwrap()], &[literature::Study::Kay1993]).unwrap();
        let receipt = found.tasks.iter().position(|task| task.part.name == "receipt").unwrap();
        found.tasks[receipt].lacks = Some("no samples".to_owned());
        let of = Part::named("W1").unwrap();
        assert_eq!((of.needs, found.lacks(of).is_some_and(|lacks| lacks.contains("receipt"))), (Need::Run("receipt"), true));
        found.tasks[receipt].lacks = None;
        assert_eq!(found.lacks(of), None);
    }
}
