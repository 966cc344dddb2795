//! The processes of one tool under test, and what they leave behind.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use testkit::processes::marked;
pub use testkit::processes::{MARK, Process, unusual_states};

use super::tool::Tool;
use super::{Skip, within};

/// The tool's processes that are alive.
pub fn of(tool: &Tool) -> BTreeSet<Process> {
    marked(tool.mark())
}

/// The host of a name, if it is there.
pub fn host(tool: &Tool, name: &str) -> Option<Process> {
    of(tool).into_iter().find(|process| process.kind == "__host" && process.name == name)
}

/// The endpoint on a host, if one is there.
pub fn endpoint(tool: &Tool, host: &str) -> Option<Process> {
    let all = of(tool);
    let host = all.iter().find(|process| process.kind == "__host" && process.name == host)?;
    all.iter().find(|process| process.kind == "__endpoint" && process.parent == host.pid).cloned()
}

/// What must be as it was before.
#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    devices: BTreeSet<String>,
    mounts: Vec<String>,
}

impl Traces {
    /// Nothing is here that was not there: other tests may have taken theirs away.
    pub fn is_within(&self, other: &Self) -> bool {
        self.devices.is_subset(&other.devices) && self.mounts.iter().all(|mount| other.mounts.contains(mount))
    }
}

/// Devices that have our name and mounts that keep a namespace alive, here.
pub fn traces() -> Traces {
    let devices = fs::read_to_string("/proc/net/dev").unwrap();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let names = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    Traces {
        devices: names.filter(|name| name.starts_with("nettoll")).collect(),
        mounts: mounts.lines().filter(|line| line.contains(" - nsfs ")).map(str::to_owned).collect(),
    }
}

/// No process of the tool is left, nor anything else.
#[track_caller]
pub fn assert_nothing_left(tool: &Tool, before: &Traces) {
    within(Duration::from_secs(20), &format!("all processes end: {:?}", of(tool)), || of(tool).is_empty());
    assert_eq!(traces(), *before);
}

/// No task stays stopped or has real-time priority, and no control group stays frozen, that was not so before.
#[track_caller]
pub fn assert_usual_states(before: &BTreeSet<String>) {
    let mut left = &unusual_states() - before;
    within(Duration::from_secs(20), &format!("all of {left:?} end"), || {
        left = &left & &unusual_states();
        left.is_empty()
    });
}

/// A device in a namespace of ours whose other end is in a host's: it vanishes
/// with the host's namespace, however that is held, and so tells that nothing
/// holds it.
pub struct Witness {
    keeper: std::process::Child,
}

impl Witness {
    /// Placed next to a host.
    ///
    /// # Errors
    /// What is missing for it.
    pub fn of(host: &Process) -> Result<Self, Skip> {
        super::need_root()?;
        super::need_programs(&["ip", "nsenter", "unshare", "sleep"])?;
        let keeper = std::process::Command::new("unshare").args(["-n", "sleep", "120"]).spawn().unwrap();
        let witness = Self { keeper };
        let pid = witness.keeper.id();
        within(Duration::from_secs(5), "the witness has a namespace", || {
            fs::read_link(format!("/proc/{pid}/ns/net")).ok() != fs::read_link("/proc/self/ns/net").ok()
        });
        let made = super::succeeds(&format!("nsenter -t {} -n ip link add near type veth peer name witness netns {pid}", host.pid));
        match made && witness.is_there() {
            true => Ok(witness),
            false => Err(Skip("a witness of the namespace's end could not be placed in it".to_owned())),
        }
    }

    pub fn is_there(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/net/dev", self.keeper.id())).unwrap().contains("witness:")
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
