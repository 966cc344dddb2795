//! Snapshots of made machines.

use std::collections::BTreeMap;

use analysis::top::{Cause, CpuRow, Cpus, FORMAT, InterruptedUnit, Network, Own, Rate, Row, RowKind, Samples, Snapshot};
use attribution::{Category, Layer};
use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// Samples of the network's work on the busy machine.
pub const NETWORK_SAMPLES: u64 = 2_287;

const HZ: f64 = 99.0;
const SECONDS: f64 = 10.0;
const CPUS: u32 = 8;

/// One row: kind, name, process, unit, processes, samples in calls and in softirqs, samples of all its work, messages out
/// and in, bytes of each, wait in ns.
type Made<'a> = (RowKind, &'a str, Option<u32>, Option<&'a str>, u32, [u64; 3], [f64; 2], f64, f64);

fn share(samples: u64) -> f64 {
    samples as f64 / (HZ * SECONDS)
}

fn cpus(samples: u64) -> Cpus {
    let (n, due) = (samples as f64, HZ * SECONDS * f64::from(CPUS));
    let half = 1.96 * (n * (1.0 - n / due)).sqrt() / (HZ * SECONDS);
    match samples {
        0 => Cpus { cpus: 0.0, low: 0.0, high: 3.0 / (HZ * SECONDS) },
        _ => Cpus { cpus: share(samples), low: (share(samples) - half).max(0.0), high: share(samples) + half },
    }
}

/// Samples by layer and kind of work, which sum to all of them.
fn parts(call: u64, softirq: u64) -> BTreeMap<(Layer, Category), f64> {
    const CALL: [(Layer, Category); 4] = [
        (Layer::Socket, Category::DataMovement),
        (Layer::Tcp, Category::Protocol),
        (Layer::Tcp, Category::BufferManagement),
        (Layer::Syscall, Category::OperatingSystem),
    ];
    const SOFTIRQ: [(Layer, Category); 5] = [
        (Layer::Driver, Category::Protocol),
        (Layer::Tcp, Category::Protocol),
        (Layer::Netdev, Category::DataStructures),
        (Layer::Ip, Category::ErrorChecking),
        (Layer::Sched, Category::OperatingSystem),
    ];
    let mut parts = BTreeMap::new();
    let mut spread = |samples: u64, over: &[(Layer, Category)]| {
        let mut left = samples;
        for (place, key) in over.iter().enumerate() {
            let part = if place + 1 == over.len() { left } else { left / 2 };
            *parts.entry(*key).or_insert(0.0) += share(part);
            left -= part;
        }
    };
    spread(call, &CALL);
    spread(softirq, &SOFTIRQ);
    parts.retain(|_, cpus| *cpus > 0.0);
    parts
}

fn row((kind, name, pid, unit, processes, [call, softirq, busy], messages, size, wait): Made<'_>) -> Row {
    let exact = |rate: f64| Rate { rate, half: rate / 20.0 };
    let counted = kind == RowKind::Unit || kind == RowKind::Process;
    Row {
        kind,
        name: name.to_owned(),
        pid,
        unit: unit.map(str::to_owned),
        processes,
        samples: call + softirq,
        all: cpus(call + softirq),
        call: share(call),
        softirq: share(softirq),
        softirq_met: share(softirq / 2),
        busy: share(busy),
        messages: counted.then(|| messages.map(exact)),
        bytes: counted.then(|| messages.map(|rate| exact(rate * size))),
        drops: counted.then_some(if name == WIDE { 1_200.0 } else { 0.0 }),
        wait_ns: counted.then_some(wait),
        connections: counted.then_some(u64::from(processes) * 12),
        parts: parts(call, softirq),
    }
}

const NGINX: &str = "/system.slice/nginx.service";
const REDIS: &str = "/system.slice/redis.service";
/// Clears a screen, sets a title, and turns the direction of text.
const HOSTILE: &str = "/system.slice/x\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}ecivres";
const WIDE: &str = "/docker/数据库服务-主节点-生产环境-第一可用区";

