//! Device features, read through the kernel's `ethtool` family.

use model::check::{Area, Check, Need};

use super::answer::Subject;
use crate::host::ethtool::{OffloadError, features};

/// Every machine has it, and reading its features changes nothing.
const DEVICE: &str = "lo";

pub(super) fn checks() -> Vec<Check> {
    let subject = Subject { area: Area::Offloads, name: "ethtool netlink", need: Need::Useful };
    vec![match features(DEVICE) {
        Ok(features) => {
            subject.present(format!("{} features, {} can be changed on '{DEVICE}'", features.active.len(), features.changeable.len()))
        }
        Err(OffloadError::Refused { source, remedy }) => subject.absent(source.to_string(), remedy),
        Err(other) => subject.absent(other.to_string(), "Plans that set offloads cannot run here; others can."),
    }]
}
