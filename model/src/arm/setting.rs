//! One setting of an arm.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent_address::host_side;
use crate::cell::{Factor, Level};
use crate::choice::UnknownChoice;
use crate::host_place::{HostPlace, HostPlaceError};
use crate::sorting::Order;

/// The longest value of a sysctl, and the longest command.
const LONGEST: usize = 4_096;
/// The most CPUs of one list; more than any machine has.
const MOST_CPUS: u32 = 65_536;

/// Setting of an arm. Stored as its name and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(String, String)", into = "(String, String)")]
pub enum Setting {
    /// A level of the cell: `cc=bbr`, `offload.gro=off`.
    Factor {
        /// Level of any factor but those that say which cell a cell is.
        level: Level,
        /// The level as written, which is how it is stored and printed.
        written: String,
    },
    /// `mtu=9000`: the largest IP packet of the link's devices, 68 to 65,535.
    Mtu(u32),
    /// `sysctl.net.ipv4.tcp_wmem=...`: a setting of the hosts' kernel.
    Sysctl {
        /// Its name, with points; each part has letters, digits, `_` and `-`.
        name: String,
        /// Value that is written into it; one line.
        value: String,
    },
    /// `cpus.a=0,2-3`: the CPUs of the ends on a host, the first flow's first.
    Cpus {
        /// The host's name.
        host: String,
        /// At least one.
        cpus: Vec<u32>,
    },
    /// `before=COMMAND`: run by a shell on each host before each trial.
    Before(String),
    /// `after=COMMAND`: run by a shell on each host after each trial.
    After(String),
    /// `host.b=ADDRESS`: another agent.
    Host {
        /// The host's name.
        name: String,
        /// Address of its agent.
        at: HostPlace,
    },
    /// `tool=PATH`: another nettoll, whose endpoints run the trials.
    Tool(String),
}

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
    pub hosts: BTreeMap<String, HostPlace>,
    /// The program that the endpoints are.
    pub tool: Option<String>,
}

impl HostSettings {
    /// Returns whether commands run around trials.
    pub const fn has_commands(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

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

/// A setting that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A name that means nothing.
    #[error(transparent)]
    Unknown(#[from] UnknownChoice),
    /// A name that an arm cannot set.
    #[error("{0} says which cell a cell is, and arms are compared cell by cell: vary it in the study, not in an arm")]
    Identity(Factor),
    /// A value that its setting cannot take.
    #[error("{name}={value}: {reason}")]
    Value {
        /// The setting.
        name: String,
        /// The value as written.
        value: String,
        /// Values that it takes.
        reason: String,
    },
}

impl Setting {
    /// Reads a setting by its name.
    ///
    /// # Errors
    /// See [`SettingError`].
    pub fn parse(name: &str, value: &str) -> Result<Self, SettingError> {
        let wrong = |reason: &str| SettingError::Value {
            name: name.to_owned(),
            value: value.chars().take(200).collect(),
            reason: reason.to_owned(),
        };
        let line = |value: &str| match value.len() <= LONGEST && !value.contains(['\n', '\r', '\0']) {
            true => Ok(value.to_owned()),
            false => Err(wrong("one line of at most 4096 bytes")),
        };
        if let Some(sysctl) = name.strip_prefix("sysctl.") {
            return match is_sysctl(sysctl) {
                true => Ok(Self::Sysctl { name: sysctl.to_owned(), value: line(value)? }),
                false => Err(wrong("a sysctl is written with points, such as sysctl.net.ipv4.tcp_wmem")),
            };
        }
        if let Some(host) = name.strip_prefix("cpus.").filter(|host| host_side(host).is_some()) {
            let cpus = cpu_list(value).ok_or_else(|| wrong("CPUs are written as a list such as 0,2-3"))?;
            return Ok(Self::Cpus { host: host.to_owned(), cpus });
        }
        if let Some(host) = name.strip_prefix("host.").filter(|host| host_side(host).is_some()) {
            let at = value.parse().map_err(|error: HostPlaceError| wrong(&error.to_string()))?;
            return Ok(Self::Host { name: host.to_owned(), at });
        }
        match name {
            "mtu" => match value.parse() {
                Ok(mtu @ 68..=65_535) => Ok(Self::Mtu(mtu)),
                _ => Err(wrong("an IP packet has 68 to 65535 bytes")),
            },
            "before" => line(value).map(Self::Before),
            "after" => line(value).map(Self::After),
            "tool" => line(value).map(Self::Tool),
            _ => Self::factor(name, value, wrong),
        }
    }

    fn factor(name: &str, written: &str, wrong: impl Fn(&str) -> SettingError) -> Result<Self, SettingError> {
        match name.parse::<Factor>() {
            Ok(factor) if factor.is_identity() => Err(SettingError::Identity(factor)),
            Ok(factor) => {
                let level = Level::parse(factor, written).map_err(|error| wrong(&error.reason))?;
                Ok(Self::Factor { level, written: written.to_owned() })
            }
            Err(_) => Err(unknown(name)),
        }
    }

    /// The level that it gives its cells, if it is one.
    pub const fn level(&self) -> Option<&Level> {
        match self {
            Self::Factor { level, .. } => Some(level),
            _ => None,
        }
    }

    /// Returns whether it changes the link's devices or the kernel of the hosts.
    pub const fn changes_host(&self) -> bool {
        match self {
            Self::Factor { level, .. } => level.factor().offload().is_some(),
            Self::Mtu(_) | Self::Sysctl { .. } => true,
            _ => false,
        }
    }

    /// Its name, as it is written.
    pub fn name(&self) -> String {
        match self {
            Self::Factor { level, .. } => level.factor().name().to_owned(),
            Self::Mtu(_) => "mtu".to_owned(),
            Self::Sysctl { name, .. } => format!("sysctl.{name}"),
            Self::Cpus { host, .. } => format!("cpus.{host}"),
            Self::Before(_) => "before".to_owned(),
            Self::After(_) => "after".to_owned(),
            Self::Host { name, .. } => format!("host.{name}"),
            Self::Tool(_) => "tool".to_owned(),
        }
    }

    /// Its value, as it is written.
    pub fn value(&self) -> String {
        match self {
            Self::Mtu(mtu) => mtu.to_string(),
            Self::Cpus { cpus, .. } => cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
            Self::Host { at, .. } => at.to_string(),
            Self::Factor { written: value, .. }
            | Self::Sysctl { value, .. }
            | Self::Before(value)
            | Self::After(value)
            | Self::Tool(value) => value.clone(),
        }
    }
}

/// The names that there are, for a wrong one.
fn unknown(name: &str) -> SettingError {
    let own = ["mtu", "sysctl.NAME", "cpus.a", "cpus.b", "before", "after", "host.a", "host.b", "tool"];
    let factors = Factor::ALL.iter().filter(|factor| !factor.is_identity()).map(|factor| factor.name());
    SettingError::Unknown(UnknownChoice::new(name, "a setting of an arm", factors.chain(own)))
}

fn is_sysctl(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    name.len() <= 200 && name.contains('.') && name.split('.').all(part)
}

/// `0,2-3` is 0, 2 and 3. Nothing twice.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    let mut seen = cpus.clone();
    seen.order();
    seen.dedup();
    (seen.len() == cpus.len()).then_some(cpus)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}={}", self.name(), self.value())
    }
}