/// Ten units and more, of which some are small, with names by others.
pub fn busy() -> Snapshot {
    let long = format!("/kubepods.slice/{}.scope", "pod7f3a".repeat(27));
    let units: Vec<Row> = [
        (RowKind::Unit, NGINX, None, None, 9, [406, 525, 2_600], [106e3, 106e3], 8_960.0, 12_000.0),
        (RowKind::Unit, REDIS, None, None, 1, [327, 277, 940], [74e3, 74e3], 1_419.0, 9_030.0),
        (RowKind::Unit, "/docker/api-7f3", None, None, 24, [149, 178, 800], [30e3, 31e3], 1_443.0, 80_000.0),
        (RowKind::Unit, "/user.slice/user-1000.slice/session-3.scope", None, None, 41, [99, 20, 400], [4e3, 5.1e3], 1_318.0, 20_000.0),
        (RowKind::Forwarded, "forwarded, dropped", None, None, 0, [0, 118, 0], [0.0; 2], 0.0, 0.0),
        (RowKind::Unowned, "unowned", None, None, 0, [0, 69, 0], [0.0; 2], 0.0, 0.0),
        (RowKind::Kernel, "kernel: NFS, WireGuard", None, None, 0, [59, 0, 0], [0.0; 2], 0.0, 0.0),
        (RowKind::Unit, HOSTILE, None, None, 2, [12, 8, 30], [400.0, 12.0], 64.0, 1_200_000.0),
        (RowKind::Unit, WIDE, None, None, 3, [11, 4, 25], [90.0, 90.0], 512.0, 250_000_000.0),
        (RowKind::Unit, &long, None, None, 1, [6, 4, 12], [40.0, 40.0], 100.0, 3_000.0),
        (RowKind::Unit, "/pod1/web", None, None, 1, [3, 2, 6], [10.0, 10.0], 1_448.0, 3_000.0),
        (RowKind::Unit, "/pod2/web", None, None, 1, [3, 2, 6], [10.0, 0.0], 1_448.0, 3_000.0),
        (RowKind::Unit, "/system.slice/chronyd.service", None, None, 1, [2, 1, 3], [1.0, 1.0], 48.0, 2_000.0),
        (RowKind::Unit, "/system.slice/sshd.service", None, None, 1, [1, 0, 2], [0.5, 0.5], 80.0, 2_000.0),
        (RowKind::Ended, "ended", None, None, 0, [0, 1, 1], [0.0; 2], 0.0, 0.0),
    ]
    .into_iter()
    .map(row)
    .collect();
    let mut processes: Vec<Row> = [
        (RowKind::Process, "nginx", Some(4_711), Some(NGINX), 1, [206, 300, 1_300], [60e3, 60e3], 8_960.0, 12_000.0),
        (RowKind::Process, "nginx", Some(4_712), Some(NGINX), 1, [200, 225, 1_300], [46e3, 46e3], 8_960.0, 12_000.0),
        (RowKind::Process, "redis-server", Some(917), Some(REDIS), 1, [327, 277, 940], [74e3, 74e3], 1_419.0, 9_030.0),
        (
            RowKind::Process,
            "\u{1b}[31mapi\n",
            Some(4_194_303),
            Some("/docker/api-7f3"),
            1,
            [149, 178, 800],
            [30e3, 31e3],
            1_443.0,
            80_000.0,
        ),
    ]
    .into_iter()
    .map(row)
    .collect();
    processes.extend(units.iter().skip(3).enumerate().map(|(at, unit)| {
        let own = unit.kind == RowKind::Unit;
        let kind = if own { RowKind::Process } else { unit.kind };
        let name = if own { "worker".to_owned() } else { unit.name.clone() };
        Row {
            kind,
            name,
            pid: own.then_some(10_000 + at as u32),
            unit: own.then(|| unit.name.clone()),
            processes: u32::from(own),
            ..unit.clone()
        }
    }));
    // Softirqs that ran in whatever task was there.
    let own_time = |row: &Row| Row { messages: None, bytes: None, ..row.clone() };
    let mut interrupted: Vec<Row> = processes.iter().filter(|row| row.kind == RowKind::Process).map(own_time).collect();
    let moved = NETWORK_SAMPLES - interrupted.iter().map(|row| row.samples).sum::<u64>();
    interrupted.push(row((RowKind::Idle, "idle", None, None, 0, [59, moved - 59, 0], [0.0; 2], 0.0, 0.0)));
    let sum = |value: fn(&Row) -> f64| units.iter().map(value).sum::<f64>();
    let mut layer: BTreeMap<Layer, f64> = BTreeMap::new();
    let mut category: BTreeMap<Category, f64> = BTreeMap::new();
    for ((one, kind), cpus) in units.iter().flat_map(|row| &row.parts) {
        *layer.entry(*one).or_insert(0.0) += cpus;
        *category.entry(*kind).or_insert(0.0) += cpus;
    }
    let mut layer: Vec<(Layer, f64)> = layer.into_iter().collect();
    let mut category: Vec<(Category, f64)> = category.into_iter().collect();
    layer.sort_by(|a, b| b.1.total_cmp(&a.1));
    category.sort_by(|a, b| b.1.total_cmp(&a.1));
    let network = Network {
        all: cpus(NETWORK_SAMPLES),
        call: sum(|row| row.call),
        softirq: sum(|row| row.softirq),
        met: Some(0.54),
        layer,
        category,
    };
    Snapshot {
        format: FORMAT,
        time_ns: 1_795_292_045_123_000_000,
        elapsed_ns: 10_000_000_000,
        cpus: CPUS,
        hz: HZ,
        samples: Samples { due: 7_920, made: 7_840, lost: 0, idle: 2_732, outside: 0 },
        network: Some(network),
        busy: 5.16,
        idle: 2.76,
        missing: 0.08,
        proc_stat_softirq: Some(1.28),
        sampled_softirq: Some(1.26),
        units,
        processes,
        interrupted,
        cause: Some(Cause {
            sender: Some(HOSTILE.to_owned()),
            receiver: NGINX.to_owned(),
            all: cpus(300),
            cpu: 5,
            interrupted: Some(InterruptedUnit { unit: REDIS.to_owned(), all: cpus(120) }),
        }),
        per_cpu: per_cpu(CPUS),
        own: Own { reader: 0.004, samples: 0.015, hooks: 0.001 },
        refused: Vec::new(),
    }
}

