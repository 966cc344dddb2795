//! Datagrams that are lost at the receive buffer.

use model::attach::Way;
use model::replay::Replay;
use model::{Nanos, Protocol};

use super::percent;
use crate::advised::{Advice, Measure, Now, Observed, Rule};

/// Share of datagrams lost, from which on it matters.
const LEAST: f64 = 0.01;
/// Busy CPUs for each thread at which a program is too slow, whatever its buffer.
const OVERLOADED: f64 = 0.9;
/// What the kernel keeps with the bytes of a datagram: headroom and `skb_shared_info`, in a piece of
/// memory whose size is a power of two; and the `sk_buff` apart from it.
const OVERHEAD: f64 = 416.0;
const APART: f64 = 256.0;
/// The largest burst that is replayed.
const MOST: f64 = 20_000.0;

/// Fires where datagrams are dropped by a program that has time to take them.
pub fn advise(observed: &Observed) -> Option<Advice> {
    let (dropped, share) = observed.lost.filter(|(_, share)| *share >= LEAST)?;
    let taken = observed.calls.iter().filter(|one| one.way == Way::In && one.protocol == "udp");
    let busiest = taken.max_by(|a, b| a.per_second.total_cmp(&b.per_second))?;
    let buffer = observed.buffers[0].filter(|bytes| *bytes > 0)?;
    if observed.busy > OVERLOADED {
        return None;
    }
    let each = ((busiest.mean + OVERHEAD) as u64).next_power_of_two() as f64 + APART;
    let room = f64::from(buffer) / each;
    let burst = (room / (1.0 - share)).clamp(2.0, MOST);
    let larger = (2.0 * burst * each).min(f64::from(i32::MAX / 2));
    let came = busiest.per_second + dropped;
    let replay = Replay {
        burst: burst as u32,
        pace: Nanos::new((1e9 * burst / came.max(1.0)) as u64),
        // A call on a queue that is not empty takes about a microsecond; the rest is the program's.
        work: Nanos::new((observed.cpu_of_receive - 1_000.0).max(0.0) as u64),
        receive_buffer: Some(buffer),
        ..observed.bound(Replay::new(Protocol::Udp, busiest.mean.round() as u64, Vec::new()))
    };
    Some(Advice {
        rule: Rule::LostDatagrams,
        change: format!(
            "Ask for a receive buffer of {larger:.0} B (SO_RCVBUF of the half; net.core.rmem_max must allow it), which holds bursts of {burst:.0} datagrams twice."
        ),
        evidence: vec![
            format!("{dropped:.0} datagrams/s, {} of those that came, were dropped at a receive buffer of {buffer} B.", percent(share)),
            format!("The program kept {:.2} CPUs busy: it has time to take them.", observed.busy),
        ],
        measure: Measure::Lost,
        now: Now::Observed(share),
        replays: [replay.clone(), Replay { receive_buffer: Some(larger as u32), ..replay }],
    })
}
