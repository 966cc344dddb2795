//! A wake-up for each request of a program that has CPUs to itself.

use model::Nanos;
use model::attach::Way;
use model::replay::Replay;

use super::{percent, sizes};
use crate::advised::{Advice, Measure, Now, Observed, Rule};

/// Wake-ups of a request, from which on most have their own.
const EACH: f64 = 0.6;
/// Share of its CPUs that the program keeps busy, from which on asking again takes little from anybody.
const BUSY: f64 = 0.3;
/// Exchanges a second on each CPU, from which on one follows soon.
const OFTEN: f64 = 5_000.0;
/// Time between two exchanges of a CPU, of which so many are waited for without sleep.
const GAPS: f64 = 4.0;

/// Fires where a program that is bound to CPUs of its own is woken for most requests, although the
/// next comes soon. Elsewhere a CPU that asks again is taken from others, which nothing here shows.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let cpus = observed.cpus.len() as f64;
    let (pattern, share) = observed.pattern("tcp", |one| !one.sends.is_empty() && one.receives == 1)?;
    let rate = observed.exchanges / cpus.max(1.0);
    if cpus == 0.0 || observed.wake_ups < EACH || observed.busy < BUSY * cpus || rate < OFTEN {
        return None;
    }
    let taken = observed.calls.iter().filter(|one| one.way == Way::In && one.protocol == "tcp");
    let busiest = taken.max_by(|a, b| a.per_second.total_cmp(&b.per_second))?;
    let spin = Nanos::new((GAPS * 1e9 / rate) as u64);
    let replay = observed.replay(pattern);
    Some(Advice {
        rule: Rule::BusyPoll,
        change: format!(
            "Ask again for {spin} before sleeping: a loop over the non-blocking call or over epoll_wait without a time limit of its own, or, where the device has NAPI, SO_BUSY_POLL. The CPU is then busy all the time."
        ),
        evidence: vec![
            format!(
                "The program waits {:.2} times for each call of {} that took data, at {:.0} exchanges/s, of which {} take {} B and give {}.",
                observed.wake_ups,
                busiest.call,
                observed.exchanges,
                percent(share),
                pattern.received,
                sizes(&pattern.sends)
            ),
            format!("It is bound to {cpus:.0} of the CPUs and keeps {:.2} busy.", observed.busy),
        ],
        measure: Measure::Time,
        now: Now::Observed(1e9 * f64::from(observed.clients()) / observed.exchanges),
        replays: [replay.clone(), Replay { spin, ..replay }],
    })
}
