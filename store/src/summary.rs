//! The run in a few figures, next to its trials.

use std::fs;
use std::path::{Path, PathBuf};

use model::Summary;
use model::summary::SUMMARY_FORMAT;

use crate::directory::pretty;
use crate::error::StoreError;
use crate::{file, layout};

/// The longest summary that is read.
const LONGEST: u64 = 64 << 10;

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
    let text = sys::file::read_text(&directory.join(layout::SUMMARY), LONGEST).ok()?;
    let summary: Summary = serde_json::from_slice(text.as_bytes()).ok()?;
    (summary.format == SUMMARY_FORMAT && Some(summary.of_bytes) == trials_length(directory)).then_some(summary)
}

fn trials_length(directory: &Path) -> Option<u64> {
    fs::metadata(directory.join(layout::TRIALS)).ok().map(|found| found.len())
}
