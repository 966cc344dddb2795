//! Which samples are the network's.

use std::collections::HashMap;

use attribution::{Attributes, Classifier, Context, Layer, Rules, Symbol};
use model::top::{Bucket, Chain};

use crate::attached::is_on_sockets;

/// Layers of functions that work for the network and for nothing else. Drivers are not among them: the rules name
/// a disk's, and DMA, as well; where a network device's driver runs, functions of these layers have called it.
const LAYERS: [Layer; 6] = [Layer::Socket, Layer::Tcp, Layer::Udp, Layer::Ip, Layer::Netfilter, Layer::Netdev];

/// Functions that pass packets on to another machine or namespace.
const FORWARD: [&str; 11] = [
    "ip_forward",
    "ip_forward_finish",
    "ip6_forward",
    "ip6_forward_finish",
    "ip_mr_forward",
    "ip6_mr_forward",
    "br_forward",
    "__br_forward",
    "br_flood",
    "mpls_forward",
    "ip_vs_out",
];

/// Functions that send a packet. A compiler turns calls of [`FORWARD`] into jumps, which leave no frame: a packet that
/// is received and sent, without a protocol of this machine in between, is passed on all the same.
const TRANSMIT: [&str; 16] = [
    "ip_output",
    "ip_mc_output",
    "ip_finish_output",
    "__ip_finish_output",
    "ip_finish_output2",
    "ip6_output",
    "ip6_finish_output",
    "__ip6_finish_output",
    "ip6_finish_output2",
    "neigh_hh_output",
    "neigh_resolve_output",
    "neigh_connected_output",
    "br_dev_queue_push_xmit",
    "dev_queue_xmit",
    "__dev_queue_xmit",
    "dev_hard_start_xmit",
];
/// Beginnings of functions with a packet for this machine.
const DELIVER: [&str; 13] = [
    "ip_local_deliver",
    "ip_protocol_deliver_rcu",
    "ip6_input",
    "ip6_mc_input",
    "ip6_protocol_deliver_rcu",
    "tcp_v4_early_demux",
    "tcp_v6_early_demux",
    "udp_v4_early_demux",
    "udp_v6_early_demux",
    "arp_rcv",
    "arp_process",
    "packet_rcv",
    "tpacket_rcv",
];
/// Beginnings of functions that receive a packet for any socket or machine.
const RECEIVE: [&str; 13] = [
    "__netif_receive_skb",
    "netif_receive_skb",
    "process_backlog",
    "napi_gro_receive",
    "napi_gro_frags",
    "dev_gro_receive",
    "ip_rcv",
    "ip_list_rcv",
    "ip_sublist_rcv",
    "ipv6_rcv",
    "ipv6_list_rcv",
    "ip6_rcv_finish",
    "br_handle_frame",
];
/// Functions that hand packets to the CPU that will receive them (RPS).
const STEER: [&str; 3] = ["get_rps_cpu", "net_rps_send_ipi", "net_rps_action_and_irq_enable"];
/// Functions around all of a softirq's.
const SOFTIRQ: [&str; 2] = ["handle_softirqs", "__do_softirq"];

/// Where a softirq's packet goes, as far as a chain shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// To another machine or namespace.
    Forwarded,
    /// To this machine.
    Delivered,
    /// To another CPU, which receives it.
    Steered,
    /// It is received, and nothing shows yet where it goes.
    Received,
    /// It is no packet that is received.
    Other,
}

impl Fate {
    /// By the functions of a chain, the innermost first: those around the softirq are the interrupted task's.
    fn of<'a>(functions: impl Iterator<Item = &'a str>) -> Self {
        let begins = |name: &str, beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
        let mut transmits = false;
        for (place, name) in functions.enumerate() {
            match name {
                _ if FORWARD.contains(&name) => return Self::Forwarded,
                _ if TRANSMIT.contains(&name) => transmits = true,
                _ if STEER.iter().any(|steer| name.starts_with(steer)) => return Self::Steered,
                _ if begins(name, &DELIVER) => return Self::Delivered,
                _ if begins(name, &RECEIVE) => return if transmits { Self::Forwarded } else { Self::Received },
                "net_rx_action" if place == 0 => return Self::Received,
                _ if SOFTIRQ.contains(&name) => return Self::Other,
                _ => {}
            }
        }
        Self::Other
    }
}