impl TryFrom<(String, String)> for Setting {
    type Error = SettingError;

    fn try_from((name, value): (String, String)) -> Result<Self, SettingError> {
        Self::parse(&name, &value)
    }
}

impl From<Setting> for (String, String) {
    fn from(setting: Setting) -> Self {
        (setting.name(), setting.value())
    }
}

#[cfg(test)]
mod tests {
    use super::Setting;
    use proptest::prelude::{any, proptest};

    #[test]
    fn every_setting_is_stored_by_its_name_and_value() {
        for (name, value) in [
            ("cc", "bbr"),
            ("offload.gro", "off"),
            ("mtu", "9000"),
            ("sysctl.net.ipv4.tcp_wmem", "4096 16384 65536"),
            ("cpus.b", "1,3"),
            ("before", "sync; true"),
            ("after", "true"),
            ("host.b", "db1:7,data=192.0.2.1"),
            ("cpus.a2", "0"),
            ("host.a32", "db2:10984"),
            ("tool", "./other"),
        ] {
            let setting = Setting::parse(name, value).unwrap();
            let json = serde_json::to_string(&setting).unwrap();
            assert_eq!(json, format!("[\"{name}\",\"{value}\"]"));
            assert_eq!(serde_json::from_str::<Setting>(&json).unwrap(), setting);
        }
    }

    #[test]
    fn what_is_no_setting_is_named_with_the_nearest_right_one() {
        let error = |name: &str, value: &str| Setting::parse(name, value).unwrap_err().to_string();
        assert!(error("ofload.gro", "off").contains("did you mean 'offload.gro'?"));
        assert!(error("cpus.c", "1").contains("did you mean 'cpus.a'?") || error("cpus.c", "1").contains("'cpus.b'?"));
        assert!(error("size", "1").contains("says which cell"));
        assert!(error("mtu", "67").contains("68 to 65535"));
        assert!(error("sysctl.net/../x.y", "1").contains("written with points"));
        assert!(error("sysctl.net..x", "1").contains("written with points"));
        assert!(error("cpus.a", "3-1").contains("0,2-3") && error("cpus.a", "1,1").contains("0,2-3"));
        assert!(error("host.b", "a b").contains("no address of a host"));
        assert!(error("before", "a\nb").contains("one line"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(name in "[a-z.]{0,12}", value in any::<String>()) {
            let _ = Setting::parse(&name, &value);
        }
    }
}
