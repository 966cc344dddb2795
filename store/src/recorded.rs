//! Recordings of `nettoll top`: a directory whose windows go round within limits of time and bytes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use model::Nanos;
use model::json::{self, Layout};
use model::recording::{RECORDING_FORMAT, RecordedUnit, RecordedWindow, Recording};
use model::sorting::Order;
use serde::{Deserialize, Serialize};

use crate::directory::{make_unique, pretty, unwritable, write_line};
use crate::error::StoreError;
use crate::file;
use crate::layout;
use crate::line::{self, Cut, LONGEST_LINE};

/// Word in the name of every recording.
const NAME: &str = "top";
/// Bytes of the windows that are read at once.
const BUFFER: usize = 64 << 10;
/// Time that one file of windows holds.
const FILE_TIME_MS: u64 = 3_600_000;
/// A recording has at least so many files in its bytes, so that little goes at once.
const FILES: u64 = 16;
/// The most names of a file of windows, and the most bytes of them.
const MOST_NAMES: usize = 100_000;
const MOST_NAME_BYTES: usize = 64 << 20;

/// How much a recording keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Measured time of the windows after the oldest file, in milliseconds: a clock that is set makes no window old.
    pub time_ms: u64,
    /// Bytes of all windows.
    pub bytes: u64,
}

/// The directory of a recording that is being written.
#[derive(Debug)]
pub struct RecordingDirectory {
    path: PathBuf,
    id: String,
    limits: Limits,
    /// Files of windows that are whole, the oldest first: number, measured time in milliseconds and bytes.
    finished: VecDeque<(u64, u64, u64)>,
    current: Option<Current>,
    /// Number of the next file.
    next: u64,
}

/// The file that windows are appended to.
#[derive(Debug)]
struct Current {
    file: File,
    path: PathBuf,
    number: u64,
    /// Time of its first window.
    first: u64,
    /// Measured time of its windows.
    measured: Nanos,
    /// Its length up to the end of the last whole line.
    whole: u64,
    names: HashMap<String, u32>,
}

/// A window as a line: each name of a unit stands once a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "v")]
    format: u32,
    /// Its end in milliseconds since 1970, its length in ns, CPUs, distance of samples in ns, samples that were due
    /// and made, CPU time of watching in ns.
    #[serde(rename = "w")]
    window: [u64; 7],
    #[serde(rename = "l")]
    layers: BTreeMap<String, u64>,
    #[serde(rename = "k")]
    kinds: BTreeMap<String, u64>,
    #[serde(rename = "m")]
    has_messages: bool,
    /// Names that are new in this file.
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    /// Place of the name, samples in calls, in softirqs, shared out, messages, bytes.
    #[serde(rename = "u")]
    units: Vec<[u64; 6]>,
}

impl RecordingDirectory {
    /// Makes one below `root`, which is made too where it is not there, with its `top.json`; that gets the name of the run.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(root: &Path, head: &Recording, limits: Limits) -> Result<Self, StoreError> {
        fs::create_dir_all(root).map_err(StoreError::refused("make the directory", root))?;
        let (path, id) = make_unique(root, NAME, head.started_ms)?;
        let windows = path.join(layout::RECORDED);
        fs::create_dir(&windows).map_err(StoreError::refused("make the directory", &windows))?;
        file::replace(&path.join(layout::RECORDING), &pretty("top.json", &Recording { id: id.clone(), ..head.clone() })?)?;
        Ok(Self { path, id, limits, finished: VecDeque::new(), current: None, next: 1 })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Stores one window: one `write` of one whole line. Files beyond the limits go.
    ///
    /// # Errors
    /// When the disk refuses; the windows before are intact, and the next one starts on a line of its own.
    pub fn append(&mut self, window: &RecordedWindow) -> Result<(), StoreError> {
        let most = (self.limits.bytes / FILES).max(1);
        // A clock that is set back starts a file as well.
        let full = |current: &Current| {
            current.whole >= most || !(current.first..current.first.saturating_add(FILE_TIME_MS)).contains(&window.time_ms)
        };
        if self.current.as_ref().is_some_and(full)
            && let Some(Current { number, measured, whole, .. }) = self.current.take()
        {
            self.finished.push_back((number, measured.get() / 1_000_000, whole));
        }
        let current = match &mut self.current {
            Some(current) => current,
            None => {
                let path = self.path.join(layout::RECORDED).join(file_name(self.next));
                let file =
                    OpenOptions::new().append(true).create_new(true).open(&path).map_err(StoreError::refused("make the file", &path))?;
                let (first, measured) = (window.time_ms, Nanos::default());
                let made = Current { file, path, number: self.next, first, measured, whole: 0, names: HashMap::new() };
                self.next += 1;
                self.current.insert(made)
            }
        };
        current.append(window)?;
        self.forget()
    }

    /// Removes the oldest files while there is too much.
    fn forget(&mut self) -> Result<(), StoreError> {
        let (whole, measured) = self.current.as_ref().map_or((0, 0), |current| (current.whole, current.measured.get() / 1_000_000));
        while let Some((number, own, _)) = self.finished.front().copied() {
            let bytes = self.finished.iter().map(|(.., bytes)| bytes).sum::<u64>() + whole;
            let later = self.finished.iter().map(|(_, measured, _)| measured).sum::<u64>() - own + measured;
            if bytes <= self.limits.bytes && later <= self.limits.time_ms {
                break;
            }
            let path = self.path.join(layout::RECORDED).join(file_name(number));
            match fs::remove_file(&path) {
                // The user was first.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.map_err(StoreError::refused("remove the file", &path))?,
            }
            self.finished.pop_front();
        }
        Ok(())
    }
}

