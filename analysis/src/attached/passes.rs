//! From windows to the passes of a receipt, and to what is counted next to it.

use std::collections::{BTreeMap, BTreeSet};

use attribution::{Figure, ReceiptError, ratio};
use model::attach::{Attachment, CHILDREN, CallKind, Connection, Look, MOST_SENDS, Messages, Pattern, Sockets, Way, WindowRecord};
use model::end::CpuTime;
use model::profile::{CallCounts, Observation};
use model::sorting::Order;
use model::{Bytes, Nanos, Pass, Role};

use super::{Call, PerSend, Quantity};
use crate::studies::receipt::chains::Chains;
use crate::studies::receipt::kept::{Edges, KeptEnd};

/// Patterns that are kept of all windows together.
const PATTERNS: usize = 16;

/// Requests of a window, where there are any.
fn requests(window: &WindowRecord) -> Option<f64> {
    window.requests.filter(|requests| *requests > 0).map(|requests| requests as f64)
}

/// True where children came, or ended, within a window.
pub fn gone(window: &WindowRecord) -> bool {
    window.clocks.came > 0 || window.clocks.ended.get() > 0
}

/// True where children came and went whose socket calls the kernel's counter does not see.
pub fn uncounted(run: &Attachment, windows: &[&WindowRecord]) -> bool {
    run.refused.iter().any(|refusal| refusal.what == CHILDREN) && windows.iter().any(|window| gone(window))
}

/// The same where their sends are the requests.
pub fn unseen(run: &Attachment, windows: &[&WindowRecord]) -> bool {
    run.counts_sends() && uncounted(run, windows)
}

/// Distance from one send an exchange, or between two programs, that is none: calls at the edges of a window are of
/// exchanges cut in two.
const EVEN: f64 = 0.05;

/// Why the sends of a program that was observed by them are no requests; `None` where they are, or where another
/// source counts requests.
pub fn per_send(run: &Attachment, windows: &[&WindowRecord], sockets: Option<&Sockets>) -> Option<PerSend> {
    if !run.counts_sends() {
        return None;
    }
    if sockets.is_some_and(is_client_as_well) {
        return Some(PerSend::Client);
    }
    let messages = || windows.iter().filter_map(|window| window.messages.as_ref());
    let answers = || messages().flat_map(|one| &one.patterns).filter(|pattern| pattern.receives > 0 && !pattern.sends.is_empty());
    let (sends, exchanges) = answers().fold((0.0, 0.0), |(sends, exchanges), pattern| {
        let count = pattern.count as f64;
        (sends + count * pattern.sends.len() as f64, exchanges + count)
    });
    let sends = sends / exchanges;
    let is_cut = answers().any(|pattern| pattern.sends.len() >= MOST_SENDS);
    let found = match is_cut.then(|| sends_by_calls(messages())) {
        None => PerSend::Several(sends),
        Some(Some(sends)) => PerSend::Several(sends),
        Some(None) => PerSend::AtLeast(sends),
    };
    let (PerSend::Several(sends) | PerSend::AtLeast(sends)) = found else { return Some(found) };
    (sends > 1.0 + EVEN).then_some(found)
}

/// Sends of an exchange by the calls that were kept; `None` where those of exchanges that a window cuts in two, one at
/// each edge for each socket, are more than a few of them.
fn sends_by_calls<'a>(messages: impl Iterator<Item = &'a Messages>) -> Option<f64> {
    let (mut sends, mut exchanges, mut cut) = (0.0, 0.0, 0.0);
    for one in messages {
        sends += one.calls.iter().filter(|kind| kind.way == Way::Out).map(|kind| kind.calls as f64).sum::<f64>();
        exchanges += one.exchanges as f64;
        cut += 2.0 * one.sockets as f64;
    }
    (exchanges > 0.0 && cut <= EVEN * exchanges).then(|| sends / exchanges)
}

