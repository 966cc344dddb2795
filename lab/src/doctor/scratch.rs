//! What was found by trying in namespaces of a child process.

use std::io;
use std::time::Duration;

use nix::unistd::geteuid;
use profile::probe::scratch::{Isolation, Refusal, Step, ask};

use super::request::Request;

/// Loading the modules of a few queueing disciplines takes well under a second.
const LIMIT: Duration = Duration::from_secs(2);

/// The answers, where there were any.
pub(super) struct Findings {
    /// With the caller's rights: what root uses.
    pub with_rights: Result<Vec<io::Result<()>>, Refusal>,
    /// Without: what everybody else uses.
    pub without_rights: Result<Vec<io::Result<()>>, Refusal>,
}

impl Findings {
    /// Tries both ways to set a host apart, and each request in each.
    pub(super) fn gather(requests: &[Request]) -> Self {
        Self { with_rights: ask(Isolation::Network, requests, LIMIT), without_rights: without_rights(requests) }
    }

    /// The way that a study by this user takes: root's where that is open.
    pub(super) const fn best(&self) -> Result<&Vec<io::Result<()>>, &Refusal> {
        match (&self.with_rights, &self.without_rights) {
            (Ok(answers), _) | (Err(_), Ok(answers)) => Ok(answers),
            (Err(_), Err(refusal)) => Err(refusal),
        }
    }
}

/// Root asks on behalf of others, where it can: the root of a user namespace
/// may know no other user.
fn without_rights(requests: &[Request]) -> Result<Vec<io::Result<()>>, Refusal> {
    if is_root() {
        match ask(Isolation::UserAndNetworkOfNobody, requests, LIMIT) {
            Err(Refusal { step: Step::DropRights, .. }) => {}
            asked => return asked,
        }
    }
    ask(Isolation::UserAndNetwork, requests, LIMIT)
}

/// Returns whether the caller is root, here or in its user namespace.
pub(super) fn is_root() -> bool {
    geteuid().is_root()
}
