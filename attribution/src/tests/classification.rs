//! Chains as kernels of several ages and machines show them.

use crate::{Attributes, Category, Context, Crossing, Direction, Layer, Rules};

/// What is written of a chain, innermost function first, parted by `<`.
fn of(chain: &str) -> Attributes {
    let frames: Vec<&str> = chain.split('<').map(str::trim).collect();
    Rules::builtin().unwrap().classify(&frames, false)
}

const SENDTO: &str = "__sys_sendto < __x64_sys_sendto < x64_sys_call < do_syscall_64 < entry_SYSCALL_64_after_hwframe";
const UDP_OUT: &str = "__dev_queue_xmit < ip_finish_output2 < ip_output < ip_send_skb < udp_send_skb < udp_sendmsg";
const SOFTIRQ: &str = "process_backlog < __napi_poll < net_rx_action < handle_softirqs < do_softirq.part.0 < __local_bh_enable_ip";
const RECVFROM: &str = "inet_recvmsg < sock_recvmsg < __sys_recvfrom < __x64_sys_recvfrom < do_syscall_64";
const TCP_IN: &str = "tcp_v4_rcv < ip_protocol_deliver_rcu < ip_local_deliver_finish < __netif_receive_skb_one_core";

fn is(chain: &str, layer: Layer, category: Category) {
    let found = of(chain);
    assert_eq!((found.layer, found.category), (layer, category), "{chain}");
}

fn runs(chain: &str, context: Context, direction: Option<Direction>) {
    let found = of(chain);
    assert_eq!((found.context, found.direction), (context, direction), "{chain}");
}

#[test]
fn shared_helpers_go_with_their_caller() {
    is(&format!("_copy_from_iter < tcp_sendmsg_locked < tcp_sendmsg < {SENDTO}"), Layer::Tcp, Category::DataMovement);
    is(
        &format!("_copy_from_iter < ip_generic_getfrag < __ip_append_data < ip_make_skb < udp_sendmsg < {SENDTO}"),
        Layer::Ip,
        Category::DataMovement,
    );
    is(
        &format!("kfree < skb_release_data < napi_consume_skb < skb_defer_free_flush < net_rx_action < {SENDTO}"),
        Layer::Netdev,
        Category::BufferManagement,
    );
    is(
        "__raw_callee_save___pv_queued_spin_unlock < _raw_spin_unlock_bh < release_sock < tcp_sendmsg",
        Layer::Socket,
        Category::OperatingSystem,
    );
    is(
        "__list_del_entry_valid_or_report < __rmqueue_pcplist < get_page_from_freelist < skb_page_frag_refill < sk_page_frag_refill < tcp_sendmsg_locked",
        Layer::Tcp,
        Category::ErrorChecking,
    );
    is("read_tsc < ktime_get < tcp_write_xmit", Layer::Tcp, Category::OperatingSystem);
    is("siphash_3u32 < __ip_select_ident < __ip_make_skb", Layer::Ip, Category::DataStructures);
}

#[test]
fn copies_checksums_and_both_in_one() {
    is("csum_partial_copy_generic < csum_and_copy_to_user < csum_and_copy_to_iter < udp_recvmsg", Layer::Udp, Category::CopyChecksum);
    is("csum_partial < skb_checksum < __skb_checksum_complete < tcp_add_backlog", Layer::Tcp, Category::Checksum);
    is("do_csum < csum_partial < udp6_hwcsum < udpv6_sendmsg", Layer::Udp, Category::Checksum);
    is("tcp_v4_send_check < __tcp_transmit_skb", Layer::Tcp, Category::Checksum);
    is("ip_send_check < __ip_local_out", Layer::Ip, Category::Checksum);
    // 5.10 and arm64.
    is("copy_user_enhanced_fast_string < copyin < _copy_from_iter_full < tcp_sendmsg_locked", Layer::Tcp, Category::DataMovement);
    is(
        "__arch_copy_to_user < _copy_to_iter < __skb_datagram_iter < skb_copy_datagram_iter < tcp_recvmsg_locked",
        Layer::Tcp,
        Category::DataMovement,
    );
    is("__pi_memcpy < skb_segment < tcp_gso_segment", Layer::Tcp, Category::DataMovement);
    // An address is no payload.
    is(&format!("_copy_from_user < move_addr_to_kernel < {SENDTO}"), Layer::Syscall, Category::OperatingSystem);
}

