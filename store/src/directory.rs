//! A run directory under the hands of the controller.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use model::host::HostFacts;
use model::json::{self, Layout};
use model::run::{Run, SUMMARY_FORMAT, Summary};
use model::trial::TrialRecord;
use serde::Serialize;

use crate::error::StoreError;
use crate::file::{self, Lock};
use crate::layout::{self, Moment};
use crate::line::LONGEST_LINE;

/// Attempts to draw a name before giving up. Two runs of one study must
/// begin in the same second to need a second draw.
const DRAWS: u32 = 64;

/// The longest summary that is read.
const LONGEST_SUMMARY: u64 = 64 << 10;

/// A run directory that is being written. One process owns it.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    id: String,
    trials: File,
    /// Keeps other writers out for as long as this lives.
    _lock: Option<Lock>,
    /// Length of `trials` up to the end of its last whole line.
    whole: u64,
    /// `true` if something behind `whole` is still to be cut off.
    torn: bool,
    /// The line in hand, kept so that its memory is used again.
    line: Vec<u8>,
}

/// Writes the report of the run in `directory`, in one step, and says where.
///
/// # Errors
/// When the system refuses; an earlier report stays.
pub fn write_report(directory: &Path, html: &str) -> Result<PathBuf, StoreError> {
    let path = directory.join(layout::REPORT);
    file::replace(&path, html.as_bytes())?;
    Ok(path)
}

/// Writes or replaces a file in `stacks/` of the run in `directory`: call chains
/// in the flame graph tools' folded format. Gives its path.
///
/// # Errors
/// When `name` is not that of a file of stacks or the system refuses; an earlier
/// file stays.
pub fn write_stacks(directory: &Path, name: &str, folded: &str) -> Result<PathBuf, StoreError> {
    if !layout::is_stacks(name) {
        return Err(StoreError::BadName { what: "a file of stacks", name: name.to_owned() });
    }
    let stacks = directory.join(layout::STACKS);
    match fs::create_dir(&stacks) {
        Err(answer) if answer.kind() != ErrorKind::AlreadyExists => return Err(StoreError::refused("make the directory", &stacks)(answer)),
        // A link that somebody laid there would lead the files elsewhere.
        Err(_) if !fs::symlink_metadata(&stacks).is_ok_and(|found| found.is_dir()) => {
            return Err(StoreError::refused("make the directory", &stacks)(ErrorKind::NotADirectory.into()));
        }
        _ => {}
    }
    let path = stacks.join(name);
    file::replace(&path, folded.as_bytes())?;
    Ok(path)
}

/// Replaces a file of counters, which another program reads, in one step.
///
/// # Errors
/// When the system refuses; an earlier file stays.
pub fn write_counters(path: &Path, text: &str) -> Result<(), StoreError> {
    file::replace_unsynced(path, text.as_bytes())
}

