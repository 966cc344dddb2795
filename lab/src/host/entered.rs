//! Proof that a process has set itself apart.

use std::collections::BTreeMap;

use crate::refusal::Refusal;

/// Isolation of a host from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// A network namespace of its own. Needs root.
    Network,
    /// A user namespace in which the caller is root, and a network namespace
    /// that belongs to it. Needs no privilege.
    UserAndNetwork,
    /// A network namespace in the user namespace of another host: a device can
    /// be placed in another namespace only by somebody who is root in both.
    JoinUser {
        /// A process in that user namespace, started by the same user.
        pid: u32,
    },
    /// None: the host is this machine, and nothing is changed in it.
    None,
}

/// Proof that this process has set itself apart as asked. Whatever changes
/// something of the network asks to see it.
#[derive(Debug)]
pub struct Entered {
    isolation: Isolation,
    sysctls_before: BTreeMap<String, String>,
}

impl Entered {
    /// Makes the proof, before the process sets itself apart.
    pub(super) const fn new(isolation: Isolation, sysctls_before: BTreeMap<String, String>) -> Self {
        Self { isolation, sysctls_before }
    }

    /// Returns whether the process has a network namespace of its own.
    pub const fn is_isolated(&self) -> bool {
        !matches!(self.isolation, Isolation::None)
    }

    /// Refuses an attempt to change something outside a namespace of nettoll's own.
    pub(crate) fn guard(&self, tried: impl Into<String>, remedy: &str) -> Result<(), Refusal> {
        let reason = "this host is not isolated, and nettoll changes nothing outside its own namespaces";
        if self.is_isolated() { Ok(()) } else { Err(Refusal::new(tried, reason, remedy)) }
    }

    /// The settings of the network stack as they showed before. Those of the
    /// whole machine cannot be seen from inside.
    pub(super) const fn sysctls_before(&self) -> &BTreeMap<String, String> {
        &self.sysctls_before
    }

    /// Returns how, in the words of `HostFacts::isolation`.
    pub const fn describe(&self) -> &'static str {
        match self.isolation {
            Isolation::Network => "network namespace",
            Isolation::UserAndNetwork | Isolation::JoinUser { .. } => "network namespace in a user namespace",
            Isolation::None => "this machine",
        }
    }
}
