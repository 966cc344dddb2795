//! Refusals of the kernel in words, which keep its errno.

use std::io;

use model::Refusal;
use nix::errno::Errno;

/// What was refused, and the answer.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {answer}")]
pub struct KernelRefusal {
    what: String,
    answer: io::Error,
}

impl KernelRefusal {
    /// An answer of the kernel, with what it refused.
    pub fn error(what: impl Into<String>, answer: io::Error) -> io::Error {
        io::Error::new(answer.kind(), Self { what: what.into(), answer })
    }

    /// The errno in an error, whether it is one of the kernel's or a refusal.
    pub fn errno(error: &io::Error) -> Option<i32> {
        let inner = || error.get_ref()?.downcast_ref::<Self>().and_then(|refusal| Self::errno(&refusal.answer));
        error.raw_os_error().or_else(inner)
    }
}

/// Makes the refusal of the call `tried`, which the system answered with `error`.
pub fn refused_call(what: &str, tried: &str, error: &io::Error, remedy: impl Into<String>) -> Refusal {
    Refusal::new(what, format!("{tried}: {}", errno_name(error)), remedy)
}

/// The kernel's own number for "not supported", which should not get out of it
/// but does (`include/linux/errno.h`).
const ENOTSUPP: i32 = 524;

/// `EPERM (Operation not permitted)`; the error's own words where it has no errno.
pub fn errno_name(error: &io::Error) -> String {
    match error.raw_os_error().map(|code| (code, Errno::from_raw(code))) {
        Some((ENOTSUPP, _)) => "ENOTSUPP (not supported by the kernel)".to_owned(),
        None | Some((_, Errno::UnknownErrno)) => error.to_string(),
        Some((_, errno)) => format!("{errno:?} ({})", errno.desc()), // words:allow
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{KernelRefusal, errno_name, refused_call};

    #[test]
    fn an_errno_has_its_name() {
        assert_eq!(errno_name(&io::Error::from_raw_os_error(libc::EPERM)), "EPERM (Operation not permitted)");
        assert_eq!(errno_name(&io::Error::from_raw_os_error(524)), "ENOTSUPP (not supported by the kernel)");
        assert_eq!(errno_name(&io::Error::other("cut short")), "cut short");
    }

    #[test]
    fn a_refused_call_says_all_of_it() {
        let refused = refused_call("samples", "open()", &io::Error::from_raw_os_error(libc::EACCES), "Run as root.");
        assert_eq!(refused.to_string(), "samples: open(): EACCES (Permission denied); Run as root.");
    }

    #[test]
    fn the_errno_stays() {
        let plain = io::Error::from_raw_os_error(libc::ENOPROTOOPT);
        assert_eq!(KernelRefusal::errno(&plain), Some(libc::ENOPROTOOPT));
        let refused = KernelRefusal::error("this kernel refuses UDP_GRO", plain);
        assert_eq!(KernelRefusal::errno(&refused), Some(libc::ENOPROTOOPT));
        assert!(refused.to_string().starts_with("this kernel refuses UDP_GRO: Protocol not available"), "{refused}");
        assert_eq!(KernelRefusal::errno(&KernelRefusal::error("opening the receiver", refused)), Some(libc::ENOPROTOOPT));
        assert_eq!(KernelRefusal::errno(&io::Error::other("no kernel's")), None);
    }
}
