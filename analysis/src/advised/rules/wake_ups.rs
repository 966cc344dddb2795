//! A wake-up for each message of a program that only takes.

use model::attach::Way;
use model::replay::{Replay, Taking};
use model::{Nanos, Protocol};

use crate::advised::{Advice, Measure, Observed, Rule};

/// Wake-ups of a message, from which on most have their own; where others use the CPU, some
/// messages find the program awake.
const EACH: f64 = 0.4;
/// Messages a second, from which on their wake-ups cost something.
const OFTEN: f64 = 2_000.0;
/// Messages that are to be taken at a time, and the bounds of the sleep that collects them.
const BATCH: f64 = 16.0;
const NAP: [u64; 2] = [200_000, 2_000_000];

/// Fires where a program takes datagrams one by one, sleeps before each, and answers none: who waits
/// for an answer would wait longer.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let taken = observed.calls.iter().filter(|one| one.way == Way::In && one.protocol == "udp");
    let busiest = taken.max_by(|a, b| a.per_second.total_cmp(&b.per_second))?;
    let answers = observed.sends > busiest.per_second / 20.0;
    if answers || busiest.per_second < OFTEN || observed.wake_ups < EACH || busiest.per_second < observed.receives * 0.9 {
        return None;
    }
    let nap = Nanos::new(((1e9 * BATCH / busiest.per_second) as u64).clamp(NAP[0], NAP[1]));
    let replay = Replay {
        pace: Nanos::new((1e9 / busiest.per_second) as u64),
        read: 2048.max(busiest.mean as u64),
        work: Nanos::new((observed.cpu_of_receive * observed.own.unwrap_or(0.0)) as u64),
        ..observed.bound(Replay::new(Protocol::Udp, (busiest.mean.round() as u64).max(1), Vec::new()))
    };
    Some(Advice {
        rule: Rule::WakeUps,
        change: format!(
            "Take many messages at a wake-up: sleep {nap} where nothing hurries, then recvmmsg(2) until there is none; messages wait that long at most."
        ),
        evidence: vec![format!(
            "The program waits {:.2} times for each of {:.0} datagrams/s that {} takes, and answers none of them.",
            observed.wake_ups, busiest.per_second, busiest.call
        )],
        measure: Measure::Cpu,
        now: observed.replayed(observed.cpu_of_receive),
        replays: [replay.clone(), Replay { taking: Taking::Many, nap, ..replay }],
    })
}
