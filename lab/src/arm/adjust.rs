//! Brings the devices and the kernel of a host to the state that a trial wants.

use std::collections::BTreeMap;

use model::adjust::{AppliedSetting, HostState};
use model::cell::on_off;
use model::plan::Offload;
use model::sorting::Gather;

use super::item::Item;
use crate::host::ethtool::{self, Features};
use crate::host::namespace::Entered;
use crate::host::plain;
use crate::refusal::Refusal;

/// Passes over all items: features depend on each other, so that setting
/// one may undo another that was set before.
const PASSES: u32 = 3;

/// Lets something be changed, or keeps note of it beforehand so that it can be
/// undone.
pub trait ChangePermit {
    /// Takes note that an item is about to be set; without it nothing is.
    ///
    /// # Errors
    /// Why it must not be set.
    fn note(&mut self, item: &Item, before: &str, to: &str) -> Result<(), Refusal>;
}

impl ChangePermit for Entered {
    /// Returns what is changed in a namespace of nettoll's own vanishes with it.
    fn note(&mut self, item: &Item, _: &str, _: &str) -> Result<(), Refusal> {
        let reason = "this host is not isolated, and without --host-wide nettoll changes nothing outside its own namespaces";
        if self.is_isolated() { Ok(()) } else { Err(Refusal::new(format!("setting {item}"), reason, "")) }
    }
}

/// Changes made to a host so far.
#[derive(Debug, Default)]
pub struct Adjuster {
    /// Everything that was ever set, as it was before.
    base: BTreeMap<Item, String>,
}

impl Adjuster {
    /// Brings the host to a state. What was set for an earlier one and is not
    /// named in this one becomes what it was; nothing is written that is as it is
    /// to be already. Everything named is read back.
    ///
    /// # Errors
    /// See [`Refusal`]. The next state is reached from wherever this one was
    /// left.
    pub fn adjust(&mut self, wanted: &HostState, permit: &mut dyn ChangePermit) -> Result<Vec<AppliedSetting>, Refusal> {
        let targets = targets(wanted)?;
        if targets.keys().any(|item| !self.base.contains_key(item)) {
            // What an item was before is not what another left of it.
            self.reach(&self.base.clone(), permit)?;
            for item in targets.keys().filter(|item| !self.base.contains_key(*item)).cloned().collect::<Vec<_>>() {
                let before = item.read()?;
                self.base.insert(item, before);
            }
        }
        let mut all = self.base.clone();
        all.extend(targets);
        self.reach(&all, permit)?;
        let taken = verify(wanted)?;
        let named = |item: &Item| all.get(item) != self.base.get(item);
        for (item, before) in self.base.iter().filter(|(item, _)| !named(item)) {
            let got = item.read()?;
            // A feature may wait for one that this state turns off.
            if got != *before && !matches!((item, wanted.offloads.is_empty()), (Item::Feature { .. }, false)) {
                return Err(Refusal::new(format!("{item} could not be set back to {before}"), format!("it is {got}"), ""));
            }
        }
        Ok(taken)
    }

    /// Sets whatever differs from its target.
    fn reach(&self, targets: &BTreeMap<Item, String>, permit: &mut dyn ChangePermit) -> Result<(), Refusal> {
        for _ in 0..PASSES {
            let mut changed = false;
            for (item, target) in targets {
                let now = item.read()?;
                if !same(&now, target) {
                    permit.note(item, &now, target)?;
                    item.write(target)?;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }
}

/// Returns what each item is to be.
fn targets(wanted: &HostState) -> Result<BTreeMap<Item, String>, Refusal> {
    let device = &wanted.device;
    let mut targets: BTreeMap<Item, String> =
        wanted.sysctls.iter().map(|(name, value)| (Item::Sysctl(name.clone()), plain(value))).into_map();
    if let Some(mtu) = wanted.mtu {
        targets.insert(Item::Mtu { device: device.clone() }, mtu.to_string());
    }
    if !wanted.offloads.is_empty() {
        let features = ethtool::features(device)?;
        for (name, on) in ethtool::wanted(&features, &wanted.offloads) {
            targets.insert(Item::Feature { device: device.clone(), name: name.to_owned() }, on_off(on).to_owned());
        }
    }
    Ok(targets)
}

/// Everything that is named, as it is now.
fn verify(wanted: &HostState) -> Result<Vec<AppliedSetting>, Refusal> {
    let mut taken = Vec::new();
    for (name, value) in &wanted.sysctls {
        let (asked, got) = (plain(value), Item::Sysctl(name.clone()).read()?);
        take(&mut taken, format!("sysctl.{name}"), asked, got, "the kernel may round or bound it: ask for a value that it takes")?;
    }
    if let Some(mtu) = wanted.mtu {
        let got = Item::Mtu { device: wanted.device.clone() }.read()?;
        take(&mut taken, "mtu".to_owned(), mtu.to_string(), got, "ask for an MTU that the device takes")?;
    }
    if !wanted.offloads.is_empty() {
        let features = ethtool::features(&wanted.device)?;
        for (offload, on) in &wanted.offloads {
            let (name, asked, got) = (format!("offload.{offload}"), on_off(*on).to_owned(), state(&features, *offload, *on));
            let remedy = "the device may not offer it, or it may need another offload (tso needs tx and sg, gso needs sg)";
            take(&mut taken, name, asked, got.to_owned(), remedy)?;
        }
    }
    Ok(taken)
}

fn state(features: &Features, offload: Offload, wanted: bool) -> &'static str {
    on_off(if features.is(offload, wanted) { wanted } else { !wanted })
}

fn take(taken: &mut Vec<AppliedSetting>, name: String, asked: String, got: String, remedy: &'static str) -> Result<(), Refusal> {
    if !same(&got, &asked) {
        let answer = format!("asked {asked}, set without an error, got {got}");
        return Err(Refusal::new(format!("{name} did not take effect"), answer, remedy));
    }
    taken.push(AppliedSetting { name, asked, got });
    Ok(())
}

/// Returns whether two values mean the same: number by number, and else to the letter.
fn same(a: &str, b: &str) -> bool {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => word.parse::<i128>().ok(),
    };
    let (mut left, mut right) = (a.split_whitespace(), b.split_whitespace());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || number(a).is_some() && number(a) == number(b) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Adjuster, same};
    use crate::host::namespace::{Isolation, enter};
    use model::adjust::HostState;

    #[test]
    fn values_are_compared_by_what_they_mean() {
        assert!(same("4096\t16384  65536", "4096 16384 65536") && same("0x10", "16") && same("bbr", "bbr") && same("", " "));
        assert!(!same("1 2", "1") && !same("1", "2") && !same("bbr", "cubic") && !same("", "0"));
    }

    #[test]
    fn a_host_that_is_not_isolated_is_left_alone() {
        let mut entered = enter(Isolation::None).unwrap();
        let now = super::Item::Sysctl("net.ipv4.tcp_rmem".to_owned()).read().unwrap();
        let wanted = |value: &str| HostState {
            device: "lo".to_owned(),
            sysctls: [("net.ipv4.tcp_rmem".to_owned(), value.to_owned())].into(),
            ..HostState::default()
        };
        let mut adjuster = Adjuster::default();
        let refused = adjuster.adjust(&wanted("4096 4097 4098"), &mut entered).unwrap_err();
        assert!(refused.to_string().contains("is not isolated"), "{refused}");
        // What is so already needs no change.
        assert_eq!(adjuster.adjust(&wanted(&now), &mut entered).unwrap()[0].got, now);
    }
}
