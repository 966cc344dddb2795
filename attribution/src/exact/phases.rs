//! Counts of a message of TCP by phase and layer of 1997.

use serde::Serialize;

use super::{CallTree, Counts};
use crate::attributes::Phase;
use crate::phases::Stack;
use crate::rules::{Classifier, Rules};

/// The name of user code in a tree.
const USER: &str = "[user]";

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
        let phase = found.phase;
        let stack = Stack::of(found.layer);
        match rows.iter_mut().find(|row| row.phase == phase && row.stack == stack) {
            Some(row) => row.counts += node.own,
            None => rows.push(PhaseRow { phase, stack, counts: node.own }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::phases;
    use crate::exact::Counts;
    use crate::{Phase, Rules, Stack};

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
