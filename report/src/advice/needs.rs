//! What a program needs to send in a way: the kernel, and the change to the program.

use model::Api;

/// Needs of a way beyond those of plain `send`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The first Linux that has everything needed.
    pub linux: &'static str,
    /// The change to a program that calls `send` and `recv`.
    pub change: &'static str,
}

/// The needs of a way. Versions are those of the manual pages send(2), sendmmsg(2),
/// udp(7), packet(7), io_uring(7) and splice(2); what is really there is found by trying.
pub const fn of(api: Api) -> Needs {
    let (linux, change) = match api {
        Api::Send => ("any", "none"),
        Api::Sendto => ("any", "a socket that is not connected; it may serve many peers"),
        Api::Sendmsg => ("any", "headers around each message"),
        Api::Sendmmsg => ("3.0", "several messages at hand, with a header each"),
        Api::Writev => ("any", "several messages at hand, with a piece of memory each"),
        Api::SendMore => ("2.4", "a flag, and a push after the last message of a burst"),
        Api::Gso => ("5.0", "several messages of one size to one peer, side by side in memory; UDP_GRO and its sizes at the receiver"),
        Api::Uring => ("6.0", "a ring for requests and answers, and a ring of buffers at the receiver; containers often forbid it"),
        Api::UringSqpoll => ("6.0", "a ring that a thread of the kernel's serves, which takes a CPU while it polls"),
        Api::UringZerocopy => ("6.0", "a ring, and messages that stay as they are until the kernel is done with them"),
        Api::Zerocopy => ("4.14, datagrams 5.0", "messages that stay as they are until the kernel's notice is read from the error queue"),
        Api::GsoZerocopy => ("5.0", "what gso needs, and messages that stay as they are until the kernel's notice is read"),
        Api::Sendfile => ("2.6.33", "messages that lie in a file"),
        Api::Mptcp => ("5.6", "a socket of IPPROTO_MPTCP, at both ends"),
        Api::Sctp => ("2.6", "a socket of IPPROTO_SCTP, at both ends"),
        Api::Ktls => ("4.17", "TCP_ULP, and the keys of a TLS handshake, at both ends"),
        Api::Raw => ("any", "CAP_NET_RAW, and the heads of IP and UDP before each message"),
        Api::Packet => {
            ("2.2", "CAP_NET_RAW, and all heads of a frame before each message; routes and neighbours are the program's to know")
        }
        Api::PacketRing => (
            "2.6.31",
            "CAP_NET_RAW, all heads of a frame before each message, a ring that the kernel sends from, and frames that stay as they are",
        ),
        Api::Tun => ("2.4", "/dev/net/tun and CAP_NET_ADMIN, the heads of IP and UDP before each message, and a host that forwards them"),
        Api::Xdp => ("4.18", "CAP_NET_RAW, all heads of a frame before each message, and rings that the kernel shares; one socket a queue"),
        Api::XdpZerocopy => (
            "4.18",
            "what xdp needs, a card whose driver takes frames without a copy, and frames that stay as they are until it has read them",
        ),
        Api::UnixStream => ("any", "both ends on one machine, and a UNIX socket between them"),
        Api::UnixDgram => ("any", "both ends on one machine, and a UNIX datagram socket between them"),
        Api::UnixSeqpacket => ("2.6.4", "both ends on one machine, and a UNIX seqpacket socket between them"),
        Api::Vsock => ("5.6", "both ends on one machine, and a VSOCK socket at each"),
        Api::Pipe => ("any", "both ends on one machine, and a pipe from one to the other"),
        Api::Shm => ("any", "both ends on one machine, memory that both have, and a ring in it"),
        Api::External(_) => ("what the program needs", "what the program does"),
        Api::Splice => ("2.6.17", "messages that lie in whole pages and stay as they are, and a pipe"),
    };
    Needs { linux, change }
}