#[test]
fn time_with_interrupts_off_goes_to_what_switched_them_off() {
    is("_raw_spin_unlock_irqrestore < sock_def_readable < __udp_enqueue_schedule_skb", Layer::Sched, Category::OperatingSystem);
    is("_raw_spin_unlock_irqrestore < tcp_write_xmit < __tcp_push_pending_frames", Layer::Timer, Category::OperatingSystem);
    is("_raw_spin_unlock_irqrestore < enqueue_to_backlog < netif_rx_internal", Layer::Netdev, Category::DataStructures);
    is(&format!("_raw_spin_unlock_irq < {SOFTIRQ}"), Layer::Netdev, Category::OperatingSystem);
    is("finish_task_switch.isra.0 < __schedule < schedule < schedule_timeout", Layer::Sched, Category::OperatingSystem);
    let entry = of("do_syscall_64 < entry_SYSCALL_64_after_hwframe");
    assert_eq!((entry.layer, entry.crossing), (Layer::Syscall, Some(Crossing::Entry)));
    assert_eq!(of("el0_svc < el0t_64_sync_handler < el0t_64_sync").crossing, Some(Crossing::Entry));
    // 5.10: the switch is in a function of its own.
    assert_eq!(of("syscall_enter_from_user_mode < do_syscall_64").crossing, Some(Crossing::Entry));
    // The hard interrupt shows where its way out lets interrupts in.
    let hard = of(&format!(
        "handle_softirqs < __irq_exit_rcu < sysvec_apic_timer_interrupt < asm_sysvec_apic_timer_interrupt < tcp_sendmsg_locked < {SENDTO}"
    ));
    assert_eq!((hard.context, hard.layer, hard.category), (Context::Hardirq, Layer::Timer, Category::OperatingSystem));
}

#[test]
fn user_code_and_the_way_back() {
    let rules = Rules::builtin().unwrap();
    let user = rules.classify(&["[user]"], true);
    assert_eq!((user.layer, user.category, user.context, user.direction), (Layer::User, Category::User, Context::Process, None));
    let exit = rules.classify(&["[syscall exit]"], true);
    assert_eq!((exit.layer, exit.category, exit.crossing), (Layer::Syscall, Category::OperatingSystem, Some(Crossing::Exit)));
    let nothing = rules.classify(&[], false);
    assert_eq!((nothing.layer, nothing.category), (Layer::Other, Category::Other));
}

#[test]
fn contexts_are_those_of_the_innermost_marker() {
    runs(&format!("udp_sendmsg < {SENDTO}"), Context::Process, Some(Direction::Send));
    runs(
        &format!("__udp4_lib_rcv < ip_local_deliver_finish < {SOFTIRQ} < {UDP_OUT} < {SENDTO}"),
        Context::Softirq,
        Some(Direction::Receive),
    );
    runs(
        "hrtimer_interrupt < sysvec_apic_timer_interrupt < asm_sysvec_apic_timer_interrupt < net_rx_action < handle_softirqs",
        Context::Hardirq,
        None,
    );
    let late = "net_rx_action < handle_softirqs < __irq_exit_rcu < sysvec_apic_timer_interrupt < asm_sysvec_apic_timer_interrupt";
    runs(late, Context::Softirq, None);
    // 5.10.
    runs("net_rx_action < __do_softirq < asm_call_irq_on_stack < do_softirq_own_stack < do_softirq.part.0", Context::Softirq, None);
    runs("gic_handle_irq < el1_interrupt < el1h_64_irq_handler < el1h_64_irq < tcp_sendmsg", Context::Hardirq, Some(Direction::Send));
}