/// True of a program that also asks: it listens, and has TCP connections from more ports of its own than it listens
/// on. Data that it sends to servers are no answer to a request.
fn is_client_as_well(sockets: &Sockets) -> bool {
    let listeners = sockets.count.get("tcp listen").copied().unwrap_or_default();
    let port = |connection: &Connection| connection.local.rsplit_once(':').map(|(_, port)| port.to_owned());
    let ports: BTreeSet<String> = sockets.connections.iter().filter(|one| one.protocol == "tcp").filter_map(port).collect();
    listeners > 0 && ports.len() as u64 > listeners
}

/// Sends of an exchange in two states, where they differ.
pub fn uneven(states: [Option<PerSend>; 2]) -> Option<[f64; 2]> {
    let sends = |state| match state {
        None => Some(1.0),
        Some(PerSend::Several(sends) | PerSend::AtLeast(sends)) => Some(sends),
        Some(PerSend::Client) => None,
    };
    let [a, b]: [f64; 2] = [sends(states[0])?, sends(states[1])?];
    ((a / b).ln().abs() > EVEN).then_some([a, b])
}

/// CPU time of a request in windows without an instrument.
pub fn cpu(windows: &[&WindowRecord]) -> Option<Figure> {
    let pairs: Vec<(f64, f64)> =
        of_look(windows, Look::Clean).map(|(window, requests)| (window.clocks.cpu.get() as f64, requests)).collect();
    (!pairs.is_empty()).then(|| ratio(&pairs).figure())
}

/// Windows of one look that have requests.
fn of_look<'a>(windows: &'a [&'a WindowRecord], look: Look) -> impl Iterator<Item = (&'a WindowRecord, f64)> {
    windows.iter().filter(move |window| window.look == look).filter_map(|window| Some((*window, requests(window)?)))
}

/// The windows as trials of an end that sleeps, which is what servers do, and those of them that samples came from.
pub fn kept<'a>(run: &Attachment, windows: &[&'a WindowRecord], chains: &mut Chains) -> (KeptEnd, Vec<&'a WindowRecord>) {
    // The waits of all threads are compared with their number of wall times, where that stays.
    let threads: Vec<u32> = windows.iter().map(|window| window.clocks.threads).collect();
    let steady = threads.iter().all(|count| Some(count) == threads.first()) && windows.iter().all(|window| window.clocks.came == 0);
    let (mut kept, mut sampled) = (KeptEnd::default(), Vec::new());
    for window in windows {
        let Some(messages) = requests(window) else { continue };
        let edges = Edges {
            block: window.block,
            wall: Nanos::new(window.window.length().get().saturating_mul(u64::from(window.clocks.threads.max(1)))),
            cpu: CpuTime { process: window.clocks.cpu, ..CpuTime::default() },
            messages,
            stolen: window.stolen,
            // Counts of threads that went are gone with them.
            wakeups: run.wakeups.filter(|_| !gone(window)).map(|cost| (window.clocks.voluntary, cost)),
        };
        let seen = Observation {
            profile: window.profile.clone(),
            counters: window.counters.clone(),
            waits: window.waits.filter(|_| steady),
            counts: window.messages.as_ref().map(counts),
            ..Observation::default()
        };
        let pass = match window.look {
            Look::Clean => Pass::Clean,
            Look::Time => Pass::TimeReceiver,
            Look::Waits => Pass::Wait,
            Look::Messages => Pass::Count,
        };
        let used = kept.push((pass, Role::Receiver), edges, messages, Some(&seen), chains).is_ok();
        sampled.extend((used && window.look == Look::Time).then_some(*window));
    }
    (kept, sampled)
}

fn counts(seen: &Messages) -> CallCounts {
    let mut counts = CallCounts::default();
    for kind in &seen.calls {
        let name = format!("{} {} {}", kind.call, kind.protocol, kind.way);
        counts.calls.insert(name, kind.calls);
    }
    counts
}

