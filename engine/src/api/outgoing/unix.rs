//! One `send` system call a message, on a UNIX socket.

use super::send::Send;

/// `send(2)` of a message into a stream of bytes.
pub type UnixStream = Send;

/// `send(2)` of a datagram.
pub type UnixDgram = Send;

/// `send(2)` of a message of a sequence.
pub type UnixSeqpacket = Send;
