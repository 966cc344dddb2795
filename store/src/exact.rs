//! Runs of the microscope: a directory with exact counts. A run of a study may have such
//! counts as well, of the messages that it measured.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::directory::make_unique;
use crate::error::StoreError;
use crate::file::{self, read_text};
use crate::layout;

/// Word in the name of every run of the microscope.
const NAME: &str = "microscope";

/// Makes the directory of a run below `root`, which is made too where it is not there.
/// Returns its path and the run's name. It is no run before [`write_exact`].
///
/// # Errors
/// When the system refuses.
pub fn create_exact(root: &Path, started_ms: u64) -> Result<(PathBuf, String), StoreError> {
    fs::create_dir_all(root).map_err(StoreError::refused("make the directory", root))?;
    make_unique(root, NAME, started_ms)
}

/// Writes or replaces `exact.json` of a run, in one step.
///
/// # Errors
/// When the system refuses; an earlier one stays.
pub fn write_exact(run: &Path, text: &[u8]) -> Result<PathBuf, StoreError> {
    let path = run.join(layout::EXACT);
    file::replace(&path, text)?;
    Ok(path)
}

/// The text of `exact.json`; `None` of a run that has none.
///
/// # Errors
/// When it cannot be read.
pub fn read_exact(run: &Path) -> Result<Option<String>, StoreError> {
    let path = run.join(layout::EXACT);
    if path.is_file() { read_text(&path).map(Some) } else { Ok(None) }
}

/// Returns whether a directory is a run of the microscope, and not one of a study that has
/// exact counts next to its trials.
pub fn is_exact(path: &Path) -> bool {
    path.join(layout::EXACT).is_file() && !path.join(layout::RUN).is_file()
}

/// Start of a run of the microscope, in milliseconds since 1970; `None` where that cannot be read.
pub(crate) fn started(path: &Path) -> Option<u64> {
    #[derive(Deserialize)]
    struct Head {
        run: Run,
    }
    #[derive(Deserialize)]
    struct Run {
        started_ms: u64,
    }
    let text = read_exact(path).ok()??;
    Some(serde_json::from_slice::<Head>(text.as_bytes()).ok()?.run.started_ms)
}

#[cfg(test)]
mod tests {
    use super::{create_exact, is_exact, read_exact, started, write_exact};

    #[test]
    fn a_run_of_the_microscope_is_found_and_is_none_of_a_study() {
        let root = tempfile::tempdir().unwrap();
        let (path, id) = create_exact(root.path(), 1_795_292_045_999).unwrap();
        assert!(id.starts_with("2026-11-21T20-14-05Z-microscope-") && !is_exact(&path));
        assert_eq!(read_exact(&path).unwrap(), None);
        write_exact(&path, r#"{"format":1,"run":{"id":"x","started_ms":7,"tool":"0"},"measured":[]}"#.as_bytes()).unwrap();
        assert!(is_exact(&path) && read_exact(&path).unwrap().is_some());
        assert_eq!(started(&path), Some(7));
        assert_eq!(crate::find(root.path(), std::path::Path::new("latest")).unwrap(), path);
        assert!(crate::list(root.path()).unwrap().is_empty(), "it is no run of a study");
        let error = crate::RunReader::open(&path).unwrap_err().to_string();
        assert!(error.contains("run of the microscope"), "{error}");
    }
}
