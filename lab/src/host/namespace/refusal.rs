//! Remedies for a refused namespace.

use nix::errno::Errno;

use super::Step;
use crate::host::text::{read_or_empty, sysctl_file};

/// The limits that stand between a user and a namespace, with the value that
/// refuses, and what each asks for.
const LIMITS: [(&str, &str); 4] = [
    // Debian's own switch.
    ("kernel.unprivileged_userns_clone", "0"),
    // Ubuntu, since 23.10: the namespace is made, but gives no rights.
    ("kernel.apparmor_restrict_unprivileged_userns", "1"),
    ("user.max_user_namespaces", "0"),
    ("user.max_net_namespaces", "0"),
];

/// Returns what to do, for a refusal of `step` with `errno`. `limit` reads a sysctl.
pub(super) fn remedy(step: Step, errno: Errno, limit: &dyn Fn(&str) -> String) -> String {
    match (step, errno) {
        (Step::Network, Errno::EPERM) => format!("{} Or run nettoll as root.", blame(limit)),
        (Step::User | Step::Maps, Errno::EPERM | Errno::EACCES) => {
            format!("{} In a container the engine's seccomp profile may refuse it. Or run nettoll as root.", blame(limit))
        }
        (Step::Join, Errno::EPERM | Errno::EACCES) => {
            "the other host must belong to the same user and be started by the same controller".to_owned()
        }
        (Step::Join, Errno::ENOENT | Errno::ESRCH) => {
            "the other host has ended, or this kernel has no user namespaces (CONFIG_USER_NS); run the study again".to_owned()
        }
        (_, Errno::ENOSPC | Errno::EUSERS) => format!(
            "too many namespaces are in use, here or in an outer user namespace: see user.max_user_namespaces (now {}) and user.max_net_namespaces (now {}), or end other programs",
            shown(limit, "user.max_user_namespaces"),
            shown(limit, "user.max_net_namespaces")
        ),
        (Step::User | Step::Join, Errno::EINVAL) => {
            "the kernel has no user namespaces (CONFIG_USER_NS), or the process has more than one thread; run nettoll as root".to_owned()
        }
        (_, Errno::EINVAL | Errno::ENOSYS) => {
            "the kernel has no network namespaces (CONFIG_NET_NS, CONFIG_USER_NS); use a loopback link".to_owned()
        }
        (_, Errno::ENOMEM) => "memory is short; end other programs".to_owned(),
        _ => "run nettoll as root, or use a loopback link".to_owned(),
    }
}

/// Names the limits that refuse; where none shows, those to look at.
fn blame(limit: &dyn Fn(&str) -> String) -> String {
    let refusing: Vec<String> =
        LIMITS.iter().filter(|(name, refusal)| limit(name) == *refusal).map(|(name, value)| format!("{name} is {value}")).collect();
    if refusing.is_empty() {
        format!("look at {}.", LIMITS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
    } else {
        format!("{}: the administrator of this machine decides on that.", refusing.join(", "))
    }
}

fn shown(limit: &dyn Fn(&str) -> String, name: &str) -> String {
    Some(limit(name)).filter(|value| !value.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// A sysctl's value; empty where this kernel has none of that name.
pub(super) fn read_limit(name: &str) -> String {
    read_or_empty(sysctl_file(name))
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::{Step, remedy};

    fn with(name: &'static str, value: &'static str) -> impl Fn(&str) -> String {
        move |asked| if asked == name { value.to_owned() } else { String::new() }
    }

    #[test]
    fn the_limit_that_refuses_is_named() {
        let debian = remedy(Step::User, Errno::EPERM, &with("kernel.unprivileged_userns_clone", "0"));
        assert!(debian.starts_with("kernel.unprivileged_userns_clone is 0:"), "{debian}");
        let ubuntu = remedy(Step::Maps, Errno::EPERM, &with("kernel.apparmor_restrict_unprivileged_userns", "1"));
        assert!(ubuntu.starts_with("kernel.apparmor_restrict_unprivileged_userns is 1:"), "{ubuntu}");
    }

    #[test]
    fn without_a_culprit_all_limits_are_named() {
        let text = remedy(Step::User, Errno::EPERM, &|_| String::new());
        for name in [
            "kernel.unprivileged_userns_clone",
            "kernel.apparmor_restrict_unprivileged_userns",
            "user.max_user_namespaces",
            "user.max_net_namespaces",
        ] {
            assert!(text.contains(name), "{name} is missing: {text}");
        }
    }

    #[test]
    fn each_refusal_has_its_own_remedy() {
        let full = remedy(Step::Network, Errno::ENOSPC, &with("user.max_net_namespaces", "7"));
        assert!(full.contains("user.max_net_namespaces (now 7)"), "{full}");
        assert!(remedy(Step::User, Errno::EINVAL, &|_| String::new()).contains("CONFIG_USER_NS"));
        assert!(remedy(Step::Network, Errno::ENOSYS, &|_| String::new()).contains("CONFIG_NET_NS"));
        assert!(remedy(Step::Join, Errno::ENOENT, &|_| String::new()).contains("ended"));
    }
}
