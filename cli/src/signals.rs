//! Signals that ask the tool to end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

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

/// Has a signal that asks the tool to end do so at once, after `clean`.
///
/// # Errors
/// An answer of the system.
pub fn before_end(clean: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context(TRIED)?;
    let answer = move || {
        for signal in &mut signals {
            clean();
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("nettoll-signals".to_owned()).spawn(answer).context("start a thread; is there a limit of processes?")?;
    Ok(())
}
