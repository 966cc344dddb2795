//! The table of apis: the ways in which an endpoint hands messages to the kernel.

use serde::Serialize;

use crate::over::Over;
use crate::program::{Program, choice_or_program};
use crate::receive::{Receive, usual};
use crate::traffic::{Protocol, Test};

/// Most messages that one call hands over: the kernel's `UIO_MAXIOV`
/// (include/uapi/linux/uio.h), which bounds what `sendmmsg(2)` takes.
pub const MOST_BATCH: u32 = 1_024;

/// The rows of the table, handed to a macro of the caller's. Each is an api's
/// description, the file in `engine/src/api/outgoing/` and the type in it that
/// carry it out, its name in plans, and its properties: the tests that it can
/// carry, the messages that one of its calls hands over unless the plan says
/// otherwise, where they are several, whether the kernel counts those of a call as one
/// datagram, and the ways of receiving a byte stream and datagrams that go with it unless
/// the plan says otherwise, where they are not `recv`. One that `lends` has the kernel read the message's memory after
/// the call, so that no message can be written into it. `over` says what carries the
/// messages, where that is not the link. `linux` is the first version that has everything
/// needed, by the manual pages send(2), sendmmsg(2), udp(7), packet(7), io_uring(7) and
/// splice(2); what is really there is found by trying. `change` is the change to a program
/// that calls `send` and `recv`. A row's comment stands in docs/ways.md.
#[macro_export]
macro_rules! apis {
    ($rows:ident) => {
        $rows! {
            /// `send`.
            one_message::Send = "send" { carries: Test::ALL, linux: "any", change: "none" },
            /// `sendto` on an unconnected socket: the kernel looks up the route for every message.
            one_message::Sendto = "sendto" { carries: Test::DATAGRAMS, receive: [Recv, Recvfrom], linux: "any", change: "an unconnected socket, which may serve many peers" },
            /// `sendmsg` with one buffer.
            one_message::Sendmsg = "sendmsg" { carries: Test::OPEN_CONNECTIONS, receive: [Recvmsg, Recvmsg], linux: "any", change: "a msghdr for each message" },
            /// `sendmmsg`.
            many_messages::Sendmmsg = "sendmmsg" { carries: Test::OPEN_CONNECTIONS, batch: 32, receive: [Recv, Recvmmsg], linux: "3.0", change: "several messages ready at once, with an mmsghdr for each" },
            /// `writev` with a buffer for each message.
            many_messages::Writev = "writev" { carries: Test::BYTE_STREAMS, batch: 32, linux: "any", change: "several messages ready at once, with an iovec for each" },
            /// `send` with `MSG_MORE`: the kernel waits for full segments. At the end of a part of the trial
            /// nettoll pushes the rest.
            one_message::SendMore = "send-more" { carries: Test::BYTE_STREAMS, linux: "2.4", change: "MSG_MORE, and a push after each burst" },
            /// `send` of many datagrams as one packet (`UDP_SEGMENT`), which the device segments, or the kernel
            /// just before the device. The datagrams have one size and fit the MTU; a call takes at most 64 of
            /// them, and 65,507 bytes.
            gso::Gso = "gso" { carries: Test::DATAGRAMS, batch: 32, packs: true, receive: [Recv, Gro],
                linux: "5.0", change: "several messages of one size to one peer, contiguous in memory; UDP_GRO and its sizes at the receiver" },
            /// `io_uring_enter` with many sends. The sends of a stream are linked, so that they run in order.
            uring::Uring = "uring" { carries: Test::OPEN_CONNECTIONS, batch: 32, receive: [Multishot, Multishot],
                linux: "6.0", change: "an io_uring, and a ring of buffers at the receiver; containers often forbid io_uring" },
            /// As `uring`, but a kernel thread takes the sends from the ring. Its CPU time counts as the
            /// sender's.
            uring::UringSqpoll = "uring-sqpoll" { carries: Test::STREAMS, batch: 32, receive: [Multishot, Multishot],
                linux: "6.0", change: "an io_uring with a kernel thread, which takes a CPU while it polls" },
            /// As `uring`, from the program's own pages.
            uring::UringZerocopy = "uring-zerocopy" { carries: Test::STREAMS, batch: 32, receive: [Multishot, Multishot], lends: true,
                linux: "6.0", change: "an io_uring, and messages that stay unchanged until the kernel has finished with them" },
            /// `send` with `MSG_ZEROCOPY`, and `recvmsg` for the kernel's completion notices after every 16
            /// messages.
            one_message::Zerocopy = "zerocopy" { carries: Test::STREAMS, lends: true,
                linux: "4.14, datagrams 5.0", change: "messages that stay unchanged until the program has read the kernel's notice from the error queue" },
            /// As `gso`, with `MSG_ZEROCOPY`.
            gso::GsoZerocopy = "gso-zerocopy" { carries: Test::UDP_STREAMS, batch: 32, packs: true, receive: [Recv, Gro], lends: true,
                linux: "5.0", change: "the needs of gso, and messages that stay unchanged until the program has read the kernel's notice" },
            /// `sendfile` from a file in memory.
            one_message::Sendfile = "sendfile" { carries: Test::STREAMS, lends: true, linux: "2.6.33", change: "messages in a file" },
            /// `vmsplice` into a pipe and `splice` from the pipe into the socket: two calls a message.
            one_message::Splice = "splice" { carries: Test::STREAMS, lends: true, linux: "2.6.17", change: "messages in whole pages that stay unchanged, and a pipe" },
            /// `send` on an MPTCP socket.
            one_message::Mptcp = "mptcp" { over: Mptcp, carries: Test::OPEN_BYTE_STREAMS, linux: "5.6", change: "an IPPROTO_MPTCP socket at both ends" },
            /// `send` on an SCTP socket. `--nodelay` sets SCTP's own option; SCTP has its own congestion
            /// control.
            one_message::Sctp = "sctp" { over: Sctp, carries: Test::OPEN_BYTE_STREAMS, linux: "2.6", change: "an IPPROTO_SCTP socket at both ends" },
            /// `send` on a TCP socket whose bytes the kernel encrypts (AES-128-GCM, TLS 1.2). nettoll sets the
            /// keys without a handshake.
            one_message::Ktls = "ktls" { over: Ktls, carries: Test::OPEN_BYTE_STREAMS, linux: "4.17", change: "TCP_ULP, and the keys of a TLS handshake, both at both ends" },
            /// `send` of an IP packet on a raw socket. nettoll makes the headers; the packet bypasses the
            /// sender's UDP.
            raw::Raw = "raw" { over: Packets, carries: Test::DATAGRAMS, linux: "any", change: "CAP_NET_RAW, and IP and UDP headers before each message" },
            /// `send` of an Ethernet frame on a packet socket (`AF_PACKET`), which also bypasses the sender's
            /// IP.
            raw::Packet = "packet" { over: Packets, carries: Test::DATAGRAMS,
                linux: "2.2", change: "CAP_NET_RAW, and all headers of a frame before each message; the program has to know routes and neighbours" },
            /// One `send` for many frames in a ring that a packet socket shares with the kernel
            /// (`PACKET_TX_RING`). Messages have one size.
            packet_ring::PacketRing = "packet-ring" { over: Packets, carries: Test::UDP_STREAMS, batch: 32, lends: true,
                linux: "2.6.31", change: "CAP_NET_RAW, all headers of a frame before each message, a send ring, and frames that stay unchanged until they are sent" },
            /// `write` of an IP packet into a TUN device of the sender. The sender's kernel forwards it over
            /// the link. Only IPv4, between hosts that nettoll makes.
            tun::Tun = "tun" { over: Packets, carries: Test::DATAGRAMS,
                linux: "2.4", change: "/dev/net/tun and CAP_NET_ADMIN, IP and UDP headers before each message, and a host that forwards the packets" },
            /// One `sendto` for many frames in memory that is registered with the kernel (`AF_XDP`, copy mode).
            xdp::Xdp = "xdp" { over: Packets, carries: Test::DATAGRAMS, batch: 32,
                linux: "4.18", change: "CAP_NET_RAW, all headers of a frame before each message, and rings shared with the kernel; one socket for each queue" },
            /// As `xdp`, but the network card reads the frames from that memory (`AF_XDP` without a copy). The
            /// card's driver has to support it; that of virtual Ethernet does not. Messages have one size.
            xdp::XdpZerocopy = "xdp-zerocopy" { over: Packets, carries: Test::UDP_STREAMS, batch: 32, lends: true,
                linux: "4.18", change: "the needs of xdp, a card whose driver takes frames without a copy, and frames that stay unchanged until the card has read them" },
            /// `send` on a UNIX stream socket.
            one_message::UnixStream = "unix-stream" { over: UnixStream, carries: Test::OPEN_BYTE_STREAMS, linux: "any", change: "both ends on one machine, and a UNIX stream socket" },
            /// `send` on a UNIX datagram socket.
            one_message::UnixDgram = "unix-dgram" { over: UnixDgram, carries: Test::DATAGRAMS, linux: "any", change: "both ends on one machine, and a UNIX datagram socket" },
            /// `send` on a UNIX seqpacket socket.
            one_message::UnixSeqpacket = "unix-seqpacket" { over: UnixSeqpacket, carries: Test::DATAGRAMS,
                linux: "2.6.4", change: "both ends on one machine, and a UNIX seqpacket socket" },
            /// `send` on a VSOCK connection to the machine's own address.
            one_message::Vsock = "vsock" { over: Vsock, carries: Test::OPEN_BYTE_STREAMS, linux: "5.6", change: "both ends on one machine, and a VSOCK socket at each" },
            /// `write` into a pipe.
            one_message::Pipe = "pipe" { over: Pipe, carries: Test::BYTE_STREAMS, receive: [Read, Read], linux: "any", change: "both ends on one machine, and a pipe" },
            /// A copy into a ring in shared memory; `futex` only to wait.
            shm::Shm = "shm" { over: Memory, carries: Test::OPEN_CONNECTIONS, receive: [Shm, Shm],
                linux: "any", change: "both ends on one machine, and a ring in shared memory" },
        }
    };
}

