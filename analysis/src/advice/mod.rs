//! Advice to a program that was observed, each with its evidence and with a replay that measures
//! what it saves.
//!
//! ```text
//! windows -> Observed -> rules -> Advice (evidence, two replays) -> lab replays both in blocks
//!                                        Advice + Replayed -> Verified: what it saves
//! ```

mod observed;
mod rules;
#[cfg(test)]
mod tests;
mod verified;
mod workload;

pub use model::program_workload::CallRate;
pub use observed::Observed;
pub use rules::all;
pub use verified::{LEAST, MODEL, Verified, ranked, refused, verify};
pub use workload::{KindCost, WorkloadCost, sent};

use model::replay::Replay;
use model::{Nanos, choice};
use serde::Serialize;

choice! {
    /// A rule.
    Rule, "a rule" {
        /// Many small sends in a row to one stream.
        SmallWrites = "small-writes",
        /// A small write that waits for an acknowledgement that is delayed.
        Nagle = "nagle",
        /// Datagrams in a row to one peer, a call each.
        DatagramBursts = "datagram-bursts",
        /// Reads that take less than there is.
        ShortReads = "short-reads",
        /// Datagrams that are lost at the receive buffer.
        LostDatagrams = "lost-datagrams",
        /// A sender that waits for room in its send buffer.
        SendBuffer = "send-buffer",
        /// A wake-up for each message.
        WakeUps = "wake-ups",
        /// A wake-up for each request of a program that has CPUs to itself.
        BusyPoll = "busy-poll",
        /// A connection for each request.
        Connects = "connects",
        /// Large answers that are read from files and written.
        StaticAnswers = "static-answers",
        /// Large answers that are written from the program's memory.
        LargeAnswers = "large-answers",
        /// Checksums or segmentation that the device is told not to do.
        Offloads = "offloads",
    }
}

choice! {
    /// What an advice saves.
    Measure, "a measure" {
        /// CPU time of the program, for each answer or message.
        Cpu = "CPU time",
        /// Lost datagrams, as a share.
        Lost = "lost datagrams",
        /// Time of an exchange on a connection.
        Time = "time of an exchange",
    }
}

/// How much of what an advice saves the program has now: ns for each answer or message, or a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Now {
    /// So much that the change can touch, by what was observed.
    Observed(f64),
    /// As much as the replay of the observed way takes: what the program's CPU time was for is not known.
    Replayed {
        /// It has no more than that.
        at_most: f64,
    },
}

impl Now {
    /// The most that it can be.
    pub const fn most(self) -> f64 {
        match self {
            Self::Observed(now) | Self::Replayed { at_most: now } => now,
        }
    }
}

/// One advice, before it is verified.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The rule that fired.
    pub rule: Rule,
    /// What to change, as a sentence.
    pub change: String,
    /// What was observed, a sentence each; never none.
    pub evidence: Vec<String>,
    /// What it saves.
    pub measure: Measure,
    /// How much of that the program has now.
    pub now: Now,
    /// The observed way, and the proposed one.
    pub replays: [Replay; 2],
}

/// The usual length of a replay, and the longest.
const LENGTHS: [Nanos; 2] = [Nanos::from_millis(100), Nanos::from_millis(1000)];
/// The fewest exchanges of a replay whose time is what counts.
const EXCHANGES: f64 = 5.0;

impl Advice {
    /// Length of its replays: an exchange that waits for 40 ms needs longer ones.
    pub fn length(&self) -> Nanos {
        let [usual, longest] = LENGTHS;
        match self.measure {
            Measure::Time => Nanos::new((EXCHANGES * self.now.most()) as u64).clamp(usual, longest),
            Measure::Cpu | Measure::Lost => usual,
        }
    }
}
