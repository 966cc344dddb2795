//! Reading the counters' text. Kernels differ in which columns they have; all
//! name them, and by name they are found.

use std::collections::BTreeMap;

use model::kernel::{CpuTicks, IpCounters, LinkCounters, TcpCounters, UdpCounters};
use model::sorting::Gather;
use sys::cpu::Ticks;

/// Fault of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A part that every kernel writes is missing.
    #[error("it has no '{0}'")]
    Missing(&'static str),
    /// A value is no number of this kind.
    #[error("'{name}' is '{value}', which is not a count")]
    NotACount {
        /// The column.
        name: String,
        /// The value found.
        value: String,
    },
    /// Names and values do not match.
    #[error("'{0}' has not as many values as names")]
    Uneven(String),
}

/// Counters of /proc/net/snmp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snmp {
    /// UDP over IPv4.
    pub udp: UdpCounters,
    /// IPv4.
    pub ip: IpCounters,
    /// TCP over both families.
    pub tcp: TcpCounters,
}

/// Reads /proc/net/snmp: pairs of lines, one with names and one with values.
pub fn parse_snmp(text: &str) -> Result<Snmp, Malformed> {
    let (ip, tcp, udp) = (Columns::find(text, "Ip")?, Columns::find(text, "Tcp")?, Columns::find(text, "Udp")?);
    Ok(Snmp {
        udp: udp_counters(&udp)?,
        ip: ip_counters(&ip)?,
        tcp: TcpCounters { retrans_segs: tcp.count("RetransSegs")?, in_errs: tcp.count("InErrs")?, ..TcpCounters::default() },
    })
}

/// Reads what TCP tells in /proc/net/netstat into `tcp`. Columns differ from
/// kernel to kernel; one that is not there counts 0.
pub fn parse_netstat(text: &str, tcp: TcpCounters) -> Result<TcpCounters, Malformed> {
    let more = Columns::find(text, "TcpExt")?;
    Ok(TcpCounters {
        timeouts: more.count("TCPTimeouts")?,
        backlog_drops: more.count("TCPBacklogDrop")?,
        rcvq_drops: more.count("TCPRcvQDrop")?,
        ofo_drops: more.count("TCPOFODrop")?,
        ..tcp
    })
}

/// Reads /proc/net/snmp6: a line for each counter.
pub fn parse_snmp6(text: &str) -> Result<(UdpCounters, IpCounters), Malformed> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        if let (Some(name), Some(value)) = (words.next(), words.next()) {
            values.insert(name, value);
        }
    }
    let part = |prefix: &'static str| {
        let named: BTreeMap<&str, &str> = values.iter().filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, *value))).into_map();
        if named.is_empty() { Err(Malformed::Missing(prefix)) } else { Ok(Columns(named)) }
    };
    Ok((udp_counters(&part("Udp6")?)?, ip_counters(&part("Ip6")?)?))
}

/// Reads the row of `device` in /proc/net/dev; `None` where there is none.
pub fn parse_dev(text: &str, device: &str) -> Result<Option<LinkCounters>, Malformed> {
    // A device's name has no colon; old kernels put no blank after it.
    let rows = text.lines().filter_map(|line| line.split_once(':'));
    let Some((_, row)) = rows.into_iter().find(|(name, _)| name.trim() == device) else { return Ok(None) };
    let words: Vec<&str> = row.split_ascii_whitespace().collect();
    let [rx_bytes, rx_packets, rx_errors, rx_dropped, _, _, _, _, tx_bytes, tx_packets, tx_errors, tx_dropped, ..] = words[..] else {
        return Err(Malformed::Uneven(device.to_owned()));
    };
    Ok(Some(LinkCounters {
        rx_packets: count("receive packets", rx_packets)?,
        rx_bytes: count("receive bytes", rx_bytes)?,
        rx_dropped: count("receive drop", rx_dropped)?,
        rx_errors: count("receive errs", rx_errors)?,
        tx_packets: count("transmit packets", tx_packets)?,
        tx_bytes: count("transmit bytes", tx_bytes)?,
        tx_dropped: count("transmit drop", tx_dropped)?,
        tx_errors: count("transmit errs", tx_errors)?,
    }))
}

/// Reads the time of all CPUs in /proc/stat.
pub fn parse_stat(text: &str) -> Result<CpuTicks, Malformed> {
    let Ticks { user, nice, system, idle, iowait, irq, softirq, steal } = Ticks::parse(text, None).ok_or(Malformed::Missing("cpu"))?;
    let (user, idle) = (user.wrapping_add(nice), idle.wrapping_add(iowait));
    Ok(CpuTicks { user, system, idle, irq, softirq, steal, throttled: 0 })
}

fn udp_counters(udp: &Columns<'_>) -> Result<UdpCounters, Malformed> {
    Ok(UdpCounters {
        in_datagrams: udp.count("InDatagrams")?,
        no_ports: udp.count("NoPorts")?,
        in_errors: udp.count("InErrors")?,
        out_datagrams: udp.count("OutDatagrams")?,
        rcvbuf_errors: udp.count("RcvbufErrors")?,
        sndbuf_errors: udp.count("SndbufErrors")?,
        in_csum_errors: udp.count("InCsumErrors")?,
        mem_errors: udp.count("MemErrors")?,
    })
}

fn ip_counters(ip: &Columns<'_>) -> Result<IpCounters, Malformed> {
    Ok(IpCounters {
        in_discards: ip.count("InDiscards")?,
        out_discards: ip.count("OutDiscards")?,
        out_no_routes: ip.count("OutNoRoutes")?,
        frag_oks: ip.count("FragOKs")?,
        frag_fails: ip.count("FragFails")?,
        frag_creates: ip.count("FragCreates")?,
        reasm_reqds: ip.count("ReasmReqds")?,
        reasm_oks: ip.count("ReasmOKs")?,
        reasm_fails: ip.count("ReasmFails")?,
    })
}

/// Values by the names of their columns.
struct Columns<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Columns<'a> {
    /// The pair of lines that begin with `prefix:`.
    fn find(text: &'a str, prefix: &'static str) -> Result<Self, Malformed> {
        let mut rows = text.lines().filter_map(|line| line.strip_prefix(prefix)?.strip_prefix(':'));
        let (Some(names), Some(values)) = (rows.next(), rows.next()) else { return Err(Malformed::Missing(prefix)) };
        let (names, values) = (names.split_ascii_whitespace(), values.split_ascii_whitespace());
        if names.clone().count() != values.clone().count() {
            return Err(Malformed::Uneven(prefix.to_owned()));
        }
        Ok(Self(names.zip(values).collect()))
    }

    /// The count in a column; 0 where this kernel has no such column.
    fn count(&self, name: &str) -> Result<u64, Malformed> {
        self.0.get(name).map_or(Ok(0), |value| count(name, value))
    }
}

fn count(name: &str, value: &str) -> Result<u64, Malformed> {
    value.parse().map_err(|_| Malformed::NotACount { name: name.to_owned(), value: value.chars().take(40).collect() })
}

#[cfg(test)]
mod tests;
