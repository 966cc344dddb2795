//! Links between the two hosts of a study.

mod kind;
pub mod wire;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::quantity::{Bytes, ParseError};
use crate::suggestion;

pub use kind::{LinkKind, Shaped};
pub use wire::{HostOrder, HostTime, Medium, Share, Wire};

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
    /// Kind of link.
    pub kind: LinkKind,
    /// Largest IP packet in bytes, 68 to 65,535; `None` leaves the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Features to set; those not named stay as the device has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<Offload, bool>,
}

/// A text that is no link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// No such kind.
    #[error("'{word}' is not a kind of link{hint} There are: {}", NAMES.join(", "))]
    Unknown {
        /// Text as written.
        word: String,
        /// The nearest right one.
        hint: String,
    },
    /// A shaped link without its rate.
    #[error("link '{0}' needs a rate, such as '{0} 10M'")]
    NoRate(&'static str),
    /// A rate that is none, or nothing at all.
    #[error("link rate '{text}': {reason}")]
    Rate {
        /// Text as written.
        text: String,
        /// Reason.
        reason: String,
    },
    /// A setting that this kind does not have.
    #[error("link setting '{key}' means nothing here{hint} There are: {all}")]
    UnknownSetting {
        /// Text as written.
        key: String,
        /// The nearest right one.
        hint: String,
        /// Settings that there are.
        all: String,
    },
    /// A setting of a relay's at another link.
    #[error("{kind} has no '{key}': write 'relay {rate}{key}=...', the wire in user space does that")]
    NeedsRelay {
        /// The kind of link.
        kind: &'static str,
        /// Its rate, with a blank behind it.
        rate: String,
        /// The setting.
        key: String,
    },
    /// A value that the setting cannot take.
    #[error("link setting {key}={value}: {reason}")]
    Setting {
        /// The setting.
        key: String,
        /// Text as written.
        value: String,
        /// Reason.
        reason: String,
    },
    /// Settings that contradict each other.
    #[error("the link makes no sense: {0}")]
    Senseless(String),
}

/// The names, as listed for people.
const NAMES: [&str; 7] =
    ["veth", "ethernet RATE", "shared-wire RATE", "switch [RATE]", "relay [RATE] [SETTING=VALUE ...]", "loopback", "network"];

/// Reads the length of a queue in bytes.
fn queue(text: &str) -> Result<Bytes, LinkError> {
    let wrong = |reason: String| LinkError::Setting { key: "queue".to_owned(), value: text.to_owned(), reason };
    let bytes: Bytes = text.parse().map_err(|error: ParseError| wrong(error.to_string()))?;
    match bytes.get() {
        // tbf's limit is 32 bits wide; half of that leaves room for its own bucket.
        2_000..=1_073_741_824 => Ok(bytes),
        _ => Err(wrong("from 2000 bytes, which hold a frame, to 1G".to_owned())),
    }
}

/// A setting that does not exist, with the nearest that does.
fn unknown(key: &str, all: &[&'static str]) -> LinkError {
    let hint = suggestion(key, all.iter().copied());
    LinkError::UnknownSetting { key: key.to_owned(), hint, all: all.join(", ") }
}
