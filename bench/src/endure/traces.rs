//! Everything that a run could leave behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sys::process::Stat;
use testkit::processes::{self, Process};

use super::within;
use crate::endure::tool::Tool;

/// Longest time that the holdings of a killed process may take to vanish.
const LIMIT: Duration = Duration::from_secs(5);

/// The devices there were before, and the namespaces that were seen since.
#[derive(Debug)]
pub struct Traces {
    devices: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Traces {
    /// As it is now.
    pub fn now() -> Self {
        Self { devices: devices(), namespaces: BTreeSet::new() }
    }

    /// Notes the namespaces that the tool's hosts hold.
    pub fn see(&mut self, tool: &Tool) {
        let own = fs::read_link("/proc/self/ns/net").unwrap_or_default();
        for host in processes::marked(tool.mark()).iter().filter(|process| process.kind == "__host") {
            let space = fs::read_link(format!("/proc/{}/ns/net", host.pid)).unwrap_or_default();
            if space != own && !space.as_os_str().is_empty() {
                self.namespaces.insert(space.to_string_lossy().into_owned());
            }
        }
    }

    /// The traces that are still there after a while; `stays` tells which processes may be.
    /// The namespaces that were noted are forgotten with it.
    pub fn leftovers(&mut self, tool: &Tool, stays: impl Fn(&Process) -> bool) -> Vec<String> {
        let now = uptime();
        let mut left = Vec::new();
        within(LIMIT, || {
            left = self.left(tool, now, &stays);
            left.is_empty()
        });
        self.namespaces.clear();
        left
    }

    fn left(&self, tool: &Tool, now: f64, stays: impl Fn(&Process) -> bool) -> Vec<String> {
        let processes = processes::marked(tool.mark()).into_iter().filter(|process| !stays(process));
        let mut left: Vec<String> = processes.map(|process| format!("{process:?}")).collect();
        if left.is_empty() {
            left.extend(devices().difference(&self.devices).map(|device| format!("device {device}")));
            if !self.namespaces.is_empty() {
                let held = held(now).into_iter().filter(|(space, _)| self.namespaces.contains(space));
                left.extend(held.map(|(space, holder)| format!("namespace {space}, held by {holder}")));
            }
            left.extend(names(&tool.scratch()).into_iter().map(|name| format!("temporary file {}", name.display())));
        }
        left
    }
}

/// Devices of this namespace that bear our name.
fn devices() -> BTreeSet<String> {
    let text = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    names.filter(|name| name.starts_with("nettoll")).collect()
}

/// Network namespaces that something holds, each with what does: a mount, or a
/// process that was there before `until`, which is in it or has it open. The
/// kernel gives the number of one that has ended to the next that anybody
/// makes, so a process started later says nothing of ours.
fn held(until: f64) -> BTreeMap<String, String> {
    let mut spaces = BTreeMap::new();
    for pid in sys::process::processes() {
        // In ticks of user space, of which every Linux of today has 100 a second.
        if Stat::of(pid).is_none_or(|stat| stat.started as f64 / 100.0 > until) {
            continue;
        }
        let path = Path::new("/proc").join(pid.to_string());
        let files = fs::read_dir(path.join("fd")).into_iter().flatten().filter_map(Result::ok).map(|file| file.path());
        let links = files.chain([path.join("ns/net")]).filter_map(|path| fs::read_link(path).ok());
        let links = links.map(|link| link.to_string_lossy().into_owned()).filter(|link| link.starts_with("net:["));
        let name = || fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_owned();
        spaces.extend(links.map(|space| (space, format!("process {pid} ({})", name()))));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounted = mounts.split_whitespace().filter(|word| word.starts_with("net:["));
    spaces.extend(mounted.map(|space| (space.to_owned(), "a mount".to_owned())));
    spaces
}

fn uptime() -> f64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::MAX)
}

/// Half-written files of a run.
pub fn unfinished(run: &Path) -> Vec<PathBuf> {
    let all = names(run).into_iter().chain(names(&run.join("hosts")));
    all.filter(|path| path.extension().is_some_and(|end| end == "new")).collect()
}

fn names(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}
