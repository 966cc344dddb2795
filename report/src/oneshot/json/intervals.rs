//! `intervals`: as iperf3's client, what the end on this machine saw of each.

use model::Role;
use model::end::{Counts, Progress};
use model::{Cell, Protocol};
use serde_json::{Map, Value, json};

use super::super::{Row, Setting};

pub fn intervals(setting: &Setting, rows: &[Row]) -> Value {
    let Some(cell) = setting.cell() else { return json!([]) };
    rows.iter().map(|row| interval(setting, cell, row)).collect()
}

fn interval(setting: &Setting, cell: &Cell, row: &Row) -> Value {
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
    let mut sum = Map::new();
    let mut put = |key: &str, value: Value| _ = sum.insert(key.to_owned(), value);
    put("start", json!(row.start));
    put("end", json!(row.end));
    put("seconds", json!(seconds));
    if cell.test.is_stream() {
        put("bytes", json!(counts.bytes));
        put("bits_per_second", json!(counts.bytes as f64 * 8.0 / seconds));
        match cell.protocol() {
            Protocol::Tcp => _ = row.retransmits.filter(|_| sends).map(|count| put("retransmits", json!(count))),
            Protocol::Udp => {
                put("packets", json!(counts.messages));
                if let Some(jitter) = progress.jitter.filter(|_| !sends) {
                    put("jitter_ms", json!(jitter as f64 / 1e6));
                }
            }
        }
    }
    put("omitted", json!(false));
    put("sender", json!(sends));
    sum
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