impl Current {
    fn append(&mut self, window: &RecordedWindow) -> Result<(), StoreError> {
        let known = self.names.len();
        let line = self.line(window);
        let mut bytes = json::write(&line, Layout::COMPACT).map_err(unwritable("a window"))?;
        bytes.push(b'\n');
        let written = match bytes.len() > LONGEST_LINE {
            true => Err(StoreError::TooLong { length: bytes.len() }),
            false => write_line(&mut self.file, &bytes).map_err(StoreError::refused("write a window to", &self.path)),
        };
        if written.is_err() {
            // Neither a part of the line nor names that stand nowhere.
            let _ = self.file.set_len(self.whole);
            self.names.retain(|_, place| (*place as usize) < known);
            return written;
        }
        self.whole += bytes.len() as u64;
        self.measured = Nanos::new(self.measured.get().saturating_add(window.elapsed.get()));
        Ok(())
    }

    fn line(&mut self, window: &RecordedWindow) -> Line {
        let mut names = Vec::new();
        let mut units = Vec::with_capacity(window.units.len());
        for unit in &window.units {
            let next = self.names.len() as u32;
            let place = *self.names.entry(unit.name.clone()).or_insert_with(|| {
                names.push(unit.name.clone());
                next
            });
            units.push([u64::from(place), unit.call, unit.softirq, unit.shared, unit.messages, unit.bytes]);
        }
        let [due, made] = window.samples;
        let RecordedWindow { time_ms, elapsed, cpus, period, own, .. } = window;
        Line {
            format: RECORDING_FORMAT,
            window: [*time_ms, elapsed.get(), u64::from(*cpus), period.get(), due, made, own.get()],
            layers: window.layers.clone(),
            kinds: window.kinds.clone(),
            has_messages: window.has_messages,
            names,
            units,
        }
    }
}

fn file_name(number: u64) -> String {
    format!("{number:06}.jsonl")
}

/// Bytes of the windows of a recording; 0 where they cannot be read.
pub fn recorded_bytes(path: &Path) -> u64 {
    let entries = fs::read_dir(path.join(layout::RECORDED)).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum()
}

/// Shows each window of a recording, in the order in which they were stored; returns the number of lines that hold none.
///
/// # Errors
/// When files cannot be read.
pub fn read_recorded(path: &Path, mut each: impl FnMut(RecordedWindow)) -> Result<u64, StoreError> {
    let directory = path.join(layout::RECORDED);
    let mut numbers: Vec<u64> = Vec::new();
    for entry in fs::read_dir(&directory).map_err(StoreError::refused("read the directory", &directory))? {
        let name = entry.map_err(StoreError::refused("read the directory", &directory))?.file_name();
        let name = name.to_string_lossy();
        numbers
            .extend(name.strip_suffix(".jsonl").and_then(|number| number.parse::<u64>().ok()).filter(|number| file_name(*number) == name));
    }
    numbers.order();
    let mut bad = 0;
    for number in numbers {
        let place = directory.join(file_name(number));
        let mut input = match file::open_lines(&place, BUFFER) {
            // The recording goes on, and this file was its oldest.
            Err(StoreError::Refused { answer, .. }) if answer.kind() == ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let (mut names, mut text) = (Names::default(), Vec::new());
        loop {
            match line::cut(&mut input, &mut text) {
                Ok(Cut::End) => break,
                Ok(Cut::Line { .. }) => match parse_recorded(&text, &mut names) {
                    Some(window) => each(window),
                    None => bad += 1,
                },
                Ok(Cut::TooLong) => bad += 1,
                Err(_) => {
                    bad += 1;
                    break;
                }
            }
        }
    }
    Ok(bad)
}

/// Names of units that the lines of a file have brought.
#[derive(Debug, Clone, Default)]
pub struct Names {
    all: Vec<String>,
    /// Bytes of all.
    bytes: usize,
}

impl Names {
    /// Adds those of a line; `false` where they are more than those of any file.
    fn add(&mut self, more: Vec<String>) -> bool {
        let bytes = self.bytes + more.iter().map(String::len).sum::<usize>();
        if self.all.len() + more.len() > MOST_NAMES || bytes > MOST_NAME_BYTES {
            return false;
        }
        self.bytes = bytes;
        self.all.extend(more);
        true
    }
}

/// The window that a line holds; `names` are those of the lines before. `None` where it is damaged or of another version.
pub fn parse_recorded(text: &[u8], names: &mut Names) -> Option<RecordedWindow> {
    let Line { format, window, layers, kinds, has_messages, names: more, units } = serde_json::from_slice(text).ok()?;
    // Later lines count on the places of these, whatever else is wrong with this one.
    if format != RECORDING_FORMAT || !names.add(more) {
        return None;
    }
    let [time_ms, elapsed, cpus, period, due, made, own] = window;
    let units = units.into_iter().map(|[place, call, softirq, shared, messages, bytes]| {
        let name = names.all.get(usize::try_from(place).ok()?)?.clone();
        (shared <= softirq).then_some(RecordedUnit { name, call, softirq, shared, messages, bytes })
    });
    Some(RecordedWindow {
        time_ms,
        elapsed: Nanos::new(elapsed),
        cpus: u32::try_from(cpus).ok()?,
        period: Nanos::new(period),
        samples: [due, made],
        own: Nanos::new(own),
        layers,
        kinds,
        has_messages,
        units: units.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests;
