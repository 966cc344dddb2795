//! The rate limit of links, tried in a scratch namespace, and device features, read through the kernel's
//! `ethtool` family.

use model::check::{Area, Check, Need};
use nix::errno::Errno;
use sys::errno_name;

use super::answer::{Subject, errno, said};
use super::scratch::Findings;
use crate::host::ethtool::features;

const WITHOUT: &str = "Without it, links with a rate are refused.";

pub(super) fn queueing(scratch: &Findings) -> Vec<Check> {
    let subject = Subject { area: Area::Queueing, name: "tbf", need: Need::Optional };
    let tried = "RTM_NEWQDISC tbf";
    // The first answer is the link's.
    vec![match scratch.best().map(|answers| answers.get(1)) {
        Ok(Some(Ok(()))) => subject.present("limits a link's rate"),
        Ok(Some(Err(error))) => subject.absent(said(tried, error), remedy(errno(error))),
        Ok(None) => subject.absent(format!("{tried}: no answer"), WITHOUT),
        Err(refusal) => {
            let answer = format!("{tried}: no namespace to try it in ({})", errno_name(&refusal.answer));
            subject.absent(answer, "Allow namespaces (see above).")
        }
    }]
}

fn remedy(errno: Errno) -> String {
    let remedy = match errno {
        Errno::ENOENT | Errno::EOPNOTSUPP => "This kernel has no tbf (CONFIG_NET_SCH_TBF): `modprobe sch_tbf` as root. ",
        Errno::EPERM | Errno::EACCES => "The new namespace gives no rights (a security module?): run as root. ",
        _ => "",
    };
    format!("{remedy}{WITHOUT}")
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