/// Bytes of a request, both ways; 0 where they were not counted.
pub fn size(windows: &[&WindowRecord]) -> Bytes {
    let (mut bytes, mut all) = (0.0, 0.0);
    for (window, requests) in of_look(windows, Look::Messages) {
        if let Some(messages) = &window.messages {
            bytes += (messages.totals.sent + messages.totals.received) as f64;
            all += requests;
        }
    }
    Bytes::new(if all > 0.0 { (bytes / all).round() as u64 } else { 0 })
}

/// Why there is no receipt.
pub fn absent(run: &Attachment, windows: &[&WindowRecord], error: &ReceiptError) -> String {
    if unseen(run, windows) {
        return "children came and went whose sends are not counted here; count requests by another source (--requests)".to_owned();
    }
    if windows.iter().all(|window| window.requests.is_none()) {
        return "requests could not be counted meanwhile; the doubts say why".to_owned();
    }
    if windows.iter().all(|window| requests(window).is_none()) {
        return match run.counts_sends() {
            true => "the program sent nothing meanwhile; load it, or count requests by another source (--requests)".to_owned(),
            false => format!("{} counted no request meanwhile; load the program, or count by another source (--requests)", run.requests),
        };
    }
    if windows.iter().all(|window| window.profile.is_none()) {
        return "no samples of the program were taken: the time was too short for a window with samples, or this machine refused them, which is then said".to_owned();
    }
    const LONGER: &str = "observe for longer (`-t`), or under more load";
    let looked = |pass: &str| if pass == "clean" { "without an instrument" } else { "with samples" };
    match error {
        ReceiptError::NoPass(pass) => format!("no window {} has a request; {LONGER}", looked(pass)),
        ReceiptError::EmptyPass(pass) => format!("in a window {} the program answered nothing or had no CPU; {LONGER}", looked(pass)),
        ReceiptError::Mixed => "windows were sampled at different distances; observe it again".to_owned(),
        ReceiptError::NoSamples => format!("no sample fell into the program; {LONGER}"),
    }
}

/// Counts and times of a request: of threads where none went with its counts, of socket calls in the
/// windows that saw all of them.
pub fn quantities(windows: &[&WindowRecord], seen: &[&WindowRecord]) -> Vec<Quantity> {
    let all_stayed = !windows.iter().any(|window| gone(window));
    let clean = |of: fn(&WindowRecord) -> Option<u64>| {
        let pairs = of_look(windows, Look::Clean).filter_map(|(window, requests)| Some((of(window)? as f64, requests)));
        pairs.filter(|_| all_stayed).collect::<Vec<_>>()
    };
    let seen = |of: fn(&model::attach::Totals) -> u64| {
        let pairs =
            of_look(seen, Look::Messages).filter_map(|(window, requests)| Some((of(&window.messages.as_ref()?.totals) as f64, requests)));
        pairs.collect::<Vec<_>>()
    };
    let all = [
        ("wake-ups", "", clean(|window| Some(window.clocks.voluntary))),
        ("times taken off the CPU", "", clean(|window| Some(window.clocks.involuntary))),
        ("wait for a CPU", "ns", clean(|window| window.clocks.run_delay.map(Nanos::get))),
        ("socket calls that gave data", "", seen(|totals| totals.sends)),
        ("bytes given", "bytes", seen(|totals| totals.sent)),
        ("socket calls that took data", "", seen(|totals| totals.receives)),
        ("bytes taken", "bytes", seen(|totals| totals.received)),
        ("calls that found nothing (EAGAIN)", "", seen(|totals| totals.empty)),
    ];
    let some = all.into_iter().filter(|(_, _, pairs)| !pairs.is_empty());
    some.map(|(name, unit, pairs)| Quantity { name: name.to_owned(), unit, figure: ratio(&pairs).figure() }).collect()
}

