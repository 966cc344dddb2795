//! Errors of a trial, and of the opening of a session.

use std::error::Error;

use model::Refusal;

use crate::remote::HostError;

/// A trial that was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A host or an end failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The listener cannot go on.
    #[error("{0}")]
    Listener(Box<dyn Error + Send + Sync>),
    /// The listener wants no more.
    #[error("the trial was interrupted")]
    Stopped,
    /// A host cannot see what the trial's pass is made for.
    #[error("host {name}: {} is not available: {}. {}", refused.what, refused.answer, refused.remedy)]
    NotObserved {
        /// Name of the host.
        name: String,
        /// Its answer.
        refused: Refusal,
    },
}

impl TrialError {
    pub(crate) const fn is_loss_of_host(&self) -> bool {
        matches!(self, Self::Host(error) if error.is_loss_of_host())
    }
}