/// Functions in which the kernel enables softirqs again, and so runs those that are pending.
const ENABLE: [&str; 2] = ["__local_bh_enable_ip", "do_softirq"];
/// The function that receives packets which a CPU queued: its own, or another's (RPS).
const BACKLOG: &str = "process_backlog";

/// Where a softirq's packet comes from, as far as a chain shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The interrupted task has just sent it: the softirq runs at the end of its transmission.
    OwnSend,
    /// A queue, which another CPU or an earlier send filled.
    Queue,
    /// A network card, or it is no packet.
    Other,
}

impl Origin {
    /// By the functions of a chain, the innermost first.
    fn of<'a>(functions: impl Iterator<Item = &'a str> + Clone) -> Self {
        // The older of two names of the softirq's function calls the newer.
        let around = functions.clone().skip_while(|name| !SOFTIRQ.contains(name)).skip_while(|name| SOFTIRQ.contains(name));
        let is_interrupt = |name: &&str| name.contains("irq_exit") || name.starts_with("sysvec_") || *name == "run_ksoftirqd";
        let mut task = around.take_while(|name| !is_interrupt(name)).skip_while(|name| !ENABLE.contains(name));
        if task.any(|name| TRANSMIT.contains(&name)) {
            return Self::OwnSend;
        }
        let mut inner = functions.take_while(|name| !SOFTIRQ.contains(name));
        if inner.any(|name| name == BACKLOG) { Self::Queue } else { Self::Other }
    }
}

/// The part that a chain plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// By the rules.
    pub attributes: Attributes,
    /// A function of it works for the network alone.
    pub network: bool,
    /// It is in a softirq as the kernel counts: a softirq's start, which the rules count for the hard interrupt that was
    /// pending there, is one too.
    pub in_softirq: bool,
    /// Where its packet goes, in a softirq.
    pub fate: Fate,
    /// Where it comes from, likewise.
    pub origin: Origin,
    /// It is on its way into a system call or out, so that its chain does not say whose.
    pub crosses: bool,
}

/// Tells the parts of chains.
#[derive(Debug)]
pub struct Parts<'r> {
    classifier: Classifier<'r>,
    /// Numbers of functions.
    functions: HashMap<String, u32>,
    /// By the functions' numbers.
    known: HashMap<(Vec<u32>, bool), Part>,
}

/// Chains that are remembered: some 4,000 occur in a second of a busy machine of 128 CPUs.
const REMEMBERED: usize = 50_000;
/// Functions that are remembered: programs come and go.
const MOST_FUNCTIONS: usize = 50_000;

impl<'r> Parts<'r> {
    /// Knows no chain yet.
    pub fn new(rules: &'r Rules) -> Self {
        Self { classifier: Classifier::new(rules), functions: HashMap::new(), known: HashMap::new() }
    }

    /// The part of each chain of a bucket. A name that is not in its table is damage: it has no layer.
    pub fn of(&mut self, bucket: &Bucket) -> Vec<Part> {
        if self.functions.len() + bucket.symbols.len() > MOST_FUNCTIONS {
            self.functions.clear();
            self.known.clear();
        }
        let numbers: Vec<u32> = bucket.symbols.iter().map(|name| self.number(name)).collect();
        bucket.chains.iter().map(|chain| self.part(chain, &bucket.symbols, &numbers)).collect()
    }

    fn number(&mut self, function: &str) -> u32 {
        if let Some(number) = self.functions.get(function) {
            return *number;
        }
        let number = self.functions.len() as u32;
        self.functions.insert(function.to_owned(), number);
        number
    }

