//! The table of ways in which an endpoint takes messages from the kernel.

use crate::program::{TESTS as EXTERNAL, choice_or_program};
use crate::traffic::Test;

/// The rows of the table, handed to a macro of the caller's. Each is a way's
/// description, the file in `engine/src/api/incoming/` and the type in it that
/// carry it out, its name in plans, and its properties: the tests that it can carry,
/// the datagrams that one of its calls fetches unless the plan says otherwise, and
/// whether the kernel counts those of a call as one datagram.
#[macro_export]
macro_rules! receives {
    ($rows:ident) => {
        $rows! {
            /// One `recv` system call a message, or for what has come of a byte stream.
            recv::Recv = "recv" { carries: Test::ALL, batch: None, packs: false },
            /// One `recvfrom` system call a datagram, on a socket that is not connected.
            recvfrom::Recvfrom = "recvfrom" { carries: Test::DATAGRAMS, batch: None, packs: false },
            /// One `recvmsg` system call a message.
            recvmsg::Recvmsg = "recvmsg" { carries: Test::OPEN_CONNECTIONS, batch: None, packs: false },
            /// Many datagrams with one `recvmmsg` system call.
            recvmmsg::Recvmmsg = "recvmmsg" { carries: Test::DATAGRAMS, batch: Some(32), packs: false },
            /// Many datagrams with one `recvmsg` as one packet that the kernel put
            /// together (`UDP_GRO`).
            gro::Gro = "gro" { carries: Test::DATAGRAMS, batch: None, packs: true },
            /// An io_uring request to receive that stays, with a ring of buffers.
            multishot::Multishot = "multishot" { carries: Test::OPEN_CONNECTIONS, batch: None, packs: false },
            /// One `recv` with `MSG_WAITALL`: it returns when all that it asked for has come.
            waitall::Waitall = "waitall" { carries: Test::BYTE_STREAMS, batch: None, packs: false },
            /// One `recv` that is woken once all that it asks for has come (`SO_RCVLOWAT`).
            lowat::Lowat = "lowat" { carries: Test::BYTE_STREAMS, batch: None, packs: false },
            /// One `recv` with `MSG_TRUNC`: what has come is thrown away without a copy.
            trunc::Trunc = "trunc" { carries: Test::BYTE_STREAMS, batch: None, packs: false },
            /// `splice` from the socket into a pipe and from it to `/dev/null`, without a copy.
            splice::Splice = "splice" { carries: Test::BYTE_STREAMS, batch: None, packs: false },
        }
    };
}

/// Properties of a way of receiving.
struct Properties {
    carries: &'static [Test],
    batch: Option<u32>,
    packs: bool,
}

macro_rules! declare {
    ($($(#[$doc:meta])* $module:ident::$variant:ident = $name:literal { carries: $carries:expr, batch: $batch:expr, packs: $packs:expr },)+) => {
        choice_or_program! {
            /// Way in which an endpoint takes messages from the kernel.
            Receive, "a way of receiving" {
                $($(#[$doc])* $variant = $name,)+
            }
        }

        impl Receive {
            const fn properties(self) -> Properties {
                match self {
                    $(Self::$variant => Properties { carries: $carries, batch: $batch, packs: $packs },)+
                    Self::External(_) => Properties { carries: EXTERNAL, batch: None, packs: false },
                }
            }
        }
    };
}
receives!(declare);

impl Receive {
    /// Returns whether it can carry a test.
    pub fn carries(self, test: Test) -> bool {
        self.properties().carries.contains(&test)
    }

    /// Returns whether the kernel counts the datagrams of a call as one.
    pub const fn packs(self) -> bool {
        self.properties().packs
    }

    /// Datagrams that one of its calls fetches where the plan does not say; `None` where
    /// the number is not the caller's. A request waits for its answer, and so has no
    /// others to come with.
    pub const fn batch(self, test: Test) -> Option<u32> {
        match self.properties().batch {
            Some(batch) if test.is_stream() => Some(batch),
            _ => None,
        }
    }
}
