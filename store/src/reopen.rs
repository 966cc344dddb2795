//! A run directory that is written on after its writer has ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::directory::RunDirectory;
use crate::error::StoreError;
use crate::file::{self, Lock};
use crate::layout;
use crate::line::{self, LONGEST_LINE};
use crate::reader::read_run;

/// Bytes of the file looked at in one step, backwards.
const STEP: u64 = 64 << 10;

/// Attempts to lock a run before it is said to be in use, and the time between them.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A run that was reopened, and what its last writer left of a line.
#[derive(Debug)]
pub struct Reopened {
    /// For writing on.
    pub directory: RunDirectory,
    /// Bytes of half a line that were cut off behind the last whole one.
    pub cut: u64,
}

impl RunDirectory {
    /// Opens the run in `path` for writing on behind its last whole trial. What
    /// a killed writer left of a line is cut off; a line that lacks only its end
    /// is given it.
    ///
    /// # Errors
    /// When `path` is no run directory, when another process writes it, or when
    /// the system refuses.
    pub fn reopen(path: &Path) -> Result<Reopened, StoreError> {
        // A name is needed, which `.` and `..` do not give.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let run = read_run(&path)?;
        let file = path.join(layout::TRIALS);
        let opened = sys::file::open_no_link(OpenOptions::new().read(true).append(true).create(true), &file);
        let mut trials = opened.map_err(StoreError::refused("open", &file))?;
        let lock = lock(&trials, &path)?;
        file::check_length(&trials, &file)?;
        let (whole, cut) = mend(&mut trials).map_err(StoreError::refused("cut half a line off", &file))?;
        sweep(&path);
        Ok(Reopened { directory: Self::over(path, run.id, trials, lock, whole), cut })
    }

    /// Keeps the first lines of the trials, whole or damaged, and cuts off the rest. Fewer lines than that stay as they are.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep_trials(&mut self, lines: u64) -> Result<(), StoreError> {
        let path = self.trials_path();
        let failed = StoreError::refused("cut trials off", &path);
        let mut input = file::open_lines(&path, STEP as usize)?;
        let mut kept = 0;
        for _ in 0..lines {
            match input.skip_until(b'\n') {
                Ok(0) => break,
                Ok(length) => kept += length as u64,
                Err(answer) => return Err(failed(answer)),
            }
        }
        self.cut_to(kept).map_err(failed)
    }
}

/// Locks the run. A writer that was killed may have been starting a process, which holds
/// what it inherited of the lock until it carries out its program: a moment is waited.
fn lock(trials: &File, path: &Path) -> Result<Option<Lock>, StoreError> {
    for _ in 0..LOCK_ATTEMPTS {
        match file::lock(trials, path) {
            Err(StoreError::InUse { .. }) => thread::sleep(LOCK_PAUSE),
            answer => return answer,
        }
    }
    file::lock(trials, path)
}

/// Makes the file end with a whole line; returns its length then, and how much
/// was cut off.
fn mend(trials: &mut File) -> io::Result<(u64, u64)> {
    let length = trials.metadata()?.len();
    let whole = end_of_last_line(trials, length)?;
    if whole == length {
        return Ok((length, 0));
    }
    if length - whole < LONGEST_LINE as u64 {
        let mut rest = Vec::new();
        trials.seek(SeekFrom::Start(whole))?;
        trials.take(LONGEST_LINE as u64).read_to_end(&mut rest)?;
        if line::parse(&rest, false).is_ok() {
            trials.write_all(b"\n")?;
            trials.sync_data()?;
            return Ok((length + 1, 0));
        }
    }
    trials.set_len(whole)?;
    trials.sync_data()?;
    Ok((whole, length - whole))
}

/// Returns where the last line that has an end ends; 0 where none has.
fn end_of_last_line(file: &mut File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        bytes.resize((end - start) as usize, 0);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Removes what a writer that was killed while it replaced a file left of the
/// new one. Nobody reads these.
fn sweep(run: &Path) {
    for directory in [run.to_owned(), run.join(layout::HOSTS)] {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if file::is_unfinished(&name.to_string_lossy()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
