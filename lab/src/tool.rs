//! Version of this nettoll, as hosts, agents and records are told.

use std::sync::OnceLock;

static NAME: OnceLock<&'static str> = OnceLock::new();

/// Sets what [`tool`] says, once, before anything is told to anybody: version
/// and commit, which only the program knows. Two builds of one version are told
/// apart by it.
pub fn set_tool(name: &'static str) {
    // A second name would make two tools of one process.
    let _ = NAME.set(name);
}

/// Version and commit, such as `0.1.0 (0123456789ab)`; the version alone where
/// the program did not say more.
pub fn tool() -> &'static str {
    NAME.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}
