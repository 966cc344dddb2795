//! Trials as `nettoll -c` has them, made up.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use model::end::{
    Back, Counts, CpuTime, EndReport, FlowAddresses, FlowReport, OneWay, OptionValue, Progress, Schedule, SocketOption, Switches, TcpInfo,
    Window,
};
use model::host::HostFacts;
use model::kernel::HostCounters;
use model::plan::{Link, LinkKind, OnLoss, PlanEnd};
use model::trial::{ClockOffset, Measured};
use model::{Bytes, Cell, Nanos, OfferedRate, Plan, Protocol, Role, Test, TrialRecord, Warning};
use report::oneshot::{Intervals, Row, TrialFacts};
use testkit::made;

use super::host;

/// Everything that a report of one trial takes.
pub struct OneTrial {
    pub plan: Plan,
    pub hosts: Vec<HostFacts>,
    pub record: TrialRecord,
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

impl OneTrial {
    pub fn setting(&self) -> TrialFacts<'_> {
        TrialFacts {
            plan: &self.plan,
            swapped: self.record.swapped,
            remote: "lab2.example",
            address: Some("192.0.2.2".parse().expect("made here")),
            hosts: &self.hosts,
            warnings: &self.warnings,
            tool: "0.1.0",
        }
    }
}

/// Seconds that are measured.
const SECONDS: u64 = 2;

/// A trial of two seconds of a cell.
pub fn trial(cell: Cell, swapped: bool) -> OneTrial {
    let measured = measured(&cell);
    let mut intervals = Intervals::new(&cell, Nanos::default());
    let mut rows = Vec::new();
    for (sender, receiver) in measured.sender.progress.iter().zip(&measured.receiver.progress) {
        rows.extend(intervals.hear(Role::Sender, *sender));
        rows.extend(intervals.hear(Role::Receiver, *receiver));
    }
    let plan = Plan {
        title: "One trial".into(),
        end: PlanEnd::Length(Nanos::from_millis(1_000 * SECONDS)),
        warmup: Nanos::new(0),
        blocks: made::blocks(1),
        link: Link { kind: LinkKind::Network, mtu: None, offloads: BTreeMap::new() },
        hosts: BTreeMap::from([("b".to_owned(), "lab2.example".parse().expect("made here"))]),
        on_loss: OnLoss::Stop,
        progress: Some(Nanos::from_millis(1_000)),
        ..made::plan("once", vec![cell.clone()])
    };
    let record = TrialRecord { swapped, started_ms: 1_795_307_465_000, ..made::record(cell, 0, measured) };
    OneTrial { plan, hosts: vec![host("a", vec![0]), host("b", vec![1])], record, rows, warnings: Vec::new() }
}

fn at(second: u64) -> Nanos {
    Nanos::from_millis(50_000 + second * 1_000)
}

fn counts(cell: &Cell, messages: u64) -> Counts {
    counts_of(cell.size.get(), messages)
}

/// So many whole messages of a size.
pub fn counts_of(size: u64, messages: u64) -> Counts {
    Counts { calls: messages, messages, bytes: messages * size, sent: messages, received: messages, ..Counts::default() }
}

fn tcp(resent: u32) -> TcpInfo {
    TcpInfo {
        total_retrans: resent,
        rtt: 130,
        rttvar: 58,
        min_rtt: 90,
        snd_cwnd: 995,
        snd_mss: 1448,
        rcv_mss: 1448,
        pmtu: 1500,
        ..TcpInfo::default()
    }
}

