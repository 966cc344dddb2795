//! Queueing disciplines, each tried on the loopback device of a scratch namespace,
//! and device features, read through the kernel's `ethtool` family.

use model::check::{Area, Check, Need};
use netlink_packet_core::DefaultNla;
use nix::errno::Errno;
use sys::errno_name;

use super::answer::{Subject, errno, said};
use super::scratch::{Findings, Request, discipline, no_impairment, token_bucket, token_tree};
use crate::host::ethtool::features;

struct Discipline {
    name: &'static str,
    options: fn() -> Option<DefaultNla>,
    /// Its purpose.
    purpose: &'static str,
    /// The option that builds it into a kernel.
    config: &'static str,
    /// The substitute.
    instead: &'static str,
}

const DISCIPLINES: [Discipline; 5] = [
    known("tbf", || Some(token_bucket()), "limits a link's rate", "CONFIG_NET_SCH_TBF", "links have no rate limit"),
    known("htb", || Some(token_tree()), "limits rates by class", "CONFIG_NET_SCH_HTB", "tbf does for one class"),
    known("netem", || Some(no_impairment()), "adds delay and loss", "CONFIG_NET_SCH_NETEM", "the relay, a link in user space, adds them"),
    known("fq", || None, "paces flows", "CONFIG_NET_SCH_FQ", "TCP paces itself, UDP does not"),
    known("fq_codel", || None, "bounds queueing delay, by flow", "CONFIG_NET_SCH_FQ_CODEL", "queues are bounded by length alone"),
];

const fn known(
    name: &'static str,
    options: fn() -> Option<DefaultNla>,
    purpose: &'static str,
    config: &'static str,
    instead: &'static str,
) -> Discipline {
    Discipline { name, options, purpose, config, instead }
}

/// A request for each discipline, in the order of [`queueing`].
pub(super) fn requests() -> impl Iterator<Item = Request> {
    DISCIPLINES.iter().map(|known| discipline(known.name, (known.options)()))
}

pub(super) fn queueing(scratch: &Findings) -> Vec<Check> {
    // The first answer is the link's.
    let answers = scratch.best().map(|answers| answers.get(1..).unwrap_or_default());
    let check = |(place, known): (usize, &Discipline)| {
        let subject = Subject { area: Area::Queueing, name: known.name, need: Need::Later };
        let tried = format!("RTM_NEWQDISC {}", known.name);
        match answers.map(|answers| answers.get(place)) {
            Ok(Some(Ok(()))) => subject.present(known.purpose),
            Ok(Some(Err(error))) => subject.absent(said(&tried, error), remedy(known, errno(error))),
            Ok(None) => subject.absent(format!("{tried}: no answer"), format!("Without it, {}.", known.instead)),
            Err(refusal) => {
                let answer = format!("{tried}: no namespace to try it in ({})", errno_name(&refusal.answer));
                subject.absent(answer, "Allow namespaces (see above).")
            }
        }
    };
    DISCIPLINES.iter().enumerate().map(check).collect()
}

fn remedy(known: &Discipline, errno: Errno) -> String {
    match errno {
        Errno::ENOENT => format!(
            "This kernel has no {} ({}): `modprobe sch_{}` as root. Without it, {}.",
            known.name, known.config, known.name, known.instead
        ),
        Errno::EPERM | Errno::EACCES => {
            format!("The new namespace gives no rights (a security module?): run as root. Without it, {}.", known.instead)
        }
        _ => format!("Without it, {}.", known.instead),
    }
}

/// Every machine has it, and reading its features changes nothing.
const DEVICE: &str = "lo";

pub(super) fn offloads() -> Vec<Check> {
    let subject = Subject { area: Area::Offloads, name: "ethtool netlink", need: Need::Useful };
    vec![match features(DEVICE) {
        Ok(features) => {
            subject.present(format!("{} features, {} can be changed on '{DEVICE}'", features.active.len(), features.changeable.len()))
        }
        Err(refused) => subject.absent(refused.what, refused.remedy),
    }]
}
