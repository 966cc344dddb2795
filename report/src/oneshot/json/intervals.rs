//! `intervals`: as iperf3's client, what the end on this machine saw of each.

use model::Role;
use model::end::{Counts, Progress};
use model::{Cell, Protocol};
use serde_json::{Map, Value, json};

use super::super::{Row, TrialFacts};
use super::known;

pub fn intervals(setting: &TrialFacts, rows: &[Row]) -> Value {
    let Some(cell) = setting.cell() else { return json!([]) };
    rows.iter().map(|row| interval(setting, cell, row)).collect()
}

fn interval(setting: &TrialFacts, cell: &Cell, row: &Row) -> Value {
    let here = if setting.is_here(Role::Sender) { row.sender } else { row.receiver };
    let mut all = Map::new();
    let Some(progress) = here else {
        all.insert("streams".to_owned(), json!([]));
        return Value::Object(all);
    };
    let sends = setting.is_here(Role::Sender);
    let sum = sum(cell, row, &progress, &progress.counts, sends);
    let mut streams = Vec::new();
    // Both ends tell all flows together; a single one is all of them.
    if cell.flows == 1 {
        streams.push(stream(cell, sum.clone(), &progress, 1, sends));
    }
    if let Some(back) = &progress.back {
        let reverse = self::sum(cell, row, &progress, back, !sends);
        if cell.flows == 1 {
            streams.push(stream(cell, reverse.clone(), &progress, 2, !sends));
        }
        all.insert("sum_bidir_reverse".to_owned(), Value::Object(reverse));
    }
    all.insert("streams".to_owned(), Value::Array(streams.into_iter().map(Value::Object).collect()));
    all.insert("sum".to_owned(), Value::Object(sum));
    Value::Object(all)
}

/// Keys that streams and their sum share.
fn sum(cell: &Cell, row: &Row, progress: &Progress, counts: &Counts, sends: bool) -> Map<String, Value> {
    let seconds = progress.interval.length().as_secs_f64();
    let of = |protocol| cell.test.is_stream() && cell.protocol() == protocol;
    known([
        ("start", Some(json!(row.start))),
        ("end", Some(json!(row.end))),
        ("seconds", Some(json!(seconds))),
        ("bytes", cell.test.is_stream().then(|| json!(counts.bytes))),
        ("bits_per_second", cell.test.is_stream().then(|| json!(counts.bytes as f64 * 8.0 / seconds))),
        ("retransmits", row.retransmits.filter(|_| sends && of(Protocol::Tcp)).map(Value::from)),
        ("packets", of(Protocol::Udp).then(|| json!(counts.messages))),
        ("jitter_ms", progress.jitter.filter(|_| !sends && of(Protocol::Udp)).map(|jitter| json!(jitter as f64 / 1e6))),
        ("omitted", Some(json!(false))),
        ("sender", Some(json!(sends))),
    ])
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
