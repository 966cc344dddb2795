//! The table of apis: the ways in which an endpoint hands messages to the kernel.

use crate::over::Over;
use crate::program::{Program, choice_or_program};
use crate::receive::Receive;
use crate::traffic::{Protocol, Test};

/// Most messages that one call hands over: the kernel's `UIO_MAXIOV`
/// (include/uapi/linux/uio.h), which bounds what `sendmmsg(2)` takes.
pub const MOST_BATCH: u32 = 1_024;

/// The rows of the table, handed to a macro of the caller's. Each is an api's
/// description, the file in `engine/src/api/outgoing/` and the type in it that
/// carry it out, its name in plans, and its properties: the tests that it can
/// carry, the messages that one of its calls hands over unless the plan says
/// otherwise, whether the kernel counts those of a call as one datagram, and the
/// ways of receiving a byte stream and datagrams that go with it unless the plan
/// says otherwise. One that `lends` has the kernel read the message's memory after
/// the call, so that no message can be written into it. `over` says what carries the
/// messages, where that is not the link.
#[macro_export]
macro_rules! apis {
    ($rows:ident) => {
        $rows! {
            /// One `send` system call a message, on a connected socket.
            send::Send = "send" { carries: Test::ALL, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `sendto` system call a message, on a socket that is not connected.
            sendto::Sendto = "sendto" { carries: Test::DATAGRAMS, batch: None, packs: false, receive: [Recv, Recvfrom] },
            /// One `sendmsg` system call a message, on a connected socket.
            sendmsg::Sendmsg = "sendmsg" { carries: Test::OPEN_CONNECTIONS, batch: None, packs: false, receive: [Recvmsg, Recvmsg] },
            /// Many messages with one `sendmmsg` system call, on a connected socket.
            sendmmsg::Sendmmsg = "sendmmsg" { carries: Test::OPEN_CONNECTIONS, batch: Some(32), packs: false, receive: [Recv, Recvmmsg] },
            /// Many messages of a byte stream with one `writev` system call.
            writev::Writev = "writev" { carries: Test::BYTE_STREAMS, batch: Some(32), packs: false, receive: [Recv, Recv] },
            /// One `send` system call a message with `MSG_MORE`: the kernel makes full
            /// segments.
            send_more::SendMore = "send-more" { carries: Test::BYTE_STREAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// Many datagrams with one `send` as one packet that is cut late
            /// (`UDP_SEGMENT`).
            gso::Gso = "gso" { carries: Test::DATAGRAMS, batch: Some(32), packs: true, receive: [Recv, Gro] },
            /// Many sends with one `io_uring_enter` system call.
            uring::Uring = "uring" { carries: Test::OPEN_CONNECTIONS, batch: Some(32), packs: false, receive: [Multishot, Multishot] },
            /// The same, which a thread of the kernel's takes from the ring
            /// (`IORING_SETUP_SQPOLL`).
            uring::UringSqpoll = "uring-sqpoll" { carries: Test::STREAMS, batch: Some(32), packs: false, receive: [Multishot, Multishot] },
            /// The same from the program's own pages (`IORING_OP_SEND_ZC`).
            uring::UringZerocopy = "uring-zerocopy" { carries: Test::STREAMS, batch: Some(32), packs: false, receive: [Multishot, Multishot], lends },
            /// One `send` system call a message with `MSG_ZEROCOPY`: from the program's own
            /// pages.
            zerocopy::Zerocopy = "zerocopy" { carries: Test::STREAMS, batch: None, packs: false, receive: [Recv, Recv], lends },
            /// Packets of many datagrams as by `gso`, from the program's own pages.
            gso::GsoZerocopy = "gso-zerocopy" { carries: Test::UDP_STREAMS, batch: Some(32), packs: true, receive: [Recv, Gro], lends },
            /// One `sendfile` system call a message, from the pages of a file.
            sendfile::Sendfile = "sendfile" { carries: Test::STREAMS, batch: None, packs: false, receive: [Recv, Recv], lends },
            /// `vmsplice` of a message into a pipe and `splice` from it into the socket.
            splice::Splice = "splice" { carries: Test::STREAMS, batch: None, packs: false, receive: [Recv, Recv], lends },
            /// One `send` system call a message, over TCP of many paths (MPTCP).
            other_transport::Mptcp = "mptcp" { over: Mptcp, carries: Test::OPEN_BYTE_STREAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `send` system call a message, over SCTP.
            other_transport::Sctp = "sctp" { over: Sctp, carries: Test::OPEN_BYTE_STREAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `send` system call a message, over TCP that the kernel encrypts (kTLS,
            /// AES-128-GCM).
            other_transport::Ktls = "ktls" { over: Ktls, carries: Test::OPEN_BYTE_STREAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `send` system call a packet of IP, whose heads the program makes, on a raw
            /// socket.
            raw::Raw = "raw" { over: Packets, carries: Test::DATAGRAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `send` system call a frame of Ethernet, whose heads the program makes, on a
            /// packet socket (AF_PACKET).
            raw::Packet = "packet" { over: Packets, carries: Test::DATAGRAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// Many frames of Ethernet with one call, from a ring that a packet socket shares with
            /// the kernel (`PACKET_TX_RING`).
            packet_ring::PacketRing = "packet-ring" { over: Packets, carries: Test::UDP_STREAMS, batch: Some(32), packs: false, receive: [Recv, Recv], lends },
            /// One `write` system call a packet of IP, whose heads the program makes, into a TUN
            /// device, from which the kernel forwards it over the link.
            tun::Tun = "tun" { over: Packets, carries: Test::DATAGRAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// Many frames of Ethernet with one call, from memory that the kernel knows (AF_XDP, in
            /// copy mode).
            xdp::Xdp = "xdp" { over: Packets, carries: Test::DATAGRAMS, batch: Some(32), packs: false, receive: [Recv, Recv] },
            /// The same frames, which the device reads where they lie (AF_XDP without a copy).
            xdp::XdpZerocopy = "xdp-zerocopy" { over: Packets, carries: Test::UDP_STREAMS, batch: Some(32), packs: false, receive: [Recv, Recv], lends },
            /// One `send` system call a message, over a UNIX stream socket.
            unix::UnixStream = "unix-stream" { over: UnixStream, carries: Test::OPEN_BYTE_STREAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `send` system call a message, over a UNIX datagram socket.
            unix::UnixDgram = "unix-dgram" { over: UnixDgram, carries: Test::DATAGRAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `send` system call a message, over a UNIX seqpacket socket.
            unix::UnixSeqpacket = "unix-seqpacket" { over: UnixSeqpacket, carries: Test::DATAGRAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `send` system call a message, over a VSOCK connection to the machine's own
            /// address.
            other_transport::Vsock = "vsock" { over: Vsock, carries: Test::OPEN_BYTE_STREAMS, batch: None, packs: false, receive: [Recv, Recv] },
            /// One `write` system call a message, into a pipe.
            pipe::Pipe = "pipe" { over: Pipe, carries: Test::BYTE_STREAMS, batch: None, packs: false, receive: [Read, Read] },
            /// A copy of each message into a ring in memory that both ends have, and no system
            /// call but to wait: the limit.
            shm::Shm = "shm" { over: Memory, carries: Test::OPEN_CONNECTIONS, batch: None, packs: false, receive: [Shm, Shm] },
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
}

macro_rules! over {
    () => {
        Over::Link
    };
    ($over:ident) => {
        Over::$over
    };
}

macro_rules! declare {
    ($($(#[$doc:meta])* $module:ident::$variant:ident = $name:literal { $(over: $over:ident,)? carries: $carries:expr, batch: $batch:expr, packs: $packs:expr, receive: [$stream:ident, $datagrams:ident] $(, $lends:ident)? },)+) => {
        choice_or_program! {
            /// Way in which an endpoint hands its messages to the kernel.
            Api, "an api" {
                $($(#[$doc])* $variant = $name,)+
            }
        }

        impl Api {
            const fn properties(self) -> Properties {
                match self {
                    $(Self::$variant => Properties {
                        carries: $carries,
                        batch: $batch,
                        packs: $packs,
                        receive: [Receive::$stream, Receive::$datagrams],
                        lends: stringify!($($lends)?).len() > 0,
                        over: over!($($over)?),
                    },)+
                    // The program is both ends where the plan names no other.
                    Self::External(program) => Properties {
                        carries: &[],
                        batch: None,
                        packs: false,
                        receive: [Receive::External(program), Receive::External(program)],
                        lends: false,
                        over: Over::Link,
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
