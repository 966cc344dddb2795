//! Queueing disciplines, each tried on the loopback device of a scratch namespace,
//! and device features, read through the kernel's `ethtool` family.

use model::check::{Area, Check, Need};
use netlink_packet_core::DefaultNla;
use nix::errno::Errno;

use super::answer::{Subject, errno, said};
use super::scratch::{Findings, Request, discipline, no_impairment, token_bucket, token_tree};
use crate::host::ethtool::{OffloadError, features};

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
    Discipline {
        name: "tbf",
        options: || Some(token_bucket()),
        purpose: "limits a link's rate",
        config: "CONFIG_NET_SCH_TBF",
        instead: "links have no rate limit",
    },
    Discipline {
        name: "htb",
        options: || Some(token_tree()),
        purpose: "limits rates by class",
        config: "CONFIG_NET_SCH_HTB",
        instead: "tbf does for one class",
    },
    Discipline {
        name: "netem",
        options: || Some(no_impairment()),
        purpose: "adds delay and loss",
        config: "CONFIG_NET_SCH_NETEM",
        instead: "links have no added delay or loss",
    },
    Discipline {
        name: "fq",
        options: || None,
        purpose: "paces flows",
        config: "CONFIG_NET_SCH_FQ",
        instead: "TCP paces itself, UDP does not",
    },
    Discipline {
        name: "fq_codel",
        options: || None,
        purpose: "bounds queueing delay, by flow",
        config: "CONFIG_NET_SCH_FQ_CODEL",
        instead: "queues are bounded by length alone",
    },
];

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
                let answer = format!("{tried}: no namespace to try it in ({:?})", errno(&refusal.answer));
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
        Err(OffloadError::Refused { source, remedy }) => subject.absent(source.to_string(), remedy),
        Err(other) => subject.absent(other.to_string(), "Plans that set offloads cannot run here; others can."),
    }]
}
