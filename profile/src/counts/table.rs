//! Events worth counting: tracepoints, and functions with the event that
//! witnesses each. Kernels differ; what one lacks is refused by itself.

/// Tracepoints on the way of a message, as perf writes them.
pub const TRACEPOINTS: &[&str] = &[
    "raw_syscalls:sys_enter",
    "sock:sock_send_length",
    "sock:sock_recv_length",
    "sock:sk_data_ready",
    "tcp:tcp_sendmsg_locked",
    "tcp:tcp_rcv_space_adjust",
    "tcp:tcp_probe",
    "tcp:tcp_retransmit_skb",
    "fib:fib_table_lookup",
    "fib6:fib6_table_lookup",
    "qdisc:qdisc_enqueue",
    "qdisc:qdisc_dequeue",
    "net:net_dev_queue",
    "net:net_dev_start_xmit",
    "net:net_dev_xmit",
    "net:netif_rx",
    "net:netif_receive_skb",
    "net:napi_gro_receive_entry",
    "napi:napi_poll",
    "skb:consume_skb",
    "skb:kfree_skb",
    "skb:skb_copy_datagram_iovec",
    "kmem:kmem_cache_alloc",
    "kmem:kmem_cache_free",
    "kmem:kmalloc",
    "kmem:kfree",
    "kmem:mm_page_alloc",
    "kmem:mm_page_free",
    "irq:softirq_raise",
    "irq:softirq_entry",
    "irq:irq_handler_entry",
    "timer:hrtimer_start",
    "timer:hrtimer_expire_entry",
    "timer:timer_start",
    "sched:sched_switch",
    "sched:sched_waking",
    "ipi:ipi_send_cpu",
];

/// A function, and the event that tells its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackRule {
    /// Its plain name: what the compiler or a module puts behind it is ignored.
    pub function: &'static str,
    /// The event that happens exactly once in each call.
    pub event: &'static str,
    /// A caller and what it calls (or how that begins) that the chain must
    /// have, where the function leads to the event in several ways of which one is
    /// taken once a call.
    pub by: Option<(&'static str, &'static str)>,
    /// Functions that make several events of one call: where one of them was
    /// met, in whatever chain, there is no count.
    pub unless: &'static [&'static str],
}

/// One event for each call, without conditions.
const fn plain(function: &'static str, event: &'static str) -> StackRule {
    StackRule { function, event, by: None, unless: &[] }
}

/// One event for each call, as long as no datagram is cut into fragments.
const fn whole(function: &'static str, event: &'static str) -> StackRule {
    StackRule { function, event, by: None, unless: FRAGMENTS }
}

/// One allocation of an skb's head (not of its data) for each call, as long as
/// no datagram is cut into fragments.
const fn allocates(function: &'static str) -> StackRule {
    StackRule { function, event: "kmem:kmem_cache_alloc", by: Some(("__alloc_skb", "kmem_cache_alloc_node")), unless: FRAGMENTS }
}

/// One lookup for each call, as long as there are no rules for routing.
const fn routes(function: &'static str, event: &'static str) -> StackRule {
    StackRule { function, event, by: None, unless: &["fib_rules_lookup"] }
}

/// Functions that cut a datagram into several frames.
const FRAGMENTS: &[&str] = &["ip_do_fragment", "ip_fragment", "ip6_fragment"];