impl RunDirectory {
    /// Makes a directory of its own for a run of `study` below `root`, which is
    /// made too when it is not there. `started_ms` counts from 1970 (UTC).
    ///
    /// # Errors
    /// When `study` cannot be part of a file name or the system refuses; nothing
    /// is left then but `root`.
    pub fn create(root: &Path, study: &str, started_ms: u64) -> Result<Self, StoreError> {
        if !layout::is_plain(study) {
            return Err(StoreError::BadName { what: "a study", name: study.to_owned() });
        }
        fs::create_dir_all(root).map_err(StoreError::refused("make the directory", root))?;
        let (path, id) = make_unique(root, study, started_ms)?;
        match furnish(root, &path) {
            Ok((trials, lock)) => Ok(Self::over(path, id, trials, lock, 0)),
            Err(error) => {
                // An empty run would only stand in the way of `latest`.
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// A directory whose trials are whole up to `whole`, their file's length.
    pub(crate) const fn over(path: PathBuf, id: String, trials: File, lock: Option<Lock>, whole: u64) -> Self {
        Self { path, id, trials, _lock: lock, whole, torn: false, line: Vec::new() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the run: the last part of its path.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes `run.json`, in one step.
    ///
    /// # Errors
    /// When the system refuses; the earlier `run.json` stays.
    pub fn write_run(&self, run: &Run) -> Result<(), StoreError> {
        file::replace(&self.path.join(layout::RUN), &pretty("run.json", run)?)
    }

    /// Writes the facts of one host, in one step.
    ///
    /// # Errors
    /// When the host's name cannot be part of a file name, or the system refuses.
    pub fn write_host(&self, facts: &HostFacts, moment: Moment) -> Result<(), StoreError> {
        if !layout::is_plain(&facts.name) {
            return Err(StoreError::BadName { what: "a host", name: facts.name.clone() });
        }
        file::replace(&layout::host_file(&self.path, &facts.name, moment), &pretty("the facts of a host", facts)?)
    }

    /// Stores one trial: one `write` of one whole line. When it returns, the
    /// trial outlives this process; it outlives the machine after [`Self::sync`].
    ///
    /// # Errors
    /// When the disk is full or otherwise refuses; the trials before are intact. What
    /// came of the line is cut off again, so that a later trial starts on a line of its own.
    pub fn append_trial(&mut self, trial: &TrialRecord) -> Result<(), StoreError> {
        self.mend()?;
        self.line.clear();
        json::append(&mut self.line, trial, Layout::COMPACT).map_err(unwritable("a trial"))?;
        self.line.push(b'\n');
        if self.line.len() > LONGEST_LINE {
            return Err(StoreError::TooLong { length: self.line.len() });
        }
        match write_line(&mut self.trials, &self.line) {
            Ok(()) => {
                self.whole += self.line.len() as u64;
                Ok(())
            }
            Err(answer) => {
                self.torn = true;
                // If this fails as well, the next call tries again and says so.
                let _ = self.mend();
                Err(StoreError::refused("write a trial to", &self.trials_path())(answer))
            }
        }
    }

    /// Makes the trials so far outlive a power cut. Called at the end of a
    /// block, never within a trial.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.mend()?;
        self.trials.sync_data().map_err(StoreError::refused("flush", &self.trials_path()))
    }

    pub(crate) fn trials_path(&self) -> PathBuf {
        self.path.join(layout::TRIALS)
    }

    /// Cuts off the trials behind a number of bytes, the end of a line.
    pub(crate) fn cut_to(&mut self, length: u64) -> io::Result<()> {
        if length < self.whole {
            self.trials.set_len(length)?;
            self.trials.sync_data()?;
            self.whole = length;
        }
        Ok(())
    }

    /// Cuts off what a failed write left behind the last whole line.
    fn mend(&mut self) -> Result<(), StoreError> {
        if self.torn {
            self.trials.set_len(self.whole).map_err(StoreError::refused("cut half a line off", &self.trials_path()))?;
            self.torn = false;
        }
        Ok(())
    }
}

pub(crate) fn make_unique(root: &Path, study: &str, started_ms: u64) -> Result<(PathBuf, String), StoreError> {
    let mut last = root.to_owned();
    for draw in 0..DRAWS {
        let id = layout::run_name(study, started_ms, four_digits(draw));
        let path = root.join(&id);
        match fs::create_dir(&path) {
            Ok(()) => return Ok((path, id)),
            Err(answer) if answer.kind() == ErrorKind::AlreadyExists => last = path,
            Err(answer) => return Err(StoreError::refused("make the directory", &path)(answer)),
        }
    }
    Err(StoreError::refused("make the directory", &last)(ErrorKind::AlreadyExists.into()))
}

/// Sixteen bits that differ from run to run: the standard library seeds its
/// hashers from the system's random numbers. No result depends on them.
fn four_digits(draw: u32) -> u16 {
    RandomState::new().hash_one((std::process::id(), draw)) as u16
}

/// Makes what every run directory has, lasting through a power cut.
fn furnish(root: &Path, path: &Path) -> Result<(File, Option<Lock>), StoreError> {
    let hosts = path.join(layout::HOSTS);
    fs::create_dir(&hosts).map_err(StoreError::refused("make the directory", &hosts))?;
    let trials = path.join(layout::TRIALS);
    let opened = OpenOptions::new().append(true).create_new(true).open(&trials);
    let file = opened.map_err(StoreError::refused("make the file", &trials))?;
    let lock = file::lock(&file, path)?;
    for directory in [path, root] {
        file::sync_directory(directory).map_err(StoreError::refused("flush the directory", directory))?;
    }
    Ok((file, lock))
}

/// One `write`. A short one means that the disk ran out in mid-line (or that a
/// signal came): only a second `write` tells which.
pub(crate) fn write_line(file: &mut File, line: &[u8]) -> io::Result<()> {
    loop {
        match file.write(line) {
            Ok(written) => return file.write_all(&line[written..]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub fn pretty(what: &'static str, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut text = json::write(value, Layout::INDENTED).map_err(unwritable(what))?;
    text.push(b'\n');
    Ok(text)
}

pub(crate) fn unwritable(what: &'static str) -> impl FnOnce(serde_json::Error) -> StoreError {
    move |error| StoreError::Unwritable { what, reason: error.to_string() }
}

/// Writes the summary of the run in `directory`, as of its trials now, in one step.
///
/// # Errors
/// When the system refuses; an earlier summary stays.
pub fn write_summary(directory: &Path, summary: Summary) -> Result<PathBuf, StoreError> {
    let summary = Summary { format: SUMMARY_FORMAT, of_bytes: trials_length(directory).unwrap_or(0), ..summary };
    let path = directory.join(layout::SUMMARY);
    file::replace(&path, &pretty("a summary", &summary)?)?;
    Ok(path)
}

/// Reads the summary of the run in `directory`. `None` where there is none, or where it is of
/// another version, damaged, or of fewer or more trials than there are: it is made again with
/// the report.
pub fn read_summary(directory: &Path) -> Option<Summary> {
    let text = sys::file::read_text(&directory.join(layout::SUMMARY), LONGEST_SUMMARY).ok()?;
    let summary: Summary = serde_json::from_slice(text.as_bytes()).ok()?;
    (summary.format == SUMMARY_FORMAT && Some(summary.of_bytes) == trials_length(directory)).then_some(summary)
}

fn trials_length(directory: &Path) -> Option<u64> {
    fs::metadata(directory.join(layout::TRIALS)).ok().map(|found| found.len())
}
