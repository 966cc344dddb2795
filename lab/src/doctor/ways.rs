//! Ways of sending and of receiving, each tried over loopback.

use std::io;

use engine::api::Refusal;
use engine::ways::{try_receiving, try_sending};
use model::check::{Area, Check, Need};
use model::{Api, Receive};
use nix::errno::Errno;

use super::answer::shown;
use crate::host::netdev;

pub(super) fn checks() -> Vec<Check> {
    let sending = Api::ALL.iter().map(|way| (way.name().to_owned(), *way == Api::XdpZerocopy, try_sending(*way)));
    let receiving = Receive::ALL.iter().map(|way| (format!("received by {way}"), *way == Receive::XdpZerocopy, try_receiving(*way)));
    sending
        .chain(receiving)
        .map(|(name, by_device, tried)| if by_device && tried.is_ok() { by_devices(&name) } else { check(name, tried) })
        .collect()
}

/// A way that the drivers of some devices offer: over none of the hosts that nettoll makes.
fn by_devices(name: &str) -> Check {
    let (answer, remedy) = match netdev::devices_without_copy() {
        Ok(devices) if !devices.is_empty() => {
            return Check::present(Area::Ways, name, Need::Later, format!("by {}, not by virtual Ethernet", devices.join(", ")));
        }
        Ok(_) => (
            "the driver of no device here takes frames of AF_XDP without a copy".to_owned(),
            "Take a card whose driver does (such as ice, i40e, mlx5 or virtio_net), or `xdp`, which copies.",
        ),
        Err(error) => (
            error.to_string(),
            "Before Linux 6.3 a kernel does not say which drivers take frames without a copy; a trial over the device does.",
        ),
    };
    Check::absent(Area::Ways, name, Need::Later, answer, remedy.to_owned())
}

fn check(name: String, tried: io::Result<()>) -> Check {
    match tried {
        Ok(()) => Check::present(Area::Ways, &name, Need::Later, ""),
        Err(answer) => Check::absent(Area::Ways, &name, Need::Later, answer.to_string(), remedy(&answer)),
    }
}

fn remedy(answer: &io::Error) -> String {
    if answer.to_string().contains("CAP_NET_RAW") {
        return "Run as root, or in a user namespace with a network of its own (`unshare -Urn`): studies make one for their hosts."
            .to_owned();
    }
    if answer.to_string().contains("/dev/net/tun") {
        return "Run as root, let this user read and write /dev/net/tun, or load the module (`modprobe tun`).".to_owned();
    }
    if answer.to_string().contains("CAP_BPF") {
        return "Run as root of the machine; kernel.unprivileged_bpf_disabled, lockdown or a container may refuse it all the same."
            .to_owned();
    }
    if answer.to_string().contains("`modprobe") {
        return "Load the module that is named, as root, or take a kernel that has it; studies go on with the others.".to_owned();
    }
    match Refusal::errno(answer).map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => format!(
            "A sandbox or a setting refuses it; for io_uring kernel.io_uring_disabled has to be 0 (set as root), and is {}.",
            shown("kernel.io_uring_disabled")
        ),
        Some(Errno::ENOMEM | Errno::ENOBUFS) => "Raise the limit on locked memory (`ulimit -l`).".to_owned(),
        Some(Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::ENOPROTOOPT | Errno::EINVAL) => NEWER.to_owned(),
        _ if answer.kind() == io::ErrorKind::Unsupported => NEWER.to_owned(),
        _ => "Trials that go this way will fail with the same words; studies go on with the others.".to_owned(),
    }
}

const NEWER: &str = "Take a newer kernel, or leave this way out: studies go on with the others.";

#[cfg(test)]
mod tests {
    use std::io;

    use super::{check, checks};

    #[test]
    fn every_way_is_tried_once() {
        let all = checks();
        let names: std::collections::BTreeSet<_> = all.iter().map(|check| &check.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().any(|check| check.name == "send" && check.is_present()), "{all:?}");
    }

    #[test]
    fn a_refusal_has_the_answer_and_a_remedy() {
        for (errno, remedy) in [
            (nix::libc::EPERM, "io_uring_disabled"),
            (nix::libc::EOPNOTSUPP, "newer kernel"),
            (nix::libc::ENOPROTOOPT, "newer kernel"),
            (nix::libc::ENOMEM, "ulimit -l"),
        ] {
            let refused = format!("{:?}", check("uring".to_owned(), Err(io::Error::from_raw_os_error(errno))));
            assert!(refused.contains(remedy) && refused.contains("os error"), "{refused}");
        }
    }
}
