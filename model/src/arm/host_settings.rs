//! What an arm sets besides the cell.

use std::collections::BTreeMap;

use super::Setting;
use crate::address::HostAddress;

/// The settings of an arm that are not levels of its cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Largest IP packet of the link's devices.
    pub mtu: Option<u32>,
    /// Settings of the hosts' kernel.
    pub sysctls: BTreeMap<String, String>,
    /// CPUs of the ends, by the host's name.
    pub cpus: BTreeMap<String, Vec<u32>>,
    /// Run on each host before a trial.
    pub before: Option<String>,
    /// Run on each host after a trial.
    pub after: Option<String>,
    /// Agents in place of the plan's, by the host's name.
    pub hosts: BTreeMap<String, HostAddress>,
    /// The program that the endpoints are.
    pub tool: Option<String>,
}

impl HostSettings {
    pub(super) fn new(settings: &[Setting]) -> Self {
        let mut all = Self::default();
        for setting in settings {
            match setting.clone() {
                Setting::Factor { .. } => {}
                Setting::Mtu(mtu) => all.mtu = Some(mtu),
                Setting::Sysctl { name, value } => _ = all.sysctls.insert(name, value),
                Setting::Cpus { host, cpus } => _ = all.cpus.insert(host, cpus),
                Setting::Before(command) => all.before = Some(command),
                Setting::After(command) => all.after = Some(command),
                Setting::Host { name, at } => _ = all.hosts.insert(name, at),
                Setting::Tool(path) => all.tool = Some(path),
            }
        }
        all
    }
}