#[test]
fn acknowledgements_are_told_from_data() {
    let ack = Some(Direction::Acknowledgement);
    runs(&format!("tcp_clean_rtx_queue < tcp_ack < tcp_rcv_established < tcp_v4_do_rcv < {TCP_IN} < {SOFTIRQ}"), Context::Softirq, ack);
    let sent = format!("__tcp_transmit_skb < __tcp_send_ack.part.0 < __tcp_cleanup_rbuf < tcp_recvmsg_locked < tcp_recvmsg < {RECVFROM}");
    runs(&sent, Context::Process, ack);
    // Delivered on the same processor, it is still that acknowledgement ...
    runs(
        &format!("ip_rcv_core < ip_rcv < __netif_receive_skb_one_core < {SOFTIRQ} < __dev_queue_xmit < ip_output < {sent}"),
        Context::Softirq,
        ack,
    );
    // ... and the data that it lets go are not.
    let freed = format!("tcp_write_xmit < __tcp_push_pending_frames < tcp_rcv_established < tcp_v4_do_rcv < {TCP_IN} < {SOFTIRQ} < {sent}");
    runs(&freed, Context::Softirq, Some(Direction::Send));
    runs(
        &format!("tcp_queue_rcv < tcp_data_queue < tcp_rcv_established < {TCP_IN} < {SOFTIRQ} < {freed}"),
        Context::Softirq,
        Some(Direction::Receive),
    );
    // The compiler made the deciding function one with its caller.
    runs(&format!("__tcp_transmit_skb < tcp_recvmsg_locked < tcp_recvmsg < {RECVFROM}"), Context::Process, ack);
    runs(&format!("_copy_to_iter < tcp_recvmsg_locked < tcp_recvmsg < {RECVFROM}"), Context::Process, Some(Direction::Receive));
    // A backlog worked off by the sender.
    runs(
        &format!("tcp_rcv_established < tcp_v4_do_rcv < __release_sock < release_sock < tcp_sendmsg < {SENDTO}"),
        Context::Process,
        Some(Direction::Receive),
    );
}

#[test]
fn families_drivers_and_hooks() {
    is("ip6_rcv_core < ipv6_rcv", Layer::Ip, Category::Protocol);
    is("udpv6_queue_rcv_one_skb < udp6_unicast_rcv_skb", Layer::Udp, Category::Protocol);
    is("tcp_v6_do_rcv < tcp_v6_rcv", Layer::Tcp, Category::Protocol);
    is("fib6_table_lookup < ip6_pol_route", Layer::Ip, Category::DataStructures);
    is("veth_xmit [veth] < dev_hard_start_xmit", Layer::Driver, Category::Protocol);
    is("mlx5e_xmit [mlx5_core] < dev_hard_start_xmit", Layer::Driver, Category::Protocol);
    is("free_rx_page [ena] < ena_io_poll [ena]", Layer::Driver, Category::Protocol);
    is("ixgbe_poll < __napi_poll", Layer::Driver, Category::Protocol);
    is("e1000_clean_rx_irq [e1000e] < e1000e_poll [e1000e]", Layer::Driver, Category::Protocol);
    is("virtqueue_add_outbuf < start_xmit [virtio_net]", Layer::Driver, Category::Protocol);
    is("nft_do_chain [nf_tables] < nf_hook_slow < ip_local_deliver", Layer::Netfilter, Category::Protocol);
    is("ipt_do_table < nf_hook_slow", Layer::Netfilter, Category::Protocol);
    is("__nf_conntrack_find_get < nf_conntrack_in", Layer::Netfilter, Category::DataStructures);
    is("bpf_prog_6deef7357e7b4530 < cls_bpf_classify < tcf_classify", Layer::Bpf, Category::Protocol);
    is("bpf_prog_classic [bpf] < __seccomp_filter < syscall_trace_enter", Layer::Bpf, Category::ErrorChecking);
    is("fq_codel_enqueue < dev_qdisc_enqueue < __dev_queue_xmit", Layer::Netdev, Category::DataStructures);
    is("tcf_classify < sch_handle_ingress", Layer::Netdev, Category::Protocol);
    is("security_socket_sendmsg < __sys_sendto", Layer::Security, Category::ErrorChecking);
    is("selinux_socket_sendmsg < security_socket_sendmsg", Layer::Security, Category::ErrorChecking);
    is(
        "__memcg_slab_post_alloc_hook < kmem_cache_alloc_node_noprof < __alloc_skb < tcp_stream_alloc_skb < tcp_sendmsg_locked",
        Layer::Tcp,
        Category::BufferManagement,
    );
    is("asm_exc_page_fault < _copy_to_iter", Layer::Mm, Category::OperatingSystem);
    is("lock_acquire < _raw_spin_lock_bh < udp_recvmsg", Layer::Udp, Category::OperatingSystem);
    is("kasan_save_stack < kmem_cache_alloc < __alloc_skb < ip_make_skb", Layer::Ip, Category::BufferManagement);
    is("rt_mutex_slowlock < ip_rcv", Layer::Ip, Category::OperatingSystem);
    is("lookup_nulls_elem_raw < bpf_prog_6deef7357e7b4530 < udp_send_skb", Layer::Bpf, Category::DataStructures);
    is("init_conntrack.isra.0 < nf_conntrack_in < nf_hook_slow", Layer::Netfilter, Category::Protocol);
    // A disk's interrupt is nobody's on this path.
    is("end_bio_bh_io_sync < blk_update_request < blk_done_softirq < udp_recvmsg", Layer::Driver, Category::OperatingSystem);
}

