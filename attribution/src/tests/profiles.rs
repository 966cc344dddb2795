//! Made-up profiles whose truth is known.

use model::profile::{Profile, SampleSource, Stack};

/// The period of the made-up samples, in ns.
pub const PERIOD: u64 = 106_681;

/// A chain and what it costs a message in ns.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Innermost function first, parted by `<`.
    pub chain: &'static str,
    /// ns per message.
    pub ns: f64,
}

/// Chains of a sender of UDP over loopback.
pub const COSTS: [Cost; 9] = [
    Cost { chain: "_copy_from_iter<ip_generic_getfrag<__ip_append_data<udp_sendmsg<__sys_sendto<do_syscall_64", ns: 150.0 },
    Cost { chain: "csum_partial<udp_send_skb<udp_sendmsg<__sys_sendto<do_syscall_64", ns: 60.0 },
    Cost { chain: "__alloc_skb<sock_alloc_send_pskb<__ip_append_data<udp_sendmsg<__sys_sendto<do_syscall_64", ns: 200.0 },
    Cost { chain: "udp_sendmsg<__sys_sendto<do_syscall_64", ns: 180.0 },
    Cost { chain: "do_syscall_64<entry_SYSCALL_64_after_hwframe", ns: 120.0 },
    Cost {
        chain: "__udp4_lib_rcv<ip_local_deliver<__netif_receive_skb<process_backlog<__napi_poll<net_rx_action<handle_softirqs<__sys_sendto",
        ns: 130.0,
    },
    Cost { chain: "tcp_ack<tcp_v4_rcv<process_backlog<net_rx_action", ns: 100.0 },
    Cost { chain: "[user]", ns: 40.0 },
    Cost { chain: "[syscall exit]", ns: 20.0 },
];

/// A profile with these counts of [`COSTS`]' chains.
pub fn profile(counts: &[(&str, u64)]) -> Profile {
    let mut symbols: Vec<String> = Vec::new();
    let mut stacks = Vec::new();
    for (chain, count) in counts.iter().filter(|(_, count)| *count > 0) {
        let mut frames = Vec::new();
        for name in chain.split('<') {
            let place = symbols.iter().position(|known| known == name).unwrap_or_else(|| {
                symbols.push(name.to_owned());
                symbols.len() - 1
            });
            frames.push(place as u32);
        }
        stacks.push(Stack { frames, user: chain.starts_with('['), count: *count });
    }
    Profile { source: SampleSource::CpuClock, period: PERIOD, symbols, stacks, lost: 0, throttled: 0, broken: 0, account: None }
}
