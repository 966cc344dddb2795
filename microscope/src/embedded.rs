//! The probe and the plugin, which the build script made.

use std::io::Read;

use flate2::read::ZlibDecoder;
use sha2::{Digest, Sha256};

/// The guest's first process.
pub const PROBE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe"));
/// The plugin for QEMU from 9.2, deflated: half its size.
pub const PLUGIN_NEW: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scope-new.so.z"));
/// The plugin for QEMU up to 8.2, likewise.
pub const PLUGIN_OLD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scope-old.so.z"));
/// The licence of the plugin: GPL-2.0-or-later.
pub const PLUGIN_LICENCE: &str = include_str!("../plugin/LICENSE");

/// A plugin as it was packed; nothing where the program was built for another kind of machine.
pub fn unpacked(plugin: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    match ZlibDecoder::new(plugin).read_to_end(&mut bytes) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}

/// SHA-256 in hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{PLUGIN_NEW, PLUGIN_OLD, PROBE, unpacked};

    #[test]
    fn plugins_are_carried_whole() {
        let [new, old] = [PLUGIN_NEW, PLUGIN_OLD].map(unpacked);
        assert_eq!(new != old, !PROBE.is_empty());
        for plugin in [new, old] {
            // A shared object, with the function by which QEMU starts it.
            assert_eq!(plugin.starts_with(b"\x7fELF"), !PROBE.is_empty());
            let has = |name: &[u8]| plugin.windows(name.len()).any(|part| part == name);
            assert_eq!(has(b"qemu_plugin_install"), !PROBE.is_empty());
        }
    }
}
