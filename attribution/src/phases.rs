//! A message of TCP as the study of 1997 cut it: sent, its acknowledgement taken, received, its
//! acknowledgement sent; each by four layers.

use model::choice;

use crate::attributes::{Direction, Layer, Phase};

/// From here outwards an acknowledgement is sent.
const SENT: [&str; 2] = ["tcp_send_ack", "__tcp_send_ack"];

/// From here inwards an acknowledgement is taken.
const TAKEN: &str = "__netif_receive_skb";

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

impl Phase {
    /// The phase of a chain, the innermost function first, that works for this direction; `None` where nothing shows it.
    pub(crate) fn of<'a>(direction: Option<Direction>, chain: impl Iterator<Item = &'a str>) -> Option<Self> {
        match direction? {
            Direction::Send => Some(Self::Send),
            Direction::Receive => Some(Self::Receive),
            Direction::Acknowledgement => acknowledgement(chain),
        }
    }
}

/// Sent or taken: what the innermost of both marks says.
fn acknowledgement<'a>(mut chain: impl Iterator<Item = &'a str>) -> Option<Phase> {
    chain.find_map(|name| {
        let base = name.split('.').next().unwrap_or(name);
        match () {
            () if SENT.contains(&base) => Some(Phase::AckSent),
            () if base.starts_with(TAKEN) => Some(Phase::AckTaken),
            () => None,
        }
    })
}
