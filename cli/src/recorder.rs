//! Writes a run down as it happens, and hears whether the user wants it to end.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::{Event, Listener};
use model::run::{RUN_FORMAT, Status};
use model::{Plan, Run};
use store::{Moment, RunDirectory};

use crate::progress::Progress;
use crate::version;

/// The listener of a study.
pub struct Recorder {
    directory: RunDirectory,
    run: Run,
    progress: Progress,
    interrupted: Arc<AtomicBool>,
}

impl Recorder {
    /// Makes the run's directory.
    ///
    /// # Errors
    /// An answer of the system.
    pub fn create(root: &Path, plan: &Plan, started_ms: u64, interrupted: Arc<AtomicBool>) -> anyhow::Result<Self> {
        let directory = RunDirectory::create(root, &plan.name, started_ms)?;
        let run = Run {
            format: RUN_FORMAT,
            id: directory.id().to_owned(),
            plan: plan.clone(),
            started_ms,
            tool: version::SHORT.to_owned(),
            status: Status::Running,
            warnings: Vec::new(),
        };
        directory.write_run(&run)?;
        Ok(Self { directory, run, progress: Progress::new(plan), interrupted })
    }

    /// Goes on with a run whose directory was opened again. Nothing is written
    /// before it does.
    pub fn again(directory: RunDirectory, run: Run, interrupted: Arc<AtomicBool>) -> Self {
        let progress = Progress::new(&run.plan);
        Self { directory, run, progress, interrupted }
    }

    /// Path of the run.
    pub fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

impl Listener for Recorder {
    fn hear(&mut self, event: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        match event {
            Event::Opened { hosts, warnings, .. } => {
                for facts in *hosts {
                    self.directory.write_host(facts, Moment::Before)?;
                }
                self.run.status = Status::Running;
                self.run.warnings = warnings.to_vec();
                self.directory.write_run(&self.run)?;
            }
            Event::Resumed { warnings, .. } => {
                self.run.status = Status::Running;
                self.run.warnings = warnings.to_vec();
                self.directory.write_run(&self.run)?;
            }
            Event::BlockStarted { .. } | Event::Waiting { .. } | Event::Progress { .. } | Event::Lost { .. } => {}
            Event::Trial(record) => self.directory.append_trial(record)?,
            Event::BlockDone { .. } => self.directory.sync()?,
            Event::Closed { hosts, warnings, status } => {
                for facts in *hosts {
                    self.directory.write_host(facts, Moment::After)?;
                }
                self.run.warnings = warnings.to_vec();
                self.run.status = (*status).clone();
                self.directory.sync()?;
                self.directory.write_run(&self.run)?;
            }
        }
        self.progress.hear(event);
        Ok(if self.interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
