//! Traffic: tests and roles.

use crate::choice::choice;

choice! {
    /// A test, under netperf's name for it.
    Test, "a test" {
        /// One-way TCP stream; the sender connects.
        TcpStream = "TCP_STREAM",
        /// One-way stream of UDP datagrams.
        UdpStream = "UDP_STREAM",
        /// One-way TCP stream; the receiver connects ("stream" backwards).
        TcpMaerts = "TCP_MAERTS",
        /// Request and response on one open TCP connection.
        TcpRr = "TCP_RR",
        /// Request and response in UDP datagrams.
        UdpRr = "UDP_RR",
        /// Request and response, each on a TCP connection of its own.
        TcpCrr = "TCP_CRR",
    }
}

choice! {
    /// The transport.
    Protocol, "a protocol" {
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
    }
}

choice! {
    /// The version of the Internet Protocol.
    Family, "an address family" {
        /// IPv4.
        V4 = "ipv4",
        /// IPv6.
        V6 = "ipv6",
    }
}

choice! {
    /// The part an endpoint plays. In a request/response test the sender asks
    /// and the receiver answers.
    Role, "a role" {
        /// Sends the messages, or the requests.
        Sender = "sender",
        /// Receives the messages, or answers the requests.
        Receiver = "receiver",
    }
}

choice! {
    /// Way in which a sender waits for the time of its next message.
    #[derive(Default)]
    Pacing, "a way of pacing" {
        /// It sleeps, and wakes some microseconds late.
        #[default]
        Sleep = "sleep",
        /// It looks at the clock until the time has come, and takes its CPU whole.
        Spin = "spin",
    }
}

choice! {
    /// Times at which the messages of an offered rate are due.
    #[derive(Default)]
    Arrivals, "a kind of arrivals" {
        /// One after the other at the same distance.
        #[default]
        Periodic = "periodic",
        /// At exponential distances of the same mean, each flow's independent of all
        /// others': a Poisson process, as of many users who know nothing of each other.
        Poisson = "poisson",
    }
}

choice! {
    /// Way in which an end waits for what is to come.
    #[derive(Default)]
    Waiting, "a way of waiting" {
        /// In the receive call, which costs a wake-up where nothing has come yet.
        #[default]
        Block = "block",
        /// In the receive call, in which the kernel asks the device for 50 µs before it
        /// sleeps (`SO_BUSY_POLL`).
        BusyPoll = "busy-poll",
        /// It asks again and again, and takes its CPU whole.
        Spin = "spin",
        /// In `poll` before each receive call.
        Poll = "poll",
        /// In `select`, then it reads until what it asked for is there or nothing is left, as iperf3 does.
        Select = "select",
        /// In `epoll_wait` before each receive call (level-triggered).
        Epoll = "epoll",
        /// In `epoll_wait` where a receive call found nothing (edge-triggered).
        EpollEdge = "epoll-edge",
    }
}

impl Test {
    /// The tests whose flows are made before their messages flow.
    pub const OPEN_CONNECTIONS: &'static [Self] = &[Self::TcpStream, Self::UdpStream, Self::TcpMaerts, Self::TcpRr, Self::UdpRr];

    /// The tests whose messages are datagrams.
    pub const DATAGRAMS: &'static [Self] = &[Self::UdpStream, Self::UdpRr];

    /// The tests whose messages go one way.
    pub const STREAMS: &'static [Self] = &[Self::TcpStream, Self::UdpStream, Self::TcpMaerts];

    /// Those of datagrams.
    pub const UDP_STREAMS: &'static [Self] = &[Self::UdpStream];

    /// The tests whose messages follow one another in a connection.
    pub const BYTE_STREAMS: &'static [Self] = &[Self::TcpStream, Self::TcpMaerts];

    /// Those over one connection that carries bytes.
    pub const OPEN_BYTE_STREAMS: &'static [Self] = &[Self::TcpStream, Self::TcpMaerts, Self::TcpRr];

    /// The transport that carries the test.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::TcpStream | Self::TcpMaerts | Self::TcpRr | Self::TcpCrr => Protocol::Tcp,
            Self::UdpStream | Self::UdpRr => Protocol::Udp,
        }
    }

    /// Returns whether messages flow one way only.
    pub const fn is_stream(self) -> bool {
        matches!(self, Self::TcpStream | Self::UdpStream | Self::TcpMaerts)
    }

    /// The role that waits for the other to connect.
    pub const fn listener(self) -> Role {
        match self {
            Self::TcpMaerts => Role::Sender,
            _ => Role::Receiver,
        }
    }
}

impl Role {
    /// The role at the other end.
    pub const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

impl Family {
    /// The least MTU over which it is spoken (RFC 791, section 3.1; RFC 8200, section 5).
    pub const fn least_mtu(self) -> u32 {
        match self {
            Self::V4 => 68,
            Self::V6 => 1_280,
        }
    }

    /// The largest payload of one UDP datagram: 65,535 bytes less the headers
    /// that the length field covers (RFC 768, RFC 791, RFC 8200).
    pub const fn largest_datagram(self) -> u64 {
        match self {
            Self::V4 => 65_507,
            Self::V6 => 65_527,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Test;

    #[test]
    fn names_are_found_in_either_case_and_slips_are_named() {
        assert_eq!("tcp_rr".parse(), Ok(Test::TcpRr));
        let error = "TCP_STRAM".parse::<Test>().unwrap_err().to_string();
        assert!(error.contains("did you mean 'TCP_STREAM'?"), "{error}");
    }
}
