//! Attempts that failed, in words.

pub use model::Refusal;

/// Returns what makes a refusal of the system's answer to an attempt.
pub(crate) fn refused<E: ToString>(tried: impl Into<String>, remedy: impl Into<String>) -> impl FnOnce(E) -> Refusal {
    move |answer| Refusal::new(tried, answer, remedy)
}
