//! The conditions of a trial: what joins its hosts, what else they and the link
//! are busy with, and how the kernel schedules its ends.

mod background;
mod link_load;
mod per_end;
mod priority;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::link::LinkKind;

pub use background::{BackgroundReply, BackgroundRequest, LoadUsage, ObservedConditions, Replaced, Traffic, TrafficTotals};
pub use link_load::{LinkLoad, LinkLoadError, MOST_PAIRS};
pub use per_end::{EndLevel, PerEnd, PerEndError};
pub use priority::{Priority, PriorityError};

/// The most units of load that one end has.
pub const MOST_UNITS: u32 = 64;
/// The most bulk flows next to a trial.
pub const MOST_BULK: u32 = 64;

choice! {
    /// CPUs of the ends, and the one that receives for the receiver's device.
    #[derive(Default)]
    Placement, "a placement" {
        /// As the session shares the CPUs out, and the kernel chooses.
        #[default]
        Usual = "usual",
        /// Both ends on one CPU.
        SameCore = "same-core",
        /// Each on a CPU of its own; refused where there is one only.
        OtherCore = "other-core",
        /// Softirqs of the receiver's device on the sender's CPU.
        SoftirqAtSender = "softirq-at-sender",
        /// Softirqs of the receiver's device on the receiver's CPU.
        SoftirqAtReceiver = "softirq-at-receiver",
    }
}

/// Conditions of a trial. The default is an idle host and link, scheduled as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// Link that joins the hosts, in place of the plan's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkKind>,
    /// Units of load on each end's CPUs, 0 to [`MOST_UNITS`].
    #[serde(skip_serializing_if = "PerEnd::is_usual")]
    pub load: PerEnd<u32>,
    /// Other hosts that use the same link.
    #[serde(skip_serializing_if = "LinkLoad::is_none")]
    pub link_load: LinkLoad,
    /// Bulk TCP flows from the sender's host to the receiver's next to the trial,
    /// 0 to [`MOST_BULK`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub bulk: u32,
    /// Scheduling priority of each end.
    #[serde(skip_serializing_if = "PerEnd::is_usual")]
    pub priority: PerEnd<Priority>,
    /// Assignment of CPUs.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub placement: Placement,
    /// Hosts that the sender's flows come from, in turn, 1 to [`MOST_PAIRS`]; 1 where `receivers` is not.
    #[serde(skip_serializing_if = "crate::is_one")]
    pub senders: u32,
    /// Hosts that the receiver's flows end at, likewise.
    #[serde(skip_serializing_if = "crate::is_one")]
    pub receivers: u32,
}

impl Default for Conditions {
    fn default() -> Self {
        Self::USUAL
    }
}

impl Conditions {
    /// An idle host and the plan's link, idle; scheduled as usual.
    pub const USUAL: Self = Self {
        link: None,
        load: PerEnd { sender: 0, receiver: 0 },
        link_load: LinkLoad::NONE,
        bulk: 0,
        priority: PerEnd { sender: Priority::Usual, receiver: Priority::Usual },
        placement: Placement::Usual,
        senders: 1,
        receivers: 1,
    };

    /// Hosts of the end that has several; 1 where neither has.
    pub const fn most_hosts(&self) -> u32 {
        if self.senders > self.receivers { self.senders } else { self.receivers }
    }

    /// Returns whether nothing is unusual.
    pub fn is_usual(&self) -> bool {
        *self == Self::USUAL
    }
}

#[cfg(test)]
mod tests {
    use super::{Conditions, PerEnd, Placement, Priority};
    use crate::{Bytes, Cell, Test};

    #[test]
    fn only_what_is_unusual_is_written_and_it_is_read_again() {
        assert_eq!(serde_json::to_string(&Conditions::USUAL).unwrap(), "{}");
        assert!(Conditions::USUAL.is_usual());
        let all = Conditions {
            link: Some("switch 10M".parse().unwrap()),
            load: PerEnd { sender: 2, receiver: 0 },
            link_load: "3x750K".parse().unwrap(),
            bulk: 1,
            priority: PerEnd { sender: Priority::Usual, receiver: Priority::Realtime(50) },
            placement: Placement::SameCore,
            senders: 4,
            receivers: 1,
        };
        let words = ["switch 10M", "load sender:2", "link load 3x750K", "with 1 bulk", "priority receiver:rt:50", "same-core", "4 senders"];
        let series = Cell { conditions: all, flows: 4, ..Cell::plain(Test::UdpStream, Bytes::new(64)) }.series();
        assert_eq!(series.to_string(), format!("UDP_STREAM ({})", words.join(", ")));
        assert_eq!(serde_json::from_str::<Conditions>(&serde_json::to_string(&all).unwrap()).unwrap(), all);
    }
}
