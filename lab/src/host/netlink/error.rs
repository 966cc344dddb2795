//! Failures of a request, and the kernel's verdict on one.

use std::io;

use nix::errno::Errno;

use super::attributes;
use crate::refusal::Refusal;

/// A request that the kernel did not carry out.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The kernel answered no.
    #[error("{tried}: the system answered {errno}{}", said(.words))]
    Refused {
        /// The attempt.
        tried: String,
        /// The kernel's answer.
        errno: Errno,
        /// The kernel's own words; empty where it has none.
        words: String,
    },
    /// The socket failed.
    #[error("{tried}: {source}")]
    Socket {
        /// The attempt.
        tried: String,
        /// Answer of the system.
        source: io::Error,
    },
    /// The answer makes no sense.
    #[error("{tried}: the kernel's answer cannot be read; please report this with the kernel's version")]
    Garbled {
        /// The attempt.
        tried: String,
    },
    /// The answer is longer than any that is kept.
    #[error("{tried}: the kernel's answer has more than {} MiB and was not kept", .most >> 20)]
    TooMuch {
        /// The attempt.
        tried: String,
        /// The most bytes that are kept.
        most: usize,
    },
    /// There was no answer.
    #[error("{tried}: the kernel did not answer in time; is another program holding the network lock?")]
    Silent {
        /// The attempt.
        tried: String,
    },
}

impl NetlinkError {
    /// Makes a refusal of it with what to do.
    pub(crate) fn with(&self, remedy: &str) -> Refusal {
        Refusal::new(self.to_string(), "", remedy)
    }

    /// The kernel's answer, where it gave one.
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" (the kernel says: {words})") }
}

/// The kernel's own words, an attribute after the acknowledged header.
const WORDS: u16 = 1;

/// Reads an acknowledgement: an error number, the header of the request, and,
/// where asked for and known, attributes.
pub fn verdict(tried: &str, body: &[u8]) -> Result<(), NetlinkError> {
    let Some((code, rest)) = body.split_first_chunk::<4>() else {
        return Err(NetlinkError::Garbled { tried: tried.to_owned() });
    };
    let code = i32::from_ne_bytes(*code);
    if code == 0 {
        return Ok(());
    }
    let words = attributes(rest.get(16..).unwrap_or_default()).find(|(kind, _)| *kind == WORDS);
    let words = words.map_or(String::new(), |(_, value)| super::attribute::read_text(value));
    Err(NetlinkError::Refused { tried: tried.to_owned(), errno: Errno::from_raw(code.wrapping_neg()), words })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, proptest};

    use super::verdict;

    #[test]
    fn the_kernels_words_are_passed_on() {
        let mut body = (-22_i32).to_ne_bytes().to_vec();
        body.extend([0; 16]);
        body.extend([9, 0, 1, 0]);
        body.extend(b"nope\0\0\0\0");
        let error = verdict("asking", &body).unwrap_err();
        assert_eq!(error.to_string(), "asking: the system answered EINVAL: Invalid argument (the kernel says: nope)");
    }

    proptest! {
        #[test]
        fn any_verdict_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let accepted = verdict("asking", &body).is_ok();
            prop_assert!(!accepted || body.starts_with(&[0; 4]));
        }
    }
}
