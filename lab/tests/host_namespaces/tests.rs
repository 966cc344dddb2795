//! The claims.

use std::time::{Duration, Instant};

use model::Family;
use model::plan::Offload;

use crate::child::{Answer, TrialSpec};
use crate::pair::{Host, Skip, address, ends, joined, nobody, pair, socket};

testkit::claims!(
    datagrams_cross_at_once_and_are_counted_exactly,
    a_configured_link_is_silent,
    nobody_can_join_two_hosts,
    the_mtu_is_as_asked,
    ipv6_is_not_silently_lost_to_a_small_mtu,
    offloads_are_as_asked,
    an_offload_that_cannot_be_had_is_refused,
    a_host_knows_its_way_to_the_other,
    settings_hold_in_the_namespace_only,
    nothing_of_a_host_is_seen_outside,
    a_loss_between_the_devices_is_the_senders,
    settings_of_the_machine_are_recorded_too,
    a_refusal_names_the_call_and_the_limits,
    a_dead_host_takes_the_link_with_it,
    a_missing_far_end_is_said,
    an_exhausted_limit_is_named,
);

/// Sends 100 datagrams from end 0 to end 1 and holds them against every counter.
fn exchange(hosts: &mut [Host; 2], family: Family) {
    let [a, b] = hosts;
    let before = [a.counters("near0", family), b.counters("far0", family)];
    a.must(&TrialSpec::Bind(socket(family, 0)));
    b.must(&TrialSpec::Bind(socket(family, 1)));
    a.must(&TrialSpec::Send { to: socket(family, 1), count: 100, size: 64 });
    assert_eq!(b.number(&TrialSpec::Receive(100)), 100);
    let after = [a.counters("near0", family), b.counters("far0", family)];
    let [a, b] = [after[0].since(&before[0]), after[1].since(&before[1])];
    assert_eq!((a.udp.out_datagrams, b.udp.in_datagrams), (100, 100));
    assert_eq!((a.link.tx_packets, b.link.rx_packets), (100, 100));
    // Nothing came back: no resolution, no report.
    assert_eq!((b.link.tx_packets, a.link.rx_packets), (0, 0));
    let headers = if family == Family::V4 { 14 + 20 + 8 } else { 14 + 40 + 8 };
    assert_eq!((a.link.tx_bytes, b.link.rx_bytes), (100 * (64 + headers), 100 * (64 + headers)));
}

fn datagrams_cross_at_once_and_are_counted_exactly() -> Result<(), Skip> {
    // Several times: a link that is not quite ready loses datagrams now and then.
    for _ in 0..5 {
        for family in [Family::V6, Family::V4] {
            exchange(&mut joined(None, |_| ())?, family);
        }
    }
    Ok(())
}

fn a_configured_link_is_silent() -> Result<(), Skip> {
    let [mut a, mut b] = joined(None, |_| ())?;
    // Multicast reports come within a second, duplicate probes too.
    std::thread::sleep(Duration::from_millis(1_500));
    for (host, device) in [(&mut a, "near0"), (&mut b, "far0")] {
        let link = host.counters(device, Family::V4).link;
        assert_eq!((link.tx_packets, link.rx_packets), (0, 0), "{device}");
    }
    Ok(())
}

fn nobody_can_join_two_hosts() -> Result<(), Skip> {
    let mut hosts = joined(nobody(), |end| {
        end.mtu = Some(9_000);
        end.offloads.insert(Offload::Tso, false);
    })?;
    exchange(&mut hosts, Family::V4);
    exchange(&mut hosts, Family::V6);
    let facts = hosts[1].facts("far0");
    assert_eq!(facts.isolation, "network namespace in a user namespace");
    assert_eq!((facts.device["mtu"].as_str(), facts.offloads["tx-tcp-segmentation"]), ("9000", false));
    assert_eq!(hosts[1].read("/proc/sys/net/ipv4/tcp_no_metrics_save").trim(), "1");
    Ok(())
}

fn the_mtu_is_as_asked() -> Result<(), Skip> {
    for (mtu, fragments) in [(1_280, 7), (9_000, 0)] {
        let [mut a, mut b] = joined(None, |end| end.mtu = Some(mtu))?;
        assert_eq!(b.facts("far0").device["mtu"], mtu.to_string());
        a.must(&TrialSpec::Bind(socket(Family::V4, 0)));
        b.must(&TrialSpec::Bind(socket(Family::V4, 1)));
        a.must(&TrialSpec::Send { to: socket(Family::V4, 1), count: 1, size: 8_000 });
        assert_eq!(b.number(&TrialSpec::Receive(1)), 1);
        assert_eq!(a.counters("near0", Family::V4).ip.frag_creates, fragments);
    }
    Ok(())
}

