//! Identity of this build.

use std::sync::LazyLock;

use model::control::CONTROL_VERSION;
use model::host::FACTS_FORMAT;
use model::run::RUN_FORMAT;
use model::trial::TRIAL_FORMAT;

/// Version and commit in one line, for `-V`.
pub const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("NETTOLL_COMMIT"), ")");

/// The day of the commit, or of `SOURCE_DATE_EPOCH`, as `YYYY-MM-DD`; empty
/// when neither was known to the build.
pub const DATE: &str = env!("NETTOLL_DATE");

/// For `--version`: all that two machines may disagree in.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(describe);
    &TEXT
}

fn describe() -> String {
    let date = if DATE.is_empty() { String::new() } else { format!(" of {DATE}") };
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let libc = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let features = match env!("NETTOLL_FEATURES") {
        "" => "none",
        named => named,
    };
    format!(
        "{version}\n\
         commit: {commit}{date}\n\
         target: {target} ({libc} libc, {profile})\n\
         optional features: {features}\n\
         control protocol: {CONTROL_VERSION}\n\
         formats: run {RUN_FORMAT}, trial {TRIAL_FORMAT}, host {FACTS_FORMAT}",
        version = env!("CARGO_PKG_VERSION"),
        commit = env!("NETTOLL_COMMIT"),
        target = env!("NETTOLL_TARGET"),
    )
}