/// Properties of an api.
struct Properties {
    carries: &'static [Test],
    batch: Option<u32>,
    packs: bool,
    /// Of a byte stream, and of datagrams.
    receive: [Receive; 2],
    lends: bool,
    over: Over,
    description: &'static str,
    needs: Needs,
}

/// Needs of a way beyond those of plain `send`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// The first Linux that has everything needed.
    pub linux: &'static str,
    /// The change to a program that calls `send` and `recv`.
    pub change: &'static str,
}

macro_rules! declare {
    ($($(#[doc = $doc:literal])+ $module:ident::$variant:ident = $name:literal {
        $(over: $over:ident,)? carries: $carries:expr $(, batch: $batch:literal)? $(, packs: $packs:literal)?
        $(, receive: [$stream:ident, $datagrams:ident])? $(, lends: $lends:literal)?, linux: $linux:literal, change: $change:literal
    },)+) => {
        choice_or_program! {
            /// Way in which an endpoint hands its messages to the kernel.
            Api, "an api" {
                $($(#[doc = $doc])+ $variant = $name,)+
            }
        }

        impl Api {
            const fn properties(self) -> Properties {
                match self {
                    $(Self::$variant => Properties {
                        carries: $carries,
                        batch: usual!(None $(, Some($batch))?),
                        packs: usual!(false $(, $packs)?),
                        receive: usual!([Receive::Recv; 2] $(, [Receive::$stream, Receive::$datagrams])?),
                        lends: usual!(false $(, $lends)?),
                        over: usual!(Over::Link $(, Over::$over)?),
                        description: concat!($($doc),+).trim_ascii(),
                        needs: Needs { linux: $linux, change: $change },
                    },)+
                    // The program is both ends where the plan names no other.
                    Self::External(program) => Properties {
                        carries: &[],
                        batch: None,
                        packs: false,
                        receive: [Receive::External(program), Receive::External(program)],
                        lends: false,
                        over: Over::Link,
                        description: "",
                        needs: Needs { linux: "what the program needs", change: "what the program does" },
                    },
                }
            }
        }
    };
}
apis!(declare);

impl Api {
    /// Returns whether it can carry a test.
    pub fn carries(self, test: Test) -> bool {
        self.program().map_or(self.properties().carries, Program::tests).contains(&test)
    }

    /// Messages that one of its calls hands over where the plan does not say; `None`
    /// where it is one. A request waits for its answer, and so has no others to go with.
    pub const fn batch(self, test: Test) -> Option<u32> {
        match self.properties().batch {
            Some(batch) if test.is_stream() => Some(batch),
            _ => None,
        }
    }

    /// Returns whether the kernel may read a message's memory after the call: messages that
    /// bear a number each need memory that is theirs.
    pub const fn lends(self) -> bool {
        self.properties().lends
    }

    /// The way of receiving that goes with it where the plan does not say.
    pub const fn usual_receive(self, test: Test) -> Receive {
        match test.protocol() {
            Protocol::Tcp => self.properties().receive[0],
            Protocol::Udp => self.properties().receive[1],
        }
    }

    /// Its call in a sentence, as docs/ways.md has it; empty of a program.
    pub const fn description(self) -> &'static str {
        self.properties().description
    }

    /// What a program needs to send in this way.
    pub const fn needs(self) -> Needs {
        self.properties().needs
    }

    /// What carries its messages.
    pub const fn over(self) -> Over {
        self.properties().over
    }

    /// Returns whether the kernel counts the datagrams of a call as one. They then have
    /// one size.
    pub const fn packs(self) -> bool {
        self.properties().packs
    }
}

#[cfg(test)]
mod tests {
    use super::Api;
    use crate::cell::{Cell, Level};
    use crate::quantity::Bytes;
    use crate::traffic::Test;

    #[test]
    fn names_are_found_and_slips_are_named() {
        assert_eq!("sendmmsg".parse(), Ok(Api::Sendmmsg));
        let error = "sendmmgs".parse::<Api>().unwrap_err().to_string();
        assert!(error.contains("did you mean 'sendmmsg'?"), "{error}");
    }

    #[test]
    fn only_streams_have_batches() {
        assert_eq!(Test::ALL.iter().filter_map(|test| Api::Sendmmsg.batch(*test)).max(), Some(32));
        assert!(Test::ALL.iter().all(|test| test.is_stream() == Api::Sendmmsg.batch(*test).is_some()));
        assert!(Test::ALL.iter().all(|test| Api::Send.batch(*test).is_none() && Api::Send.carries(*test)));
    }

    #[test]
    fn memory_that_is_lent_bears_no_number() {
        let stamped = |api: Api| Cell::plain(Test::UdpStream, Bytes::new(64)).with(&[Level::Stamp(true), Level::Api(api.into())]);
        assert!(stamped(Api::Gso).is_ok());
        assert!(stamped(Api::Splice).unwrap_err().to_string().contains("cannot bear a number"));
    }

    #[test]
    fn what_has_no_socket_for_both_ways_goes_one_way() {
        let both = |levels: &[Level]| {
            Cell::plain(Test::UdpStream, Bytes::new(64)).with([&[Level::Bidirectional(true)][..], levels].concat().iter())
        };
        assert!(both(&[Level::Api(Api::UnixDgram.into())]).is_ok());
        for way in [Level::Api(Api::Xdp.into()), Level::Receive(crate::Receive::Packet)] {
            assert!(both(&[way]).unwrap_err().to_string().contains("goes one way"));
        }
    }

    #[test]
    fn what_goes_with_an_api_carries_what_it_carries() {
        for api in Api::ALL {
            for test in Test::ALL.iter().filter(|test| api.carries(**test)) {
                let receive = api.usual_receive(*test);
                assert!(receive.carries(*test) && receive.takes_from(api.over()), "{api} {test}");
            }
        }
    }
}
