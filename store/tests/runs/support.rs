//! What the tests of the store write: a run, hosts and trials like real ones.

use std::path::Path;

use model::cell::Cell;
use model::end::{Counts, CpuTime, EndReport, OptionValue, SocketOption, Switches, Window};
use model::plan::{Plan, RawPlan, preset, resolve};
use model::quantity::{Bytes, Nanos};
use model::run::{Run, Status};
use model::traffic::{Role, Test};
use model::trial::{Measured, Outcome, TrialRecord};
use model::warning::Warning;
use store::{BadLine, RunReader};
use testkit::made;

/// 2026-11-21T20:14:05Z.
pub const STARTED: u64 = 1_795_292_045_000;

pub fn plan() -> Plan {
    let raw = RawPlan::parse(preset("quick").unwrap()).unwrap();
    resolve(&raw, &[], 7).unwrap().into_plan()
}

pub fn run(id: &str) -> Run {
    Run { id: id.to_owned(), status: Status::Running, ..made::run(plan()) }
}

pub use testkit::made::host;

fn end(role: Role, number: u64) -> EndReport {
    let counts = Counts { calls: 100_000 + number, messages: 100_000 + number, bytes: 1_024 * number, ..Counts::default() };
    let option = |name: &str, value| SocketOption {
        name: name.into(),
        asked: None,
        set: OptionValue::Number(value),
        got: OptionValue::Number(value),
    };
    let window = Window { start: Nanos::new(number), end: Nanos::new(number + 150_000_000) };
    EndReport {
        cpu: Some(1),
        flow: None,
        total: Counts { late: 1, ..counts },
        cpu_time: CpuTime { process: Nanos::new(149_000_000), irq: None, kernel_threads: Some(Nanos::new(17)) },
        switches: Switches { voluntary: 12, involuntary: 3 },
        run_delay: Some(Nanos::new(4_000)),
        options: ["SO_SNDBUF", "SO_RCVBUF", "TCP_NODELAY", "SO_BUSY_POLL"].map(|name| option(name, 212_992)).to_vec(),
        latency: (role == Role::Sender).then(|| "HISTFAAAAGB42pNpmSzMwMDAxQABzFCaEUoz2X".repeat(16)),
        ..made::end(role, window, counts)
    }
}

/// Trial `number`; no two are the same, and each is about 3 KB long.
pub fn trial(number: u64) -> TrialRecord {
    let (size, read_size) = (Bytes::new(1 + number % 16_384), Bytes::new(131_072));
    let cell = Cell { read_size, nodelay: true, cc: Some("reno".to_owned()), ..Cell::plain(Test::TcpStream, size) };
    let measured = Measured { overhead: Nanos::new(35_000_000), ..made::measured(end(Role::Sender, number), end(Role::Receiver, number)) };
    TrialRecord {
        position: u32::try_from(number % 21).unwrap(),
        swapped: number % 2 == 1,
        started_ms: STARTED + number,
        warnings: vec![Warning::Contended { role: Role::Sender, share: 0.05 }],
        ..made::record(cell, u32::try_from(number / 21).unwrap(), measured)
    }
}

/// A short trial, for tests with many of them.
pub fn failed(number: u64) -> TrialRecord {
    TrialRecord { outcome: Outcome::Failed { error: format!("ü \"{number}\"\n"), lost: false }, warnings: Vec::new(), ..trial(number) }
}

/// What a reader finds in `run`: whole trials and damaged lines.
pub fn read(run: &Path) -> (Vec<TrialRecord>, Vec<BadLine>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for found in RunReader::open(run).unwrap().trials().unwrap() {
        match found {
            Ok(trial) => good.push(trial),
            Err(line) => bad.push(line),
        }
    }
    (good, bad)
}
