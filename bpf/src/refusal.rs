//! A refusal of the kernel, in words that keep its errno.

use std::io;

/// What was refused, and the answer.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {answer}")]
pub struct Refusal {
    what: String,
    answer: io::Error,
}

impl Refusal {
    /// An answer of the kernel, with what it refused.
    pub fn of(what: impl Into<String>, answer: io::Error) -> io::Error {
        io::Error::new(answer.kind(), Self { what: what.into(), answer })
    }

    /// The errno in an error, whether it is one of the kernel's or a refusal.
    pub fn errno(error: &io::Error) -> Option<i32> {
        let inner = || error.get_ref()?.downcast_ref::<Self>()?.answer.raw_os_error();
        error.raw_os_error().or_else(inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::Refusal;

    #[test]
    fn the_errno_stays() {
        let plain = io::Error::from_raw_os_error(libc::ENOPROTOOPT);
        assert_eq!(Refusal::errno(&plain), Some(libc::ENOPROTOOPT));
        let refused = Refusal::of("this kernel refuses UDP_GRO", plain);
        assert_eq!(Refusal::errno(&refused), Some(libc::ENOPROTOOPT));
        assert!(refused.to_string().starts_with("this kernel refuses UDP_GRO: Protocol not available"), "{refused}");
        assert_eq!(Refusal::errno(&io::Error::other("no kernel's")), None);
    }
}
