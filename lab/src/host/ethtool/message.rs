//! The few messages of the `ethtool` family that are needed, and the answers.
//! Numbers are those of the kernel's `linux/ethtool_netlink.h`.

use std::collections::{BTreeMap, BTreeSet};

use model::sorting::Gather;
use netlink_packet_core::DefaultNla;

use super::Features;
use crate::host::netlink::command;
use crate::host::netlink::{nest, text};
use sys::netlink::{attribute, attributes, read_text};

const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;

const HEADER: u16 = 1;
const HEADER_DEVICE_NAME: u16 = 2;

const HARDWARE: u16 = 2;
const WANTED: u16 = 3;
const ACTIVE: u16 = 4;

const BITSET_BITS: u16 = 3;
const BITS_BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// A question for the features of `device`.
pub(super) fn get(device: &str) -> Vec<u8> {
    command(FEATURES_GET, &[header(device)])
}

/// A request to set single features; the others stay as they are.
pub(super) fn set(device: &str, wanted: &[(&str, bool)]) -> Vec<u8> {
    let bits: Vec<DefaultNla> = wanted
        .iter()
        .map(|(name, on)| {
            let mut bit = vec![text(BIT_NAME, name)];
            // A bit is on by having a value, and off by having none.
            bit.extend(on.then(|| DefaultNla::new(BIT_VALUE, Vec::new())));
            nest(BITS_BIT, &bit)
        })
        .collect();
    command(FEATURES_SET, &[header(device), nest(WANTED, &[nest(BITSET_BITS, &bits)])])
}

/// The features in the answer to [`get`].
pub fn features(body: &[u8]) -> Option<Features> {
    let (mut hardware, mut active) = (BTreeMap::new(), BTreeSet::new());
    for (kind, value) in attributes(body.get(4..)?) {
        match kind {
            HARDWARE => hardware = bits(value).into_map(),
            // This set lists only what is on; whether with a value, differs.
            ACTIVE => active = bits(value).map(|(name, _)| name).into_set(),
            _ => {}
        }
    }
    // The first set lists every feature, with a value where it can be changed.
    if hardware.is_empty() {
        return None;
    }
    Some(Features {
        active: hardware.keys().map(|name: &String| (name.clone(), active.contains(name))).into_map(),
        changeable: hardware.into_iter().filter_map(|(name, can)| can.then_some(name)).into_set(),
    })
}

fn bits(bitset: &[u8]) -> impl Iterator<Item = (String, bool)> {
    let lists = attributes(bitset).filter(|(kind, _)| *kind == BITSET_BITS);
    lists.flat_map(|(_, list)| attributes(list)).filter(|(kind, _)| *kind == BITS_BIT).filter_map(|(_, bit)| {
        let name = attribute(bit, BIT_NAME)?;
        // Places of retired features are listed with an empty name.
        let name = Some(read_text(name)).filter(|name| !name.is_empty())?;
        Some((name, attributes(bit).any(|(kind, _)| kind == BIT_VALUE)))
    })
}

fn header(device: &str) -> DefaultNla {
    nest(HEADER, &[text(HEADER_DEVICE_NAME, device)])
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::DefaultNla;
    use proptest::prelude::{any, prop, prop_assert, proptest};

    use super::{ACTIVE, BIT_NAME, BIT_VALUE, BITS_BIT, BITSET_BITS, HARDWARE, command, features};
    use crate::host::netlink::{nest, text};

    fn bitset(kind: u16, bits: &[(&str, bool)]) -> DefaultNla {
        let bit = |(name, on): &(&str, bool)| {
            let mut inner = vec![text(BIT_NAME, name)];
            inner.extend(on.then(|| DefaultNla::new(BIT_VALUE, vec![])));
            nest(BITS_BIT, &inner)
        };
        nest(kind, &[nest(BITSET_BITS, &bits.iter().map(bit).collect::<Vec<_>>())])
    }

    #[test]
    fn every_feature_is_on_or_off_and_some_can_be_changed() {
        let answer =
            command(11, &[bitset(HARDWARE, &[("rx-gro", true), ("", false), ("highdma", false)]), bitset(ACTIVE, &[("highdma", false)])]);
        let found = features(&answer).unwrap();
        assert_eq!(found.active.into_iter().collect::<Vec<_>>(), [("highdma".to_owned(), true), ("rx-gro".to_owned(), false)]);
        assert_eq!(found.changeable.into_iter().collect::<Vec<_>>(), ["rx-gro"]);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(found) = features(&body) {
                prop_assert!(found.changeable.iter().all(|name| found.active.contains_key(name)));
            }
        }
    }
}
