//! Hosts as the controller sees them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lab::host::link::{FAR_MAC, NEAR_MAC};
use model::Family;
use model::control::{LinkEnd, Route};
use model::host::HostFacts;
use model::kernel::HostCounters;

use crate::child::{Answer, TrialSpec};

/// The variable that makes this program a host.
pub const CHILD: &str = "NETTOLL_TEST_HOST";

pub use testkit::Skip;
use testkit::claims::NOBODY;

/// A running host. Dropped, it is killed.
pub struct Host {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Starts this program as a host, as another user where one is given.
pub fn spawn(isolation: &str, user: Option<u32>) -> std::io::Result<Child> {
    let mut command = Command::new(if user.is_some() { copy_path() } else { std::env::current_exe()? });
    command.env(CHILD, isolation).stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.spawn()
}

/// The place of a copy that anybody can read.
fn copy_path() -> PathBuf {
    std::env::temp_dir().join(format!("nettoll-host-test-{}", std::process::id()))
}

/// Copies this program to where anybody can read it: a process of a program
/// that its user cannot read may not write the maps of a user namespace. To be
/// called before there are threads: a process that another of them starts would
/// hold the copy open for writing for a moment, and nobody could run it then.
pub fn make_copy() {
    if is_root() {
        std::fs::copy(std::env::current_exe().unwrap(), copy_path()).unwrap();
    }
}

/// Whether this is root.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The user to start unprivileged hosts as, unless they are so anyway.
pub fn nobody() -> Option<u32> {
    is_root().then_some(NOBODY)
}

/// Removes the copy, if there is one.
pub fn remove_copy() {
    let _ = std::fs::remove_file(copy_path());
}

impl Host {
    /// Starts a host; an error is the system's refusal.
    pub fn start(isolation: &str, user: Option<u32>) -> Result<Self, Skip> {
        let mut child = spawn(isolation, user).map_err(|error| Skip(format!("starting a host process: {error}")))?;
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut host = Self { child, orders, answers };
        match host.answer() {
            Answer::Done => Ok(host),
            other => Err(Skip(format!("{other:?}"))),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn tell(&mut self, order: &TrialSpec) {
        writeln!(self.orders, "{}", serde_json::to_string(order).unwrap()).unwrap();
    }

    pub fn answer(&mut self) -> Answer {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub fn ask(&mut self, order: &TrialSpec) -> Answer {
        self.tell(order);
        self.answer()
    }

    /// Carries out an order that has to succeed.
    #[track_caller]
    pub fn must(&mut self, order: &TrialSpec) {
        let answer = self.ask(order);
        assert!(matches!(answer, Answer::Done | Answer::Mac(_)), "{order:?}: {answer:?}");
    }

    /// Carries out an order that has to fail, and returns why it did.
    #[track_caller]
    pub fn must_fail(&mut self, order: &TrialSpec) -> String {
        match self.ask(order) {
            Answer::Failed(error) => error,
            other => panic!("{order:?}: {other:?}"),
        }
    }

    pub fn counters(&mut self, device: &str, family: Family) -> HostCounters {
        match self.ask(&TrialSpec::Counters(device.to_owned(), family)) {
            Answer::Counters(counters) => *counters,
            other => panic!("{other:?}"),
        }
    }

    pub fn facts(&mut self, device: &str) -> HostFacts {
        match self.ask(&TrialSpec::Facts(device.to_owned())) {
            Answer::Facts(facts) => *facts,
            other => panic!("{other:?}"),
        }
    }

    pub fn route(&mut self, to: SocketAddr) -> Result<Route, String> {
        match self.ask(&TrialSpec::Route(to)) {
            Answer::Route(route) => Ok(route),
            Answer::Failed(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    pub fn read(&mut self, path: &str) -> String {
        match self.ask(&TrialSpec::Read(path.to_owned())) {
            Answer::Text(text) => text,
            other => panic!("{path}: {other:?}"),
        }
    }

    pub fn number(&mut self, order: &TrialSpec) -> u32 {
        match self.ask(order) {
            Answer::Number(number) => number,
            other => panic!("{order:?}: {other:?}"),
        }
    }

    /// Kills it and waits until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two hosts, joined but not configured.
pub fn pair(user: Option<u32>) -> Result<[Host; 2], Skip> {
    let (mut a, b) = if user.is_none() && is_root() {
        (Host::start("network", user)?, Host::start("network", user)?)
    } else {
        let a = Host::start("user", user)?;
        let b = Host::start(&format!("join={}", a.pid()), user)?;
        (a, b)
    };
    a.must(&TrialSpec::MakeVeth { device: "near0".to_owned(), far_device: "far0".to_owned(), far_pid: b.pid() });
    Ok([a, b])
}

/// Two hosts, joined and configured at the same time.
pub fn joined(user: Option<u32>, change: impl Fn(&mut LinkEnd)) -> Result<[Host; 2], Skip> {
    let mut hosts = pair(user)?;
    for (host, mut end) in hosts.iter_mut().zip(ends()) {
        change(&mut end);
        host.tell(&TrialSpec::Configure(end));
    }
    for (host, mac) in hosts.iter_mut().zip([NEAR_MAC, FAR_MAC]) {
        let answer = host.answer();
        assert!(matches!(answer, Answer::Mac(found) if found == mac), "{answer:?}");
    }
    Ok(hosts)
}

/// The two ends of the link.
pub fn ends() -> [LinkEnd; 2] {
    let end = |at: usize| LinkEnd {
        device: ["near0", "far0"][at].to_owned(),
        addresses: vec![(address(Family::V4, at), 24), (address(Family::V6, at), 64)],
        neighbours: [Family::V4, Family::V6].map(|family| (address(family, 1 - at), [FAR_MAC, NEAR_MAC][at])).to_vec(),
        mtu: None,
        offloads: BTreeMap::new(),
        charged: false,
        shape: None,
    };
    [end(0), end(1)]
}

/// The address of end 0 or 1.
pub fn address(family: Family, at: usize) -> IpAddr {
    let text = match family {
        Family::V4 => format!("192.0.2.{}", at + 1),
        Family::V6 => format!("2001:db8::{}", at + 1),
    };
    text.parse().unwrap()
}

/// The same with the tests' port.
pub fn socket(family: Family, at: usize) -> SocketAddr {
    SocketAddr::new(address(family, at), 5000)
}
