//! Signals that ask the tool to end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// What is tried of the system.
const TRIED: &str = "listen for Ctrl-C; does a sandbox refuse it?";

/// Whether a signal has come. The first asks for an end at the next occasion:
/// after the trial at hand, or with the next line of one; the second ends at
/// once, which loses no finished trial either.
///
/// # Errors
/// An answer of the system.
pub fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, Exit::Failed as i32, Arc::clone(&interrupted)).context(TRIED)?;
        flag::register(signal, Arc::clone(&interrupted)).context(TRIED)?;
    }
    Ok(interrupted)
}
