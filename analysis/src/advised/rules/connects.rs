//! A connection for each request.

use model::Protocol;
use model::replay::Replay;

use crate::advised::{Advice, Measure, Observed, Rule};

/// Sockets that moved data, over exchanges.
const EACH: f64 = 0.5;
/// The same over the connections that are open at a time, with the fewest of them.
const COME_AND_GO: f64 = 4.0;
const FEWEST: f64 = 20.0;

/// Fires where connections last for an exchange or two.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let (open, moving) = observed.connections;
    let calls = observed.calls.iter().filter(|one| one.protocol == "tcp").map(|one| one.per_second).fold(0.0, f64::max);
    let seconds = observed.windows.max(1) as f64;
    if moving < FEWEST || moving < COME_AND_GO * open.max(1.0) || calls == 0.0 {
        return None;
    }
    // A connection whose last answer nothing follows is no exchange in the list: sends stand for it.
    let answers = observed.sends.max(observed.exchanges) * observed.window_seconds / seconds.max(1.0);
    let share = moving / answers.max(1.0);
    if share < EACH {
        return None;
    }
    let mean = |way| {
        let of_way = observed.calls.iter().filter(|one| one.protocol == "tcp" && one.way == way);
        of_way.max_by(|a, b| a.per_second.total_cmp(&b.per_second)).map_or(1, |one| one.mean.round().max(1.0) as u64)
    };
    let [request, answer] = [model::attach::Way::In, model::attach::Way::Out].map(mean);
    let replay = Replay { reconnect: true, ..observed.bound(Replay::new(Protocol::Tcp, request, vec![answer])) };
    Some(Advice {
        rule: Rule::Connects,
        change: "Keep connections: let clients ask again on the one they have (keep-alive, a pool).".to_owned(),
        evidence: vec![format!(
            "In a window {moving:.0} connections moved data, {open:.0} were open at its end: one for every {:.1} answers.",
            1.0 / share.max(1e-9)
        )],
        measure: Measure::Cpu,
        now: observed.replayed(observed.cpu_of_answer),
        replays: [replay.clone(), Replay { reconnect: false, ..replay }],
    })
}