/// A count and the requests of each window.
type Pairs = Vec<(f64, f64)>;

/// System calls over all windows that looked at them.
pub fn calls(windows: &[&WindowRecord]) -> Vec<Call> {
    let looked: Vec<(&Messages, f64)> =
        of_look(windows, Look::Messages).filter_map(|(window, requests)| Some((window.messages.as_ref()?, requests))).collect();
    let whole: f64 = looked.iter().map(|(_, requests)| requests).sum();
    let none: Pairs = looked.iter().map(|(_, requests)| (0.0, *requests)).collect();
    // Of each kind the sums, its calls in each window, and those that found nothing.
    let mut kinds: BTreeMap<(&str, Way, &str), (CallKind, Pairs, f64)> = BTreeMap::new();
    for (place, (messages, _)) in looked.iter().enumerate() {
        // Where there was no room for every call, those that were kept stand for all.
        let scale = (messages.kept + messages.beyond) as f64 / messages.kept.max(1) as f64;
        for kind in &messages.calls {
            let (_, pairs, empty) = kinds
                .entry((&kind.call, kind.way, &kind.protocol))
                .and_modify(|(sums, ..)| sums.add(kind))
                .or_insert_with(|| (CallKind { untold: kind.unknown(), ..kind.clone() }, none.clone(), 0.0));
            pairs[place].0 += kind.calls as f64 * scale;
            *empty += kind.empty as f64 * scale;
        }
    }
    let call = |(sums, pairs, empty): (CallKind, Pairs, f64)| {
        let told = sums.calls.saturating_sub(sums.untold);
        let of_told = |count: Option<u64>| count.filter(|_| told > 0).map(|count| count as f64 / told as f64);
        Call {
            per_request: ratio(&pairs).figure(),
            mean_bytes: sums.bytes as f64 / sums.calls.max(1) as f64,
            empty: empty / whole.max(1.0),
            short: of_told(sums.short),
            asked_bytes: of_told(sums.asked),
            at_least: of_told(sums.short.map(|_| sums.at_least)),
            asked_sizes: sums.asked_sizes,
            sizes: sums.sizes,
            call: sums.call,
            way: sums.way,
            protocol: sums.protocol,
        }
    };
    let mut calls: Vec<Call> = kinds.into_values().map(call).collect();
    calls.order_by(|a, b| b.per_request.value.total_cmp(&a.per_request.value).then_with(|| a.call.cmp(&b.call)));
    calls
}

/// Exchanges over all windows, and the number of all that were kept.
pub fn patterns(windows: &[&WindowRecord]) -> (Vec<Pattern>, u64) {
    let mut all: Vec<Pattern> = Vec::new();
    for pattern in windows.iter().filter_map(|window| window.messages.as_ref()).flat_map(|messages| &messages.patterns) {
        let same = |known: &&mut Pattern| {
            (&known.protocol, known.receives, known.received, &known.call, &known.calls, &known.sends)
                == (&pattern.protocol, pattern.receives, pattern.received, &pattern.call, &pattern.calls, &pattern.sends)
        };
        match all.iter_mut().find(same) {
            Some(known) => (known.count, known.apart) = (known.count + pattern.count, known.apart.max(pattern.apart)),
            None => all.push(pattern.clone()),
        }
    }
    let whole = all.iter().map(|pattern| pattern.count).sum();
    all.order_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cmp(b)));
    all.truncate(PATTERNS);
    (all, whole)
}

/// Softirq work of the network outside the program, per request.
pub fn elsewhere(windows: &[&WindowRecord]) -> Option<Figure> {
    let pairs: Vec<(f64, f64)> = of_look(windows, Look::Time)
        .filter_map(|(window, requests)| {
            let found = window.elsewhere?;
            Some((found.softirq as f64 * found.period as f64, requests))
        })
        .collect();
    (!pairs.is_empty()).then(|| ratio(&pairs).figure())
}
