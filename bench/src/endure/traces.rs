//! Everything that a run could leave behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{processes, within};
use crate::endure::tool::Tool;

/// How long what a killed process held may take to vanish.
const LIMIT: Duration = Duration::from_secs(5);

/// What there was before, and the namespaces that were seen since.
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
        for host in processes::of(tool.mark()).iter().filter(|process| process.kind == "__host") {
            let space = fs::read_link(format!("/proc/{}/ns/net", host.pid)).unwrap_or_default();
            if space != own && !space.as_os_str().is_empty() {
                self.namespaces.insert(space.to_string_lossy().into_owned());
            }
        }
    }

    /// What is still there after a while; `stays` tells which processes may be.
    pub fn leftovers(&self, tool: &Tool, stays: impl Fn(&processes::Process) -> bool) -> Vec<String> {
        let mut left = Vec::new();
        within(LIMIT, || {
            left = self.left(tool, &stays);
            left.is_empty()
        });
        left
    }

    fn left(&self, tool: &Tool, stays: impl Fn(&processes::Process) -> bool) -> Vec<String> {
        let processes = processes::of(tool.mark()).into_iter().filter(|process| !stays(process));
        let mut left: Vec<String> = processes.map(|process| format!("{process:?}")).collect();
        if left.is_empty() {
            left.extend(devices().difference(&self.devices).map(|device| format!("device {device}")));
            left.extend(held().intersection(&self.namespaces).map(|space| format!("namespace {space}")));
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

/// Network namespaces that a process is in, has open, or has mounted.
fn held() -> BTreeSet<String> {
    let mut spaces = BTreeSet::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
        let files = fs::read_dir(entry.path().join("fd")).into_iter().flatten().filter_map(Result::ok).map(|file| file.path());
        let links = files.chain([entry.path().join("ns/net")]).filter_map(|path| fs::read_link(path).ok());
        spaces.extend(links.map(|link| link.to_string_lossy().into_owned()).filter(|link| link.starts_with("net:[")));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    spaces.extend(mounts.split_whitespace().filter(|word| word.starts_with("net:[")).map(str::to_owned));
    spaces
}

/// Half-written files of a run.
pub fn unfinished(run: &Path) -> Vec<PathBuf> {
    let all = names(run).into_iter().chain(names(&run.join("hosts")));
    all.filter(|path| path.extension().is_some_and(|end| end == "new")).collect()
}

fn names(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}