    fn part(&mut self, chain: &Chain, symbols: &[String], numbers: &[u32]) -> Part {
        let number = |place: &u32| numbers.get(*place as usize).copied().unwrap_or(u32::MAX);
        let key = (chain.frames.iter().map(number).collect(), chain.user);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let frames: Vec<&str> = chain.frames.iter().map(|place| symbols.get(*place as usize).map_or("", String::as_str)).collect();
        let attributes = self.classifier.classify(&frames, chain.user);
        let functions = || frames.iter().map(|frame| Symbol::parse(frame));
        let names = || functions().map(|function| function.name);
        let of_layer = self.classifier.named_layers(&frames).into_iter().flatten().any(|layer| LAYERS.contains(&layer));
        let on_sockets = || functions().any(|function| function.system_call().is_some_and(is_on_sockets));
        let network = !chain.user && (of_layer || on_sockets());
        let in_softirq = names().any(|name| SOFTIRQ.contains(&name));
        let (fate, origin) = (Fate::of(names()), Origin::of(names()));
        let crosses = !chain.user && !network && attributes.context == Context::Process && attributes.layer == Layer::Syscall;
        let part = Part { attributes, network, in_softirq, fate, origin, crosses };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(key, part);
        part
    }
}

#[cfg(test)]
mod tests {
    use attribution::{Context, Layer, Rules};
    use model::top::{Bucket, Chain};

    use super::{Fate, Origin, Part, Parts};

    /// The part of a chain, the innermost function first.
    fn part(frames: &str) -> Part {
        let symbols: Vec<String> = frames.split(' ').map(str::to_owned).collect();
        let chain = Chain { frames: (0..symbols.len() as u32).collect(), user: false };
        let bucket = Bucket { symbols, chains: vec![chain], ..Bucket::default() };
        Parts::new(&Rules::builtin().unwrap()).of(&bucket)[0]
    }

    #[test]
    fn a_copy_in_a_send_is_the_networks_and_the_same_copy_to_a_file_is_not() {
        let send =
            part("_copy_from_iter skb_do_copy_data_nocache tcp_sendmsg_locked tcp_sendmsg __sys_sendto __x64_sys_sendto do_syscall_64");
        assert!(send.network && !send.crosses && send.fate == Fate::Other);
        assert_eq!((send.attributes.context, send.attributes.layer), (Context::Process, Layer::Tcp));
        for other in [
            "_copy_from_iter generic_perform_write ext4_buffered_write_iter vfs_write ksys_write do_syscall_64 entry_SYSCALL_64_after_hwframe",
            "clear_page_erms get_page_from_freelist __alloc_pages do_anonymous_page handle_mm_fault do_user_addr_fault exc_page_fault asm_exc_page_fault",
            "pv_native_safe_halt default_idle default_idle_call do_idle cpu_startup_entry start_secondary",
            "pipe_write vfs_write ksys_write do_syscall_64 entry_SYSCALL_64_after_hwframe",
            "virtqueue_add_split virtblk_add_req virtio_queue_rq blk_mq_dispatch_rq_list blk_mq_run_hw_queue submit_bio ext4_readpages",
            "futex_wake do_futex __x64_sys_futex do_syscall_64 entry_SYSCALL_64_after_hwframe",
        ] {
            let part = part(other);
            assert!(!part.network, "{other}: {part:?}");
        }
    }

    #[test]
    fn softirqs_of_the_network_are_and_those_of_others_are_not() {
        let receive = part(
            "tcp_v4_rcv ip_protocol_deliver_rcu ip_local_deliver ip_rcv __netif_receive_skb process_backlog __napi_poll net_rx_action handle_softirqs __irq_exit_rcu",
        );
        assert!(receive.network);
        assert_eq!(receive.attributes.context, Context::Softirq);
        let rcu = part("kmem_cache_free rcu_do_batch rcu_core handle_softirqs __irq_exit_rcu sysvec_apic_timer_interrupt");
        assert!(!rcu.network);
        assert!(rcu.attributes.context == Context::Softirq && rcu.in_softirq);
        let start = part("handle_softirqs __irq_exit_rcu sysvec_call_function_single asm_sysvec_call_function_single");
        assert!(start.attributes.context == Context::Hardirq && start.in_softirq && !part("udp_sendmsg __sys_sendto").in_softirq);
        let forward = part(
            "fib_table_lookup ip_route_input_slow ip_forward.isra.0 ip_rcv __netif_receive_skb_one_core net_rx_action handle_softirqs",
        );
        assert!(forward.network && forward.fate == Fate::Forwarded);
    }

