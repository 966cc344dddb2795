//! Traffic that two threads of this machine exchange in place of a program and its peers, in the
//! way that was observed and in one that is proposed.

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::end::ZeroCopy;
use crate::link::Link;
use crate::quantity::Nanos;
use crate::traffic::Protocol;

choice! {
    /// Way in which an answer is given.
    #[derive(Default)]
    Giving, "a way of giving" {
        /// A call for each piece: `send`, of datagrams `sendto`.
        #[default]
        Calls = "a call each",
        /// All pieces with one `writev`.
        Gathered = "writev",
        /// All datagrams with one `sendmmsg`.
        Many = "sendmmsg",
        /// One call whose bytes the kernel cuts into datagrams (UDP_SEGMENT).
        Segmented = "UDP_SEGMENT",
        /// Each piece is read from a file and written.
        ReadWrite = "read and write",
        /// Each piece goes from a file by `sendfile`.
        Sendfile = "sendfile",
        /// A `send` each, from the program's own pages (MSG_ZEROCOPY).
        ZeroCopy = "MSG_ZEROCOPY",
    }
}

choice! {
    /// Way in which requests are taken.
    #[derive(Default)]
    Taking, "a way of taking" {
        /// A call for each piece or datagram.
        #[default]
        Calls = "a call each",
        /// As many datagrams as there are, with `recvmmsg`.
        Many = "recvmmsg",
    }
}

/// What is exchanged, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// The transport.
    pub protocol: Protocol,
    /// Connections, each with a client that waits for its answer.
    pub connections: u32,
    /// Bytes of a request; of UDP those of each datagram.
    pub request: u64,
    /// Datagrams that a client hands over in a row.
    pub burst: u32,
    /// Time from the start of one exchange of a client to that of its next; 0 where the answer alone
    /// is waited for.
    pub pace: Nanos,
    /// Bytes that a call asks for.
    pub read: u64,
    /// Way in which requests are taken.
    pub taking: Taking,
    /// Time that is slept before requests are taken; 0 where the first one wakes the server.
    pub nap: Nanos,
    /// Time for which the server asks again before it sleeps; 0 where it sleeps at once.
    #[serde(default)]
    pub spin: Nanos,
    /// CPU time of the program's own code for each request.
    pub work: Nanos,
    /// Sizes given in answer; none of a program that only takes.
    pub answer: Vec<u64>,
    /// Way in which they are given.
    pub giving: Giving,
    /// Way of each piece, where these differ: `Calls`, `Gathered` (a `writev` of its own) or
    /// `Sendfile`; empty where `giving` is that of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<Giving>,
    /// Nagle's algorithm is off.
    pub nodelay: bool,
    /// A connection for each request.
    pub reconnect: bool,
    /// Receive buffer to ask for; `None` leaves the usual one.
    pub receive_buffer: Option<u32>,
    /// Send buffer likewise.
    pub send_buffer: Option<u32>,
    /// CPUs that the server may use; empty of all.
    pub cpus: Vec<u32>,
    /// CPUs that the clients may use; all where it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_cpus: Vec<u32>,
    /// The link that joins the server's host and the clients', each a network namespace; `None` of
    /// loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

impl Replay {
    /// A request and an answer on one TCP connection.
    pub fn new(protocol: Protocol, request: u64, answer: Vec<u64>) -> Self {
        Self {
            protocol,
            connections: 1,
            request: request.max(1),
            burst: 1,
            pace: Nanos::default(),
            read: 64 << 10,
            taking: Taking::Calls,
            nap: Nanos::default(),
            spin: Nanos::default(),
            work: Nanos::default(),
            answer,
            giving: Giving::Calls,
            each: Vec::new(),
            nodelay: true,
            reconnect: false,
            receive_buffer: None,
            send_buffer: None,
            cpus: Vec::new(),
            client_cpus: Vec::new(),
            link: None,
        }
    }
}

/// What the server of a replay needed for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// Exchanges in the measured part; of UDP datagrams taken.
    pub exchanges: u64,
    /// Its CPU time for them.
    pub cpu: Nanos,
    /// Elapsed time.
    pub wall: Nanos,
    /// Times that it waited for something.
    pub wake_ups: u64,
    /// Time that it was ready and had no CPU; 0 where the kernel does not tell.
    #[serde(default)]
    pub delay: Nanos,
    /// Datagrams that the client handed over, from start to end.
    pub handed: u64,
    /// Datagrams that were taken, from start to end.
    pub taken: u64,
    /// Sends with MSG_ZEROCOPY that the kernel gave notice of, from start to end; none of other ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_copy: Option<ZeroCopy>,
}
