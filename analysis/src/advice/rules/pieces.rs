//! Calls that move too little: answers in small pieces, datagrams one by one, short reads.

use model::Protocol;
use model::attach::{Pattern, Way};
use model::replay::{Giving, Replay};

use super::{SEGMENT, percent, sizes, whole};
use crate::advice::{Advice, Measure, Now, Observed, Rule};

/// Share of looks that find a write held back, from which on it is no chance.
const HELD_BACK: f64 = 0.4;
/// The fewest looks.
const LOOKS: usize = 3;

/// True where looks at connections find small writes held back, though the window has room.
fn holds_back(observed: &Observed) -> bool {
    let (share, looks) = observed.held_back;
    looks >= LOOKS && share >= HELD_BACK
}

/// A small write that waits for an acknowledgement, which its peer delays.
///
/// Fires where writes are held back and answers have several pieces.
pub fn nagle(observed: &Observed) -> Option<Advice> {
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

/// An answer of several pieces that would fit a few segments.
fn is_small(one: &Pattern) -> bool {
    one.sends.len() >= 2 && one.sends.iter().all(|size| *size < SEGMENT)
}

/// Many small sends in a row to one stream.
///
/// Fires where most exchanges end with several small sends, and no acknowledgement is waited for.
pub fn small_writes(observed: &Observed) -> Option<Advice> {
    /// Sends that are further apart wait for something in between.
    const TOGETHER_NS: u64 = 1_000_000;
    if holds_back(observed) {
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

/// Calls that hand over one datagram each.
const ONE_EACH: [&str; 3] = ["sendto", "sendmsg", "write"];

/// Datagrams in a row to one peer, each with a call of its own.
///
/// Fires where most exchanges end with a row of datagrams.
pub fn datagram_bursts(observed: &Observed) -> Option<Advice> {
    /// Datagrams of a row.
    const ROW: usize = 4;
    /// The most bytes of one call that the kernel cuts into datagrams.
    const MOST_SEGMENTED: u64 = 60_000;
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

/// Reads that take less than there is.
///
/// Fires where small reads are full and the queue is not empty after them.
pub fn short_reads(observed: &Observed) -> Option<Advice> {
    /// Reads that ask for more are no small ones.
    const SMALL: f64 = 8192.0;
    /// Share of reads that got less than they asked for, up to which they are full.
    const FULL: f64 = 0.1;
    /// Share of looks that found more in the queue.
    const QUEUED: f64 = 0.3;
    /// Bytes of the proposed reads.
    const ROOM: u64 = 64 << 10;
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