/// The curated rows. A function stands here only if each call of it causes the
/// event exactly once: not one that loops over frames (`tcp_write_xmit`,
/// `dev_hard_start_xmit`, `process_backlog`), nor one that may go another way
/// (`udp_queue_rcv_one_skb` drops where the socket is full), nor one with several
/// ways to it (`ip_finish_output2`), nor a leaf without events.
pub const STACK_RULES: &[StackRule] = &[
    plain("__x64_sys_sendto", "sock:sock_send_length"),
    plain("__arm64_sys_sendto", "sock:sock_send_length"),
    plain("__sys_sendto", "sock:sock_send_length"),
    plain("____sys_sendmsg", "sock:sock_send_length"),
    plain("sock_write_iter", "sock:sock_send_length"),
    plain("__x64_sys_recvfrom", "sock:sock_recv_length"),
    plain("__arm64_sys_recvfrom", "sock:sock_recv_length"),
    plain("__sys_recvfrom", "sock:sock_recv_length"),
    plain("____sys_recvmsg", "sock:sock_recv_length"),
    plain("sock_read_iter", "sock:sock_recv_length"),
    allocates("__alloc_skb"),
    allocates("alloc_skb_with_frags"),
    allocates("sock_alloc_send_pskb"),
    allocates("__ip_append_data"),
    allocates("ip_make_skb"),
    allocates("__ip6_append_data"),
    allocates("ip6_make_skb"),
    allocates("tcp_stream_alloc_skb"),
    whole("udp_sendmsg", "net:net_dev_queue"),
    whole("udp_send_skb", "net:net_dev_queue"),
    whole("ip_send_skb", "net:net_dev_queue"),
    whole("ip_output", "net:net_dev_queue"),
    whole("udpv6_sendmsg", "net:net_dev_queue"),
    whole("udp_v6_send_skb", "net:net_dev_queue"),
    whole("ip6_send_skb", "net:net_dev_queue"),
    whole("ip6_output", "net:net_dev_queue"),
    plain("__tcp_transmit_skb", "net:net_dev_queue"),
    plain("__ip_queue_xmit", "net:net_dev_queue"),
    plain("ip6_xmit", "net:net_dev_queue"),
    plain("__dev_queue_xmit", "net:net_dev_queue"),
    plain("loopback_xmit", "net:netif_rx"),
    plain("veth_xmit", "net:netif_rx"),
    plain("__netif_rx", "net:netif_rx"),
    plain("netif_rx_internal", "net:netif_rx"),
    plain("__napi_poll", "napi:napi_poll"),
    plain("__netif_receive_skb_one_core", "net:netif_receive_skb"),
    plain("__netif_receive_skb_core", "net:netif_receive_skb"),
    plain("sock_def_readable", "sock:sk_data_ready"),
    plain("tcp_rcv_established", "tcp:tcp_probe"),
    plain("tcp_rcv_space_adjust", "tcp:tcp_rcv_space_adjust"),
    plain("skb_copy_datagram_iter", "skb:skb_copy_datagram_iovec"),
    plain("fib_table_lookup", "fib:fib_table_lookup"),
    routes("ip_route_output_key_hash_rcu", "fib:fib_table_lookup"),
    routes("ip_route_output_flow", "fib:fib_table_lookup"),
];

/// Functions worth a count that cause no event of their own: what a receipt
/// most often lists on current kernels. Where programs can be put at functions
/// they are counted next to those of [`STACK_RULES`]; a kernel that lacks one, or has
/// put it into its caller, refuses it by itself.
const LEAVES: &[&str] = &[
    "_copy_from_iter",
    "_copy_to_iter",
    "__check_object_size",
    "__ip_select_ident",
    "__skb_recv_udp",
    "__udp4_lib_lookup",
    "__udp6_lib_lookup",
    "__udp_enqueue_schedule_skb",
    "csum_partial",
    "dev_hard_start_xmit",
    "dst_release",
    "enqueue_to_backlog",
    "eth_type_trans",
    "ip_finish_output2",
    "ip_local_deliver_finish",
    "ip_rcv",
    "ipv6_rcv",
    "kfree",
    "kmem_cache_alloc_node_noprof",
    "kmem_cache_free",
    "napi_gro_receive",
    "net_rx_action",
    "process_backlog",
    "release_sock",
    "schedule",
    "security_socket_sendmsg",
    "sk_filter_trim_cap",
    "skb_clone",
    "skb_release_data",
    "sock_wfree",
    "tcp_ack",
    "tcp_cleanup_rbuf",
    "tcp_push",
    "tcp_recvmsg",
    "tcp_sendmsg",
    "tcp_sendmsg_locked",
    "tcp_v4_rcv",
    "tcp_v6_rcv",
    "tcp_write_xmit",
    "try_to_wake_up",
    "udp_queue_rcv_one_skb",
    "udp_recvmsg",
    "udpv6_recvmsg",
];

/// Every function that is counted where programs can be put at functions, each once.
pub fn functions() -> Vec<&'static str> {
    let mut all: Vec<&str> = STACK_RULES.iter().map(|witness| witness.function).chain(LEAVES.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}
