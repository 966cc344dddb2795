//! Recorded files of several kernels, and arbitrary text.

use model::kernel::{IpCounters, LinkCounters, TcpCounters, UdpCounters};
use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};

use super::{Malformed, parse_dev, parse_netstat, parse_snmp, parse_snmp6, parse_stat};

/// Formats of Linux 3.10 (no MemErrors, no IgnoredMulti), 5.10 (no MemErrors)
/// and 6.18 (OutTransmits).
const SNMP_OLD: &str = include_str!("../../../../tests/data/snmp-3.10.txt");
const SNMP_5_10: &str = include_str!("../../../../tests/data/snmp-5.10.txt");
const SNMP_6_18: &str = include_str!("../../../../tests/data/snmp-6.18.txt");
const SNMP6_6_18: &str = include_str!("../../../../tests/data/snmp6-6.18.txt");
const DEV: &str = include_str!("../../../../tests/data/dev-6.18.txt");

#[test]
fn columns_are_found_by_name_in_every_kernels_format() {
    let expected = UdpCounters {
        in_datagrams: 223,
        no_ports: 7,
        in_errors: 30,
        out_datagrams: 224,
        rcvbuf_errors: 21,
        sndbuf_errors: 5,
        in_csum_errors: 4,
        mem_errors: 0,
    };
    assert_eq!(parse_snmp(SNMP_OLD).unwrap().udp, expected);
    assert_eq!(parse_snmp(SNMP_5_10).unwrap().udp, expected);
    assert_eq!(parse_snmp(SNMP_6_18).unwrap().udp, UdpCounters { mem_errors: 5, ..expected });
}

#[test]
fn what_tcp_dropped_at_its_socket_is_added() {
    let text = "TcpExt: TCPTimeouts TCPBacklogDrop TCPOFODrop\nTcpExt: 3 5 7\nIpExt: InNoRoutes\nIpExt: 0\n";
    let known = TcpCounters { retrans_segs: 1, ..TcpCounters::default() };
    let expected = TcpCounters { retrans_segs: 1, timeouts: 3, backlog_drops: 5, ofo_drops: 7, ..TcpCounters::default() };
    assert_eq!(parse_netstat(text, known).unwrap(), expected);
    assert_eq!(parse_netstat("", known), Err(Malformed::Missing("TcpExt")));
}

#[test]
fn ip_and_tcp_stand_next_to_udp() {
    let snmp = parse_snmp(SNMP_6_18).unwrap();
    let ip = IpCounters {
        in_discards: 1,
        out_discards: 2,
        out_no_routes: 3,
        frag_oks: 14,
        frag_fails: 15,
        frag_creates: 28,
        reasm_reqds: 11,
        reasm_oks: 12,
        reasm_fails: 13,
    };
    assert_eq!(snmp.ip, ip);
    assert_eq!(snmp.tcp, TcpCounters { retrans_segs: 6, in_errs: 9, ..TcpCounters::default() });
}

#[test]
fn ipv6_has_a_line_for_each_counter() {
    let (udp, ip) = parse_snmp6(SNMP6_6_18).unwrap();
    assert_eq!((udp.in_datagrams, udp.out_datagrams, udp.rcvbuf_errors, udp.mem_errors), (31, 32, 33, 34));
    assert_eq!((ip.frag_creates, ip.reasm_fails, ip.out_no_routes), (41, 42, 43));
}

#[test]
fn a_device_is_found_by_its_whole_name() {
    let expected = LinkCounters {
        rx_bytes: 223_823_391,
        rx_packets: 6925,
        rx_errors: 1,
        rx_dropped: 2,
        tx_bytes: 565_452,
        tx_packets: 4849,
        tx_errors: 3,
        tx_dropped: 4,
    };
    assert_eq!(parse_dev(DEV, "eth0").unwrap(), Some(expected));
    assert_eq!(parse_dev(DEV, "eth").unwrap(), None);
    // Kernels before 2.6.30 put no blank after the colon of long numbers.
    let tight = "  eth0:223823391 6925 1 2 0 0 0 0 565452 4849 3 4 0 0 0 0\n";
    assert_eq!(parse_dev(tight, "eth0").unwrap(), Some(expected));
}

#[test]
fn guest_time_is_not_counted_twice() {
    let ticks = parse_stat("cpu  10 2 30 400 5 6 7 8 3 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n").unwrap();
    assert_eq!((ticks.user, ticks.system, ticks.idle, ticks.irq, ticks.softirq, ticks.steal), (12, 30, 405, 6, 7, 8));
}

#[test]
fn what_is_wrong_is_named() {
    assert_eq!(parse_snmp("Ip: A\nIp: 1\n"), Err(Malformed::Missing("Tcp")));
    assert_eq!(parse_snmp("Ip: A B\nIp: 1\n"), Err(Malformed::Uneven("Ip".to_owned())));
    let error = parse_snmp(&SNMP_6_18.replace("Udp: 223", "Udp: -3")).unwrap_err();
    assert_eq!(error.to_string(), "'InDatagrams' is '-3', which is not a count");
    assert_eq!(parse_stat("intr 5\n"), Err(Malformed::Missing("cpu")));
    assert_eq!(parse_dev("eth0: 1 2 3\n", "eth0"), Err(Malformed::Uneven("eth0".to_owned())));
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        let _ = (parse_snmp(&text), parse_snmp6(&text), parse_dev(&text, "eth0"), parse_stat(&text));
    }

    /// Text that is nearly right goes further into the parsers.
    #[test]
    fn broken_files_are_read_without_panic(cut in 0_usize..2000, noise in "[ :\\-0-9A-Za-z\n]{0,30}") {
        for text in [SNMP_6_18, SNMP6_6_18, DEV, "cpu  1 2 3 4 5 6 7 8 9\n"] {
            let at = cut.min(text.len());
            let broken = format!("{}{noise}{}", &text[..at], &text[at..]);
            let _ = (parse_snmp(&broken), parse_snmp6(&broken), parse_dev(&broken, "eth0"), parse_stat(&broken));
        }
    }

    #[test]
    fn counts_come_back_whatever_the_order_of_columns(
        counts in prop::collection::vec(any::<u64>(), 8),
        order in prop::sample::subsequence(vec![0_usize, 1, 2, 3, 4, 5, 6, 7], 0..=8).prop_shuffle(),
    ) {
        let names = ["InDatagrams", "NoPorts", "InErrors", "OutDatagrams", "RcvbufErrors", "SndbufErrors", "InCsumErrors", "MemErrors"];
        let (mut head, mut row) = ("Udp:".to_owned(), "Udp:".to_owned());
        for index in &order {
            head += &format!(" {}", names[*index]);
            row += &format!(" {}", counts[*index]);
        }
        let udp = parse_snmp(&format!("Ip: A\nIp: 0\nTcp: B\nTcp: 0\n{head}\n{row}\n")).unwrap().udp;
        let got = [udp.in_datagrams, udp.no_ports, udp.in_errors, udp.out_datagrams,
            udp.rcvbuf_errors, udp.sndbuf_errors, udp.in_csum_errors, udp.mem_errors];
        for index in 0..8 {
            prop_assert_eq!(got[index], if order.contains(&index) { counts[index] } else { 0 });
        }
    }
}
