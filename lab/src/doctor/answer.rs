//! Answers of the system in words.

use std::fs;
use std::io;

use model::check::{Area, Check, Need};
use nix::errno::Errno;
use sys::errno_name;

use crate::host::sysctl_file;

/// A subject of a check, until its answer is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    /// Its area.
    pub area: Area,
    /// The attempt in a few words.
    pub name: &'static str,
    /// Its importance.
    pub need: Need,
}

impl Subject {
    /// It is there.
    pub(super) fn present(self, detail: impl Into<String>) -> Check {
        Check::present(self.area, self.name, self.need, detail)
    }

    /// It is not.
    pub(super) fn absent(self, answer: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check::absent(self.area, self.name, self.need, answer, remedy)
    }

    /// The outcome of `tried`, a call with its arguments.
    pub(super) fn outcome<T: Into<String>>(self, tried: &str, outcome: io::Result<T>, remedy: impl FnOnce(Errno) -> String) -> Check {
        match outcome {
            Ok(detail) => self.present(detail),
            Err(error) => self.absent(said(tried, &error), remedy(errno(&error))),
        }
    }
}

/// The errno in an error; `UnknownErrno` where it has none.
pub(super) fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)
}

/// Writes `tried: ENOENT (No such file or directory)`.
pub(super) fn said(tried: &str, error: &io::Error) -> String {
    format!("{tried}: {}", errno_name(error))
}

/// A sysctl's value, by its dotted name.
pub(super) fn setting(name: &str) -> io::Result<String> {
    read(&sysctl_file(name))
}

/// A sysctl's value for a sentence; `unknown` where it cannot be read.
pub(super) fn shown(name: &str) -> String {
    setting(name).unwrap_or_else(|_| "unknown".to_owned())
}

/// A file of the kernel's, without surrounding blanks.
pub(super) fn read(path: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Subject, said, setting, shown};
    use model::check::{Area, Check, Need};
    use std::io;

    #[test]
    fn an_answer_has_the_name_of_its_errno() {
        let said = |code| said("bpf()", &io::Error::from_raw_os_error(code));
        assert_eq!(said(1), "bpf(): EPERM (Operation not permitted)");
        assert_eq!(said(524), "bpf(): ENOTSUPP (not supported by the kernel)");
        assert!(said(4000).contains("4000"));
    }

    #[test]
    fn an_outcome_is_a_check() {
        let subject = Subject { area: Area::Bpf, name: "x", need: Need::Optional };
        assert_eq!(subject.outcome("a", Ok("7"), |_| String::new()), Check::present(Area::Bpf, "x", Need::Optional, "7"));
        let refused = io::Error::from_raw_os_error(2);
        let check = subject.outcome::<String>("open", Err(refused), |errno| format!("{errno:?}"));
        assert_eq!(check, Check::absent(Area::Bpf, "x", Need::Optional, "open: ENOENT (No such file or directory)", "ENOENT"));
    }

    #[test]
    fn settings_are_read_by_their_dotted_names() {
        assert!(setting("kernel.ostype").is_ok_and(|name| name == "Linux"));
        assert_eq!(shown("kernel.no_such_setting"), "unknown");
    }
}
