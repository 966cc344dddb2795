//! What the kernel or the machine refused, in words for a person.

use std::io;

use model::Warning;
use nix::errno::Errno;

/// A mechanism that is not to be had here, what the system answered, and what
/// to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{mechanism} is not available: {answer}. {remedy}")]
pub struct Refusal {
    /// What was tried for, in a few words: `samples of the kernel`.
    pub mechanism: String,
    /// The call and the system's answer, with the errno's name.
    pub answer: String,
    /// One sentence on what to do, or what is done instead.
    pub remedy: String,
}

impl Refusal {
    /// A refusal in words of one's own.
    pub fn new(mechanism: impl Into<String>, answer: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { mechanism: mechanism.into(), answer: answer.into(), remedy: remedy.into() }
    }

    /// The refusal of the call `tried`, which the system answered with `error`.
    pub fn of(mechanism: &str, tried: &str, error: &io::Error, remedy: impl Into<String>) -> Self {
        Self::new(mechanism, format!("{tried}: {}", errno_name(error)), remedy)
    }
}

impl From<Refusal> for Warning {
    fn from(refusal: Refusal) -> Self {
        Self::Absent { what: refusal.mechanism, answer: refusal.answer, remedy: refusal.remedy }
    }
}

/// The kernel's own number for "not supported", which should not get out of it
/// but does (`include/linux/errno.h`).
const ENOTSUPP: i32 = 524;

/// `EPERM (Operation not permitted)`; the error's own words where it has no errno.
pub fn errno_name(error: &io::Error) -> String {
    match error.raw_os_error().map(|code| (code, Errno::from_raw(code))) {
        Some((ENOTSUPP, _)) => "ENOTSUPP (not supported by the kernel)".to_owned(),
        None | Some((_, Errno::UnknownErrno)) => error.to_string(),
        Some((_, errno)) => format!("{errno:?} ({})", errno.desc()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Refusal, errno_name};
    use model::Warning;
    use std::io;

    #[test]
    fn an_errno_has_its_name() {
        assert_eq!(errno_name(&io::Error::from_raw_os_error(libc::EPERM)), "EPERM (Operation not permitted)");
        assert_eq!(errno_name(&io::Error::from_raw_os_error(524)), "ENOTSUPP (not supported by the kernel)");
        assert_eq!(errno_name(&io::Error::other("cut short")), "cut short");
    }

    #[test]
    fn it_becomes_a_warning_with_all_its_words() {
        let refusal = Refusal::of("samples", "open()", &io::Error::from_raw_os_error(libc::EACCES), "Run as root.");
        assert_eq!(refusal.to_string(), "samples is not available: open(): EACCES (Permission denied). Run as root.");
        let Warning::Absent { what, answer, remedy } = refusal.into() else { panic!("another warning") };
        assert_eq!((what.as_str(), answer.as_str(), remedy.as_str()), ("samples", "open(): EACCES (Permission denied)", "Run as root."));
    }
}
