//! How whoever comes shows that it belongs to a trial.
//!
//! On a connection the side that connects writes [`Shown::bytes`] first. In
//! datagrams it asks with these bytes and [`ASK`], and is answered with the same
//! bytes and [`ANSWER`]: an answer is never longer than what asked for it, and
//! goes to nobody who has not shown the cookie.

use model::control::Cookie;

/// The cookie, and the number of the flow, most significant byte first.
pub const SHOWN: usize = 20;
/// The same, and one of the two below.
pub const DATAGRAM: usize = SHOWN + 1;

/// From the side that connects.
pub const ASK: u8 = 1;
/// From the other side.
pub const ANSWER: u8 = 2;

/// What is shown for one flow.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The trial's.
    pub cookie: Cookie,
    /// Counted from 0; those of the way back come after all of the way there.
    pub flow: u32,
}

impl Shown {
    /// What is written first on a connection.
    pub fn bytes(self) -> [u8; SHOWN] {
        let mut bytes = [0; SHOWN];
        bytes[..16].copy_from_slice(&self.cookie.0);
        bytes[16..].copy_from_slice(&self.flow.to_be_bytes());
        bytes
    }

    /// The datagram that asks or answers.
    pub fn datagram(self, kind: u8) -> [u8; DATAGRAM] {
        let mut bytes = [kind; DATAGRAM];
        bytes[..SHOWN].copy_from_slice(&self.bytes());
        bytes
    }

    /// Whether `bytes` are a datagram of that kind for this flow.
    pub fn is(self, bytes: &[u8], kind: u8) -> bool {
        bytes.len() == DATAGRAM && bytes[SHOWN] == kind && flow_of(self.cookie, &bytes[..SHOWN]) == Some(self.flow)
    }
}

/// The flow for which `bytes` show the cookie.
pub fn flow_of(cookie: Cookie, bytes: &[u8]) -> Option<u32> {
    let (shown, flow) = bytes.split_first_chunk::<16>()?;
    // Every byte is looked at, so that the time taken tells nothing.
    let differs = shown.iter().zip(cookie.0).fold(0, |differs, (shown, wanted)| differs | (shown ^ wanted));
    let flow: [u8; 4] = flow.try_into().ok()?;
    (differs == 0).then_some(u32::from_be_bytes(flow))
}

#[cfg(test)]
mod tests {
    use super::{ANSWER, ASK, Cookie, Shown, flow_of};
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    const COOKIE: Cookie = Cookie([7; 16]);

    #[test]
    fn an_answer_is_as_long_as_what_asked_and_is_told_from_it() {
        let shown = Shown { cookie: COOKIE, flow: 3 };
        let (ask, answer) = (shown.datagram(ASK), shown.datagram(ANSWER));
        assert_eq!(ask.len(), answer.len());
        assert!(shown.is(&ask, ASK) && shown.is(&answer, ANSWER) && !shown.is(&ask, ANSWER));
        assert!(!Shown { flow: 4, ..shown }.is(&ask, ASK), "it belongs to one flow");
        assert!(!shown.is(&ask[..20], ASK) && !shown.is(&[ask.as_slice(), &[0]].concat(), ASK));
    }

    proptest! {
        #[test]
        fn nothing_but_the_cookie_is_taken_for_it(flow in any::<u32>(), place in 0usize..16, change in 1u8..) {
            let mut bytes = Shown { cookie: COOKIE, flow }.bytes();
            prop_assert_eq!(flow_of(COOKIE, &bytes), Some(flow));
            bytes[place] ^= change;
            prop_assert_eq!(flow_of(COOKIE, &bytes), None);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(flow_of(COOKIE, &bytes).is_some(), bytes.len() == 20 && bytes[..16] == COOKIE.0);
            let _ = Shown { cookie: COOKIE, flow: 0 }.is(&bytes, ASK);
        }
    }
}
