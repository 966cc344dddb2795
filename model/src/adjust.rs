//! Commands to a host for the arm of a trial: the state that its devices and
//! its kernel are to be in, commands to run, another program for the endpoint.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Offload;

/// To a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmRequest {
    /// Say which of these sysctls cannot be set for this host alone.
    Look {
        /// Their names.
        sysctls: Vec<String>,
    },
    /// Bring the devices and the kernel to this state. What an earlier state
    /// named and this one does not, becomes again what it was before.
    Adjust(HostState),
    /// Run a command by `sh -c`, as the user.
    Run {
        /// The command.
        command: String,
        /// Further variables of its environment.
        environment: Vec<(String, String)>,
    },
    /// Say which nettoll a program is.
    Version {
        /// Its path, on the host.
        tool: String,
    },
    /// Start an endpoint that is another program.
    Start {
        /// Its path, on the host.
        tool: String,
    },
}

/// From a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmReply {
    /// The sysctls that cannot be set for this host alone, each with the
    /// system's answer.
    NotOwn(Vec<(String, String)>),
    /// All is as wanted.
    Adjusted(Vec<AppliedSetting>),
    /// Version as the program states it.
    Version(String),
}

/// The state that the devices and the kernel of a host are to be in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// The device of the link.
    pub device: String,
    /// Its largest IP packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Its features.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<Offload, bool>,
    /// Settings of the kernel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
}

impl HostState {
    /// Returns whether everything is to be as it was.
    pub fn is_nothing(&self) -> bool {
        self.mtu.is_none() && self.offloads.is_empty() && self.sysctls.is_empty()
    }
}

/// A setting that an arm or a cell asked for, and that took effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedSetting {
    /// Its name, as in an arm.
    pub name: String,
    /// Value asked for.
    pub asked: String,
    /// Value that the system gave when it was read back.
    pub got: String,
}
