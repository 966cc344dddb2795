//! The probe and the plugin, which the build script made.

use std::io::Read;

use flate2::read::ZlibDecoder;
use sha2::{Digest, Sha256};

use crate::emulator::Interface;

/// The guest's first process.
pub const PROBE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe"));
/// The plugin for QEMU from 9.2, deflated: half its size.
const PLUGIN_NEW: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scope-new.so"));
/// The plugin for QEMU up to 8.2, likewise.
const PLUGIN_OLD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scope-old.so"));
/// The licence of the plugin: GPL-2.0-or-later.
pub const PLUGIN_LICENCE: &str = include_str!("../plugin/LICENSE");

/// The plugin for an interface; nothing where the program was built for another kind of machine.
pub fn plugin(interface: Interface) -> Vec<u8> {
    let packed = match interface {
        Interface::Old => PLUGIN_OLD,
        Interface::New => PLUGIN_NEW,
    };
    let mut bytes = Vec::new();
    match ZlibDecoder::new(packed).read_to_end(&mut bytes) {
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
    use super::{PROBE, plugin};
    use crate::emulator::Interface;

    #[test]
    fn plugins_are_carried_whole() {
        let [new, old] = [Interface::New, Interface::Old].map(plugin);
        assert_ne!(new, old);
        for plugin in [new, old] {
            // A shared object, with the function by which QEMU starts it.
            assert_eq!(plugin.starts_with(b"\x7fELF"), !PROBE.is_empty());
            let has = |name: &[u8]| plugin.windows(name.len()).any(|part| part == name);
            assert_eq!(has(b"qemu_plugin_install"), !PROBE.is_empty());
        }
    }
}
