//! Many small sends in a row to one stream.

use model::attach::Pattern;
use model::replay::{Giving, Replay};

use super::{SEGMENT, percent, sizes};
use crate::advised::{Advice, Measure, Observed, Rule};

/// Sends that are further apart wait for something in between.
const TOGETHER_NS: u64 = 1_000_000;

/// An answer of several pieces that would fit a few segments.
pub fn is_small(one: &Pattern) -> bool {
    one.sends.len() >= 2 && one.sends.iter().all(|size| *size < SEGMENT)
}

/// Fires where most exchanges end with several small sends, and no acknowledgement is waited for.
pub fn advise(observed: &Observed) -> Option<Advice> {
    if super::nagle::holds_back(observed) {
        return None;
    }
    // What is scheduled between two sends of thousands now and then is no waiting.
    let together = |one: &Pattern| one.apart < TOGETHER_NS.saturating_mul(50);
    let (pattern, share) = observed.pattern("tcp", |one| is_small(one) && together(one))?;
    let replay = observed.replay(pattern);
    Some(Advice {
        rule: Rule::SmallWrites,
        change: "Give an answer in one call: writev(2), a buffer of the program's own, or MSG_MORE on all pieces but the last.".to_owned(),
        evidence: vec![format!(
            "{} of {:.0} exchanges/s take {} B and give {} in {} calls of {} in a row.",
            percent(share),
            observed.exchanges,
            pattern.received,
            sizes(&pattern.sends),
            pattern.sends.len(),
            pattern.call
        )],
        measure: Measure::Cpu,
        now: observed.replayed(observed.cpu_of_exchange),
        replays: [replay.clone(), Replay { giving: Giving::Gathered, ..replay }],
    })
}
