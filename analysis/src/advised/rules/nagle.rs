//! A small write that waits for an acknowledgement, which its peer delays.

use model::Protocol;
use model::replay::Replay;

use super::{percent, sizes};
use crate::advised::{Advice, Measure, Now, Observed, Rule};

/// Share of looks that find a write held back, from which on it is no chance.
const OFTEN: f64 = 0.4;
/// The fewest looks.
const LOOKS: usize = 3;

/// True where looks at connections find small writes held back, though the window has room.
pub fn holds_back(observed: &Observed) -> bool {
    let (share, looks) = observed.held_back;
    looks >= LOOKS && share >= OFTEN
}

/// Fires where writes are held back and answers have several pieces.
pub fn advise(observed: &Observed) -> Option<Advice> {
    if !holds_back(observed) {
        return None;
    }
    let (pattern, share) = observed.pattern("tcp", |one| one.sends.len() >= 2)?;
    let (held, looks) = observed.held_back;
    let replay = Replay {
        connections: observed.clients(),
        nodelay: false,
        ..observed.bound(Replay::new(Protocol::Tcp, pattern.received, pattern.sends.clone()))
    };
    Some(Advice {
        rule: Rule::Nagle,
        change: "Set TCP_NODELAY, or give an answer in one call: Nagle's algorithm keeps the second small write back until the first is acknowledged, which the peer delays by up to 40 ms.".to_owned(),
        evidence: vec![
            format!(
                "In {} of {looks} looks at connections, bytes that fit one segment were not sent while earlier ones waited for their acknowledgement and the window had room.",
                percent(held)
            ),
            format!("{} of exchanges take {} B and give {}.", percent(share), pattern.received, sizes(&pattern.sends)),
        ],
        measure: Measure::Time,
        // The last exchange of a window is complete only when the next begins, and these are few.
        now: Now::Observed(1e9 * f64::from(observed.clients()) * pattern.sends.len() as f64 / observed.sends.max(1e-3)),
        replays: [replay.clone(), Replay { nodelay: true, ..replay }],
    })
}
