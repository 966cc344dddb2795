//! The kernel's counters of this host's namespace.
//!
//! `/proc/net` leads to the reader's own namespace. A counter that a kernel
//! does not have is 0: what it would have counted shows as `unaccounted`, since
//! the sums are compared with what was sent. A file that cannot be read, or makes
//! no sense, is an error.
//!
//! What a lost datagram counts as, found by experiment on Linux 6.18 with a
//! virtual Ethernet pair without a queueing discipline:
//!
//! | lost where | sender `Udp` | sender link | receiver link | receiver `Udp` |
//! |---|---|---|---|---|
//! | receiver's socket buffer | `OutDatagrams` | `tx_packets` | `rx_packets` | `RcvbufErrors`, `InErrors` |
//! | between the devices: receiver's backlog or ring full, or its MTU smaller | `SndbufErrors`, not `OutDatagrams` | `tx_dropped` | `rx_dropped` | |
//! | far end down | `OutDatagrams` | `tx_dropped` | | |
//!
//! The second row is one loss that stands in three counters (in a fourth where
//! IP counts `OutDiscards`, and a fifth in /proc/net/softnet_stat): of these
//! only `SndbufErrors` belongs into a sum with `OutDatagrams`. The third row is
//! what `tx_dropped` has beyond `SndbufErrors`. A datagram in fragments counts
//! once in all of them, since the first lost fragment ends its sending.

mod parse;

use std::fs;

use model::Family;
use model::kernel::{CpuTicks, HostCounters, LinkCounters};

use crate::refusal::{Refusal, refused};

pub use parse::{Malformed, parse_dev, parse_netstat, parse_snmp, parse_snmp6, parse_stat};

/// The counters of all families over IPv4, and of TCP over both.
const SNMP: &str = "/proc/net/snmp";
/// The counters over IPv6.
const SNMP6: &str = "/proc/net/snmp6";
const NETSTAT: &str = "/proc/net/netstat";
/// The counters of the devices.
const DEV: &str = "/proc/net/dev";
/// CPU time, and much else.
const STAT: &str = "/proc/stat";

/// Reads the counters of `device` and of `family`, as they are now.
///
/// The files are read one after the other: the host must be quiet for the
/// counters to belong together.
pub fn read(device: &str, family: Family) -> Result<HostCounters, Refusal> {
    let over_ipv4 = parse_snmp(&read_file(SNMP)?).map_err(malformed(SNMP))?;
    let (udp, ip) = match family {
        Family::V4 => (over_ipv4.udp, over_ipv4.ip),
        Family::V6 => parse_snmp6(&read_file(SNMP6)?).map_err(malformed(SNMP6))?,
    };
    let link = self::device(device)?;
    let cpu = CpuTicks { throttled: read_throttled(), ..cpu()? };
    let tcp = parse_netstat(&read_file(NETSTAT)?, over_ipv4.tcp).map_err(malformed(NETSTAT))?;
    Ok(HostCounters { udp, ip, tcp, link, cpu })
}

/// The time of all CPUs, as it is now.
pub fn cpu() -> Result<CpuTicks, Refusal> {
    parse_stat(&read_file(STAT)?).map_err(malformed(STAT))
}

/// The counters of one device, as they are now.
pub fn device(device: &str) -> Result<LinkCounters, Refusal> {
    let found = parse_dev(&read_file(DEV)?, device).map_err(malformed(DEV))?;
    let missing = || Refusal::new(format!("reading {DEV}"), format!("it has no device '{device}'"), "has the link been taken away?");
    found.ok_or_else(missing)
}

/// The file is not as the kernel writes it.
fn malformed(file: &str) -> impl FnOnce(Malformed) -> Refusal {
    refused(format!("reading {file}"), "please report this with the kernel's version")
}

fn read_file(file: &'static str) -> Result<String, Refusal> {
    // A device's name need not be UTF-8, and ours is: the rest may be lossy.
    let text = fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    text.map_err(refused(format!("reading {file}"), "is /proc mounted, and this address family in use?"))
}

/// Returns how often the CPUs were slowed down for their heat; 0 where the machine
/// does not tell, as virtual ones do not.
fn read_throttled() -> u64 {
    let Ok(cpus) = fs::read_dir("/sys/devices/system/cpu") else { return 0 };
    let counts = cpus.flatten().filter_map(|cpu| {
        let count = fs::read_to_string(cpu.path().join("thermal_throttle/core_throttle_count")).ok()?;
        count.trim().parse::<u64>().ok()
    });
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use model::Family;

    use super::read;
    use crate::host::text::skipped;

    #[test]
    fn this_machine_has_counters() {
        for family in [Family::V4, Family::V6] {
            match read("lo", family) {
                Ok(counters) => assert!(counters.cpu.all() > 0, "{counters:?}"),
                Err(error) => skipped("this_machine_has_counters", error),
            }
        }
    }

    #[test]
    fn a_missing_device_is_named() {
        let refused = read("nettoll-none", Family::V4).unwrap_err().to_string();
        assert_eq!(refused, "reading /proc/net/dev: it has no device 'nettoll-none'; has the link been taken away?");
    }
}
