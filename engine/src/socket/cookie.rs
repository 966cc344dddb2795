//! Proof, shown by both ends of a flow, that they belong to a trial.
//!
//! The side that connects asks, and the other side answers it alone; neither
//! sends a message before. What goes over the wire is not the cookie but
//! SHA-256 over which of the two it is, the cookie and the flow. So an answer
//! comes from somebody who knows the cookie: nothing that sends back what it
//! got, and nothing that greets whoever comes, is taken for the other end. An
//! answer is as long as what asked for it.

use model::control::Cookie;
use sha2::{Digest, Sha256};

/// Bytes of the hash that are shown.
const HASH: usize = 16;
/// These, and the number of the flow, most significant byte first.
pub const SHOWN: usize = HASH + 4;

/// The side that speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The side that connects.
    Ask,
    /// The other side.
    Answer,
}

impl Word {
    /// Neither begins with the other, so that no two inputs of the hash are equal.
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Ask => b"nettoll ask",
            Self::Answer => b"nettoll answer",
        }
    }
}

/// Proof for one flow.
#[derive(Debug, Clone, Copy)]
pub struct Proof {
    /// The trial's.
    pub cookie: Cookie,
    /// Counted from 0; those of the way back come after all of the way there.
    pub flow: u32,
}

impl Proof {
    /// Bytes that come first on a connection, or fill a datagram.
    pub fn bytes(self, word: Word) -> [u8; SHOWN] {
        let flow = self.flow.to_be_bytes();
        let hash = Sha256::new().chain_update(word.label()).chain_update(self.cookie.0).chain_update(flow).finalize();
        let mut bytes = [0; SHOWN];
        bytes[..HASH].copy_from_slice(&hash[..HASH]);
        bytes[HASH..].copy_from_slice(&flow);
        bytes
    }

    /// Returns whether `bytes` are this word for this flow.
    pub fn is(self, bytes: &[u8], word: Word) -> bool {
        // Every byte is looked at, so that the time taken tells nothing.
        let differs = |wanted: [u8; SHOWN]| bytes.iter().zip(wanted).fold(0, |differs, (shown, wanted)| differs | (shown ^ wanted));
        bytes.len() == SHOWN && differs(self.bytes(word)) == 0
    }
}

/// Name of the place at which the ends of a trial pass descriptors: whoever knows it knows
/// the cookie.
pub fn name(cookie: Cookie) -> String {
    let hash = Sha256::new().chain_update(b"nettoll place").chain_update(cookie.0).finalize();
    hash.iter().take(HASH).map(|byte| format!("{byte:02x}")).collect()
}

/// The flow for which `bytes` ask.
pub fn flow_of(cookie: Cookie, bytes: &[u8]) -> Option<u32> {
    let flow: [u8; 4] = bytes.get(HASH..)?.try_into().ok()?;
    let shown = Proof { cookie, flow: u32::from_be_bytes(flow) };
    shown.is(bytes, Word::Ask).then_some(shown.flow)
}

#[cfg(test)]
mod tests {
    use super::{Cookie, Proof, SHOWN, Word, flow_of};
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    const COOKIE: Cookie = Cookie(*b"0123456789abcdef");

    #[test]
    fn an_answer_is_as_long_as_what_asked_and_is_told_from_it() {
        let shown = Proof { cookie: COOKIE, flow: 3 };
        let (ask, answer) = (shown.bytes(Word::Ask), shown.bytes(Word::Answer));
        assert_eq!(ask.len(), answer.len());
        assert!(shown.is(&ask, Word::Ask) && shown.is(&answer, Word::Answer));
        assert!(!shown.is(&ask, Word::Answer) && !shown.is(&answer, Word::Ask), "what is sent back is no answer");
        assert!(!Proof { flow: 4, ..shown }.is(&ask, Word::Ask), "it belongs to one flow");
        assert!(!shown.is(&ask[..SHOWN - 1], Word::Ask) && !shown.is(&[ask.as_slice(), &[0]].concat(), Word::Ask));
    }

    /// The first 16 bytes of `sha256sum` of the label, the cookie and the flow.
    #[test]
    fn it_is_the_hash_that_the_documentation_names() {
        let shown = Proof { cookie: COOKIE, flow: 3 };
        assert_eq!(hex(shown.bytes(Word::Ask)), "d7b630d7dcea09560bb45da339d32e2100000003");
        assert_eq!(hex(shown.bytes(Word::Answer)), "09737d79e8e663a71f6198da4fb35d3600000003");
    }

    fn hex(bytes: [u8; SHOWN]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    proptest! {
        #[test]
        fn nothing_but_the_cookie_asks(flow in any::<u32>(), place in 0usize..16, change in 1u8..) {
            let mut bytes = Proof { cookie: COOKIE, flow }.bytes(Word::Ask);
            prop_assert_eq!(flow_of(COOKIE, &bytes), Some(flow));
            bytes[place] ^= change;
            prop_assert_eq!(flow_of(COOKIE, &bytes), None);
        }

        #[test]
        fn the_cookie_does_not_go_over_the_wire(cookie in any::<[u8; 16]>(), flow in any::<u32>()) {
            for word in [Word::Ask, Word::Answer] {
                let bytes = Proof { cookie: Cookie(cookie), flow }.bytes(word);
                prop_assert!(bytes[..16] != cookie);
                prop_assert!(!cookie.windows(8).any(|piece| bytes[..16].windows(8).any(|shown| shown == piece)));
            }
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(flow_of(COOKIE, &bytes), None);
            let shown = Proof { cookie: COOKIE, flow: 0 };
            prop_assert!(!shown.is(&bytes, Word::Ask) && !shown.is(&bytes, Word::Answer));
        }
    }
}
