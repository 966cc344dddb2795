//! The kind of a message of the control protocol, for errors.

use std::fmt::Debug;

/// The kind of a message in words, without what it holds: `Endpoint(Progress(..))` is an
/// `endpoint progress`.
pub(crate) fn kind(message: &impl Debug) -> String {
    let whole = format!("{message:?}");
    let names = whole.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '(').next().unwrap_or_default();
    names.split('(').filter(|name| !name.is_empty()).map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}
