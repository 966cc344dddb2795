//! A TCP message by what is done for it: sent, its acknowledgement taken, received, its
//! acknowledgement sent; each by the four layers of 1997.

use model::choice;
use serde::Serialize;

use super::{CallTree, Counts};
use crate::attributes::{Direction, Layer};
use crate::rules::{Classifier, Rules};

/// The name of user code in a tree.
const USER: &str = "[user]";

/// From here outwards an acknowledgement is sent.
const SENT: [&str; 2] = ["tcp_send_ack", "__tcp_send_ack"];

/// From here inwards an acknowledgement is taken.
const TAKEN: &str = "__netif_receive_skb";

choice! {
    /// What is done for a message.
    Phase, "a phase" {
        /// It is sent.
        Send = "send",
        /// Its acknowledgement is taken.
        AckTaken = "acknowledgement taken",
        /// It is received.
        Receive = "receive",
        /// Its acknowledgement is sent.
        AckSent = "acknowledgement sent",
    }
}

choice! {
    /// The layers of 1997, and what they leave out.
    Stack, "a layer of 1997" {
        /// User code, the call and the socket.
        Socket = "socket",
        /// TCP.
        Tcp = "TCP",
        /// IP, packet filter and BPF.
        Ip = "IP",
        /// Devices and their drivers.
        Ethernet = "Ethernet",
        /// Scheduler, timers, memory, and what has no layer: 1997 left switches out.
        Apart = "apart",
    }
}

impl Stack {
    /// The layer of 1997 that a layer belongs to.
    pub const fn of(layer: Layer) -> Self {
        match layer {
            Layer::User | Layer::Syscall | Layer::Socket | Layer::Security => Self::Socket,
            Layer::Tcp => Self::Tcp,
            Layer::Ip | Layer::Netfilter | Layer::Bpf => Self::Ip,
            Layer::Netdev | Layer::Driver => Self::Ethernet,
            _ => Self::Apart,
        }
    }
}

/// Counts of a phase in a layer. Without a phase: nothing shows whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PhaseRow {
    /// The phase.
    pub phase: Option<Phase>,
    /// The layer.
    pub stack: Stack,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Every phase with every layer that it has; all rows together are the message.
pub fn phases(tree: &CallTree, rules: &Rules) -> Vec<PhaseRow> {
    let mut classifier = Classifier::new(rules);
    let mut rows: Vec<PhaseRow> = Vec::new();
    for (place, node) in tree.nodes().iter().enumerate().filter(|(_, node)| !node.own.is_zero()) {
        let chain = tree.chain(place);
        let found = classifier.classify(&chain, node.function == USER);
        let phase = match found.direction {
            Some(Direction::Send) => Some(Phase::Send),
            Some(Direction::Receive) => Some(Phase::Receive),
            Some(Direction::Acknowledgement) => acknowledgement(&chain),
            None => None,
        };
        let stack = Stack::of(found.layer);
        match rows.iter_mut().find(|row| row.phase == phase && row.stack == stack) {
            Some(row) => row.counts += node.own,
            None => rows.push(PhaseRow { phase, stack, counts: node.own }),
        }
    }
    rows
}

/// Sent or taken: what the innermost of both marks says.
fn acknowledgement(chain: &[&str]) -> Option<Phase> {
    chain.iter().find_map(|name| {
        let base = name.split('.').next().unwrap_or(name);
        match () {
            () if SENT.contains(&base) => Some(Phase::AckSent),
            () if base.starts_with(TAKEN) => Some(Phase::AckTaken),
            () => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::{Phase, Stack, phases};
    use crate::Rules;
    use crate::exact::Counts;

    #[test]
    fn an_acknowledgement_is_cut_where_it_leaves_and_where_it_comes_in() {
        // A sender's call whose softirq receives the message, acknowledges it, and takes the acknowledgement.
        let tree = tree(&[
            (None, "entry_SYSCALL_64", 1),
            (Some(0), "__x64_sys_sendto", 2),
            (Some(1), "tcp_sendmsg_locked", 40),
            (Some(2), "tcp_write_xmit", 30),
            (Some(3), "__ip_queue_xmit", 20),
            (Some(4), "__dev_queue_xmit", 10),
            (Some(4), "net_rx_action", 3),
            (Some(6), "__netif_receive_skb_one_core", 4),
            (Some(7), "tcp_v4_rcv", 50),
            (Some(8), "tcp_data_queue", 60),
            (Some(8), "__tcp_send_ack.part.0", 70),
            (Some(10), "__ip_queue_xmit", 21),
            (Some(7), "tcp_v4_rcv", 0),
            (Some(12), "tcp_ack", 80),
        ]);
        let rows = phases(&tree, &Rules::builtin().unwrap());
        assert_eq!(rows.iter().map(|row| row.counts).sum::<Counts>(), tree.total());
        let of = |phase: Phase, stack: Stack| -> u64 {
            rows.iter().filter(|row| row.phase == Some(phase) && row.stack == stack).map(|row| row.counts.instructions).sum()
        };
        assert_eq!(of(Phase::Send, Stack::Tcp), 70);
        assert_eq!((of(Phase::AckSent, Stack::Tcp), of(Phase::AckSent, Stack::Ip)), (70, 21));
        assert_eq!(of(Phase::AckTaken, Stack::Tcp), 80);
        assert!(of(Phase::Receive, Stack::Tcp) >= 60, "{rows:?}");
        assert!(of(Phase::Send, Stack::Ethernet) >= 10, "{rows:?}");
    }
}
