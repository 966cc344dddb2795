//! One `send` system call a message, on a socket of many paths (MPTCP).

use super::send::Send;

/// `send(2)` into an MPTCP connection. The socket is the only thing that differs.
pub type Mptcp = Send;
