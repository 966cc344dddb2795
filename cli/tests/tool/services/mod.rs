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

use testkit::claims::Claims;
use testkit::servers::FOLDER;
pub use testkit::servers::unpacked as folder;

use crate::attach::{advice, offloads};

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

/// Returns whether services are to be tested.
pub fn are_here() -> bool {
    std::env::var_os(FOLDER).is_some()
}
