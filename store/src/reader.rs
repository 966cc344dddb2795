//! Reads run directories, and lists those below a runs directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use model::attach::{ATTACH_FORMAT, Attachment};
use model::host::{FACTS_FORMAT, HostFacts};
use model::plan::check_stored;
use model::recording::{RECORDING_FORMAT, Recording};
use model::run::{RUN_FORMAT, Run};
use model::sorting::Order;
use model::trial::TrialRecord;
use model::warning::Warning;
use model::{Refusal, nearest};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::exact::{self, is_exact};
use crate::file::read_text;
use crate::layout::{self, Moment};
use crate::line::BadLine;
use crate::slices::{SliceBlock, read_slices};
use crate::trials::Trials;

/// A run that was read from its directory; the trials follow on demand.
#[derive(Debug)]
pub struct RunReader {
    path: PathBuf,
    run: Run,
    hosts: Vec<(Moment, HostFacts)>,
    warnings: Vec<Warning>,
}

impl RunReader {
    /// Reads `run.json` and the facts of the hosts.
    ///
    /// # Errors
    /// When `path` is no run directory (the error names the run that may have
    /// been meant), when another version wrote it, or when `run.json` is
    /// damaged. Damaged host facts are a warning: no figure depends on them.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let run = read_run(path)?;
        let (hosts, warnings) = read_hosts(path)?;
        Ok(Self { path: path.to_owned(), run, hosts, warnings })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plan, and the state of the run.
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// The facts of the hosts at one moment, in the order of their names.
    pub fn hosts(&self, moment: Moment) -> impl Iterator<Item = &HostFacts> {
        self.hosts.iter().filter(move |(when, _)| *when == moment).map(|(_, facts)| facts)
    }

    /// Returns what could not be read next to the trials.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Reads the trials from the first. May be called again.
    ///
    /// # Errors
    /// When `trials.jsonl` cannot be opened.
    pub fn trials(&self) -> Result<impl Iterator<Item = Result<TrialRecord, BadLine>>, StoreError> {
        Trials::open(&self.path.join(layout::TRIALS))
    }

    /// Reads the instances of a cell of woven arms, by the cell's place in the plan; and what keeps further ones from
    /// being read.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn slices(&self, group: usize) -> Result<(Vec<SliceBlock>, Option<String>), StoreError> {
        read_slices(&self.path, group)
    }
}

/// Reads `run.json` of the run directory `path`.
pub fn read_run(path: &Path) -> Result<Run, StoreError> {
    let file = path.join(layout::RUN);
    let text = read_text(&file).map_err(|error| match &error {
        StoreError::Refused { answer, .. } if matches!(answer.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            StoreError::NotARun { path: path.to_owned(), hint: hint(path) }
        }
        _ => error,
    })?;
    parse_run(&file, &text)
}

/// Returns what the text of a `run.json` says; `path` is for the error.
///
/// # Errors
/// When another version wrote it, or it is damaged; also by values that no plan has.
pub fn parse_run(path: &Path, text: &str) -> Result<Run, StoreError> {
    let run: Run = versioned(path, text, RUN_FORMAT)?;
    check_stored(&run.plan).map_err(|error| StoreError::Damaged { path: path.to_owned(), reason: error.to_string() })?;
    Ok(run)
}

/// Returns what the text of a file in `hosts/` says; `path` is for the error.
///
/// # Errors
/// When another version wrote it, or it is damaged.
pub fn parse_facts(path: &Path, text: &str) -> Result<HostFacts, StoreError> {
    versioned(path, text, FACTS_FORMAT)
}

/// The part that every version of every file has.
#[derive(Deserialize)]
struct Version {
    format: u64,
    #[serde(default)]
    tool: Option<String>,
}

/// Asks for the version before anything else, so that a newer file is called
/// newer and not damaged.
fn versioned<T: DeserializeOwned>(path: &Path, text: &str, known: u32) -> Result<T, StoreError> {
    let damaged = |error: serde_json::Error| StoreError::Damaged { path: path.to_owned(), reason: error.to_string() };
    let Version { format, tool } = serde_json::from_slice(text.as_bytes()).map_err(damaged)?;
    if format != u64::from(known) {
        return Err(StoreError::UnknownFormat { path: path.to_owned(), found: format, known, tool });
    }
    serde_json::from_slice(text.as_bytes()).map_err(damaged)
}

type Hosts = (Vec<(Moment, HostFacts)>, Vec<Warning>);

fn read_hosts(run: &Path) -> Result<Hosts, StoreError> {
    let directory = run.join(layout::HOSTS);
    let (mut hosts, mut warnings) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(answer) if answer.kind() == ErrorKind::NotFound => return Ok((hosts, warnings)),
        Err(answer) => return Err(StoreError::refused("read the directory", &directory)(answer)),
    };
    for entry in entries {
        let name = entry.map_err(StoreError::refused("read the directory", &directory))?.file_name();
        let Some(moment) = layout::host_moment(&name.to_string_lossy()) else { continue };
        match read_host(&directory.join(&name)) {
            Ok(facts) => hosts.push((moment, facts)),
            Err(error) => warnings.push(Warning::Absent(Refusal {
                what: format!("{}/{}", layout::HOSTS, name.to_string_lossy()),
                answer: error.to_string(),
                remedy: "The trials are kept; the facts of this host are lost.".to_owned(),
            })),
        }
    }
    // A directory has no order of its own, and a report must have one.
    hosts.order_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
    warnings.order_by_key(ToString::to_string);
    Ok((hosts, warnings))
}

fn read_host(path: &Path) -> Result<HostFacts, StoreError> {
    parse_facts(path, &read_text(path)?)
}