fn ipv6_is_not_silently_lost_to_a_small_mtu() -> Result<(), Skip> {
    let [mut a, _b] = pair(None)?;
    let [mut end, _] = ends();
    end.mtu = Some(1_279);
    let error = a.must_fail(&TrialSpec::Configure(end));
    assert!(error.starts_with("setting the MTU of 'near0' to 1279: IPv6 needs 1280 or more"), "{error}");
    let [_a, mut b] = joined(None, |end| {
        end.mtu = Some(576);
        end.addresses.truncate(1);
        end.neighbours.truncate(1);
    })?;
    assert_eq!(b.facts("far0").device["mtu"], "576");
    Ok(())
}

fn offloads_are_as_asked() -> Result<(), Skip> {
    let [mut a, mut b] =
        joined(None, |end| end.offloads = Offload::ALL.iter().map(|offload| (*offload, *offload == Offload::Rx)).collect())?;
    for facts in [a.facts("near0"), b.facts("far0")] {
        for name in ["tx-checksum-ip-generic", "tx-scatter-gather", "tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro"] {
            assert!(!facts.offloads[name], "{name}");
        }
        assert!(facts.offloads["rx-checksum"]);
    }
    let [mut a, _b] = joined(None, |end| end.offloads = [(Offload::Gro, true)].into())?;
    let facts = a.facts("near0");
    assert!(facts.offloads["rx-gro"] && facts.offloads["tx-tcp-segmentation"]);
    assert_eq!((facts.device["driver"].as_str(), facts.device["operstate"].as_str()), ("veth", "up"));
    assert_eq!((facts.device["tx_queues"].as_str(), facts.device["rx_queues"].as_str()), ("1", "1"));
    assert_eq!((facts.device["address"].as_str(), facts.device["qdisc"].as_str()), ("02:6e:74:00:00:0a", "noqueue"));
    Ok(())
}

fn an_offload_that_cannot_be_had_is_refused() -> Result<(), Skip> {
    let [mut a, _b] = pair(None)?;
    let [mut end, _] = ends();
    end.offloads = [(Offload::Tx, false), (Offload::Tso, true)].into();
    let error = a.must_fail(&TrialSpec::Configure(end));
    assert!(error.starts_with("turning 'tso' on on 'near0': the kernel left it off"), "{error}");
    Ok(())
}

fn a_host_knows_its_way_to_the_other() -> Result<(), Skip> {
    let mut hosts = joined(None, |_| ())?;
    for family in [Family::V4, Family::V6] {
        for (at, device) in [(0, "near0"), (1, "far0")] {
            let there = hosts[at].route(socket(family, 1 - at)).unwrap();
            assert_eq!((there.device.as_str(), there.source.ip(), there.source.port()), (device, address(family, at), 0));
            assert!(there.mtu.is_some_and(|mtu| mtu >= 1_280));
            let here = hosts[at].route(socket(family, at)).unwrap();
            assert_eq!((here.device.as_str(), here.source.ip()), ("lo", address(family, at)));
        }
    }
    let error = hosts[0].route("198.51.100.1:9".parse().unwrap()).unwrap_err();
    assert!(error.contains("198.51.100.1") && error.contains("Network is unreachable"), "{error}");
    Ok(())
}

fn settings_hold_in_the_namespace_only() -> Result<(), Skip> {
    let outside = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default();
    let names = ["ipv4/tcp_no_metrics_save", "ipv4/ipfrag_time", "ipv6/ip6frag_time", "ipv4/tcp_tw_reuse"];
    let ports = "ipv4/ip_local_port_range";
    let before = (names.map(outside), outside(ports));
    let [mut a, _b] = joined(None, |_| ())?;
    for name in names {
        assert_eq!(a.read(&format!("/proc/sys/net/{name}")).trim(), "1", "{name}");
    }
    let range = a.read(&format!("/proc/sys/net/{ports}"));
    assert_eq!(range.split_whitespace().collect::<Vec<_>>(), ["1024", "65535"]);
    for (name, value) in
        [("accept_dad", "0"), ("dad_transmits", "0"), ("accept_ra", "0"), ("router_solicitations", "0"), ("addr_gen_mode", "1")]
    {
        assert_eq!(a.read(&format!("/proc/sys/net/ipv6/conf/near0/{name}")).trim(), value, "{name}");
    }
    assert_eq!((names.map(outside), outside(ports)), before);
    Ok(())
}

fn nothing_of_a_host_is_seen_outside() -> Result<(), Skip> {
    let seen = || {
        let text = std::fs::read_to_string("/proc/net/dev").unwrap();
        ["near0:", "far0:"].iter().any(|name| text.contains(name))
    };
    assert!(!seen());
    let hosts = joined(None, |_| ())?;
    assert!(!seen());
    drop(hosts);
    assert!(!seen());
    Ok(())
}

