//! Failures of an attachment, in words.

use std::path::PathBuf;

use model::Refusal;

/// A program that cannot be observed.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// No process has this id.
    #[error("there is no process {0}; has it ended? `pidof NAME` gives the ids of a program")]
    NoProcess(u32),
    /// No cgroup is there.
    #[error("{} is no cgroup of version 2; give its path below /sys/fs/cgroup", .0.display())]
    NoGroup(PathBuf),
    /// No unit has a cgroup.
    #[error("no cgroup belongs to a unit {0}; is it running? `systemctl status {0}` tells")]
    NoUnit(String),
    /// The program ended before a window was complete.
    #[error("the program ended before anything was measured; attach to one that goes on, or give --window a shorter time")]
    Ended,
    /// The command could not be started.
    #[error("cannot start {command}: {answer}; check the path")]
    Command {
        /// Its first word.
        command: String,
        /// The system's answer.
        answer: std::io::Error,
    },
    /// Requests cannot be counted.
    #[error("cannot count requests by {source_name}: {answer}; check it, or count by another source (--requests)")]
    Requests {
        /// The source, as given.
        source_name: String,
        /// The answer.
        answer: String,
    },
    /// A command that switches the program between arms failed.
    #[error("the command '{command}' failed: {answer}; the windows before it are kept")]
    Switch {
        /// The command.
        command: String,
        /// How it ended.
        answer: String,
    },
    /// Nothing can be looked at.
    #[error("{} is not available: {}. {}", .0.what, .0.answer, .0.remedy)]
    Refused(#[from] Refusal),
    /// Whoever stores the windows could not.
    #[error("{0}")]
    Listener(Box<dyn std::error::Error + Send + Sync>),
}
