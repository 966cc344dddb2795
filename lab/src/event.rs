//! What happens during a study, told to whoever listens: the recorder, the
//! progress display, the stopping rule.

use std::error::Error;

use model::TrialRecord;
use model::host::HostFacts;
use model::run::Status;
use model::warning::Warning;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// The hosts are up and joined.
    Opened {
        /// Their facts.
        hosts: &'a [HostFacts],
        /// What is to be known of the whole run.
        warnings: &'a [Warning],
    },
    /// A block begins.
    BlockStarted {
        /// Its number, from 0.
        block: u32,
    },
    /// A trial has ended. It is not told before its end.
    Trial(&'a TrialRecord),
    /// A block is complete.
    BlockDone {
        /// Blocks done so far.
        blocks: u32,
    },
    /// The study has ended.
    Closed {
        /// The hosts' facts after it; empty when they were lost.
        hosts: &'a [HostFacts],
        /// Everything that is to be known of the whole run.
        warnings: &'a [Warning],
        /// How it ended.
        status: &'a Status,
    },
}

/// Whether a study is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    GoOn,
    /// The user wants it to end.
    Stop,
}

/// Hears of events, between trials only.
pub trait Listener {
    /// Takes note of an event.
    ///
    /// # Errors
    /// What makes it pointless to go on, such as a full disk.
    fn hear(&mut self, event: &Event) -> Result<Wish, Box<dyn Error + Send + Sync>>;
}
