//! Datagrams in a row to one peer, each with a call of its own.

use model::Protocol;
use model::replay::{Giving, Replay};

use super::{percent, sizes, whole};
use crate::advised::{Advice, Measure, Observed, Rule};

/// Datagrams of a row.
const ROW: usize = 4;
/// The most bytes of one call that the kernel cuts into datagrams.
const MOST_SEGMENTED: u64 = 60_000;
/// Calls that hand over one datagram each.
const ONE_EACH: [&str; 3] = ["sendto", "sendmsg", "write"];

/// Fires where most exchanges end with a row of datagrams.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let (pattern, share) =
        observed.pattern("udp", |one| one.sends.len() >= ROW && one.receives == 1 && ONE_EACH.contains(&one.call.as_str()))?;
    let size = *pattern.sends.first()?;
    // Of a row that was cut at its sixteenth the last holds the rest.
    let row: Vec<u64> = pattern.sends.iter().map(|one| if pattern.sends.len() == 16 && *one > size { size } else { *one }).collect();
    let alike = row[..row.len() - 1].iter().all(|one| *one == size) && row.last().is_some_and(|last| *last <= size);
    let segmented = alike && whole(&row) <= MOST_SEGMENTED;
    let (giving, change) = match segmented {
        true => {
            (Giving::Segmented, "Hand a row over with one call and let the kernel cut it (UDP_SEGMENT, Linux 4.18), or with sendmmsg(2).")
        }
        false => (Giving::Many, "Hand a row over with one sendmmsg(2)."),
    };
    let replay = Replay {
        pace: observed.pace(),
        work: observed.own_of_exchange(),
        ..observed.bound(Replay::new(Protocol::Udp, pattern.received, row))
    };
    Some(Advice {
        rule: Rule::DatagramBursts,
        change: change.to_owned(),
        evidence: vec![format!(
            "{} of {:.0} exchanges/s give {} in {} calls of {}.",
            percent(share),
            observed.exchanges,
            sizes(&replay.answer),
            pattern.sends.len(),
            pattern.call
        )],
        measure: Measure::Cpu,
        now: observed.replayed(observed.cpu_of_exchange),
        replays: [replay.clone(), Replay { giving, ..replay }],
    })
}