fn per_cpu(count: u32) -> Vec<CpuRow> {
    let one = |cpu: u32| {
        let network = 0.9 / f64::from(1 + (cpu * 5) % count);
        let softirq_for = [Some(NGINX), Some(REDIS), Some(WIDE), None][cpu as usize % 4];
        CpuRow {
            cpu,
            made: 980,
            network,
            softirq: network * 0.6,
            ksoftirqd: if cpu == 0 { 0.31 } else { 0.0 },
            busy: (network + 0.2).min(1.0),
            softirq_for: softirq_for.map(str::to_owned),
        }
    };
    (0..count).map(one).collect()
}

/// Nothing happened in the network.
pub fn idle() -> Snapshot {
    Snapshot {
        samples: Samples { due: 1_980, made: 990, lost: 0, idle: 988, outside: 0 },
        cpus: 2,
        network: Some(Network { all: cpus(0), ..Network::default() }),
        busy: 0.002,
        idle: 0.998,
        missing: 1.0,
        proc_stat_softirq: Some(0.0),
        sampled_softirq: Some(0.0),
        units: Vec::new(),
        processes: Vec::new(),
        interrupted: Vec::new(),
        cause: None,
        per_cpu: per_cpu(2)
            .into_iter()
            .map(|row| CpuRow { made: 495, network: 0.0, softirq: 0.0, ksoftirqd: 0.0, busy: 0.001, softirq_for: None, ..row })
            .collect(),
        own: Own { reader: 0.000_3, samples: 0.003, hooks: 0.0 },
        ..busy()
    }
}

/// CPUs may not be sampled.
pub fn degraded() -> Snapshot {
    let refused = [
        "samples of CPUs: perf_event_open: Permission denied; run as root, give nettoll CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=-1",
        "owners: bpf: Operation not permitted; run as root or give nettoll CAP_BPF and CAP_PERFMON",
        "names of functions: /proc/kallsyms has no addresses; give nettoll CAP_SYSLOG, or: sysctl kernel.kptr_restrict=0",
        "messages: \u{1b}[31mtracepoint sock_send_length is not there; Linux 6.3 has it",
    ];
    Snapshot {
        hz: 0.0,
        samples: Samples::default(),
        network: None,
        busy: 0.0,
        missing: 0.0,
        sampled_softirq: None,
        units: Vec::new(),
        processes: Vec::new(),
        interrupted: Vec::new(),
        cause: None,
        per_cpu: per_cpu(CPUS).into_iter().map(|row| CpuRow { made: 0, network: 0.0, ksoftirqd: 0.0, softirq_for: None, ..row }).collect(),
        own: Own { reader: 0.001, samples: 0.0, hooks: 0.0 },
        refused: refused.map(str::to_owned).to_vec(),
        ..busy()
    }
}

/// A machine with 128 CPUs, in which BPF is refused.
pub fn many() -> Snapshot {
    Snapshot {
        cpus: 128,
        samples: Samples { due: 126_720, made: 126_000, lost: 31, idle: 100_000, outside: 12 },
        idle: 122.0,
        missing: 0.727,
        cause: Some(Cause {
            sender: None,
            receiver: WIDE.to_owned(),
            all: cpus(90),
            cpu: 127,
            interrupted: Some(InterruptedUnit { unit: "/docker/api-7f3".to_owned(), all: cpus(90) }),
        }),
        per_cpu: per_cpu(128),
        own: Own { reader: 0.009, samples: 0.24, hooks: 0.0 },
        refused: vec!["owners: bpf: Operation not permitted; run as root or give nettoll CAP_BPF and CAP_PERFMON".to_owned()],
        ..busy()
    }
}

fn any_figure() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..10.0_f64, 0.0..1e15_f64, Just(f64::NAN), Just(f64::INFINITY), -1.0..0.0_f64]
}

