//! A plan, a run, the report of an end and a trial, made up. Nothing optional is
//! set: `EndReport { latency: ..., ..end(role, window, counts) }`.

use std::collections::BTreeMap;

use model::end::{Counts, CpuTime, EndReport, Switches, Window};
use model::host::{FACTS_FORMAT, HostFacts};
use model::kernel::HostCounters;
use model::plan::{Blocks, Link, LinkKind, OnLoss, PlanEnd};
use model::run::{RUN_FORMAT, Status};
use model::schedule::Roles;
use model::trial::{Measured, Outcome};
use model::{Bytes, Cell, Nanos, Plan, Role, Run, TrialRecord};

/// A plan of 9 blocks of trials of 150 ms over a veth pair.
pub fn plan(name: &str, cells: Vec<Cell>) -> Plan {
    Plan {
        name: name.to_owned(),
        title: name.to_owned(),
        description: String::new(),
        end: PlanEnd::Length(Nanos::from_millis(150)),
        least: Nanos::default(),
        warmup: Nanos::from_millis(30),
        blocks: blocks(9),
        link: Link { kind: LinkKind::Veth, mtu: Some(1500), offloads: BTreeMap::new() },
        hosts: BTreeMap::new(),
        reference: None,
        on_loss: OnLoss::GoOn,
        data_port: None,
        progress: None,
        cpus: BTreeMap::new(),
        receipt: None,
        host_wide: false,
        fleet: None,
        roles: Roles::Balanced,
        arms: Vec::new(),
        woven: false,
        seed: 1,
        cells,
    }
}

/// A fixed number of blocks, with intervals of 95 %.
pub const fn blocks(count: u32) -> Blocks {
    Blocks { least: count, most: count, interval: 0.05, confidence: 0.95 }
}

/// A finished run of a plan, started at 2026-11-21T20:14:05Z.
pub fn run(plan: Plan) -> Run {
    Run {
        format: RUN_FORMAT,
        id: format!("2026-11-21T20-14-05Z-{}-7f3a", plan.name),
        plan,
        started_ms: 1_795_292_045_000,
        tool: "0.1.0".to_owned(),
        status: Status::BlocksDone,
        warnings: Vec::new(),
        proof: None,
        pooled: None,
    }
}

/// Facts of a host with a kernel and two CPUs.
pub fn host(name: &str) -> HostFacts {
    HostFacts { format: FACTS_FORMAT, name: name.to_owned(), kernel: "6.18.44".to_owned(), cpus: 2, ..HostFacts::default() }
}

/// An end that used no CPU time and counted the same in the window as in all.
pub fn end(role: Role, window: Window, counts: Counts) -> EndReport {
    EndReport {
        role,
        cpu: None,
        threads: Vec::new(),
        window,
        flow: (role == Role::Sender).then_some(window),
        counts,
        total: counts,
        cpu_time: CpuTime::default(),
        user_cpu: None,
        switches: Switches::default(),
        run_delay: None,
        options: Vec::new(),
        tcp: None,
        tcp_at_start: None,
        latency: None,
        drops: BTreeMap::new(),
        zero_copy: None,
        external: None,
        max_resident: Bytes::new(4 << 20),
        flows: Vec::new(),
        back: None,
        schedule: None,
        in_flight: None,
        one_way: None,
        addresses: Vec::new(),
        progress: Vec::new(),
    }
}

/// A trial between two ends on isolated hosts that counted nothing.
pub fn measured(sender: EndReport, receiver: EndReport) -> Measured {
    Measured {
        sender,
        receiver,
        sender_host: HostCounters::default(),
        receiver_host: HostCounters::default(),
        isolated: true,
        apart: false,
        clock: None,
        control: None,
        slices: 0,
        windows: None,
        overhead: Nanos::from_millis(30),
        conditions: None,
        wire: None,
        observed: None,
        wakeups: [None; 2],
        peers: Vec::new(),
    }
}

/// The record of a measured trial; in odd blocks the hosts' roles are exchanged.
pub fn record(cell: Cell, block: u32, measured: Measured) -> TrialRecord {
    TrialRecord { block, swapped: block % 2 == 1, ..TrialRecord::new(cell, Outcome::Measured(Box::new(measured))) }
}
