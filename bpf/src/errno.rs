//! Answers of the kernel in words for a person.

use std::io;

use model::Unavailable;
use nix::errno::Errno;

/// Makes the refusal of the call `tried`, which the system answered with `error`.
pub fn refused_call(what: &str, tried: &str, error: &io::Error, remedy: impl Into<String>) -> Unavailable {
    Unavailable::new(what, format!("{tried}: {}", errno_name(error)), remedy)
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
    use super::{errno_name, refused_call};
    use std::io;

    #[test]
    fn an_errno_has_its_name() {
        assert_eq!(errno_name(&io::Error::from_raw_os_error(libc::EPERM)), "EPERM (Operation not permitted)");
        assert_eq!(errno_name(&io::Error::from_raw_os_error(524)), "ENOTSUPP (not supported by the kernel)");
        assert_eq!(errno_name(&io::Error::other("cut short")), "cut short");
    }

    #[test]
    fn a_refused_call_says_all_of_it() {
        let refused = refused_call("samples", "open()", &io::Error::from_raw_os_error(libc::EACCES), "Run as root.");
        assert_eq!(refused.to_string(), "samples is not available: open(): EACCES (Permission denied). Run as root.");
    }
}