fn any_cause() -> impl Strategy<Value = Cause> {
    let name = || prop_oneof!["[a-z/]{0,4}", any::<String>(), "\\PC{0,200}"];
    let figures = proptest::collection::vec(any_figure(), 3);
    (proptest::option::of(name()), name(), figures, any::<u32>(), proptest::option::of(name())).prop_map(
        |(sender, receiver, f, cpu, unit)| {
            let all = Cpus { cpus: f[0], low: f[1], high: f[2] };
            Cause { sender, receiver, all, cpu, interrupted: unit.map(|unit| InterruptedUnit { unit, all }) }
        },
    )
}

fn any_row() -> impl Strategy<Value = Row> {
    let kinds = [
        RowKind::Unit,
        RowKind::Process,
        RowKind::Ended,
        RowKind::Kernel,
        RowKind::Forwarded,
        RowKind::Unowned,
        RowKind::Idle,
        RowKind::Outside,
    ];
    let name = prop_oneof!["[a-z/]{0,4}", any::<String>(), "\\PC{0,200}"];
    let figures = proptest::collection::vec(any_figure(), 12);
    let part = (0..Layer::ALL.len(), 0..Category::ALL.len(), any_figure());
    let parts = proptest::collection::vec(part, 0..4);
    let names = (name, proptest::option::of("[a-z/]{0,4}"), proptest::option::of(any::<u32>()));
    (0..kinds.len(), names, any::<u32>(), figures, parts, any::<[bool; 3]>()).prop_map(
        move |(kind, (name, unit, pid), processes, f, parts, [messages, bytes, wait])| Row {
            kind: kinds[kind],
            name,
            pid,
            unit,
            processes,
            samples: 1,
            all: Cpus { cpus: f[0], low: f[1], high: f[2] },
            call: f[3],
            softirq: f[4],
            softirq_met: f[5],
            busy: f[6],
            messages: messages.then(|| [Rate { rate: f[7], half: f[8] }, Rate { rate: f[9], half: f[10] }]),
            bytes: bytes.then(|| [Rate { rate: f[9], half: f[8] }, Rate { rate: f[7], half: f[10] }]),
            drops: messages.then_some(f[9]),
            wait_ns: wait.then_some(f[11]),
            connections: wait.then_some(processes.into()),
            parts: parts.into_iter().map(|(layer, kind, cpus)| ((Layer::ALL[layer], Category::ALL[kind]), cpus)).collect(),
        },
    )
}

/// Any snapshot, of figures and names that no kernel gives as well.
pub fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let rows = || proptest::collection::vec(any_row(), 0..20);
    let per_cpu = proptest::collection::vec((any::<u32>(), any_figure(), any_figure(), proptest::option::of(any::<String>())), 0..40);
    let per_cpu = per_cpu.prop_map(|rows| {
        let row =
            |(cpu, network, busy, softirq_for)| CpuRow { cpu, made: 0, network, softirq: busy, ksoftirqd: network, busy, softirq_for };
        rows.into_iter().map(row).collect::<Vec<_>>()
    });
    let network = proptest::option::of((proptest::collection::vec(any_figure(), 6), any::<bool>()));
    let network = (network, proptest::option::of(any_cause()));
    let machine = (any::<u64>(), any::<u32>(), any_figure(), any::<[u64; 5]>(), proptest::collection::vec(any_figure(), 8));
    let refused = proptest::collection::vec(any::<String>(), 0..6);
    (machine, network, [rows(), rows(), rows()], per_cpu, refused).prop_map(
        |(machine, (network, cause), [units, processes, interrupted], per_cpu, refused)| {
            let (time, cpus, hz, samples, f) = machine;
            let network = network.map(|(n, met)| Network {
                all: Cpus { cpus: n[0], low: n[1], high: n[2] },
                call: n[3],
                softirq: n[4],
                met: met.then_some(n[5]),
                layer: Layer::ALL.iter().map(|layer| (*layer, n[0])).collect(),
                category: Category::ALL.iter().map(|kind| (*kind, n[1])).collect(),
            });
            Snapshot {
                format: FORMAT,
                time_ns: time,
                elapsed_ns: time,
                cpus,
                hz,
                samples: Samples { due: samples[0], made: samples[1], lost: samples[2], idle: samples[3], outside: samples[4] },
                network,
                busy: f[0],
                idle: f[1],
                missing: f[2],
                proc_stat_softirq: Some(f[3]),
                sampled_softirq: Some(f[4]),
                units,
                processes,
                interrupted,
                cause,
                per_cpu,
                own: Own { reader: f[5], samples: f[6], hooks: f[7] },
                refused,
            }
        },
    )
}
