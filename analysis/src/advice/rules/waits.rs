//! Waits, and what they cost: for room in a buffer, and for the next message.

use model::attach::Way;
use model::replay::{Replay, Taking};
use model::{Nanos, Protocol};

use super::{percent, sizes};
use crate::advice::{Advice, Measure, Now, Observed, Rule};

/// Datagrams that are lost at the receive buffer.
///
/// Fires where datagrams are dropped by a program that has time to take them.
pub fn lost_datagrams(observed: &Observed) -> Option<Advice> {
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

/// A sender that waits for room in its send buffer.
///
/// Fires where connections were held back by their send buffers.
pub fn send_buffer(observed: &Observed) -> Option<Advice> {
    /// Share of the time spent sending.
    const LEAST: f64 = 0.2;
    let (busy, limited) = observed.sending;
    let share = limited as f64 / busy.max(1) as f64;
    let buffer = observed.buffers[1].filter(|bytes| *bytes > 0)?;
    if busy == 0 || share < LEAST {
        return None;
    }
    let given = observed.calls.iter().filter(|one| one.way == Way::Out && one.protocol == "tcp");
    let busiest = given.max_by(|a, b| (a.per_second * a.mean).total_cmp(&(b.per_second * b.mean)))?;
    let piece = (busiest.mean as u64).clamp(1, 1 << 20);
    // As many pieces as fill the buffer eight times.
    let pieces = (8 * u64::from(buffer) / piece).clamp(1, 256) as usize;
    let replay = Replay { send_buffer: Some(buffer), ..observed.bound(Replay::new(Protocol::Tcp, 1, vec![piece; pieces])) };
    Some(Advice {
        rule: Rule::SendBuffer,
        change: "Leave SO_SNDBUF to the kernel, which grows it, or ask for the bandwidth times the delay of the path.".to_owned(),
        evidence: vec![format!(
            "Connections waited for room in their send buffers for {} of the time that they were sending; the busiest one has {buffer} B.",
            percent(share)
        )],
        measure: Measure::Time,
        now: Now::Observed(1e9 * f64::from(observed.clients()) / busiest.per_second.max(1e-3)),
        replays: [replay.clone(), Replay { send_buffer: None, ..replay }],
    })
}

const NAP: [u64; 2] = [200_000, 2_000_000];

/// A wake-up for each message of a program that only takes.
///
/// Fires where a program takes datagrams one by one, sleeps before each, and answers none: who waits
/// for an answer would wait longer.
pub fn wake_ups(observed: &Observed) -> Option<Advice> {
    /// Wake-ups of a message, from which on most have their own; where others use the CPU, some
    /// messages find the program awake.
    const EACH: f64 = 0.4;
    /// Messages a second, from which on their wake-ups cost something.
    const OFTEN: f64 = 2_000.0;
    /// Messages that are to be taken at a time, and the bounds of the sleep that collects them.
    const BATCH: f64 = 16.0;
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

/// A wake-up for each request of a program that has CPUs to itself.
///
/// Fires where a program that is bound to CPUs of its own is woken for most requests, although the
/// next comes soon. Elsewhere a CPU that asks again is taken from others, which nothing here shows.
pub fn busy_poll(observed: &Observed) -> Option<Advice> {
    /// Wake-ups of a request, from which on most have their own.
    const EACH: f64 = 0.6;
    /// Share of its CPUs that the program keeps busy, from which on asking again takes little from anybody.
    const BUSY: f64 = 0.3;
    /// Exchanges a second on each CPU, from which on one follows soon.
    const OFTEN: f64 = 5_000.0;
    /// Time between two exchanges of a CPU, of which so many are waited for without sleep.
    const GAPS: f64 = 4.0;
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
