//! Rules: each a condition over what was observed, what to change, and two replays.

mod answers;
mod pieces;
mod waits;

use super::{Advice, Now, Observed};

/// The largest payload of a segment or datagram that no link of 1,500 bytes cuts.
const SEGMENT: u64 = 1448;

/// Rules in the order in which they are asked.
const RULES: [fn(&Observed) -> Option<Advice>; 12] = [
    pieces::nagle,
    pieces::small_writes,
    pieces::datagram_bursts,
    pieces::short_reads,
    waits::lost_datagrams,
    waits::send_buffer,
    waits::wake_ups,
    waits::busy_poll,
    answers::connects,
    answers::static_answers,
    answers::offloads,
    answers::large_answers,
];

/// Every advice that what was observed gives rise to; none without its evidence.
pub fn all(observed: &Observed) -> Vec<Advice> {
    let fired = RULES.iter().filter_map(|rule| rule(observed)).filter(|advice| !advice.evidence.is_empty() && advice.now.most() > 0.0);
    fired.map(with_basis).collect()
}

/// An advice whose saving cannot be scaled by what the program's CPU time was for says so.
fn with_basis(mut advice: Advice) -> Advice {
    if matches!(advice.now, Now::Replayed { .. }) {
        let why = "What the program's CPU time was for is not known, so the saving is that of the replay: what else the program does is not in it.";
        advice.evidence.push(why.to_owned());
    }
    advice
}

/// Bytes of an answer; sizes are read from files.
fn whole(sizes: &[u64]) -> u64 {
    sizes.iter().fold(0, |sum, size| sum.saturating_add(*size))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Sizes as a person writes them.
fn sizes(all: &[u64]) -> String {
    match all {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|size| size == first) => format!("{} × {first} B", all.len()),
        _ => format!("{} B", all.iter().map(u64::to_string).collect::<Vec<_>>().join(" + ")),
    }
}