    #[test]
    fn a_packet_is_passed_on_where_it_is_received_and_sent_without_a_protocol_in_between() {
        let softirq = "process_backlog __napi_poll net_rx_action handle_softirqs";
        let sender = "do_softirq __local_bh_enable_ip __dev_queue_xmit ip_finish_output2 udp_send_skb udp_sendmsg __sys_sendto";
        for (inner, fate) in [
            ("veth_xmit dev_hard_start_xmit __dev_queue_xmit ip_finish_output2 __netif_receive_skb_one_core", Fate::Forwarded),
            ("br_dev_queue_push_xmit __netif_receive_skb_core.constprop.0", Fate::Forwarded),
            ("fib_table_lookup ip_route_input_slow ip_rcv_finish_core.isra.0 ip_rcv", Fate::Received),
            ("__udp4_lib_lookup udp_rcv ip_protocol_deliver_rcu ip_local_deliver_finish __netif_receive_skb_one_core", Fate::Delivered),
            ("__dev_queue_xmit __tcp_transmit_skb tcp_rcv_established tcp_v4_rcv ip_protocol_deliver_rcu ip_rcv", Fate::Delivered),
            ("_raw_spin_lock", Fate::Received),
            ("get_rps_cpu netif_receive_skb_list_internal napi_complete_done veth_poll", Fate::Steered),
        ] {
            assert_eq!(part(&format!("{inner} {softirq} {sender}")).fate, fate, "{inner}");
        }
        // An interrupt for the CPU that receives is no work for the sender, in whose call it is made.
        let ipi = "x2apic_send_IPI smp_call_function_single_async net_rps_action_and_irq_enable.isra.0 net_rx_action handle_softirqs";
        assert_eq!(part(&format!("{ipi} {sender}")).fate, Fate::Steered);
        // Nothing of the sender's call around a softirq counts.
        assert_eq!(
            part(&format!("sock_wfree napi_consume_skb virtnet_poll __napi_poll net_rx_action handle_softirqs {sender}")).fate,
            Fate::Other
        );
        assert_eq!(part(&format!("net_rx_action handle_softirqs {sender}")).fate, Fate::Received);
    }

    #[test]
    fn who_sends_a_packet_shows_where_its_softirq_ends_the_transmission() {
        let received = "udp_rcv ip_local_deliver ip_rcv process_backlog __napi_poll net_rx_action handle_softirqs";
        let sent = "__dev_queue_xmit ip_finish_output2 ip_output udp_send_skb udp_sendmsg __sys_sendto";
        for (chain, origin) in [
            (format!("{received} do_softirq __local_bh_enable_ip {sent}"), Origin::OwnSend),
            // As 5.10 has it.
            (
                format!(
                    "ip_rcv process_backlog net_rx_action __do_softirq asm_call_irq_on_stack do_softirq_own_stack do_softirq __local_bh_enable_ip {sent}"
                ),
                Origin::OwnSend,
            ),
            // Steering, at the end of the send.
            (
                format!("net_rps_action_and_irq_enable.isra.0 net_rx_action handle_softirqs do_softirq.part.0 __local_bh_enable_ip {sent}"),
                Origin::OwnSend,
            ),
            // An interrupt in a send, and softirqs that another lock let wait.
            (format!("{received} __irq_exit_rcu sysvec_call_function_single {sent}"), Origin::Queue),
            (format!("{received} do_softirq __local_bh_enable_ip release_sock udp_recvmsg __sys_recvfrom"), Origin::Queue),
            (format!("{received} run_ksoftirqd smpboot_thread_fn kthread"), Origin::Queue),
            (
                format!("napi_gro_receive virtnet_poll __napi_poll net_rx_action handle_softirqs irq_exit_rcu common_interrupt {sent}"),
                Origin::Other,
            ),
            (sent.to_owned(), Origin::Other),
        ] {
            assert_eq!(part(&chain).origin, origin, "{chain}");
        }
    }

    #[test]
    fn the_way_into_a_call_says_not_whose_it_is() {
        let entry = part("do_syscall_64 entry_SYSCALL_64_after_hwframe");
        assert!(entry.crosses && !entry.network);
        assert!(!part("__fget_light").network);
        let border = part("__x64_sys_sendto do_syscall_64 entry_SYSCALL_64_after_hwframe");
        assert!(border.network, "{border:?}");
    }
}
