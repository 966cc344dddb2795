//! What keeps an implementation from being an end of a trial.

use std::io;

/// A failure, in words that the harness passes on: it shows the last words of a program.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The other side of the contract did something else than it says, or there is none.
    #[error("{0}")]
    Contract(String),
    /// The system refused something.
    #[error("{tried}: {answer}{remedy}")]
    System {
        /// The attempt.
        tried: String,
        /// The system's answer.
        answer: io::Error,
        /// What to do, after a semicolon; empty where nothing is known.
        remedy: &'static str,
    },
}

impl StackError {
    /// A breach of the contract.
    pub fn contract(told: impl Into<String>) -> Self {
        Self::Contract(told.into())
    }

    /// A refusal of the system.
    pub fn system(tried: impl Into<String>, answer: io::Error) -> Self {
        Self::System { tried: tried.into(), answer, remedy: "" }
    }
}
