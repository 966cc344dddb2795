//! Device features (offloads), read and set through the kernel's generic
//! netlink family `ethtool` (since Linux 5.6).
//!
//! A feature is known by the kernel's own name, such as `rx-gro`; a plan speaks
//! of [`Offload`]s, ethtool's short names, each of which stands for a group.
//! `gso` off does what ethtool does: the device gets single segments, cut by
//! the kernel just above it; TCP still hands down large packets.

pub mod message;

use std::collections::{BTreeMap, BTreeSet};

use model::plan::Offload;
use nix::errno::Errno;

use super::netlink::{self, Family};
use crate::refusal::Refusal;
use sys::netlink::NetlinkError;

/// The features that each offload stands for.
const fn group(offload: Offload) -> &'static [&'static str] {
    match offload {
        Offload::Tx => &["tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-checksum-ipv6", "tx-checksum-fcoe-crc", "tx-checksum-sctp"],
        Offload::Rx => &["rx-checksum"],
        Offload::Sg => &["tx-scatter-gather", "tx-scatter-gather-fraglist"],
        Offload::Tso => &[
            "tx-tcp-segmentation",
            "tx-tcp-ecn-segmentation",
            "tx-tcp-accecn-segmentation",
            "tx-tcp-mangleid-segmentation",
            "tx-tcp6-segmentation",
        ],
        Offload::Gso => &["tx-generic-segmentation"],
        Offload::Gro => &["rx-gro"],
    }
}

/// The features of which one has to be on for the offload to be on. Variants
/// such as segmentation with ECN stay on when the thing itself is refused;
/// checksums have several forms, of which a device has one.
const fn essential(offload: Offload) -> &'static [&'static str] {
    match offload {
        Offload::Tx => group(offload),
        _ => group(offload).split_at(1).0,
    }
}

const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The features of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Features {
    /// All that the kernel knows, and whether each is on.
    pub active: BTreeMap<String, bool>,
    /// Those that can be changed on this device.
    pub changeable: BTreeSet<String>,
}

impl Features {
    /// Returns whether the offload is as `wanted`: off with all its features, on with
    /// those that matter.
    pub(crate) fn is(&self, offload: Offload, wanted: bool) -> bool {
        let any_on = |names: &[&str]| names.iter().any(|name| self.active.get(*name) == Some(&true));
        if wanted { any_on(essential(offload)) } else { !any_on(group(offload)) }
    }
}

impl Features {
    /// Returns whether the offload can be turned on and off.
    pub(crate) fn may(&self, offload: Offload) -> bool {
        essential(offload).iter().any(|name| self.changeable.contains(*name))
    }
}

/// Reads the features of `device`.
pub fn features(device: &str) -> Result<Features, Refusal> {
    Session::open()?.features(device)
}

/// Sets `offloads` on `device` and makes sure that the kernel did so. For
/// [`super::link`], which has made sure that the device is ours.
pub(super) fn set_offloads(device: &str, offloads: &BTreeMap<Offload, bool>) -> Result<(), Refusal> {
    if offloads.is_empty() {
        return Ok(());
    }
    let mut session = Session::open()?;
    let wanted = wanted(&session.features(device)?, offloads);
    if !wanted.is_empty() {
        session.set(device, &wanted)?;
    }
    let features = session.features(device)?;
    match offloads.iter().find(|(offload, wanted)| !features.is(**offload, **wanted)) {
        Some((offload, wanted)) => Err(kept(device, *offload, *wanted)),
        None => Ok(()),
    }
}

/// The kernel carried out the request, but the feature stayed as it was.
fn kept(device: &str, offload: Offload, wanted: bool) -> Refusal {
    Refusal::new(
        format!("turning '{}' {} on '{device}'", offload.name(), on_off(wanted)),
        format!("the kernel left it {}", on_off(!wanted)),
        "the device may not offer it, or it may need another offload (tso needs tx and sg, gso needs sg)",
    )
}

/// Sets single features of `device`, by the kernel's names. For [`crate::arm`],
/// which has made sure that it may be changed.
pub(crate) fn set_features(device: &str, wanted: &[(&str, bool)]) -> Result<(), Refusal> {
    Session::open()?.set(device, wanted)
}

/// The single features to ask for. Fixed ones are left out: a request for them
/// would be ignored.
pub(crate) fn wanted(features: &Features, offloads: &BTreeMap<Offload, bool>) -> Vec<(&'static str, bool)> {
    let names = offloads.iter().flat_map(|(offload, on)| group(*offload).iter().map(|name| (*name, *on)));
    names.filter(|(name, _)| features.changeable.contains(*name)).collect()
}

/// An open channel to the `ethtool` family.
struct Session(Family);

impl Session {
    fn open() -> Result<Self, Refusal> {
        let remedy = |errno| match errno {
            Some(Errno::ENOENT) => "offloads need Linux 5.6 with CONFIG_ETHTOOL_NETLINK; leave them out of the plan",
            _ => "leave offloads out of the plan",
        };
        Family::open("ethtool").map(Self).map_err(|error| netlink::refused(remedy(error.errno()))(error))
    }

    fn features(&mut self, device: &str) -> Result<Features, Refusal> {
        let tried = format!("reading the offloads of '{device}'");
        let refused = netlink::refused("is the device in this host's namespace?");
        let answers = self.0.ask(&tried, 0, &message::get(device)).map_err(refused)?;
        answers.iter().find_map(|answer| message::features(&answer.body)).ok_or_else(|| refused(NetlinkError::Garbled { tried }))
    }

    fn set(&mut self, device: &str, wanted: &[(&str, bool)]) -> Result<(), Refusal> {
        let words: Vec<String> = wanted.iter().map(|(name, on)| format!("{name} {}", on_off(*on))).collect();
        let tried = format!("setting offloads of '{device}' ({})", words.join(", "));
        let answer = self.0.ask(&tried, 0, &message::set(device, wanted));
        answer.map(drop).map_err(netlink::refused("leave them out of the plan"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::plan::Offload;

    use super::{Features, features, kept, wanted};
    use crate::host::text::skipped;

    #[test]
    fn only_changeable_features_are_asked_for() {
        let known = Features {
            active: BTreeMap::new(),
            changeable: ["tx-tcp-segmentation", "tx-tcp6-segmentation", "rx-gro"].map(str::to_owned).into(),
        };
        let asked = wanted(&known, &BTreeMap::from([(Offload::Tso, false), (Offload::Rx, false)]));
        assert_eq!(asked, [("tx-tcp-segmentation", false), ("tx-tcp6-segmentation", false)]);
    }

    #[test]
    fn loopback_has_features_or_the_kernel_says_why_not() {
        match features("lo") {
            Ok(found) => assert!(found.active.contains_key("tx-generic-segmentation"), "{found:?}"),
            Err(error) => skipped("loopback_has_features_or_the_kernel_says_why_not", error),
        }
    }

    #[test]
    fn a_feature_that_stayed_is_named_with_what_was_asked() {
        let error = kept("va", Offload::Tso, true);
        assert!(error.to_string().starts_with("turning 'tso' on on 'va': the kernel left it off;"), "{error}");
    }
}
