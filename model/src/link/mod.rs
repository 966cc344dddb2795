//! What joins the two hosts of a study.

mod kind;
mod share;
pub mod wire;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::choice;

pub use kind::{LinkError, LinkKind, Shaped};
pub use share::Share;
pub use wire::{HostOrder, HostTime, Medium, Wire};

use kind::{queue, rate_word, time_word, unknown};

choice! {
    /// A device feature that can be turned off and on, by ethtool's short name.
    Offload, "an offload" {
        /// Transmit checksumming, all kinds.
        Tx = "tx",
        /// Receive checksumming.
        Rx = "rx",
        /// Scatter-gather.
        Sg = "sg",
        /// TCP segmentation offload.
        Tso = "tso",
        /// Generic segmentation offload.
        Gso = "gso",
        /// Generic receive offload.
        Gro = "gro",
    }
}

/// A link and its settings, the same at both ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it is made of.
    pub kind: LinkKind,
    /// Largest IP packet in bytes, 68 to 65,535; `None` leaves the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Features to set; those not named stay as the device has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<Offload, bool>,
}
