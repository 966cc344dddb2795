//! Ways of sending and of receiving, each tried over loopback.

use std::io;

use engine::api::KernelRefusal;
use engine::ways::{try_receiving, try_sending};
use model::check::{Area, Check, Need};
use model::{Api, Over, Receive};
use nix::errno::Errno;

use super::answer::shown;
use crate::host::netdev;

/// A way's door besides plain sockets, which says what to do where it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// None.
    Plain,
    /// Raw sockets and those of packets.
    Raw,
    /// A TUN device.
    Tun,
    /// A program of XDP, in the machine's own user namespace.
    Program,
    /// A protocol that may be a module.
    Module,
}

impl Door {
    fn of_sending(way: Api) -> Self {
        match (way, way.over()) {
            (Api::Tun, _) => Self::Tun,
            (_, Over::Packets) => Self::Raw,
            (_, Over::Sctp | Over::Ktls | Over::Vsock) => Self::Module,
            _ => Self::Plain,
        }
    }

    const fn of_receiving(way: Receive) -> Self {
        match way {
            Receive::Packet => Self::Raw,
            Receive::Xdp | Receive::XdpGeneric | Receive::XdpZerocopy => Self::Program,
            _ => Self::Plain,
        }
    }
}

pub(super) fn checks() -> Vec<Check> {
    let sending = Api::ALL.iter().map(|way| {
        let (name, by_device) = (way.name().to_owned(), *way == Api::XdpZerocopy);
        (name, by_device, Door::of_sending(*way), try_sending(*way))
    });
    let receiving = Receive::ALL.iter().map(|way| {
        let (name, by_device) = (format!("received by {way}"), *way == Receive::XdpZerocopy);
        (name, by_device, Door::of_receiving(*way), try_receiving(*way))
    });
    let one = |(name, by_device, door, tried): (String, bool, Door, io::Result<()>)| {
        if by_device && tried.is_ok() { by_devices(&name) } else { check(name, door, tried) }
    };
    sending.chain(receiving).map(one).collect()
}

/// A way that the drivers of some devices offer: over none of the hosts that nettoll makes.
fn by_devices(name: &str) -> Check {
    let (answer, remedy) = match netdev::devices_without_copy() {
        Ok(devices) if !devices.is_empty() => {
            return Check::present(Area::Ways, name, Need::Optional, format!("by {}, not by virtual Ethernet", devices.join(", ")));
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
    Check::absent(Area::Ways, name, Need::Optional, answer, remedy.to_owned())
}

fn check(name: String, door: Door, tried: io::Result<()>) -> Check {
    match tried {
        Ok(()) => Check::present(Area::Ways, &name, Need::Optional, ""),
        Err(answer) => Check::absent(Area::Ways, &name, Need::Optional, answer.to_string(), remedy(door, &answer)),
    }
}

fn remedy(door: Door, answer: &io::Error) -> String {
    let remedy = match (door, KernelRefusal::errno(answer).map(Errno::from_raw)) {
        (Door::Raw, Some(Errno::EPERM | Errno::EACCES)) => {
            "Run as root, or in a user namespace with a network of its own (`unshare -Urn`): studies make one for their hosts."
        }
        (Door::Tun, _) => "Run as root, let this user read and write /dev/net/tun, or load the module (`modprobe tun`).",
        (Door::Program, Some(Errno::EPERM | Errno::EACCES)) => {
            "Run as root of the machine; kernel.unprivileged_bpf_disabled, lockdown or a container may refuse it all the same."
        }
        (Door::Module, _) => "Load the module that is named, as root, or take a kernel that has it; studies go on with the others.",
        (_, Some(Errno::EPERM | Errno::EACCES)) => {
            let setting = shown("kernel.io_uring_disabled");
            return format!(
                "A sandbox or a setting refuses it; for io_uring kernel.io_uring_disabled has to be 0 (set as root), and is {setting}."
            );
        }
        (_, Some(Errno::ENOMEM | Errno::ENOBUFS)) => "Raise the limit on locked memory (`ulimit -l`).",
        (_, Some(Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::ENOPROTOOPT | Errno::EINVAL)) => NEWER,
        _ if answer.kind() == io::ErrorKind::Unsupported => NEWER,
        _ => "Trials that go this way will fail with the same words; studies go on with the others.",
    };
    remedy.to_owned()
}

const NEWER: &str = "Take a newer kernel, or leave this way out: studies go on with the others.";

#[cfg(test)]
mod tests {
    use std::io;

    use model::{Api, Receive};

    use super::{Door, check, checks};

    #[test]
    fn every_way_is_tried_once() {
        let all = checks();
        let names: std::collections::BTreeSet<_> = all.iter().map(|check| &check.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().any(|check| check.name == "send" && check.is_present()), "{all:?}");
    }

    #[test]
    fn a_refusal_has_the_answer_and_a_remedy() {
        for (door, errno, remedy) in [
            (Door::of_sending(Api::Uring), nix::libc::EPERM, "io_uring_disabled"),
            (Door::of_sending(Api::Uring), nix::libc::EOPNOTSUPP, "newer kernel"),
            (Door::of_sending(Api::Gso), nix::libc::ENOPROTOOPT, "newer kernel"),
            (Door::of_sending(Api::Uring), nix::libc::ENOMEM, "ulimit -l"),
            (Door::of_sending(Api::PacketRing), nix::libc::EPERM, "unshare -Urn"),
            (Door::of_sending(Api::Tun), nix::libc::ENOENT, "modprobe tun"),
            (Door::of_sending(Api::Sctp), nix::libc::EPROTONOSUPPORT, "Load the module"),
            (Door::of_receiving(Receive::Xdp), nix::libc::EPERM, "root of the machine"),
            (Door::of_receiving(Receive::Gro), nix::libc::ENOPROTOOPT, "newer kernel"),
        ] {
            let refused = format!("{:?}", check("uring".to_owned(), door, Err(io::Error::from_raw_os_error(errno))));
            assert!(refused.contains(remedy) && refused.contains("os error"), "{refused}");
        }
    }
}
