//! What carries the messages of a way from one end to the other.

use std::fmt;

/// What carries messages between the ends of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Over {
    /// UDP or TCP over the link between the hosts.
    Link,
    /// TCP of many paths (MPTCP) over the link.
    Mptcp,
    /// SCTP over the link.
    Sctp,
    /// TCP over the link whose bytes the kernel encrypts (kTLS).
    Ktls,
    /// Packets over the link whose heads the sender makes itself, past its kernel's UDP.
    Packets,
    /// A pair of UNIX sockets that carry a stream of bytes.
    UnixStream,
    /// A pair of UNIX sockets that carry datagrams.
    UnixDgram,
    /// A pair of UNIX sockets that carry a sequence of messages.
    UnixSeqpacket,
    /// A connection of VSOCK sockets to the machine's own address.
    Vsock,
    /// A pipe.
    Pipe,
    /// A ring in memory that both ends have.
    Memory,
}

impl Over {
    /// What the usual calls of sockets find below them.
    pub const SOCKETS: &'static [Self] = &[
        Self::Link,
        Self::Mptcp,
        Self::Sctp,
        Self::Ktls,
        Self::Packets,
        Self::UnixStream,
        Self::UnixDgram,
        Self::UnixSeqpacket,
        Self::Vsock,
    ];

    /// Returns whether it joins processes of one machine, past the link: both ends hold
    /// what one of them has made.
    pub const fn is_local(self) -> bool {
        !matches!(self, Self::Link | Self::Mptcp | Self::Sctp | Self::Ktls | Self::Packets)
    }

    /// Returns whether its ends are sockets.
    pub const fn is_socket(self) -> bool {
        !matches!(self, Self::Pipe | Self::Memory)
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Self::Link => "the link",
            Self::Mptcp => "MPTCP",
            Self::Sctp => "SCTP",
            Self::Ktls => "TLS in the kernel",
            Self::Packets => "packets",
            Self::UnixStream => "a UNIX stream socket",
            Self::UnixDgram => "a UNIX datagram socket",
            Self::UnixSeqpacket => "a UNIX seqpacket socket",
            Self::Vsock => "a VSOCK connection",
            Self::Pipe => "a pipe",
            Self::Memory => "shared memory",
        })
    }
}
