//! The runs below a runs directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use model::run::Run;

use crate::error::StoreError;
use crate::{layout, reader};

/// A run directory as it stands in a list.
#[derive(Debug)]
pub struct Listed {
    /// Where it is.
    pub path: PathBuf,
    /// Its `run.json`, or why that cannot be read.
    pub run: Result<Run, StoreError>,
}

/// The runs below `root`, the earliest first. A run that cannot be read is
/// listed with the reason; what is no run is left out.
///
/// # Errors
/// When `root` cannot be read.
pub fn list(root: &Path) -> Result<Vec<Listed>, StoreError> {
    let names = run_names(root)?;
    let mut runs: Vec<Listed> = names.iter().map(|name| listed(root.join(name))).collect();
    // Names tell the second, `run.json` the millisecond.
    runs.sort_by(|a, b| started(a).cmp(&started(b)));
    Ok(runs)
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
    let latest = rivals.map(|name| listed(root.join(name))).max_by(|a, b| started(a).cmp(&started(b)));
    Ok(latest.map_or_else(|| root.join(last), |run| run.path))
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
            && entry.path().join(layout::RUN).is_file()
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn listed(path: PathBuf) -> Listed {
    Listed { run: reader::read_run(&path), path }
}

fn started(run: &Listed) -> (String, Option<u64>, &Path) {
    let name = run.path.file_name().unwrap_or_default().to_string_lossy();
    (second(&name).to_owned(), run.run.as_ref().ok().map(|run| run.started_ms), &run.path)
}

/// The part of a run's name that tells its start, `2026-11-21T20-14-05Z`.
fn second(name: &str) -> &str {
    name.split_once("Z-").map_or(name, |(second, _)| second)
}
