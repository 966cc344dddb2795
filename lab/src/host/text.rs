//! Texts of the kernel: its files, lists and names of devices.

use std::fs;
use std::path::Path;

use crate::refusal::Refusal;

/// A file's content without surrounding blanks; empty where it cannot be read.
/// For facts, which are recorded where they are available.
pub(super) fn read_or_empty(path: impl AsRef<Path>) -> String {
    // Read as bytes: a device's name need not be UTF-8.
    fs::read(path).map_or(String::new(), |bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The file of a sysctl, by its dotted name.
pub(crate) fn sysctl_file(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// A value with single spaces between its parts, so that what the kernel prints with
/// tabs can be compared with what somebody wrote.
pub(crate) fn plain(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether the kernel lets a device be called `name` (its `dev_valid_name`): no
/// such name leads out of the directories that are named by devices.
pub(crate) fn check_name(name: &str) -> bool {
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    (1..=15).contains(&name.len()) && name != "." && name != ".." && name.chars().all(allowed)
}

/// Refuses an attempt with a device that the kernel would not let be called so.
pub(super) fn guard_name(tried: &str, name: &str) -> Result<(), Refusal> {
    let reason = "a device's name has 1 to 15 characters, no blank and no '/'";
    if check_name(name) { Ok(()) } else { Err(Refusal::new(format!("{tried} device '{name}'"), reason, "")) }
}

/// Says that a test was skipped, past the harness, which hides what a passing
/// test prints.
#[cfg(test)]
pub(super) fn skipped(test: &str, reason: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
}
