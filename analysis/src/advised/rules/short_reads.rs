//! Reads that take less than there is.

use model::Protocol;
use model::attach::Way;
use model::replay::Replay;

use super::percent;
use crate::advised::{Advice, Measure, Observed, Rule};

/// Reads that ask for more are no small ones.
const SMALL: f64 = 8192.0;
/// Share of reads that got less than they asked for, up to which they are full.
const FULL: f64 = 0.1;
/// Share of looks that found more in the queue.
const QUEUED: f64 = 0.3;
/// Bytes of the proposed reads.
const ROOM: u64 = 64 << 10;

/// Fires where small reads are full and the queue is not empty after them.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let found = observed.calls.iter().filter(|one| one.way == Way::In && one.protocol == "tcp");
    let busiest = found.max_by(|a, b| a.per_second.total_cmp(&b.per_second))?;
    let (asked, short) = (busiest.asked?, busiest.short?);
    // Only of a program that takes streams: a question's length, read apart from it, is no such read.
    let one_way = observed.exchanges * 4.0 < busiest.per_second;
    if asked > SMALL || short > FULL || observed.queued[0] < QUEUED || !one_way {
        return None;
    }
    let replay = Replay { read: (asked as u64).max(1), ..observed.bound(Replay::new(Protocol::Tcp, ROOM, Vec::new())) };
    Some(Advice {
        rule: Rule::ShortReads,
        change: "Read into a buffer of 64 KiB and take messages from there: each call then takes what has come.".to_owned(),
        evidence: vec![
            format!(
                "{:.0} calls of {}/s ask for {asked:.0} B each, and {} get as much.",
                busiest.per_second,
                busiest.call,
                percent(1.0 - short)
            ),
            format!("In {} of looks at connections there was more in the receive queue.", percent(observed.queued[0])),
        ],
        measure: Measure::Cpu,
        now: observed.kernel(observed.cpu_of_receive),
        replays: [replay.clone(), Replay { read: ROOM, ..replay }],
    })
}
