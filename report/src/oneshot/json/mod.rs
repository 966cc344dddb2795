//! A trial as JSON. Where iperf3 (3.21) has a key of the same meaning it is
//! under iperf3's name and in iperf3's unit; a key whose meaning would differ is
//! left out. What is our own is under `nettoll`. docs/json-iperf3.md has the table.

mod end;
mod intervals;
mod start;
pub mod stream;

use analysis::single::{TrialFigures, single};
use model::end::FlowAddresses;
use model::host::HostFacts;
use model::{Role, TrialRecord};
use serde_json::{Map, Value, json};

use super::{Row, TrialFacts};
use crate::sinks::json::for_terminal;

/// The version of the object under `nettoll`.
const FORMAT: u32 = 1;

/// The whole result, indented; ends with a newline. Of a trial that failed it
/// has `error`, as iperf3's has.
pub fn render(setting: &TrialFacts, rows: &[Row], record: &TrialRecord) -> String {
    let mut all = Map::new();
    all.insert("start".to_owned(), start::start(setting, record, flows(setting, record)));
    all.insert("intervals".to_owned(), intervals::intervals(setting, rows));
    let figures = single(record);
    all.insert("end".to_owned(), end_of(setting, record, figures.as_ref()));
    if let model::trial::Outcome::Failed { error, .. } = &record.outcome {
        all.insert("error".to_owned(), json!(error));
    }
    all.insert("nettoll".to_owned(), own(setting, rows, record, figures));
    pretty(&Value::Object(all))
}

/// The flows of the end on this machine; none where nothing was measured.
fn flows<'a>(setting: &TrialFacts, record: &'a TrialRecord) -> &'a [FlowAddresses] {
    let addresses = |measured: &'a model::trial::Measured| {
        if setting.is_here(Role::Sender) { &measured.sender.addresses } else { &measured.receiver.addresses }
    };
    record.measured().map_or(&[], |measured| addresses(measured))
}

/// A failure before there was a trial. `kind` is `failed` or `misuse`.
pub fn failure(tool: &str, kind: &str, message: &str) -> String {
    pretty(&json!({
        "start": { "connected": [], "version": start::version(tool) },
        "intervals": [],
        "end": {},
        "error": message,
        "nettoll": { "format": FORMAT, "tool": tool, "error": { "kind": kind, "message": message } },
    }))
}

/// Empty where nothing was measured.
fn end_of(setting: &TrialFacts, record: &TrialRecord, figures: Option<&TrialFigures>) -> Value {
    let measured = record.measured().zip(figures);
    measured.map_or_else(|| json!({}), |(measured, figures)| end::end(setting, measured, &record.cell, figures))
}

/// Fields that iperf3 has no name for.
fn own(setting: &TrialFacts, rows: &[Row], record: &TrialRecord, figures: Option<TrialFigures>) -> Value {
    let hosts: &[HostFacts] = setting.hosts;
    json!({
        "format": FORMAT,
        "tool": setting.tool,
        "plan": setting.plan,
        "hosts": hosts,
        "warnings": setting.warnings,
        "sender_is_here": setting.is_here(Role::Sender),
        "intervals": rows,
        "figures": figures,
        "trial": record,
    })
}

/// The keys that only UDP's sums have. Those that were received or sent, and of those that
/// were received how many are missing; as in iperf3, these are among its `packets`.
fn datagrams(messages: u64, missing: Option<u64>, jitter: Option<u64>) -> Map<String, Value> {
    let packets = messages.saturating_add(missing.unwrap_or_default());
    known([
        ("packets", Some(json!(packets))),
        ("jitter_ms", jitter.map(|jitter| json!(jitter as f64 / 1e6))),
        ("lost_packets", missing.map(Value::from)),
        ("lost_percent", missing.map(|missing| json!(missing as f64 * 100.0 / packets.max(1) as f64))),
    ])
}

/// The keys that have a value.
fn known<const N: usize>(all: [(&str, Option<Value>); N]) -> Map<String, Value> {
    all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn pretty(value: &Value) -> String {
    for_terminal(&format!("{value:#}\n"))
}
