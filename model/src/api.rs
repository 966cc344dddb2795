//! The table of apis: the ways in which an endpoint hands messages to the kernel.

use crate::choice::choice;
use crate::traffic::Test;

/// Most messages that one call hands over: the kernel's `UIO_MAXIOV`
/// (include/uapi/linux/uio.h), which bounds what `sendmmsg(2)` takes.
pub const MOST_BATCH: u32 = 1_024;

/// The rows of the table, handed to a macro of the caller's. Each is an api's
/// description, the file in `engine/src/api/` and the type in it that carry it
/// out, its name in plans, and its properties: the tests that it can carry, and
/// the messages that one of its calls hands over unless the plan says otherwise.
#[macro_export]
macro_rules! apis {
    ($rows:ident) => {
        $rows! {
            /// One `send` or `recv` system call a message, on a connected socket.
            send::Send = "send" { carries: Test::ALL, batch: None },
            /// Many messages with one `sendmmsg` or `recvmmsg` system call, on a
            /// connected socket.
            sendmmsg::Sendmmsg = "sendmmsg" { carries: OPEN_CONNECTIONS, batch: Some(32) },
        }
    };
}

/// The tests whose flows are made before their messages flow.
const OPEN_CONNECTIONS: &[Test] = &[Test::TcpStream, Test::UdpStream, Test::TcpMaerts, Test::TcpRr, Test::UdpRr];

/// Properties of an api.
struct Properties {
    carries: &'static [Test],
    batch: Option<u32>,
}

macro_rules! declare {
    ($($(#[$doc:meta])* $module:ident::$variant:ident = $name:literal { carries: $carries:expr, batch: $batch:expr },)+) => {
        choice! {
            /// Way in which an endpoint hands its messages to the kernel.
            Api, "an api" {
                $($(#[$doc])* $variant = $name,)+
            }
        }

        impl Api {
            const fn properties(self) -> Properties {
                match self {
                    $(Self::$variant => Properties { carries: $carries, batch: $batch },)+
                }
            }
        }
    };
}
apis!(declare);

impl Api {
    /// Returns whether it can carry a test.
    pub fn carries(self, test: Test) -> bool {
        self.properties().carries.contains(&test)
    }

    /// Returns whether one of its calls can hand over several messages of a test. A
    /// request waits for its answer, and so has no others to go with.
    pub const fn batches(self, test: Test) -> bool {
        self.properties().batch.is_some() && test.is_stream()
    }

    /// Messages that one of its calls hands over where the plan does not say.
    pub const fn default_batch(self, test: Test) -> u32 {
        match self.properties().batch {
            Some(batch) if test.is_stream() => batch,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Api;
    use crate::traffic::Test;

    #[test]
    fn names_are_found_and_slips_are_named() {
        assert_eq!("sendmmsg".parse(), Ok(Api::Sendmmsg));
        let error = "sendmsgs".parse::<Api>().unwrap_err().to_string();
        assert!(error.contains("did you mean 'sendmmsg'?"), "{error}");
    }

    #[test]
    fn only_streams_have_batches() {
        assert_eq!(Test::ALL.iter().map(|test| Api::Sendmmsg.default_batch(*test)).max(), Some(32));
        assert!(Test::ALL.iter().all(|test| test.is_stream() == Api::Sendmmsg.batches(*test)));
        assert!(Test::ALL.iter().all(|test| Api::Send.default_batch(*test) == 1 && Api::Send.carries(*test)));
    }
}