fn end(cell: &Cell, role: Role, messages: u64) -> EndReport {
    let is_tcp = cell.protocol() == Protocol::Tcp;
    let window = Window { start: at(0), end: at(SECONDS) };
    let number = |name: &str, asked: Option<i64>, set, got| SocketOption {
        name: name.into(),
        asked: asked.map(OptionValue::Number),
        set: OptionValue::Number(set),
        got: OptionValue::Number(got),
    };
    let mut options = vec![
        number("SO_RCVBUF", cell.rcvbuf.map(|size| size.get() as i64), 131_072, if is_tcp { 6_291_456 } else { 131_072 }),
        number("SO_SNDBUF", cell.sndbuf.map(|size| size.get() as i64), 16_384, 16_384),
    ];
    let cubic = || OptionValue::Text("cubic".into());
    options.extend(is_tcp.then(|| SocketOption { name: "TCP_CONGESTION".into(), asked: None, set: cubic(), got: cubic() }));
    let reads_numbers = cell.stamp && (role == Role::Receiver || cell.bidirectional);
    let jitter = reads_numbers.then_some(2_300);
    let each = |second: u64| Progress {
        interval: Window { start: at(second), end: at(second + 1) },
        counts: counts(cell, messages / SECONDS),
        back: cell.bidirectional.then(|| counts(cell, messages / SECONDS / 3)),
        tcp: (is_tcp && cell.test != Test::TcpCrr).then(|| tcp(3 + 4 * second as u32)),
        jitter,
        missing: reads_numbers.then_some(4 + 4 * second),
    };
    let flow = |at: u32| FlowReport {
        cpu: Some(at % 2),
        counts: counts(cell, messages / u64::from(cell.flows)),
        total: counts(cell, messages / u64::from(cell.flows)),
        switches: Switches::default(),
        done: None,
        tcp: is_tcp.then(|| tcp(at)),
        tcp_at_start: None,
    };
    EndReport {
        cpu: Some(u32::from(role == Role::Receiver)),
        cpu_time: CpuTime { process: Nanos::from_millis(780), irq: Some(Nanos::from_millis(120)), kernel_threads: Some(Nanos::new(0)) },
        switches: Switches { voluntary: 4_811, involuntary: 12 },
        run_delay: Some(Nanos::from_millis(3)),
        options,
        tcp: (is_tcp && cell.test != Test::TcpCrr).then(|| tcp(7)),
        latency: (!cell.test.is_stream() && role == Role::Sender).then(|| histogram(61_000, messages)),
        flows: if cell.flows > 1 { (0..cell.flows).map(flow).collect() } else { Vec::new() },
        back: cell.bidirectional.then(|| {
            let counts = counts(cell, messages / 3);
            Back { counts, total: counts, tcp: is_tcp.then(|| tcp(2)), tcp_at_start: None }
        }),
        user_cpu: Some(Nanos::from_millis(80)),
        addresses: (cell.test != Test::TcpCrr).then(|| addresses(cell, role)).into_iter().flatten().collect(),
        schedule: (cell.rate.is_some() && role == Role::Sender).then(|| Schedule {
            intended: messages + messages / 4,
            behind: messages / 4,
            unsent: (!cell.test.is_stream()).then_some(messages / 5),
            lateness: Some(histogram(3_100, messages)),
            uncorrected: (!cell.test.is_stream()).then(|| histogram(48_000, messages)),
        }),
        one_way: reads_numbers.then(|| OneWay {
            messages,
            missing: 12,
            out_of_order: 3,
            duplicates: 1,
            base: 812_345,
            beyond_base: Some(histogram(8_800, messages)),
            jitter: 2_300,
        }),
        progress: (0..SECONDS).map(each).collect(),
        ..made::end(role, window, counts(cell, messages))
    }
}

/// A flow each, and one back.
fn addresses(cell: &Cell, role: Role) -> Vec<FlowAddresses> {
    let at = |host: u8, port: u32| SocketAddr::from(([192, 0, 2, host], u16::try_from(port).expect("made here")));
    let flow = |flow: u32| {
        let [sender, receiver] = [at(1, 40_000 + flow), at(2, 50_000 + flow)];
        let [local, remote] = if role == Role::Sender { [sender, receiver] } else { [receiver, sender] };
        FlowAddresses { local, remote }
    };
    (0..cell.flows * (1 + u32::from(cell.bidirectional))).map(flow).collect()
}

fn measured(cell: &Cell) -> Measured {
    let messages = 18_000;
    let host = |sent: u64, received: u64| {
        let mut host = HostCounters::default();
        (host.udp.out_datagrams, host.udp.in_datagrams) = (sent, received);
        host
    };
    Measured {
        sender_host: host(messages, 0),
        receiver_host: host(0, messages),
        isolated: false,
        apart: true,
        clock: Some(ClockOffset { offset_ns: 790_000, error_ns: 41_000 }),
        ..made::measured(end(cell, Role::Sender, messages), end(cell, Role::Receiver, messages))
    }
}

/// A thousand times from `least` to about three times as much.
/// So many times, in thousands.
fn histogram(least: u64, times: u64) -> String {
    let mut histogram: Histogram<u64> = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("made here");
    let each = (times / 1_000).max(1);
    (0..1_000u64).for_each(|step| histogram.record_n(least + least * step * step / 500_000, each).expect("made here"));
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).expect("made here");
    STANDARD.encode(bytes)
}

/// A cell as `nettoll -c` plans it by default.
pub fn cell(test: Test) -> Cell {
    let size = match test {
        Test::TcpStream | Test::TcpMaerts => 131_072,
        Test::UdpStream => 1_448,
        Test::TcpRr | Test::UdpRr | Test::TcpCrr => 1,
    };
    let plain = Cell::plain(test, Bytes::new(size));
    let udp = test == Test::UdpStream;
    Cell { stamp: udp, rate: udp.then_some(OfferedRate::Bits(model::BitRate::new(1_000_000))), ..plain }
}
