//! Failures of a run directory, in words: what was tried, what the
//! system answered, what to do.

use std::ffi::OsStr;
use std::io;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::layout;
use crate::line::LONGEST_LINE;

/// A run directory that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {tried} {}: {answer}; {}", path.display(), remedy(answer))]
    Refused {
        /// The attempt: a verb that takes the path.
        tried: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// Answer of the system.
        #[source]
        answer: io::Error,
    },
    /// A name that cannot be part of a path.
    #[error("'{name}' cannot name {what}: use letters, digits, '-', '_' and '.', at most 100 of them, and no '.' in front")]
    BadName {
        /// The thing to be named.
        what: &'static str,
        /// As given.
        name: String,
    },
    /// The directory holds no run.
    #[error("{} is not a run directory: it has no run.json; {hint}", path.display())]
    NotARun {
        /// As given.
        path: PathBuf,
        /// The likely meaning.
        hint: String,
    },
    /// Another process writes it.
    #[error("{} is being written by another nettoll: wait until that has ended, or end it", path.display())]
    InUse {
        /// The run directory.
        path: PathBuf,
    },
    /// No run below a runs directory.
    #[error("there is no run in {}; `nettoll study quick` makes one", root.display())]
    NoRuns {
        /// The runs directory.
        root: PathBuf,
    },
    /// No run has such a name.
    #[error("no run in {} has '{part}' in its name{hint}", root.display())]
    NoSuchRun {
        /// The runs directory.
        root: PathBuf,
        /// As given.
        part: String,
        /// The likely meaning.
        hint: String,
    },
    /// Several runs have such a name.
    #[error("'{part}' is in the names of several runs in {}: {}{}; write more of it", root.display(), found.join(", "), if *more > 0 { format!(" and {more} more") } else { String::new() })]
    Ambiguous {
        /// The runs directory.
        root: PathBuf,
        /// As given.
        part: String,
        /// The latest of them.
        found: Vec<String>,
        /// Number of others.
        more: usize,
    },
    /// There are not as many runs.
    #[error("there is no run @-{wanted} in {}: it holds {runs}; @-1 is the latest, @-{runs} the earliest", root.display())]
    TooFewRuns {
        /// The runs directory.
        root: PathBuf,
        /// Place wanted, from the latest.
        wanted: usize,
        /// Number of runs.
        runs: usize,
    },
    /// Written by another version.
    #[error("{} has format version {found}, but this build of nettoll reads version {known}; read it with the nettoll that wrote it{}", path.display(), written_by(tool.as_deref()))]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The version it has.
        found: u64,
        /// The version that this build reads.
        known: u32,
        /// The version of nettoll that wrote it, where it says so.
        tool: Option<String>,
    },
    /// The file is there but is not what it should be.
    #[error("{} is damaged: {reason}; {} next to it are not touched by that", path.display(), neighbours(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A line of a trial or of a window is longer than a reader accepts. A fault of nettoll's own.
    #[error(
        "a line of {length} bytes is longer than the {LONGEST_LINE} that a reader accepts; this is a fault in nettoll, please report it"
    )]
    TooLong {
        /// In bytes.
        length: usize,
    },
    /// A value that has no JSON form. A fault of nettoll's own.
    #[error("cannot put {what} into JSON: {reason}; this is a fault in nettoll, please report it")]
    Unwritable {
        /// Content to be written.
        what: &'static str,
        /// The reason.
        reason: String,
    },
}

impl StoreError {
    /// Makes an I/O error into one that says what was tried.
    pub(crate) fn refused(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |answer| Self::Refused { tried, path: path.to_owned(), answer }
    }

    /// Returns what the system answered, when it is the system that refused.
    pub fn answer(&self) -> Option<ErrorKind> {
        match self {
            Self::Refused { answer, .. } => Some(answer.kind()),
            _ => None,
        }
    }
}

/// Returns what a person can do about an answer of the system.
fn remedy(answer: &io::Error) -> &'static str {
    match answer.kind() {
        ErrorKind::StorageFull => "the disk is full: free space there, or keep runs on another disk",
        ErrorKind::QuotaExceeded => "your disk quota is used up: delete old runs, or keep runs elsewhere",
        ErrorKind::FileTooLarge => "raise the limit on file sizes (`ulimit -f`), or run fewer blocks",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only: keep runs in a directory that can be written",
        ErrorKind::PermissionDenied => "use a directory that belongs to you, or change its permissions",
        ErrorKind::NotFound => "check the path",
        ErrorKind::InvalidInput | ErrorKind::IsADirectory => "move it away: nettoll writes no such file",
        ErrorKind::NotADirectory => "a part of the path is a file: check the path",
        ErrorKind::AlreadyExists => "something else has that name: move it away, or keep runs elsewhere",
        _ => "check the disk (`dmesg` may say more), or keep runs elsewhere",
    }
}

/// What a damaged head of a run leaves whole.
fn neighbours(path: &Path) -> &'static str {
    match path.file_name().and_then(OsStr::to_str) {
        Some(layout::RECORDING | layout::ATTACHED) => "the windows",
        Some(layout::RUN) => "the trials",
        _ => "the files",
    }
}

fn written_by(tool: Option<&str>) -> String {
    tool.map_or(String::new(), |tool| format!(" (version {tool})"))
}

#[cfg(test)]
mod tests {
    use super::StoreError;
    use std::io;
    use std::path::Path;

    #[test]
    fn an_error_names_path_answer_and_remedy() {
        let full = StoreError::refused("write", Path::new("runs/x/trials.jsonl"))(io::Error::from_raw_os_error(28));
        let text = full.to_string();
        assert!(text.starts_with("cannot write runs/x/trials.jsonl: No space left on device (os error 28); the disk is full"), "{text}");
        assert_eq!(full.answer(), Some(io::ErrorKind::StorageFull));
    }
}
