//! Which samples are the network's.

use std::collections::HashMap;

use attribution::{Attributes, Classifier, Context, Layer, Rules, Symbol};
use model::top::{Bucket, Chain};

/// Layers of functions that work for the network and for nothing else. Drivers are not among them: the rules name
/// a disk's, and DMA, as well; where a network device's driver runs, functions of these layers have called it.
const LAYERS: [Layer; 6] = [Layer::Socket, Layer::Tcp, Layer::Udp, Layer::Ip, Layer::Netfilter, Layer::Netdev];

/// System calls on sockets alone.
const CALLS: [&str; 18] = [
    "sendto",
    "sendmsg",
    "sendmmsg",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "socket",
    "socketpair",
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "getsockname",
    "getpeername",
    "setsockopt",
    "getsockopt",
    "shutdown",
];
/// What stands before a system call's name in those of its functions.
const CALL_PREFIXES: [&str; 8] = ["__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__se_sys_", "__do_sys_", "____sys_", "___sys_", "__sys_"];

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

/// The part that a chain plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// By the rules.
    pub attributes: Attributes,
    /// A function of it works for the network alone.
    pub network: bool,
    /// It passes a packet on.
    pub forwards: bool,
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
        let names = || frames.iter().map(|frame| Symbol::parse(frame).name);
        let of_layer = self.classifier.named_layers(&frames).into_iter().flatten().any(|layer| LAYERS.contains(&layer));
        let network = !chain.user && (of_layer || names().any(is_socket_call));
        let forwards = names().any(|name| FORWARD.contains(&name));
        let crosses = !chain.user && !network && attributes.context == Context::Process && attributes.layer == Layer::Syscall;
        let part = Part { attributes, network, forwards, crosses };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(key, part);
        part
    }
}

/// Returns whether a function is that of a system call on sockets.
fn is_socket_call(name: &str) -> bool {
    CALL_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).is_some_and(|call| CALLS.contains(&call))
}

#[cfg(test)]
mod tests {
    use attribution::{Context, Layer, Rules};
    use model::top::{Bucket, Chain};

    use super::{Part, Parts};

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
        assert!(send.network && !send.crosses && !send.forwards);
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
        assert_eq!(rcu.attributes.context, Context::Softirq);
        let forward = part(
            "fib_table_lookup ip_route_input_slow ip_forward.isra.0 ip_rcv __netif_receive_skb_one_core net_rx_action handle_softirqs",
        );
        assert!(forward.network && forward.forwards);
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
