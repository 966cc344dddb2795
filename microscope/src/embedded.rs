//! The probe and the plugin, which the build script made.

use sha2::{Digest, Sha256};

/// The guest's first process.
pub const PROBE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe"));
/// The plugin for QEMU from 9.2.
pub const PLUGIN_NEW: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scope-new.so"));
/// The plugin for QEMU up to 8.2.
pub const PLUGIN_OLD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scope-old.so"));
/// The licence of the plugin: GPL-2.0-or-later.
pub const PLUGIN_LICENCE: &str = include_str!("../plugin/LICENSE");

/// SHA-256 in hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
