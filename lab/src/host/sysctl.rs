//! Settings of a host's own network namespace that keep trials from each
//! other's traces and the link free of traffic that nobody asked for.

use std::fs::File;
use std::io::Write;

use super::entered::Entered;
use super::text::{guard_name, sysctl_file};
use crate::refusal::Refusal;

/// For the whole namespace.
const NAMESPACE: [(&str, &str); 5] = [
    // A connection must not start from what an earlier trial learnt.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // Fragments whose datagram is lost are given up soon, so that the next
    // trial finds the reassembly memory empty. In seconds.
    ("net.ipv4.ipfrag_time", "1"),
    ("net.ipv6.ip6frag_time", "1"),
    // A connection for each transaction uses up ports: all that need no
    // privilege, each free again as soon as the peer's time stamps allow it.
    ("net.ipv4.ip_local_port_range", "1024 65535"),
    ("net.ipv4.tcp_tw_reuse", "1"),
];

/// For the whole namespace of a host on a wire that charges frames: a segment
/// then carries as much as its frame allows, 1,460 bytes of an Ethernet's.
const CHARGED: [(&str, &str); 1] = [("net.ipv4.tcp_timestamps", "0")];

/// For the link's device; the name stands between the two parts.
const DEVICE: [(&str, &str, &str); 6] = [
    // A namespace may inherit from the machine that IPv6 is turned off.
    ("net.ipv6.conf", "disable_ipv6", "0"),
    // No wait for duplicate addresses, no probes for them.
    ("net.ipv6.conf", "accept_dad", "0"),
    ("net.ipv6.conf", "dad_transmits", "0"),
    // No question for a router, no answer believed.
    ("net.ipv6.conf", "router_solicitations", "0"),
    ("net.ipv6.conf", "accept_ra", "0"),
    // No link-local address: nothing here needs one.
    ("net.ipv6.conf", "addr_gen_mode", "1"),
];

/// Settings made, and those that this kernel lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Names and values set.
    pub set: Vec<(String, String)>,
    /// Settings not made, and the system's answer: this kernel does not
    /// have it, or `/proc/sys` is read-only, as containers have it.
    pub unset: Vec<(String, String)>,
}

/// Makes the settings for the namespace of this process and for `device` in it;
/// `charged` says that its wire charges frames.
pub fn apply(entered: &Entered, device: &str, charged: bool) -> Result<Settings, Refusal> {
    entered.guard("setting sysctls", "")?;
    // The name becomes a part of a path.
    guard_name("setting sysctls of", device)?;
    let mut settings = Settings::default();
    for (name, value) in NAMESPACE.iter().chain(CHARGED.iter().filter(|_| charged)) {
        settings.note((*name).to_owned(), value, write(&sysctl_file(name), value));
    }
    for (before, after, value) in DEVICE {
        // A device's name may have points itself.
        let file = format!("{}/{device}/{after}", sysctl_file(before));
        settings.note(format!("{before}.{device}.{after}"), value, write(&file, value));
    }
    Ok(settings)
}

/// Keeps the devices made from now on in the namespace of this process out of
/// IPv6: those of a wire have nothing to say.
pub(super) fn silence(entered: &Entered) -> Result<(), Refusal> {
    entered.guard("setting sysctls", "")?;
    // Without IPv6 the file is not there, and there is nothing to silence.
    let _ = write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    Ok(())
}

impl Settings {
    /// A setting that cannot be made costs hygiene, not the study: it is said.
    fn note(&mut self, name: String, value: &str, written: std::io::Result<()>) {
        match written {
            Ok(()) => self.set.push((name, value.to_owned())),
            Err(answer) => self.unset.push((name, answer.to_string())),
        }
    }
}

fn write(path: &str, value: &str) -> std::io::Result<()> {
    File::options().write(true).open(path)?.write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::{Settings, apply};
    use crate::host::namespace::{Isolation, enter};

    #[test]
    fn a_host_that_is_not_isolated_is_left_alone() {
        let entered = enter(Isolation::None).unwrap();
        assert!(apply(&entered, "lo", false).unwrap_err().to_string().contains("is not isolated"));
    }

    #[test]
    fn what_cannot_be_set_is_said_with_the_answer() {
        let mut settings = Settings::default();
        settings.note("net.ipv6.ip6frag_time".to_owned(), "1", Err(ErrorKind::NotFound.into()));
        settings.note("net.a".to_owned(), "1", Err(Error::from_raw_os_error(30)));
        let names: Vec<&str> = settings.unset.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["net.ipv6.ip6frag_time", "net.a"]);
        assert!(settings.unset[1].1.starts_with("Read-only file system"), "{:?}", settings.unset);
    }
}
