//! Writes a run down as it happens, and hears whether the user wants it to end.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::stopping::Observer;
use lab::{Event, Listener};
use model::run::{Pooled, RUN_FORMAT, Status};
use model::{Plan, Run};
use store::{Moment, RunDirectory, SliceBlock, StoreError};

use crate::events::Events;
use crate::progress::Progress;
use crate::{proofs, version};

/// The listener of a study.
pub struct Recorder {
    place: Place,
    progress: Progress,
    interrupted: Arc<AtomicBool>,
    events: Events,
}

/// Place of a run.
enum Place {
    /// It is made when the hosts are there: a study that cannot begin leaves nothing behind.
    ToBeMade { root: PathBuf, plan: Plan, started_ms: u64, pooled: Option<Pooled> },
    /// It is there.
    Made { directory: RunDirectory, run: Run },
}

impl Place {
    /// The directory, made where it is not there yet.
    fn directory(&mut self) -> Result<(&mut RunDirectory, &mut Run), StoreError> {
        if let Self::ToBeMade { root, plan, started_ms, pooled } = self {
            let directory = RunDirectory::create(root, &plan.name, *started_ms)?;
            let run = Run {
                format: RUN_FORMAT,
                id: directory.id().to_owned(),
                plan: plan.clone(),
                started_ms: *started_ms,
                tool: version::SHORT.to_owned(),
                status: Status::Running,
                warnings: Vec::new(),
                proof: None,
                pooled: pooled.clone(),
            };
            *self = Self::Made { directory, run };
        }
        match self {
            Self::Made { directory, run } => Ok((directory, run)),
            Self::ToBeMade { root, .. } => Err(StoreError::NoRuns { root: root.clone() }),
        }
    }
}

impl Recorder {
    /// For a run that gets a directory below `root` when its hosts are there.
    pub fn new(root: &Path, plan: &Plan, started_ms: u64, interrupted: Arc<AtomicBool>) -> Self {
        let place = Place::ToBeMade { root: root.to_owned(), plan: plan.clone(), started_ms, pooled: None };
        Self { place, progress: Progress::new(plan, Observer::new(plan)), interrupted, events: Events::default() }
    }

    /// The same, whose trials are pooled with those of earlier runs.
    pub fn pooled_with(mut self, earlier: Option<Pooled>) -> Self {
        if let Place::ToBeMade { pooled, .. } = &mut self.place {
            *pooled = earlier;
        }
        self
    }

    /// The same, whose events are written as well.
    pub fn with_events(self, events: &Events) -> Self {
        Self { events: events.clone(), ..self }
    }

    /// Goes on with a run whose directory was opened again. Nothing is written
    /// before it does.
    pub fn again(directory: RunDirectory, run: Run, progress: Progress, interrupted: Arc<AtomicBool>) -> Self {
        Self { place: Place::Made { directory, run }, progress, interrupted, events: Events::default() }
    }

    /// Path of the run; `None` where none was begun.
    pub fn path(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Made { directory, .. } => Some(directory.path().to_owned()),
            Place::ToBeMade { .. } => None,
        }
    }
}

impl Listener for Recorder {
    fn hear(&mut self, event: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        match event {
            Event::Opened { hosts, warnings, .. } => {
                let (directory, run) = self.place.directory()?;
                // The first that is written: without it the directory is no run.
                (run.status, run.warnings) = (Status::Running, warnings.to_vec());
                run.proof = run.plan.receipt.and_then(|_| proofs::of(hosts).map(Box::new));
                directory.write_run(run)?;
                for facts in *hosts {
                    directory.write_host(facts, Moment::Before)?;
                }
            }
            Event::Resumed { warnings, .. } => {
                let (directory, run) = self.place.directory()?;
                (run.status, run.warnings) = (Status::Running, warnings.to_vec());
                // It is of the machine as it was then.
                run.proof = None;
                directory.write_run(run)?;
            }
            Event::BlockStarted { .. } | Event::Waiting { .. } | Event::Connected { .. } | Event::Progress { .. } | Event::Lost { .. } => {}
            Event::Reaching { .. } | Event::Look(_) | Event::Tick => {}
            Event::Trial(record) => self.place.directory()?.0.append_trial(record)?,
            Event::Slices { group, instance, slices } => {
                let block = SliceBlock { instance: *instance, slices: slices.to_vec() };
                store::append_slices(self.place.directory()?.0.path(), *group, &block)?;
            }
            Event::BlockDone { .. } => self.place.directory()?.0.sync()?,
            Event::Closed { hosts, warnings, status } => {
                if let Place::Made { directory, run } = &mut self.place {
                    for facts in *hosts {
                        directory.write_host(facts, Moment::After)?;
                    }
                    (run.status, run.warnings) = ((*status).clone(), warnings.to_vec());
                    directory.sync()?;
                    directory.write_run(run)?;
                }
            }
        }
        self.progress.hear(event);
        self.events.hear(
            event,
            match &self.place {
                Place::Made { directory, run } => Some((run, directory.path())),
                Place::ToBeMade { .. } => None,
            },
        );
        Ok(if self.interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
