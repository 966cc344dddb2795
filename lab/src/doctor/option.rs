//! Socket options and congestion control.

use std::os::fd::AsFd;

use model::check::{Area, Check, Need};
use nix::errno::Errno;
use nix::libc::{SO_ZEROCOPY, SOL_SOCKET, SOL_TCP, SOL_UDP, TCP_FASTOPEN, UDP_GRO, UDP_SEGMENT};
use profile::probe::option;
use socket2::{Domain, Socket, Type};

use super::answer::{Subject, setting, shown};

struct Setting {
    name: &'static str,
    transport: Type,
    option: (i32, i32),
    value: i32,
    /// The first kernel that has it.
    since: &'static str,
}

const SETTINGS: [Setting; 4] = [
    // The payload of a full Ethernet frame.
    Setting { name: "UDP_SEGMENT", transport: Type::DGRAM, option: (SOL_UDP, UDP_SEGMENT), value: 1472, since: "4.18" },
    Setting { name: "UDP_GRO", transport: Type::DGRAM, option: (SOL_UDP, UDP_GRO), value: 1, since: "5.0" },
    Setting { name: "SO_ZEROCOPY", transport: Type::STREAM, option: (SOL_SOCKET, SO_ZEROCOPY), value: 1, since: "4.14" },
    Setting { name: "TCP_FASTOPEN", transport: Type::STREAM, option: (SOL_TCP, TCP_FASTOPEN), value: 1, since: "3.7" },
];

pub(super) fn checks() -> Vec<Check> {
    SETTINGS.iter().map(set).chain([congestion_control()]).collect()
}

fn set(asked: &Setting) -> Check {
    let subject = Subject { area: Area::Sockets, name: asked.name, need: Need::Later };
    let (level, option) = asked.option;
    let set = Socket::new(Domain::IPV4, asked.transport, None).and_then(|socket| option::set(socket.as_fd(), level, option, asked.value));
    subject.outcome(&format!("setsockopt({}, {})", asked.name, asked.value), set.map(|()| ""), |errno| match errno {
        Errno::ENOPROTOOPT | Errno::EOPNOTSUPP => format!("This kernel has none (Linux has it since {}).", asked.since),
        _ => "A sandbox seems to filter socket options: run nettoll outside it.".to_owned(),
    })
}

fn congestion_control() -> Check {
    const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
    let subject = Subject { area: Area::Sockets, name: "congestion control", need: Need::Useful };
    let named = setting(AVAILABLE).map(|names| format!("{names} (now {})", shown("net.ipv4.tcp_congestion_control")));
    subject.outcome(AVAILABLE, named, |_| "Is /proc/sys hidden (a container)? A plan can still name one in `cc`.".to_owned())
}
