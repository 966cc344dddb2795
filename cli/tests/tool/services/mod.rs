//! Hosts by command through the real services, as `make test-services` unpacks them, the
//! implementations that it builds because they weigh, and servers that `nettoll attach` observes.

pub mod cluster;
pub mod manifest;
pub mod programs;
pub mod runtimes;
pub mod slurm;
pub mod ssh;
pub mod ssh_faults;
pub mod sshd;

use std::path::PathBuf;

use testkit::claims::Claims;

use crate::attach::{advice, offloads};
use crate::support::Skip;

pub const MODULES: &[(&str, Claims)] = &[
    ("attach::advice", advice::ALL),
    ("services::manifest", manifest::ALL),
    ("services::programs", programs::ALL),
    ("services::runtimes", runtimes::ALL),
    ("services::slurm", slurm::ALL),
    ("services::ssh", ssh::ALL),
    ("services::ssh_faults", ssh_faults::ALL),
    ("services::programs::languages", programs::languages::ALL),
    ("attach::offloads", offloads::ALL),
];

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