/// Where one could think otherwise: what the labelling guide says.
#[test]
fn borders_lie_where_the_guide_has_them() {
    // Memory of a buffer is its owner's, down to the zeroing of a page.
    let page =
        "prep_new_page < get_page_from_freelist < __alloc_pages_nodemask < skb_page_frag_refill < sk_page_frag_refill < tcp_sendmsg_locked";
    is(&format!("clear_page_erms < kernel_init_free_pages < {page}"), Layer::Tcp, Category::BufferManagement);
    is("__ksize < __alloc_skb < sk_stream_alloc_skb < tcp_sendmsg_locked", Layer::Tcp, Category::BufferManagement);
    is("__alloc_skb < alloc_skb_with_frags < sock_alloc_send_pskb < __ip_append_data < ip_make_skb", Layer::Ip, Category::BufferManagement);
    is("clear_page_erms < do_anonymous_page < handle_mm_fault < exc_page_fault", Layer::Mm, Category::BufferManagement);
    // A protocol's own accounting is the protocol's wherever it is called.
    is("tcp_wfree < ip_rcv_core < ip_rcv", Layer::Tcp, Category::BufferManagement);
    is("sock_wfree < ip_rcv_core < ip_rcv", Layer::Ip, Category::BufferManagement);
    // Descriptors belong to the call.
    is(&format!("__fget_light < sockfd_lookup_light < {SENDTO}"), Layer::Syscall, Category::DataStructures);
    is(&format!("move_addr_to_user < {RECVFROM}"), Layer::Syscall, Category::OperatingSystem);
    // Routes are a table, except for who may send from where.
    for route in ["ip_route_input_slow", "ip_route_output_flow", "ip6_dst_lookup_tail", "rt_set_nexthop", "__sk_dst_check", "dst_release"] {
        is(&format!("{route} < ip_rcv_finish_core"), Layer::Ip, Category::DataStructures);
    }
    is("fib_validate_source < ip_route_input_slow", Layer::Ip, Category::ErrorChecking);
    is("dst_cfs_rq < load_balance", Layer::Sched, Category::OperatingSystem);
    // Softirqs are dispatched by the scheduler's side, the network's is polled by its own.
    is("__do_softirq < asm_call_irq_on_stack < do_softirq < ip_finish_output2", Layer::Sched, Category::OperatingSystem);
    is("handle_softirqs < do_softirq.part.0 < __local_bh_enable_ip < ip_finish_output2", Layer::Sched, Category::OperatingSystem);
    is(SOFTIRQ, Layer::Netdev, Category::OperatingSystem);
    // Safeguards against speculation go with whoever needs them.
    for thunk in ["__x86_indirect_thunk_rax", "__pi___x86_indirect_thunk_r12", "srso_alias_return_thunk", "its_return_thunk"] {
        is(&format!("{thunk} < tcp_sendmsg_locked"), Layer::Tcp, Category::OperatingSystem);
    }
    is("__x86_indirect_thunk_rax", Layer::Other, Category::OperatingSystem);
    is("eth_type_trans < veth_xmit [veth]", Layer::Netdev, Category::Protocol);
    is("__skb_recv_udp < udp_recvmsg", Layer::Udp, Category::DataStructures);
    is("__skb_wait_for_more_packets < __skb_recv_udp", Layer::Socket, Category::OperatingSystem);
}
