//! The processes of one tool under test, and what they leave behind.
//!
//! They are known by a variable in their environment, which a process hands on
//! to all it starts: it tells them from those of other tests, and from a
//! nettoll that somebody runs beside them, even after their parent has died.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::tool::Tool;
use super::{Skip, within};

/// The variable.
pub const MARK: &str = "NETTOLL_TEST_MARK";

/// A process of the tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// Its first argument: `study`, `__host` or `__endpoint`.
    pub kind: String,
    /// Its second: a host's name.
    pub name: String,
}

impl Process {
    /// Ends it without a chance to clean up.
    pub fn kill(&self) {
        // It may have ended by itself a moment ago.
        let _ = kill(Pid::from_raw(self.pid.cast_signed()), Signal::SIGKILL);
    }
}

/// The tool's processes that are alive.
pub fn of(tool: &Tool) -> BTreeSet<Process> {
    let wanted = format!("{MARK}={}", tool.mark());
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| process(pid, &wanted)).collect()
}

fn process(pid: u32, wanted: &str) -> Option<Process> {
    let words = |file: &str| -> Option<Vec<String>> {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).ok()?;
        Some(bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    };
    // That of a process that has ended and awaits its parent is empty.
    words("environ")?.iter().any(|word| word == wanted).then_some(())?;
    let mut arguments = words("cmdline")?.into_iter().skip(1);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { pid, parent, kind: arguments.next()?, name: arguments.next().unwrap_or_default() })
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

/// A device in a namespace of ours whose other end is in a host's: it vanishes
/// with the host's namespace, however that is held, and so tells that nothing
/// holds it.
pub struct Witness {
    keeper: std::process::Child,
}

impl Witness {
    /// Placed beside a host.
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
