//! Capabilities that an agent gives up when it was started as root.
//!
//! A controller commands what the agent does; a fault in that must not be root's.
//! Capabilities are dropped from the bounding set as well, so that the host process
//! and the endpoints, which are started as root too, do not get them back.

use std::str::FromStr;

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::set_no_new_privs;
use nix::unistd::geteuid;

/// A capability that an agent may be asked to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptCapability(Capability);

/// Capabilities with a use in an agent, by name, and that use.
const USEFUL: [(&str, Capability); 5] = [
    // Receipts: samples, counters and the kernel's names.
    ("perfmon", Capability::CAP_PERFMON),
    ("bpf", Capability::CAP_BPF),
    ("syslog", Capability::CAP_SYSLOG),
    // Options of sockets: buffers beyond the limits, bound devices.
    ("net_admin", Capability::CAP_NET_ADMIN),
    ("net_raw", Capability::CAP_NET_RAW),
];

impl FromStr for KeptCapability {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let plain = word.to_ascii_lowercase();
        let name = plain.strip_prefix("cap_").unwrap_or(&plain);
        let found = USEFUL.iter().find(|(known, _)| *known == name);
        found.map(|(_, capability)| Self(*capability)).ok_or_else(|| {
            let names: Vec<&str> = USEFUL.iter().map(|(name, _)| *name).collect();
            format!("'{word}' is none of the capabilities that an agent has a use for: {}", names.join(", "))
        })
    }
}

/// Gives up every capability of this thread, and of what it starts, but those kept.
/// Returns `false` where this process is not root, and so has none that it was not
/// given on purpose. To be called before other threads are started.
///
/// # Errors
/// The system's refusal: then the agent must not serve.
pub fn drop_all_but(kept: &[KeptCapability]) -> Result<bool, CapsError> {
    if !geteuid().is_root() {
        return Ok(false);
    }
    let keeps = |capability: &Capability| kept.iter().any(|one| one.0 == *capability);
    let permitted = caps::read(None, CapSet::Permitted)?;
    // Without CAP_SETPCAP, as in some containers, the bounding set stays.
    if permitted.contains(&Capability::CAP_SETPCAP) {
        for capability in caps::runtime::thread_all_supported().iter().filter(|capability| !keeps(capability)) {
            caps::drop(None, CapSet::Bounding, *capability)?;
        }
    }
    let left: CapsHashSet = permitted.iter().copied().filter(|capability| keeps(capability)).collect();
    caps::clear(None, CapSet::Ambient)?;
    caps::set(None, CapSet::Inheritable, &CapsHashSet::new())?;
    caps::set(None, CapSet::Effective, &left)?;
    caps::set(None, CapSet::Permitted, &left)?;
    // A process of root that this one starts has what is permitted here, and no more.
    set_no_new_privs().map_err(|errno| CapsError::from(format!("prctl(PR_SET_NO_NEW_PRIVS): {errno}")))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::KeptCapability;

    #[test]
    fn capabilities_are_known_by_either_name() {
        assert_eq!("perfmon".parse::<KeptCapability>(), "CAP_PERFMON".parse());
        let error = "sys_admin".parse::<KeptCapability>().unwrap_err();
        assert!(error.contains("'sys_admin'") && error.contains("perfmon, bpf, syslog"), "{error}");
    }
}
