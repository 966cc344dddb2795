//! Hosts by command through the real services, as `make test-services` unpacks them.

pub mod ssh;
pub mod ssh_faults;
pub mod sshd;

use std::path::PathBuf;

use testkit::claims::Claims;

use crate::support::Skip;

pub const MODULES: &[(&str, Claims)] = &[("services::ssh", ssh::ALL), ("services::ssh_faults", ssh_faults::ALL)];

/// The folder that services are unpacked in.
const FOLDER: &str = "NETTOLL_TEST_SERVICES";

/// Returns whether services are to be tested.
pub fn are_here() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// The folder of one of them.
pub fn folder(name: &str) -> Result<PathBuf, Skip> {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap_or_default()).join(name);
    if folder.join("done").exists() { Ok(folder) } else { Err(Skip(format!("the packages of {name} could not be unpacked"))) }
}
