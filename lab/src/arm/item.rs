//! One thing of a host that can be set: read and written by its name.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::host::{ethtool, link, plain, sysctl_file};
use crate::refusal::{Refusal, refused};

/// The longest value that is read.
const LONGEST: usize = 64 << 10;

/// One thing that can be set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// A setting of the kernel, by its name with points.
    Sysctl(String),
    /// The largest IP packet of a device.
    Mtu {
        /// The device.
        device: String,
    },
    /// A feature of a device, `on` or `off`.
    Feature {
        /// The device.
        device: String,
        /// The kernel's name for it.
        name: String,
    },
}

impl Item {
    /// Its value now. Blanks between the parts of a value are single spaces.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn read(&self) -> Result<String, Refusal> {
        match self {
            Self::Sysctl(name) => {
                let path = path(name)?;
                let mut bytes = fs::read(&path).map_err(refused(step("reading", name, &path), ""))?;
                bytes.truncate(LONGEST);
                Ok(plain(&String::from_utf8_lossy(&bytes)))
            }
            Self::Mtu { device } => Ok(link::device_state(device)?.mtu.to_string()),
            Self::Feature { device, name } => {
                let features = ethtool::features(device)?;
                let on = features.active.get(name).ok_or_else(|| self.no_value("had"))?;
                Ok(model::cell::on_off(*on).to_owned())
            }
        }
    }

    /// Sets it. Whether it took effect, only reading it tells.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn write(&self, value: &str) -> Result<(), Refusal> {
        match self {
            Self::Sysctl(name) => {
                let path = path(name)?;
                let written = File::options().write(true).open(&path).and_then(|mut file| file.write_all(value.as_bytes()));
                written.map_err(refused(step("setting", name, &path), ""))
            }
            Self::Mtu { device } => link::set_mtu(device, value.parse().map_err(|_| self.no_value(value))?),
            Self::Feature { device, name } => {
                let on = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(self.no_value(value)),
                };
                ethtool::set_features(device, &[(name, on)])
            }
        }
    }

    /// The device has no such feature, or the value is none that the item takes.
    fn no_value(&self, value: &str) -> Refusal {
        Refusal::new(format!("{self} cannot be {value}"), "", "")
    }

    /// Returns how a user sets it by hand.
    pub fn by_hand(&self, value: &str) -> String {
        match self {
            Self::Sysctl(name) => format!("sysctl -w {name}='{value}'"),
            Self::Mtu { device } => format!("ip link set {device} mtu {value}"),
            Self::Feature { device, name } => format!("ethtool -K {device} {name} {value}"),
        }
    }
}

/// Returns whether this process may write a sysctl; nothing is written.
///
/// # Errors
/// See [`Refusal`].
pub fn may_write(name: &str) -> Result<(), Refusal> {
    let path = path(name)?;
    let opened = File::options().write(true).open(&path);
    opened.map(drop).map_err(refused(step("opening", name, &path), ""))
}

fn step(step: &str, name: &str, path: &Path) -> String {
    format!("{step} {name} ({})", path.display())
}

/// The file of a sysctl.
pub fn path(name: &str) -> Result<PathBuf, Refusal> {
    let safe = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match name.split('.').all(safe) {
        true => Ok(sysctl_file(name).into()),
        // It would lead out of `/proc/sys`, or nowhere.
        false => {
            let name: String = name.chars().take(200).collect();
            let remedy = "write its parts with points, such as net.ipv4.tcp_wmem";
            Err(Refusal::new(format!("'{name}' is no name of a sysctl"), remedy, ""))
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Sysctl(name) => f.write_str(name),
            Self::Mtu { device } => write!(f, "the MTU of '{device}'"),
            Self::Feature { device, name } => write!(f, "{name} of '{device}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{Item, path};

    #[test]
    fn a_value_is_read_with_single_spaces() {
        let value = Item::Sysctl("net.ipv4.tcp_rmem".to_owned()).read().unwrap();
        assert_eq!(value.split(' ').count(), 3, "{value:?}");
        assert!(Item::Mtu { device: "lo".to_owned() }.read().unwrap().parse::<u32>().is_ok());
        let none = Item::Sysctl("net.ipv4.tcp_none".to_owned()).read().unwrap_err().to_string();
        assert!(none.starts_with("reading net.ipv4.tcp_none (/proc/sys/net/ipv4/tcp_none): No such file"), "{none}");
    }

    #[test]
    fn a_value_that_an_item_cannot_take_is_refused_before_anything_is_done() {
        let feature = Item::Feature { device: "lo".to_owned(), name: "rx-gro".to_owned() };
        assert!(feature.write("maybe").unwrap_err().to_string().ends_with(" cannot be maybe"));
        assert!(Item::Mtu { device: "lo".to_owned() }.write("-1").unwrap_err().to_string().ends_with(" cannot be -1"));
    }

    proptest! {
        #[test]
        fn no_name_leads_out_of_its_directory(name in any::<String>()) {
            if let Ok(path) = path(&name) {
                prop_assert!(path.starts_with("/proc/sys") && path.components().all(|part| part.as_os_str() != ".."));
            }
        }
    }
}
