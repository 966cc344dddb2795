//! `start`: who, when, and what was asked.

use std::net::IpAddr;

use model::end::{FlowAddresses, OptionValue, SocketOption};
use model::plan::{HostPlace, PlanEnd};
use model::{OfferedRate, Role, TrialRecord};
use serde_json::{Value, json};

use super::super::TrialFacts;
use super::known;
use crate::clock;

/// Name and version in place of iperf3's.
pub fn version(tool: &str) -> String {
    format!("nettoll {tool}")
}

/// `flows` are those of the end on this machine; none of a trial that was not joined.
pub fn start(setting: &TrialFacts, record: &TrialRecord, flows: &[FlowAddresses]) -> Value {
    let here = if setting.is_here(Role::Sender) { Role::Sender } else { Role::Receiver };
    let system = setting.facts(here).map(|facts| format!("Linux {} {} {}", facts.kernel, facts.kernel_build, facts.architecture));
    let end = record.measured().map(|measured| if here == Role::Sender { &measured.sender } else { &measured.receiver });
    let buffer = |name: &str| number(&end?.options, name).map(Value::from);
    let start = known([
        ("connected", Some(connected(setting, record, flows))),
        ("version", Some(json!(version(setting.tool)))),
        ("system_info", system.map(Value::from)),
        ("timestamp", Some(timestamp(record.started_ms))),
        (
            "connecting_to",
            setting.plan.hosts.get("b").map(|host| match host.agent() {
                Some(agent) => json!({ "host": agent.address, "port": agent.port }),
                None => json!({ "host": host.label() }),
            }),
        ),
        ("target_bitrate", Some(json!(bitrate(record)))),
        ("sock_bufsize", Some(json!(record.cell.sndbuf.map_or(0, model::Bytes::get)))),
        ("sndbuf_actual", buffer("SO_SNDBUF")),
        ("rcvbuf_actual", buffer("SO_RCVBUF")),
        ("test_start", Some(test_start(setting, record))),
    ]);
    Value::Object(start)
}

fn timestamp(ms: u64) -> Value {
    json!({ "time": clock::http(ms), "timesecs": ms / 1_000, "timemillisecs": ms })
}

/// One entry a flow, those of the way back last, by what the kernel of this machine says of
/// its socket; of a trial that has no report, by what was asked for.
fn connected(setting: &TrialFacts, record: &TrialRecord, flows: &[FlowAddresses]) -> Value {
    if !flows.is_empty() {
        let one = |(at, flow): (usize, &FlowAddresses)| {
            json!({
                "socket": at + 1,
                "local_host": flow.local.ip().to_string(),
                "local_port": flow.local.port(),
                "remote_host": flow.remote.ip().to_string(),
                "remote_port": flow.remote.port(),
            })
        };
        return flows.iter().enumerate().map(one).collect();
    }
    let address: Option<String> = setting.address.as_ref().map(IpAddr::to_string);
    let host = address.or_else(|| setting.plan.hosts.get("b").map(HostPlace::label));
    let one = |flow: u32| match &host {
        Some(host) => json!({ "socket": flow, "remote_host": host }),
        None => json!({ "socket": flow }),
    };
    (1..=record.cell.flows).map(one).collect()
}

fn test_start(setting: &TrialFacts, record: &TrialRecord) -> Value {
    let cell = &record.cell;
    let (duration, blocks, bytes) = match setting.plan.end {
        PlanEnd::Length(length) => (length.as_secs_f64(), 0, 0),
        PlanEnd::Messages(messages) => (0.0, messages, 0),
        PlanEnd::Bytes(bytes) => (0.0, 0, bytes.get()),
    };
    json!({
        "protocol": cell.protocol().name(),
        "num_streams": cell.flows,
        "blksize": cell.size.get(),
        "omit": whole(setting.plan.warmup.as_secs_f64()),
        "duration": whole(duration),
        "bytes": bytes,
        "blocks": blocks,
        "reverse": u8::from(!setting.is_here(Role::Sender)),
        "tos": cell.tos.map_or(0, model::Tos::byte),
        "target_bitrate": bitrate(record),
        "bidir": u8::from(cell.bidirectional),
        "fqrate": 0,
        "interval": whole(setting.plan.progress.map_or(0.0, model::Nanos::as_secs_f64)),
        "gso": u8::from(cell.api == model::Api::Gso),
        "gro": u8::from(cell.receive() == model::Receive::Gro),
    })
}

/// Without a fraction where there is none, as iperf3 writes whole seconds.
fn whole(seconds: f64) -> Value {
    if seconds.fract() == 0.0 { json!(seconds as u64) } else { json!(seconds) }
}

/// Rate that each flow offers; 0 is all that it can.
fn bitrate(record: &TrialRecord) -> u64 {
    match record.cell.rate {
        None => 0,
        Some(OfferedRate::Bits(rate)) => rate.get(),
        Some(OfferedRate::Messages(rate)) => rate.saturating_mul(record.cell.size.get()).saturating_mul(8),
    }
}

/// The value of an option at the end of the trial.
fn number(options: &[SocketOption], name: &str) -> Option<i64> {
    match options.iter().find(|option| option.name == name)?.got {
        OptionValue::Number(number) => Some(number),
        OptionValue::Text(_) => None,
    }
}

/// The same of an option that is a name.
pub fn text<'a>(options: &'a [SocketOption], name: &str) -> Option<&'a str> {
    match &options.iter().find(|option| option.name == name)?.got {
        OptionValue::Text(text) => Some(text),
        OptionValue::Number(_) => None,
    }
}