/// One loss stands in three counters; sums rest on the first.
fn a_loss_between_the_devices_is_the_senders() -> Result<(), Skip> {
    for family in [Family::V4, Family::V6] {
        let [mut a, mut b] = joined(None, |end| end.mtu = Some(if end.device == "near0" { 1_500 } else { 1_280 }))?;
        a.must(&TrialSpec::Bind(socket(family, 0)));
        b.must(&TrialSpec::Bind(socket(family, 1)));
        a.must(&TrialSpec::Send { to: socket(family, 1), count: 50, size: 1_400 });
        a.must(&TrialSpec::Send { to: socket(family, 1), count: 50, size: 1_000 });
        let received = b.number(&TrialSpec::Receive(50));
        let [a, b] = [a.counters("near0", family), b.counters("far0", family)];
        assert_eq!(received, 50, "{family:?} {a:?} {b:?}");
        assert_eq!((a.udp.out_datagrams, a.udp.sndbuf_errors, b.udp.in_datagrams), (50, 50, 50), "{family:?}");
        assert_eq!((a.link.tx_dropped, b.link.rx_dropped), (50, 50), "{family:?}");
    }
    Ok(())
}

fn settings_of_the_machine_are_recorded_too() -> Result<(), Skip> {
    let name = "net.core.netdev_max_backlog";
    let Ok(outside) = std::fs::read_to_string("/proc/sys/net/core/netdev_max_backlog") else {
        return Err(Skip(format!("this namespace does not show {name}")));
    };
    let [mut a, _b] = joined(None, |_| ())?;
    let facts = a.facts("near0");
    assert_eq!(facts.sysctls[name], outside.trim());
    assert_eq!(facts.sysctls["net.ipv4.tcp_no_metrics_save"], "1");
    assert!(facts.offloads.keys().all(|name| !name.is_empty()));
    Ok(())
}

fn a_refusal_names_the_call_and_the_limits() -> Result<(), Skip> {
    let Err(Skip(refusal)) = Host::start("network", nobody()) else { panic!("nobody may not do this") };
    // In a container or under a limit the answer may be another.
    if !refusal.contains("(unshare CLONE_NEWNET): the system answered EPERM") {
        return Err(Skip(refusal));
    }
    for words in ["user.max_net_namespaces", "run nettoll as root"] {
        assert!(refusal.contains(words), "{words} is missing: {refusal}");
    }
    Ok(())
}

fn a_dead_host_takes_the_link_with_it() -> Result<(), Skip> {
    let [mut a, mut b] = joined(None, |_| ())?;
    assert!(b.read("/proc/net/dev").contains("far0:"));
    a.kill();
    // The kernel takes a namespace down a little after its last process.
    within(Duration::from_secs(10), || !b.read("/proc/net/dev").contains("far0:"));
    Ok(())
}

fn a_missing_far_end_is_said() -> Result<(), Skip> {
    let [mut a, _b] = pair(None)?;
    let [end, _] = ends();
    let error = a.must_fail(&TrialSpec::Configure(end));
    assert!(error.starts_with("waiting for 'near0' to come up: it is still down after 5 s"), "{error}");
    let error = a.must_fail(&TrialSpec::MakeVeth { device: "x0".to_owned(), far_device: "y0".to_owned(), far_pid: 4_194_305 });
    assert!(error.contains("the system answered ESRCH") && error.contains("the other host has ended"), "{error}");
    let error = a.must_fail(&TrialSpec::MakeVeth { device: "near0".to_owned(), far_device: "y0".to_owned(), far_pid: a.pid() });
    assert!(error.contains("the system answered EEXIST"), "{error}");
    let error = a.must_fail(&TrialSpec::Counters("gone0".to_owned(), Family::V4));
    assert!(error.contains("no device 'gone0'"), "{error}");
    Ok(())
}

fn an_exhausted_limit_is_named() -> Result<(), Skip> {
    // In a user namespace of its own the host may lower its own limit.
    let mut a = Host::start("user", None)?;
    if let Answer::Failed(error) = a.ask(&TrialSpec::Write("/proc/sys/user/max_net_namespaces".to_owned(), "0".to_owned())) {
        return Err(Skip(format!("lowering user.max_net_namespaces in a user namespace: {error}")));
    }
    let error = a.must_fail(&TrialSpec::EnterAgain);
    assert!(error.starts_with("making a network namespace (unshare CLONE_NEWNET): the system answered ENOSPC"), "{error}");
    assert!(error.contains("user.max_net_namespaces (now 0)"), "{error}");
    Ok(())
}

#[track_caller]
fn within(limit: Duration, mut claim: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !claim() {
        assert!(Instant::now() < deadline, "not within {limit:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
