//! What XDP devices offer, by the kernel's generic netlink family `netdev` (Linux 6.3). Numbers
//! are those of the kernel's `linux/netdev.h`.

use std::fs;

use netlink_packet_core::NLM_F_DUMP;

use super::netlink::{Family, command};
use sys::netlink::{NetlinkError, attribute, number};

const DEV_GET: u8 = 1;
const DEV_IFINDEX: u16 = 1;
const DEV_XDP_FEATURES: u16 = 3;
/// `NETDEV_XDP_ACT_XSK_ZEROCOPY`.
const WITHOUT_COPY: u64 = 1 << 3;

/// Names of this namespace's devices whose drivers take frames of AF_XDP without a copy.
///
/// # Errors
/// The kernel's refusal; ENOENT before Linux 6.3.
pub(crate) fn devices_without_copy() -> Result<Vec<String>, NetlinkError> {
    let tried = "asking what XDP the devices offer";
    let answers = Family::open("netdev")?.ask(tried, NLM_F_DUMP, &command(DEV_GET, &[]))?;
    let offering: Vec<u32> = answers
        .iter()
        .filter_map(|answer| features(&answer.body))
        .filter(|(_, bits)| bits & WITHOUT_COPY != 0)
        .map(|(device, _)| device)
        .collect();
    let all = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let index = |path: std::path::PathBuf| fs::read_to_string(path.join("ifindex")).ok()?.trim().parse().ok();
    let named = all.filter(|entry| index(entry.path()).is_some_and(|index| offering.contains(&index)));
    Ok(named.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// The device of an answer, and the bits of what it offers.
pub fn features(body: &[u8]) -> Option<(u32, u64)> {
    let value = |wanted| attribute(body.get(4..)?, wanted);
    let bits = value(DEV_XDP_FEATURES)?.first_chunk().copied().map(u64::from_ne_bytes)?;
    Some((number(value(DEV_IFINDEX)?)?, bits))
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::DefaultNla;
    use proptest::prelude::{any, prop, proptest};

    use super::{DEV_IFINDEX, DEV_XDP_FEATURES, command, devices_without_copy, features};
    use crate::host::text::skipped;

    #[test]
    fn an_answer_has_a_device_and_its_bits() {
        let told = |kind, value: &[u8]| DefaultNla::new(kind, value.to_vec());
        let answer = command(1, &[told(DEV_IFINDEX, &7_u32.to_ne_bytes()), told(DEV_XDP_FEATURES, &0x2b_u64.to_ne_bytes())]);
        assert_eq!(features(&answer), Some((7, 0x2b)));
        assert_eq!(features(&command(1, &[told(DEV_IFINDEX, &7_u32.to_ne_bytes())])), None);
    }

    #[test]
    fn loopback_copies() {
        match devices_without_copy() {
            Ok(devices) => assert!(!devices.iter().any(|device| device == "lo"), "{devices:?}"),
            Err(error) => skipped("loopback_copies", error),
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = features(&body);
        }
    }
}
