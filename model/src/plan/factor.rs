//! The factors that a plan or a flag can vary.

use crate::choice::choice;

choice! {
    /// Something a study varies.
    Factor, "a factor" {
        /// The test, by netperf's name.
        Test = "test",
        /// `ipv4` or `ipv6`.
        Family = "family",
        /// How messages reach the kernel.
        Api = "api",
        /// Message size.
        Size = "size",
        /// Bytes that one receive call asks for.
        ReadSize = "read_size",
        /// TCP_NODELAY, `true` or `false`.
        Nodelay = "nodelay",
        /// TCP congestion control.
        Cc = "cc",
        /// SO_SNDBUF.
        Sndbuf = "sndbuf",
        /// SO_RCVBUF.
        Rcvbuf = "rcvbuf",
        /// Flows beside each other.
        Flows = "flows",
        /// What each flow offers: bits or messages a second.
        Rate = "rate",
        /// How a sender waits for the time of its next message.
        Pacing = "pacing",
        /// Whether both ends send, `true` or `false`.
        Bidirectional = "bidirectional",
        /// Whether datagrams bear their number and time, `true` or `false`.
        Stamp = "stamp",
    }
}
