//! The factors that a plan or a flag can vary.

use super::link::Offload;
use crate::choice::choice;

choice! {
    /// Something a study varies.
    Factor, "a factor" {
        /// The test, by netperf's name.
        Test = "test",
        /// `ipv4` or `ipv6`.
        Family = "family",
        /// How messages reach the kernel.
        Api = "api",
        /// Message size.
        Size = "size",
        /// Bytes that one receive call asks for.
        ReadSize = "read_size",
        /// TCP_NODELAY, `true` or `false`.
        Nodelay = "nodelay",
        /// TCP congestion control.
        Cc = "cc",
        /// SO_SNDBUF.
        Sndbuf = "sndbuf",
        /// SO_RCVBUF.
        Rcvbuf = "rcvbuf",
        /// Flows beside each other.
        Flows = "flows",
        /// What each flow offers: bits or messages a second.
        Rate = "rate",
        /// How a sender waits for the time of its next message.
        Pacing = "pacing",
        /// How both ends wait for what is to come.
        Waiting = "waiting",
        /// CPU time spent before each send, such as `1us`.
        Work = "work",
        /// Whether both ends send, `true` or `false`.
        Bidirectional = "bidirectional",
        /// Whether datagrams bear their number and time, `true` or `false`.
        Stamp = "stamp",
        /// Measured messages of a trial.
        Count = "count",
        /// What joins the hosts.
        Link = "link",
        /// Units of host load: `2`, `sender:2`, `receiver:1`.
        Load = "load",
        /// Pairs of other hosts on the link: `3`, `3x750K`.
        LinkLoad = "link_load",
        /// Bulk TCP flows beside the trial.
        Bulk = "bulk",
        /// Scheduling of the ends: `sender:nice:10`, `receiver:rt:50`.
        Priority = "priority",
        /// CPUs of the ends and of the softirqs.
        Placement = "placement",
        /// Transmit checksumming of the link's devices, `on` or `off`.
        OffloadTx = "offload.tx",
        /// Their receive checksumming.
        OffloadRx = "offload.rx",
        /// Their scatter-gather.
        OffloadSg = "offload.sg",
        /// Their TCP segmentation offload.
        OffloadTso = "offload.tso",
        /// Their generic segmentation offload.
        OffloadGso = "offload.gso",
        /// Their generic receive offload.
        OffloadGro = "offload.gro",
    }
}

impl Factor {
    /// The device feature that the factor turns on and off, if it is one.
    pub const fn offload(self) -> Option<Offload> {
        match self {
            Self::OffloadTx => Some(Offload::Tx),
            Self::OffloadRx => Some(Offload::Rx),
            Self::OffloadSg => Some(Offload::Sg),
            Self::OffloadTso => Some(Offload::Tso),
            Self::OffloadGso => Some(Offload::Gso),
            Self::OffloadGro => Some(Offload::Gro),
            _ => None,
        }
    }

    /// Whether it says which cell a cell is: what an arm cannot set.
    pub const fn is_identity(self) -> bool {
        matches!(self, Self::Test | Self::Size)
    }
}

#[cfg(test)]
mod tests {
    use super::Factor;
    use crate::plan::link::Offload;

    #[test]
    fn every_offload_is_a_factor_of_its_name() {
        let offloads: Vec<Offload> = Factor::ALL.iter().filter_map(|factor| factor.offload()).collect();
        assert_eq!(offloads, Offload::ALL);
        for factor in Factor::ALL.iter().filter(|factor| factor.offload().is_some()) {
            let name = factor.offload().map_or("", Offload::name);
            assert_eq!(factor.name(), format!("offload.{name}"));
        }
    }
}
