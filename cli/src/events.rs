//! `--events`: lines of a study that runs, for a program that follows it.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write, stderr, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ::report::events::{BriefAnswer, RunEvent};
use lab::Event;
use model::Run;
use model::run::Status;
use model::trial::Outcome;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::dup2_stdout;

use crate::args::FormatArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Waits;

/// Time that a reader may leave a line unread, in milliseconds; beyond it the study goes on without.
const PATIENCE_MS: u16 = 10_000;

/// Bytes for which a pipe that takes any has room (POSIX's `PIPE_BUF` on Linux).
const PIECE: usize = 4096;

/// Where events go; nowhere by default. Clones write the same lines.
#[derive(Debug, Clone, Default)]
pub struct Events(Option<Rc<RefCell<Stream>>>);

/// The lines of one command.
struct Stream {
    /// `None` once its reader went away.
    out: Option<File>,
    waits: Waits,
    /// The run and its directory, once it has begun.
    begun: Option<(Run, PathBuf)>,
    /// Trials that were measured, and that failed.
    trials: [u64; 2],
    status: Option<Status>,
    /// The last line was written.
    is_over: bool,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Stream").field("out", &self.out).field("trials", &self.trials).finish_non_exhaustive()
    }
}

impl Events {
    /// Opens the file that the user named. `-` is standard output: what else is printed goes to standard error from then on.
    ///
    /// # Errors
    /// A file that cannot be written, two outputs for one stream.
    pub fn open(place: Option<&Path>, format: &FormatArgs) -> Result<Self, Failure> {
        let Some(place) = place else { return Ok(Self::default()) };
        let out = match place.to_str() == Some("-") {
            true if format.json || format.csv => {
                return Err(Failure::misuse("--events -: standard output has the result already; name a file, or leave out -J or --csv"));
            }
            true => standard_output().map_err(|answer| anyhow::anyhow!("keep standard output for events: {answer}; name a file"))?,
            false => File::create(place)
                .map_err(|answer| anyhow::anyhow!("write events to {}: {answer}; does its directory exist?", place.display()))?,
        };
        let stream = Stream { out: Some(out), waits: Waits::default(), begun: None, trials: [0; 2], status: None, is_over: false };
        Ok(Self(Some(Rc::new(RefCell::new(stream)))))
    }

    /// Follows an event of a run in a directory; `None` before it has one.
    pub fn hear(&self, event: &Event, run: Option<(&Run, &Path)>) {
        if let Some(stream) = &self.0 {
            stream.borrow_mut().hear(event, run);
        }
    }

    /// Writes the last line of a run: how the command ended, or would without the runs that follow.
    pub fn end(&self, outcome: &Result<Exit, Failure>) {
        if let Some(stream) = &self.0 {
            stream.borrow_mut().end(outcome);
        }
    }
}

/// A copy of standard output, which itself becomes standard error.
fn standard_output() -> io::Result<File> {
    let own: OwnedFd = stdout().as_fd().try_clone_to_owned()?;
    dup2_stdout(stderr())?;
    Ok(File::from(own))
}

impl Stream {
    fn hear(&mut self, event: &Event, run: Option<(&Run, &Path)>) {
        if let Some((run, directory)) = run {
            self.follow(event, run, directory);
        }
        if let Some(reason) = self.waits.reason(event) {
            self.write(&RunEvent::Delay { reason });
        }
    }

    fn follow(&mut self, event: &Event, run: &Run, directory: &Path) {
        let plan = &run.plan;
        match event {
            Event::Opened { .. } | Event::Resumed { .. } => {
                self.is_over = false;
                let done = if let Event::Resumed { trials, .. } = event { *trials } else { 0 };
                self.write(&RunEvent::begin(run, directory.display().to_string(), done));
                self.begun = Some((run.clone(), directory.to_owned()));
            }
            Event::Trial(record) => {
                match record.outcome {
                    Outcome::Measured(_) => self.trials[0] += 1,
                    Outcome::Failed { .. } => self.trials[1] += 1,
                    Outcome::Skipped { .. } => {}
                }
                self.write(&RunEvent::trial(plan, record));
            }
            Event::Slices { group, instance, slices } => self.write(&RunEvent::slices(plan, *group, *instance, slices)),
            Event::BlockDone { blocks } => self.write(&RunEvent::Block { blocks: *blocks }),
            Event::Look(look) => self.write(&RunEvent::look(plan, look)),
            Event::Closed { status, .. } => self.status = Some((*status).clone()),
            Event::Waiting { .. } | Event::Lost { .. } | Event::BlockStarted { .. } | Event::Connected { .. } => {}
            Event::Progress { .. } | Event::Reaching { .. } | Event::Tick => {}
        }
    }

    fn end(&mut self, outcome: &Result<Exit, Failure>) {
        if std::mem::replace(&mut self.is_over, true) && outcome.is_ok() {
            return;
        }
        let begun = self.begun.take();
        // What stood there before is of a run that was gone on with.
        let summary = begun.as_ref().filter(|_| outcome.is_ok()).and_then(|(_, directory)| store::read_summary(directory));
        let error = outcome.as_ref().err().map(ToString::to_string);
        let status = self.status.take();
        let [trials, failed] = std::mem::take(&mut self.trials);
        self.write(&RunEvent::End {
            run: begun.as_ref().map(|(run, _)| run.id.as_str()),
            status: status.as_ref(),
            exit: outcome.as_ref().map_or_else(Failure::exit, |exit| *exit) as u8,
            error: error.as_deref(),
            trials,
            failed,
            answer: summary.as_ref().map(BriefAnswer::of),
        });
    }

    /// Writes a line. A reader that went away, or a full disk, ends the lines and not the study.
    fn write(&mut self, event: &RunEvent) {
        let Some(out) = &mut self.out else { return };
        if let Err(answer) = write(out, event.line().as_bytes()) {
            self.out = None;
            let why = if answer.kind() == ErrorKind::BrokenPipe { "their reader went away".to_owned() } else { answer.to_string() };
            output::note(&format!("no more events: {why}; the study goes on"));
        }
    }
}

/// Writes bytes in pieces, each once there is room.
fn write(out: &mut File, bytes: &[u8]) -> io::Result<()> {
    for piece in bytes.chunks(PIECE) {
        if !has_room(out)? {
            return Err(io::Error::new(ErrorKind::TimedOut, format!("their reader took nothing for {} s", PATIENCE_MS / 1000)));
        }
        out.write_all(piece)?;
    }
    Ok(())
}

/// Waits for room; `false` where there is none in time.
fn has_room(out: &File) -> io::Result<bool> {
    loop {
        match poll(&mut [PollFd::new(out.as_fd(), PollFlags::POLLOUT)], PollTimeout::from(PATIENCE_MS)) {
            // The signal asks the study to end, and its last lines are still to come.
            Err(Errno::EINTR) => {}
            answer => return Ok(answer? > 0),
        }
    }
}
