//! The table of ways in which an endpoint takes messages from the kernel.

use crate::over::Over;
use crate::program::{Program, choice_or_program};
use crate::traffic::Test;

/// The usual value, or that of a row.
macro_rules! usual {
    ($usual:expr) => {
        $usual
    };
    ($usual:expr, $own:expr) => {
        $own
    };
}
pub(crate) use usual;

/// The rows of the table, handed to a macro of the caller's. Each is a way's
/// description, the file in `engine/src/api/incoming/` and the type in it that
/// carry it out, its name in plans, and its properties: the tests that it can carry,
/// the datagrams that one of its calls fetches unless the plan says otherwise, and
/// whether the kernel counts those of a call as one datagram; `from` lists what it takes
/// messages from, where that is not the link alone.
#[macro_export]
macro_rules! receives {
    ($rows:ident) => {
        $rows! {
            /// `recv`.
            one_room::Recv = "recv" { from: Over::SOCKETS, carries: Test::ALL },
            /// `recvfrom` on an unconnected socket. It drops messages from other senders.
            one_room::Recvfrom = "recvfrom" { carries: Test::DATAGRAMS },
            /// `recvmsg` with one buffer.
            one_room::Recvmsg = "recvmsg" { from: Over::SOCKETS, carries: Test::OPEN_CONNECTIONS },
            /// `recvmmsg` of up to `--batch` datagrams. It waits only for the first datagram.
            many_messages::Recvmmsg = "recvmmsg" { from: &[Over::Link, Over::Packets, Over::UnixDgram, Over::UnixSeqpacket], carries: Test::DATAGRAMS, batch: 32 },
            /// `recvmsg` of a packet that the kernel made from many datagrams (`UDP_GRO`).
            many_messages::Gro = "gro" { from: &[Over::Link, Over::Packets], carries: Test::DATAGRAMS, packs: true },
            /// One io_uring request for many messages, with a ring of buffers.
            multishot::Multishot = "multishot" { carries: Test::OPEN_CONNECTIONS },
            /// `recv` with `MSG_WAITALL`, which returns when `--read-size` bytes have arrived.
            one_room::Waitall = "waitall" { from: &[Over::Link, Over::Mptcp, Over::Ktls, Over::UnixStream], carries: Test::BYTE_STREAMS },
            /// `recv` on a socket that wakes the receiver once `--read-size` bytes have arrived
            /// (`SO_RCVLOWAT`).
            one_room::Lowat = "lowat" { carries: Test::BYTE_STREAMS },
            /// `recv` with `MSG_TRUNC`: the kernel discards the bytes without a copy.
            one_room::Trunc = "trunc" { carries: Test::BYTE_STREAMS },
            /// `splice` into a pipe and from the pipe to `/dev/null`, without a copy: two calls a read.
            splice::Splice = "splice" { carries: Test::BYTE_STREAMS },
            /// Whole pages of segments are mapped (`TCP_ZEROCOPY_RECEIVE`); `recv` takes the rest.
            zerocopy::Zerocopy = "zerocopy" { carries: Test::BYTE_STREAMS },
            /// Frames from a ring that the kernel fills below its IP (`AF_PACKET`, `TPACKET_V3`).
            packet::Packet = "packet" { from: &[Over::Link, Over::Packets], carries: Test::UDP_STREAMS },
            /// A program in the link's driver redirects frames past the kernel's IP into memory of the receiver
            /// (`AF_XDP`, copy mode, native XDP).
            xdp::Xdp = "xdp" { from: &[Over::Link, Over::Packets], carries: Test::UDP_STREAMS },
            /// As `xdp`, by a program above the driver (generic XDP).
            xdp::XdpGeneric = "xdp-generic" { from: &[Over::Link, Over::Packets], carries: Test::UDP_STREAMS },
            /// As `xdp`, but the network card writes the frames into that memory (`AF_XDP` without a copy,
            /// native XDP). The card's driver has to support it; that of virtual Ethernet does not.
            xdp::XdpZerocopy = "xdp-zerocopy" { from: &[Over::Link, Over::Packets], carries: Test::UDP_STREAMS },
            /// `read` from a pipe.
            one_room::Read = "read" { from: &[Over::Pipe], carries: Test::BYTE_STREAMS },
            /// A copy out of the ring in shared memory.
            shm::Shm = "shm" { from: &[Over::Memory], carries: Test::OPEN_CONNECTIONS },
        }
    };
}

/// Properties of a way of receiving.
struct Properties {
    carries: &'static [Test],
    batch: Option<u32>,
    packs: bool,
    from: &'static [Over],
    description: &'static str,
}

macro_rules! declare {
    ($($(#[doc = $doc:literal])+ $module:ident::$variant:ident = $name:literal { $(from: $from:expr,)? carries: $carries:expr $(, batch: $batch:literal)? $(, packs: $packs:literal)? },)+) => {
        choice_or_program! {
            /// Way in which an endpoint takes messages from the kernel.
            Receive, "a way of receiving" {
                $($(#[doc = $doc])+ $variant = $name,)+
            }
        }

        impl Receive {
            const fn properties(self) -> Properties {
                match self {
                    $(Self::$variant => Properties {
                        carries: $carries,
                        batch: usual!(None $(, Some($batch))?),
                        packs: usual!(false $(, $packs)?),
                        from: usual!(&[Over::Link] $(, $from)?),
                        description: concat!($($doc),+).trim_ascii(),
                    },)+
                    Self::External(_) => Properties { carries: &[], batch: None, packs: false, from: &[Over::Link], description: "" },
                }
            }
        }
    };
}
receives!(declare);

impl Receive {
    /// Returns whether it can carry a test.
    pub fn carries(self, test: Test) -> bool {
        self.program().map_or(self.properties().carries, Program::tests).contains(&test)
    }

    /// Returns whether it takes datagrams past its kernel's UDP, which counts none of them.
    pub const fn is_below_udp(self) -> bool {
        matches!(self, Self::Packet | Self::Xdp | Self::XdpGeneric | Self::XdpZerocopy)
    }

    /// Its call in a sentence, as docs/ways.md has it; empty of a program.
    pub const fn description(self) -> &'static str {
        self.properties().description
    }

    /// Returns whether it takes messages from what carries them.
    pub fn takes_from(self, over: Over) -> bool {
        self.properties().from.contains(&over)
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