/// The run that may have been meant by `path`, which is none.
fn hint(path: &Path) -> String {
    if path.is_file() {
        return match path.parent().filter(|parent| parent.join(layout::RUN).is_file()) {
            Some(run) => format!("it is a file of the run {}", run.display()),
            None => "it is a file".to_owned(),
        };
    }
    if let Ok(latest) = latest(path) {
        return format!("it holds runs, the latest is {}", latest.display());
    }
    if is_attached(path) {
        return "it is an attached run, which `show`, `report` and `compare` with another of its kind read".to_owned();
    }
    if is_recording(path) {
        return "it is a recording of `top`, which `show`, `report`, `export` and `compare` with another of its kind read".to_owned();
    }
    if is_exact(path) {
        return "it is a run of the microscope, which `show`, `report` and `compare` with another of its kind read".to_owned();
    }
    if path.join(layout::TRIALS).is_file() {
        return "a run was killed here before it had begun, or run.json was deleted".to_owned();
    }
    let (root, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default().to_string_lossy());
    let siblings = run_names(root).unwrap_or_default();
    match nearest(&name, siblings.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}?", root.join(near).display()),
        None => "give the path of a directory that `nettoll study` made".to_owned(),
    }
}

/// Returns whether a directory is one of an attached run.
pub fn is_attached(path: &Path) -> bool {
    path.join(layout::ATTACHED).is_file()
}

/// Reads `attach.json` of an attached run.
///
/// # Errors
/// When it is none, or another version wrote it.
pub(crate) fn read_head(path: &Path) -> Result<Attachment, StoreError> {
    let head = path.join(layout::ATTACHED);
    versioned(&head, &read_text(&head)?, ATTACH_FORMAT)
}

/// Returns whether a directory is a recording.
pub fn is_recording(path: &Path) -> bool {
    path.join(layout::RECORDING).is_file()
}

/// Reads `top.json` of a recording.
///
/// # Errors
/// When it is none, or another version wrote it.
pub fn read_recording(path: &Path) -> Result<Recording, StoreError> {
    let head = path.join(layout::RECORDING);
    versioned(&head, &read_text(&head)?, RECORDING_FORMAT)
}

/// A run directory as it stands in a list.
#[derive(Debug)]
pub struct Listed {
    /// Its path.
    pub path: PathBuf,
    /// Its `run.json`, or why that cannot be read.
    pub run: Result<Run, StoreError>,
}

/// The runs of studies below `root`, the earliest first. A run that cannot be read is
/// listed with the reason; what is no run, an attached run, a recording, and a run of the microscope, is left out.
///
/// # Errors
/// When `root` cannot be read.
pub fn list(root: &Path) -> Result<Vec<Listed>, StoreError> {
    let paths = paths(root)?;
    let of_study = |path: &PathBuf| !(is_attached(path) || is_exact(path) || is_recording(path));
    Ok(paths.into_iter().filter(of_study).map(|path| Listed { run: read_run(&path), path }).collect())
}

/// The runs below `root`, attached ones, recordings and those of the microscope too, the earliest first.
///
/// # Errors
/// When `root` cannot be read.
pub fn paths(root: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths: Vec<PathBuf> = run_names(root)?.iter().map(|name| root.join(name)).collect();
    // Names tell the second; the files of those that share one tell the millisecond.
    paths.order_by(|a, b| name_second(a).cmp(&name_second(b)).then_with(|| started(a).cmp(&started(b))));
    Ok(paths)
}

/// The run below `root` that started last.
///
/// # Errors
/// When `root` cannot be read or holds no run.
pub fn latest(root: &Path) -> Result<PathBuf, StoreError> {
    let names = run_names(root)?;
    let Some(last) = names.last() else { return Err(StoreError::NoRuns { root: root.to_owned() }) };
    // Only runs of the same second need a look inside.
    let rivals = names.iter().filter(|name| second(name) == second(last));
    let latest = rivals.map(|name| root.join(name)).max_by(|a, b| started(a).cmp(&started(b)));
    Ok(latest.unwrap_or_else(|| root.join(last)))
}

/// The names of the run directories below `root`, sorted: the earliest second first.
pub fn run_names(root: &Path) -> Result<Vec<String>, StoreError> {
    let refused = |answer: io::Error| match answer.kind() {
        // Nobody has made it yet: the first study does.
        ErrorKind::NotFound => StoreError::NoRuns { root: root.to_owned() },
        _ => StoreError::refused("read the directory", root)(answer),
    };
    // The empty path is the current directory, which `open` does not know.
    let place = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    let mut names = Vec::new();
    for entry in fs::read_dir(place).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        if let Ok(name) = entry.file_name().into_string()
            && [layout::RUN, layout::ATTACHED, layout::RECORDING, layout::EXACT].iter().any(|head| entry.path().join(head).is_file())
        {
            names.push(name);
        }
    }
    names.order();
    Ok(names)
}

/// What orders runs that started in the same second.
fn started(path: &Path) -> (Option<u64>, &Path) {
    let head = match path {
        path if is_attached(path) => read_head(path).ok().map(|run| run.started_ms),
        path if is_recording(path) => read_recording(path).ok().map(|run| run.started_ms),
        path if is_exact(path) => exact::started(path),
        path => read_run(path).ok().map(|run| run.started_ms),
    };
    (head, path)
}

fn name_second(path: &Path) -> String {
    second(&path.file_name().unwrap_or_default().to_string_lossy()).to_owned()
}

/// The part of a run's name that tells its start, `2026-11-21T20-14-05Z`.
fn second(name: &str) -> &str {
    name.split_once("Z-").map_or(name, |(second, _)| second)
}
