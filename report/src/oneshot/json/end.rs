//! `end`: what the trial came to, at both ends.

use model::end::{Counts, EndReport, OneWay};
use model::trial::Measured;
use model::{Cell, Protocol, Role};
use serde_json::{Map, Value, json};

use super::super::TrialFacts;
use super::known;
use super::start::text;

type Keys = Map<String, Value>;

pub fn end(setting: &TrialFacts, measured: &Measured, cell: &Cell) -> Value {
    let mut end = Keys::new();
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let here = setting.is_here(Role::Sender);
    if cell.test.is_stream() {
        end.insert("streams".to_owned(), streams(measured, cell, here));
        end.insert("sum_sent".to_owned(), Value::Object(whole(sender, &sender.counts, resent(sender, cell), here)));
        end.insert("sum_received".to_owned(), Value::Object(whole(receiver, &receiver.counts, None, here)));
        if cell.protocol() == Protocol::Udp {
            datagrams(&mut end, measured, here);
        }
        if let (Some(back), Some(forth)) = (receiver.back, sender.back) {
            end.insert("sum_sent_bidir_reverse".to_owned(), Value::Object(whole(receiver, &back.counts, resent(receiver, cell), !here)));
            end.insert("sum_received_bidir_reverse".to_owned(), Value::Object(whole(sender, &forth.counts, None, !here)));
        }
    }
    let (local, remote) = if here { (sender, receiver) } else { (receiver, sender) };
    end.insert("cpu_utilization_percent".to_owned(), json!({ "host_total": cpu(local), "remote_total": cpu(remote) }));
    for (key, report) in [("sender_tcp_congestion", sender), ("receiver_tcp_congestion", receiver)] {
        if let Some(name) = text(&report.options, "TCP_CONGESTION") {
            end.insert(key.to_owned(), json!(name));
        }
    }
    Value::Object(end)
}

/// iperf3's is what its process used, by getrusage(2): the process clock alone.
fn cpu(end: &EndReport) -> f64 {
    end.cpu_time.process.as_secs_f64() / seconds(end) * 100.0
}

fn seconds(end: &EndReport) -> f64 {
    end.window.length().as_secs_f64()
}

/// As all counts, of the measured part.
fn resent(end: &EndReport, cell: &Cell) -> Option<u32> {
    end.tcp.filter(|_| cell.protocol() == Protocol::Tcp).map(|tcp| tcp.resent_since(end.tcp_at_start))
}

/// An amount over the measured part of an end. `here` says whether the sender
/// of this way is on this machine.
fn whole(end: &EndReport, counts: &Counts, resent: Option<u32>, here: bool) -> Keys {
    let seconds = seconds(end);
    known([
        ("start", Some(json!(0))),
        ("end", Some(json!(seconds))),
        ("seconds", Some(json!(seconds))),
        ("bytes", Some(json!(counts.bytes))),
        ("bits_per_second", Some(json!(counts.bytes as f64 * 8.0 / seconds))),
        ("retransmits", resent.map(Value::from)),
        ("sender", Some(json!(here))),
    ])
}

/// One entry a flow: TCP's with both ends apart, UDP's in one.
fn streams(measured: &Measured, cell: &Cell, here: bool) -> Value {
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let flows = sender.flows.len().max(receiver.flows.len()).max(1);
    let counts = |end: &EndReport, at: usize| match (end.flows.get(at), flows) {
        (Some(flow), _) => Some((flow.counts, flow.tcp.map(|tcp| tcp.resent_since(flow.tcp_at_start)))),
        (None, 1) => Some((end.counts, end.tcp.map(|tcp| tcp.resent_since(end.tcp_at_start)))),
        (None, _) => None,
    };
    let one = |at: usize| {
        let side = |end: &EndReport, sends: bool| {
            let (counts, resent) = counts(end, at)?;
            let mut keys = whole(end, &counts, resent.filter(|_| sends && cell.protocol() == Protocol::Tcp), here);
            keys.insert("socket".to_owned(), json!(at + 1));
            Some(keys)
        };
        match cell.protocol() {
            Protocol::Tcp => {
                let both = [("sender", side(sender, true)), ("receiver", side(receiver, false))];
                let known = both.into_iter().filter_map(|(name, keys)| Some((name.to_owned(), Value::Object(keys?))));
                Value::Object(known.collect())
            }
            Protocol::Udp => {
                let mut keys = side(sender, true).unwrap_or_default();
                keys.insert("packets".to_owned(), json!(counts(sender, at).map(|(counts, _)| counts.messages)));
                if let Some(way) = receiver.one_way.as_ref().filter(|_| flows == 1) {
                    keys.append(&mut lost(way));
                    keys.insert("out_of_order".to_owned(), json!(way.out_of_order));
                }
                json!({ "udp": keys })
            }
        }
    };
    (0..flows).map(one).collect()
}

/// Loss and order by the numbers of stamped datagrams.
fn lost(way: &OneWay) -> Keys {
    let all = way.messages.saturating_add(way.missing).max(1);
    known([
        ("jitter_ms", Some(json!(way.jitter as f64 / 1e6))),
        ("lost_packets", Some(json!(way.missing))),
        ("lost_percent", Some(json!(way.missing as f64 * 100.0 / all as f64))),
    ])
}

/// The keys that only UDP's sums have, and the sum of both ends.
fn datagrams(end: &mut Keys, measured: &Measured, here: bool) {
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let way = receiver.one_way.as_ref();
    for (key, packets) in [("sum_sent", sender.counts.messages), ("sum_received", receiver.counts.messages)] {
        if let Some(Value::Object(keys)) = end.get_mut(key) {
            keys.insert("packets".to_owned(), json!(packets));
            if let Some(way) = way.filter(|_| key == "sum_received") {
                keys.append(&mut lost(way));
            }
        }
    }
    let mut sum = whole(sender, &sender.counts, None, here);
    sum.insert("packets".to_owned(), json!(sender.counts.messages));
    if let Some(way) = way {
        sum.append(&mut lost(way));
    }
    end.insert("sum".to_owned(), Value::Object(sum));
}
