//! `end`: what the trial came to, at both ends. A rate or share that the table of bounds leaves out is 0, as
//! iperf3's is over no time: its readers need the key.

use analysis::result::Metric;
use analysis::single::TrialFigures;
use model::end::{Counts, EndReport, OneWay, TcpInfo};
use model::trial::Measured;
use model::{Cell, Protocol, Role};
use serde_json::{Map, Value, json};

use super::super::TrialFacts;
use super::start::text;
use super::{datagrams, known};

type Keys = Map<String, Value>;

pub fn end(setting: &TrialFacts, measured: &Measured, cell: &Cell, figures: &TrialFigures) -> Value {
    let mut end = Keys::new();
    let here = setting.is_here(Role::Sender);
    let (forth, back) = (Way::forth(measured, here, figures), Way::back(measured, here, figures));
    if cell.test.is_stream() {
        let streams: Vec<Value> = streams(&forth, cell, 1).into_iter().chain(back.iter().flat_map(|back| streams(back, cell, 2))).collect();
        end.insert("streams".to_owned(), json!(streams));
        forth.sums(&mut end, cell, "");
        if let Some(back) = back {
            back.sums(&mut end, cell, "_bidir_reverse");
        }
    }
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let (local, remote) = if here { (sender, receiver) } else { (receiver, sender) };
    let cpu: Keys = [("host", local), ("remote", remote)].into_iter().flat_map(|(end, report)| cpu(end, report, figures)).collect();
    end.insert("cpu_utilization_percent".to_owned(), Value::Object(cpu));
    for (key, report) in [("sender_tcp_congestion", sender), ("receiver_tcp_congestion", receiver)] {
        if let Some(name) = text(&report.options, "TCP_CONGESTION") {
            end.insert(key.to_owned(), json!(name));
        }
    }
    Value::Object(end)
}

/// iperf3's is what its process used, by getrusage(2): the process clock alone.
fn cpu(end: &str, report: &EndReport, figures: &TrialFigures) -> Keys {
    let is_one = figures.has_shares(report.role);
    let percent = |time: model::Nanos| json!(if is_one { time.as_secs_f64() / seconds(report) * 100.0 } else { 0.0 });
    let process = report.cpu_time.process;
    let parts = [("total", Some(process)), ("user", report.user_cpu), ("system", report.user_cpu.map(|user| process.since(user)))];
    parts.into_iter().filter_map(|(part, time)| Some((format!("{end}_{part}"), percent(time?)))).collect()
}

fn seconds(end: &EndReport) -> f64 {
    end.window.length().as_secs_f64()
}

/// What one end sent the other.
struct Way<'a> {
    sender: &'a EndReport,
    sent: &'a Counts,
    receiver: &'a EndReport,
    received: &'a Counts,
    /// The sender's account of TCP, now and when the measured part began.
    tcp: [Option<TcpInfo>; 2],
    numbers: Option<&'a OneWay>,
    /// Whether the sender has rates, and the receiver.
    rates: [bool; 2],
    /// Whether the sender is on this machine.
    here: bool,
    /// Whether the flows of either end are those of this way.
    has_flows: bool,
}

impl<'a> Way<'a> {
    fn forth(measured: &'a Measured, here: bool, figures: &TrialFigures) -> Self {
        let (sender, receiver) = (&measured.sender, &measured.receiver);
        Self {
            sender,
            sent: &sender.counts,
            receiver,
            received: &receiver.counts,
            tcp: [sender.tcp, sender.tcp_at_start],
            numbers: receiver.one_way.as_ref(),
            rates: [Role::Sender, Role::Receiver].map(|role| figures.has_rates(role)),
            here,
            has_flows: true,
        }
    }

    /// Where both send, what the receiver sent.
    fn back(measured: &'a Measured, here: bool, figures: &TrialFigures) -> Option<Self> {
        let (sender, receiver) = (&measured.receiver, &measured.sender);
        let (sent, received) = (sender.back.as_ref()?, receiver.back.as_ref()?);
        Some(Self {
            sender,
            sent: &sent.counts,
            receiver,
            received: &received.counts,
            tcp: [sent.tcp, sent.tcp_at_start],
            numbers: receiver.one_way.as_ref(),
            rates: [sender.window.is_resolved(), figures.metrics.contains_key(&Metric::BackGoodputBitPerS)],
            here: !here,
            has_flows: false,
        })
    }

