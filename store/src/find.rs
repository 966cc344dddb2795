//! Finds the run that a user means.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use model::nearest;

use crate::error::StoreError;
use crate::reader::{latest, paths, run_names};

/// The run that a user means: the path of a run directory; `latest`, or `@-1`, the one before
/// being `@-2`; any part of a run's name below `root` that no other has. A path to what is no run
/// is returned as it is, for [`crate::RunReader::open`] to say so.
///
/// # Errors
/// When `root` cannot be read, holds no such run, or more than one.
pub fn find(root: &Path, word: &Path) -> Result<PathBuf, StoreError> {
    let Some(text) = word.to_str().filter(|text| !text.is_empty() && !word.exists()) else { return Ok(word.to_owned()) };
    let back = if text == LATEST { Some("1") } else { text.strip_prefix("@-") };
    if let Some(back) = back.and_then(|back| back.parse::<usize>().ok()).filter(|back| *back > 0) {
        return from_latest(root, back);
    }
    // A part of a name may stand behind the directory that holds the run.
    let behind = word.parent().filter(|parent| !parent.as_os_str().is_empty()).zip(word.file_name().and_then(OsStr::to_str));
    let (root, part) = behind.unwrap_or((root, text));
    let names = match run_names(root) {
        Err(_) if behind.is_some() => return Ok(word.to_owned()),
        names => names?,
    };
    let found: Vec<&String> = names.iter().filter(|name| name.contains(part)).collect();
    match found.as_slice() {
        [name] => Ok(root.join(name)),
        [] if behind.is_some() => Ok(word.to_owned()),
        [] => Err(StoreError::NoSuchRun { root: root.to_owned(), part: part.to_owned(), hint: nearest_name(part, &names) }),
        // A whole name is no part of another.
        several if several.iter().any(|name| *name == part) => Ok(root.join(part)),
        several => Err(StoreError::Ambiguous {
            root: root.to_owned(),
            part: part.to_owned(),
            found: several.iter().rev().take(CANDIDATES).map(|name| (*name).clone()).collect(),
            more: several.len().saturating_sub(CANDIDATES),
        }),
    }
}

/// The run of this name next to another, as a stored run names it.
///
/// # Errors
/// What is no name but a path.
pub fn beside(run: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let root = run.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let is_name = Path::new(name).file_name() == Some(OsStr::new(name));
    let unknown = || StoreError::NoSuchRun { root: root.to_owned(), part: name.to_owned(), hint: String::new() };
    is_name.then(|| root.join(name)).ok_or_else(unknown)
}

/// Word for the run that started last.
const LATEST: &str = "latest";

/// Candidates that are listed of more.
const CANDIDATES: usize = 5;

/// The run that started last, if `back` is 1, or so many before.
fn from_latest(root: &Path, back: usize) -> Result<PathBuf, StoreError> {
    if back == 1 {
        return latest(root);
    }
    let runs = paths(root)?;
    let run = runs.len().checked_sub(back).and_then(|place| runs.get(place));
    run.cloned().ok_or_else(|| StoreError::TooFewRuns { root: root.to_owned(), wanted: back, runs: runs.len() })
}

/// The nearest name, by its study: names share their dates.
fn nearest_name(part: &str, names: &[String]) -> String {
    let tail = |name: &str| name.split_once("Z-").map_or_else(|| name.to_owned(), |(_, tail)| tail.to_owned());
    let tails: Vec<String> = names.iter().map(|name| tail(name)).collect();
    match nearest(&tail(part), tails.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean {near}?"),
        None => "; `nettoll show` lists the runs".to_owned(),
    }
}
