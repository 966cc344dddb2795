//! Facts of the network stack, the link's device, and interrupts.

use std::collections::BTreeMap;

use crate::host::text::{plain, read_or_empty, sysctl_file};
use crate::host::{ethtool, link};

/// Settings that change what a message costs or how traffic flows, each behind the
/// first part of its name. Those that this kernel does not have are left out.
const SYSCTLS: [(&str, &str); 7] = [
    // Sizes of socket buffers.
    ("net.core", "rmem_default rmem_max wmem_default wmem_max optmem_max"),
    ("net.ipv4", "tcp_rmem tcp_wmem tcp_mem udp_mem udp_rmem_min udp_wmem_min"),
    // Queues, budgets and polling between device and socket.
    (
        "net.core",
        "default_qdisc netdev_max_backlog netdev_budget netdev_budget_usecs dev_weight busy_poll busy_read rps_sock_flow_entries \
         gro_normal_batch high_order_alloc_disable skb_defer_max somaxconn bpf_jit_enable",
    ),
    // Behaviour of TCP.
    (
        "net.ipv4",
        "tcp_congestion_control tcp_available_congestion_control tcp_timestamps tcp_sack tcp_dsack tcp_fack tcp_ecn tcp_window_scaling \
         tcp_adv_win_scale tcp_moderate_rcvbuf tcp_no_metrics_save tcp_slow_start_after_idle tcp_autocorking tcp_limit_output_bytes \
         tcp_notsent_lowat tcp_mtu_probing tcp_tso_win_divisor tcp_min_tso_segs tcp_tso_rtt_log tcp_pacing_ss_ratio tcp_pacing_ca_ratio \
         tcp_early_retrans tcp_recovery tcp_fastopen tcp_comp_sack_delay_ns",
    ),
    // Number of connections that can follow each other.
    ("net.ipv4", "ip_local_port_range tcp_tw_reuse tcp_max_tw_buckets"),
    // IP.
    ("net.ipv4", "ip_early_demux ip_no_pmtu_disc ipfrag_high_thresh ipfrag_time"),
    ("net.ipv6", "ip6frag_time conf.all.disable_ipv6"),
];

/// The settings above, as the calling process's namespace shows them. Those of
/// the whole machine show only in its first namespace, although they bind in
/// all: they have to be read before another is entered.
pub(in crate::host) fn read_sysctls() -> BTreeMap<String, String> {
    let names = SYSCTLS.iter().flat_map(|(first, rest)| rest.split_ascii_whitespace().map(move |rest| format!("{first}.{rest}")));
    let settings = names.map(|name| (name.clone(), plain(&read_or_empty(sysctl_file(&name)))));
    settings.filter(|(_, value)| !value.is_empty()).collect()
}

/// The link's device; only its name where the kernel tells nothing.
pub(super) fn device(name: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([("name".to_owned(), name.to_owned())]);
    let Ok(state) = link::device_state(name) else { return facts };
    let address: Vec<String> = state.address.iter().map(|byte| format!("{byte:02x}")).collect();
    let driver = if state.kind.is_empty() { driver(name) } else { state.kind.clone() };
    let told = [
        ("driver", driver),
        ("mtu", state.mtu.to_string()),
        ("qdisc", state.qdisc.clone()),
        ("address", address.join(":")),
        ("tx_queues", state.tx_queues.to_string()),
        ("rx_queues", state.rx_queues.to_string()),
        ("operstate", state.operstate().to_owned()),
    ];
    facts.extend(told.into_iter().map(|(key, value)| (key.to_owned(), value)));
    facts
}

/// The driver of hardware. `/sys/class/net` shows the namespace in which it was
/// mounted, so it is asked only for what has no kind, and never for `lo`.
fn driver(name: &str) -> String {
    if name == link::LOOPBACK {
        return "loopback".to_owned();
    }
    let path = std::fs::read_link(format!("/sys/class/net/{name}/device/driver")).unwrap_or_default();
    path.file_name().map_or(String::new(), |driver| driver.to_string_lossy().into_owned())
}

/// The device's features; nothing where the kernel does not tell.
pub(super) fn offloads(device: &str) -> BTreeMap<String, bool> {
    ethtool::features(device).map_or_else(|_| BTreeMap::new(), |features| features.active)
}

/// Interrupt lines of network devices, such as `38 virtio2-input.0`, and the
/// CPUs that they may run on.
pub(super) fn irqs(interrupts: &str) -> BTreeMap<String, String> {
    let affinity = |(number, name): (u32, &str)| {
        let cpus = read_or_empty(format!("/proc/irq/{number}/smp_affinity_list"));
        (format!("{number} {name}"), cpus)
    };
    network_lines(interrupts).map(affinity).collect()
}

/// The numbered lines of /proc/interrupts whose last word names a network
/// device's queue.
pub fn network_lines(interrupts: &str) -> impl Iterator<Item = (u32, &str)> {
    interrupts.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let name = rest.split_ascii_whitespace().next_back()?;
        Some((number.trim().parse().ok()?, name)).filter(|(_, name)| is_network(name))
    })
}

fn is_network(name: &str) -> bool {
    // Virtio devices of all kinds are called virtioN; only network ones have
    // numbered inputs and outputs (a console's are not numbered).
    if let Some(rest) = name.strip_prefix("virtio") {
        return rest.contains("-input.") || rest.contains("-output.");
    }
    let name = name.rsplit('@').next_back().unwrap_or(name);
    let interface = |prefix: &&str| name.strip_prefix(*prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    ["eth", "eno", "ens", "enp", "enP", "enx", "ib", "mlx", "bond", "hns"].iter().any(interface)
        || ["mlx5_comp", "mlx5_async", "mlx4", "ena-mgmnt", "iwlwifi", "bnxt", "i40e", "ice-", "ixgbe", "igb", "gve"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || name.contains("-Tx-Rx-")
        || name.contains("-TxRx-")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{network_lines, read_sysctls};

    #[test]
    fn lines_of_network_devices_are_told_from_others() {
        let text = include_str!("../../../tests/data/interrupts.txt");
        let found: Vec<String> = network_lines(text).map(|(number, name)| format!("{number} {name}")).collect();
        assert_eq!(
            found,
            ["38 virtio2-input.0", "39 virtio2-output.0", "120 eth0-TxRx-3", "121 mlx5_comp0@pci:0000:03:00.0", "122 ens5-Tx-Rx-0"]
        );
    }

    #[test]
    fn values_have_single_blanks() {
        assert!(read_sysctls().values().all(|value| !value.contains('\t') && !value.contains("  ")));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            let _ = network_lines(&text).count();
        }
    }
}
