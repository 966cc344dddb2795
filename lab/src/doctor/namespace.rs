//! Setting hosts apart, and joining them.

use model::check::{Area, Check, Need};
use nix::errno::Errno;

use super::answer::{Subject, errno, said, setting, shown};
use super::scratch::{Findings, ProbeRefusal, Step, is_root};

pub(super) fn checks(scratch: &Findings) -> Vec<Check> {
    let subject = |name| Subject { area: Area::Namespaces, name, need: Need::Useful };
    let as_root = match &scratch.with_rights {
        Ok(_) => subject("network namespace").present("with this user's own rights"),
        Err(refusal) => subject("network namespace").absent(answer("CLONE_NEWNET", refusal), with_rights(errno(&refusal.answer))),
    };
    let as_user = match &scratch.without_rights {
        Ok(_) => subject("user namespace").present("root is not needed"),
        Err(refusal) => {
            subject("user namespace").absent(answer("CLONE_NEWUSER|CLONE_NEWNET", refusal), without_rights(errno(&refusal.answer)))
        }
    };
    vec![as_root, as_user, link(subject("veth pair"), scratch)]
}

fn link(subject: Subject, scratch: &Findings) -> Check {
    const TRIED: &str = "RTM_NEWLINK veth in a scratch namespace";
    match scratch.best().map(|answers| answers.first()) {
        Ok(Some(Ok(()))) => subject.present("joins two hosts"),
        Ok(Some(Err(error))) => subject.absent(said(TRIED, error), no_link(errno(error))),
        Ok(None) => subject.absent(format!("{TRIED}: no answer"), "Until then traffic takes loopback and crosses no link."),
        Err(refusal) => subject.absent(
            format!("{TRIED}: there is no namespace to try in ({})", answer("CLONE_NEWUSER|CLONE_NEWNET", refusal)),
            "Allow namespaces (see above); until then traffic takes loopback and crosses no link.",
        ),
    }
}

/// The step that was refused, and by what.
pub(super) fn answer(flags: &str, refusal: &ProbeRefusal) -> String {
    let tried = match refusal.step {
        Step::Start => "start /proc/self/exe __scratch".to_owned(),
        Step::DropRights => "setresuid(nobody)".to_owned(),
        Step::Unshare => format!("unshare({flags})"),
        Step::Netlink => "socket(AF_NETLINK) in the new namespace".to_owned(),
        Step::Silence => format!("unshare({flags}) in a child process that gave no answer"),
    };
    said(&tried, &refusal.answer)
}

fn with_rights(errno: Errno) -> String {
    match errno {
        Errno::EPERM if is_root() => "This root lacks CAP_SYS_ADMIN (a container?): start it with that capability.".to_owned(),
        Errno::EPERM => "Run as root; not needed where a user namespace is allowed.".to_owned(),
        Errno::ENOSPC => used_up("user.max_net_namespaces"),
        Errno::EINVAL | Errno::ENOSYS => "This kernel has none (CONFIG_NET_NS): traffic takes loopback and crosses no link.".to_owned(),
        _ => "Without it traffic takes loopback and crosses no link.".to_owned(),
    }
}

fn without_rights(errno: Errno) -> String {
    match errno {
        Errno::EPERM | Errno::EACCES => match refusing() {
            Some((name, value, wanted)) => format!("{name} is {value}: as root, `sysctl {name}={wanted}`. Or run studies as root."),
            None => "A sandbox or container refuses it (seccomp): allow it there, or run studies as root.".to_owned(),
        },
        Errno::ENOSPC | Errno::EUSERS => used_up("user.max_user_namespaces"),
        Errno::EINVAL | Errno::ENOSYS => "This kernel has none (CONFIG_USER_NS): run studies as root.".to_owned(),
        _ => "Run studies as root.".to_owned(),
    }
}

/// The switch that keeps users from namespaces, its value, and the one that would not.
fn refusing() -> Option<(&'static str, String, &'static str)> {
    const SWITCHES: [(&str, &str, &str); 3] = [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("user.max_user_namespaces", "0", "10000"),
    ];
    SWITCHES
        .into_iter()
        .find(|(name, closed, _)| setting(name).is_ok_and(|value| value == *closed))
        .map(|(name, closed, open)| (name, closed.to_owned(), open))
}

fn used_up(limit: &str) -> String {
    format!("{limit} is {}: raise it as root (`sysctl {limit}=10000`), or end programs that hold namespaces.", shown(limit))
}

fn no_link(errno: Errno) -> String {
    match errno {
        Errno::EOPNOTSUPP => "This kernel has no veth (CONFIG_VETH): `modprobe veth` as root.".to_owned(),
        // Ubuntu makes the namespace but gives no rights in it.
        Errno::EPERM | Errno::EACCES => match refusing() {
            Some((name, value, wanted)) => format!("{name} is {value}: as root, `sysctl {name}={wanted}`. Or run studies as root."),
            None => "The new namespace gives no rights (a security module?): run studies as root.".to_owned(),
        },
        _ => "Until then traffic takes loopback and crosses no link.".to_owned(),
    }
}
