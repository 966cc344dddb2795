//! `intervals`: as iperf3's client, what the end on this machine saw of each.

use model::Role;
use model::end::{Counts, Progress};
use model::{Cell, Nanos, Protocol};
use serde_json::{Map, Value, json};

use super::super::{Row, TrialFacts};
use super::{datagrams, known};

/// Those of which this end gave an account: how the other's fall, its clock says.
pub fn intervals(setting: &TrialFacts, rows: &[Row]) -> Value {
    let Some(cell) = setting.cell() else { return json!([]) };
    let here = |row: &Row| if setting.is_here(Role::Sender) { row.sender } else { row.receiver };
    let mut own = rows.iter().filter_map(|row| Some((here(row)?, row.retransmits))).peekable();
    let Some(start) = own.peek().map(|(first, _)| first.interval.start) else { return json!([]) };
    own.map(|(progress, resent)| interval(setting, cell, Times::since(start, &progress), &progress, resent)).collect()
}

/// The last of them alone; `None` where this end gave no account of the last row.
pub fn last(setting: &TrialFacts, rows: &[Row]) -> Option<Value> {
    let here = |row: &Row| if setting.is_here(Role::Sender) { row.sender } else { row.receiver };
    let (first, row) = (rows.iter().find_map(here)?, rows.last()?);
    let progress = here(row)?;
    Some(interval(setting, setting.cell()?, Times::since(first.interval.start, &progress), &progress, row.retransmits))
}

/// Begin and end of an interval in seconds from the first.
#[derive(Debug, Clone, Copy)]
struct Times {
    start: f64,
    end: f64,
}

impl Times {
    fn since(first: Nanos, progress: &Progress) -> Self {
        let [start, end] = [progress.interval.start, progress.interval.end].map(|at| at.since(first).as_secs_f64());
        Self { start, end }
    }
}

fn interval(setting: &TrialFacts, cell: &Cell, times: Times, progress: &Progress, resent: Option<u32>) -> Value {
    let sends = setting.is_here(Role::Sender);
    let mut all = Map::new();
    let sum = sum(cell, times, progress, &progress.counts, resent, sends);
    let mut streams = Vec::new();
    // Both ends tell all flows together; a single one is all of them.
    if cell.flows == 1 {
        streams.push(stream(cell, sum.clone(), progress, 1, sends));
    }
    if let Some(back) = &progress.back {
        // TCP's account is of the way that is this end's role.
        let reverse = self::sum(cell, times, progress, back, None, !sends);
        if cell.flows == 1 {
            let progress = Progress { tcp: None, ..*progress };
            streams.push(stream(cell, reverse.clone(), &progress, 2, !sends));
        }
        all.insert("sum_bidir_reverse".to_owned(), Value::Object(reverse));
    }
    all.insert("streams".to_owned(), Value::Array(streams.into_iter().map(Value::Object).collect()));
    all.insert("sum".to_owned(), Value::Object(sum));
    Value::Object(all)
}

/// Keys that streams and their sum share. `sends` says whether this end sends what `counts` holds.
fn sum(cell: &Cell, times: Times, progress: &Progress, counts: &Counts, resent: Option<u32>, sends: bool) -> Map<String, Value> {
    let seconds = times.end - times.start;
    // As of a whole trial whose clocks resolve nothing: iperf3's readers need the key.
    let rate = if progress.interval.is_resolved() { counts.bytes as f64 * 8.0 / seconds } else { 0.0 };
    let of = |protocol| cell.test.is_stream() && cell.protocol() == protocol;
    let mut keys = known([
        ("start", Some(json!(times.start))),
        ("end", Some(json!(times.end))),
        ("seconds", Some(json!(seconds))),
        ("bytes", cell.test.is_stream().then(|| json!(counts.bytes))),
        ("bits_per_second", cell.test.is_stream().then(|| json!(rate))),
        ("retransmits", resent.filter(|_| sends && of(Protocol::Tcp)).map(Value::from)),
        ("omitted", Some(json!(false))),
        ("sender", Some(json!(sends))),
    ]);
    if of(Protocol::Udp) {
        keys.append(&mut datagrams(counts.messages, progress.missing.filter(|_| !sends), progress.jitter.filter(|_| !sends)));
    }
    keys
}

/// Fields of streams alone.
fn stream(cell: &Cell, mut keys: Map<String, Value>, progress: &Progress, socket: u32, sends: bool) -> Map<String, Value> {
    keys.insert("socket".to_owned(), json!(socket));
    let tcp = progress.tcp.filter(|_| sends && cell.test.is_stream());
    if let Some(tcp) = tcp {
        let cwnd = u64::from(tcp.snd_cwnd).saturating_mul(tcp.snd_mss.into());
        for (key, value) in [("snd_cwnd", cwnd), ("rtt", tcp.rtt.into()), ("rttvar", tcp.rttvar.into()), ("pmtu", tcp.pmtu.into())] {
            keys.insert(key.to_owned(), json!(value));
        }
    }
    keys
}