    /// The sums of this way, under names with `suffix`.
    fn sums(&self, end: &mut Keys, cell: &Cell, suffix: &str) {
        let udp = cell.protocol() == Protocol::Udp;
        let mut put = |name: &str, keys: Keys| drop(end.insert(format!("{name}{suffix}"), Value::Object(keys)));
        let resent = self.tcp[0].filter(|_| !udp).map(|tcp| tcp.resent_since(self.tcp[1]));
        let mut sent = amount(self.sender, self.sent, self.rates[0], resent, self.here);
        let mut received = amount(self.receiver, self.received, self.rates[1], None, self.here);
        if udp {
            sent.append(&mut datagrams(self.sent.messages, None, None));
            received.append(&mut self.arrived(self.received.messages));
            // Sent by the sender's account, lost by the receiver's.
            let mut both = sent.clone();
            both.extend(self.arrived(self.received.messages).into_iter().filter(|(key, _)| key != "packets"));
            put("sum", both);
        }
        put("sum_sent", sent);
        put("sum_received", received);
    }

    /// The keys of datagrams that arrived.
    fn arrived(&self, messages: u64) -> Keys {
        datagrams(messages, self.numbers.map(|way| way.missing), self.numbers.map(|way| way.jitter))
    }
}

/// An amount over the measured part of an end, which `has_rates` or not. `here` says whether the sender
/// of this way is on this machine.
fn amount(end: &EndReport, counts: &Counts, has_rates: bool, resent: Option<u32>, here: bool) -> Keys {
    let seconds = seconds(end);
    let rate = if has_rates { counts.in_window().bytes as f64 * 8.0 / seconds } else { 0.0 };
    known([
        ("start", Some(json!(0))),
        ("end", Some(json!(seconds))),
        ("seconds", Some(json!(seconds))),
        ("bytes", Some(json!(counts.bytes))),
        ("bits_per_second", Some(json!(rate))),
        ("retransmits", resent.map(Value::from)),
        ("sender", Some(json!(here))),
    ])
}

/// One entry a flow: TCP's with both ends apart, UDP's in one. Each of several flows back is
/// not counted by itself. The sockets are numbered from `first`.
fn streams(way: &Way, cell: &Cell, first: usize) -> Vec<Value> {
    let flows = way.sender.flows.len().max(way.receiver.flows.len()).max(1);
    if flows > 1 && !way.has_flows {
        return Vec::new();
    }
    let counts = |end: &EndReport, all: &Counts, at: usize| match (end.flows.get(at), flows) {
        (Some(flow), _) => Some((flow.counts, [flow.tcp, flow.tcp_at_start])),
        (None, 1) => Some((*all, way.tcp)),
        (None, _) => None,
    };
    let one = |at: usize| {
        let side = |end: &EndReport, all: &Counts, sends: bool| {
            let (counts, [tcp, before]) = counts(end, all, at)?;
            let resent = tcp.filter(|_| sends && cell.protocol() == Protocol::Tcp).map(|tcp| tcp.resent_since(before));
            let mut keys = amount(end, &counts, way.rates[usize::from(!sends)], resent, way.here);
            keys.insert("socket".to_owned(), json!(first + at));
            Some(keys)
        };
        match cell.protocol() {
            Protocol::Tcp => {
                let both = [("sender", side(way.sender, way.sent, true)), ("receiver", side(way.receiver, way.received, false))];
                let known = both.into_iter().filter_map(|(name, keys)| Some((name.to_owned(), Value::Object(keys?))));
                Value::Object(known.collect())
            }
            Protocol::Udp => {
                let mut keys = side(way.sender, way.sent, true).unwrap_or_default();
                keys.insert("packets".to_owned(), json!(counts(way.sender, way.sent, at).map(|(counts, _)| counts.messages)));
                if let Some(numbers) = way.numbers.filter(|_| flows == 1) {
                    keys.extend(way.arrived(way.received.messages).into_iter().filter(|(key, _)| key != "packets"));
                    keys.insert("out_of_order".to_owned(), json!(numbers.out_of_order));
                }
                json!({ "udp": keys })
            }
        }
    };
    (0..flows).map(one).collect()
}
