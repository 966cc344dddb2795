//! One `send` system call a message, into a connection of another transport than plain TCP.
//! The socket is the only thing that differs.

use super::one_message::Send;

/// `send(2)` into an MPTCP connection.
pub type Mptcp = Send;

/// `send(2)` into an SCTP association with one stream, which keeps the messages apart.
pub type Sctp = Send;

/// `send(2)` of what becomes a record of TLS. The keys are set once the ends have joined.
pub type Ktls = Send;

/// `send(2)` into a VSOCK connection to the machine's own address.
pub type Vsock = Send;

/// `send(2)` of a message into a stream of bytes.
pub type UnixStream = Send;

/// `send(2)` of a datagram.
pub type UnixDgram = Send;

/// `send(2)` of a message of a sequence.
pub type UnixSeqpacket = Send;
