//! Noise and made-up trials for this crate's tests.

use model::cell::default_read_size;
use model::end::{Counts, CpuTime, EndReport, Switches, Window};
use model::kernel::HostCounters;
use model::trial::Measured;
use model::woven::{Reading, Slice, SliceEnd};
use model::{Bytes, Cell, Nanos, Pass, Plan, Protocol, Role, Run, Test, TrialRecord};
use testkit::made;

use crate::figures::Figures;
use crate::metric::Source;
use crate::studies::Study;
use crate::table::TrialTable;
use crate::{Analysis, Collector};

pub use stats::noise::{Noise, generator, normal};

/// A cell with the usual settings; TCP with TCP_NODELAY.
pub fn cell(test: Test, size: u64) -> Cell {
    let size = Bytes::new(size);
    let nodelay = test.protocol() == Protocol::Tcp;
    let read_size = default_read_size(test, size);
    Cell { read_size, nodelay, ..Cell::plain(test, size) }
}

/// Six rounds of slices of two arms, of which the second costs `ratio` times the first's CPU time.
pub fn slices(ratio: f64) -> Vec<Slice> {
    let slice = |arm: u32, round: u32| {
        let cost = 4e6 * if arm == 1 { ratio } else { 1.0 };
        let whole =
            Reading { time: Nanos::from_millis(10), cpu: Nanos::new(cost as u64), messages: 1_000, bytes: 64_000, ..Reading::default() };
        let end = SliceEnd { whole, ..SliceEnd::default() };
        Slice { arm, round, sender: end, receiver: end, ..Slice::default() }
    };
    (0..6).flat_map(|round| [slice(0, round), slice(1, round)]).collect()
}

/// A sound trial on isolated hosts: 50,000 messages in 150 ms, all of which
/// arrived, nothing before or after the measured part.
pub fn measured(test: Test, size: u64) -> Measured {
    const MESSAGES: u64 = 50_000;
    let both = !test.is_stream();
    let counts = |role| Counts {
        calls: MESSAGES,
        messages: MESSAGES,
        bytes: MESSAGES * size,
        sent: if both || role == Role::Sender { MESSAGES } else { 0 },
        received: if both || role == Role::Receiver { MESSAGES } else { 0 },
        ..Counts::default()
    };
    let window = Window { start: Nanos::from_millis(1_000), end: Nanos::from_millis(1_150) };
    let end = |role, cpu| EndReport {
        cpu: Some(cpu),
        cpu_time: CpuTime { process: Nanos::from_millis(75), irq: None, kernel_threads: None },
        switches: Switches { voluntary: 500, involuntary: 5 },
        run_delay: Some(Nanos::from_millis(1)),
        ..made::end(role, window, counts(role))
    };
    let mut host = HostCounters::default();
    host.link.tx_packets = MESSAGES;
    host.link.rx_packets = MESSAGES;
    host.link.tx_bytes = MESSAGES * (size + 66);
    host.link.rx_bytes = host.link.tx_bytes;
    if test.protocol() == Protocol::Udp {
        host.udp.out_datagrams = MESSAGES;
        host.udp.in_datagrams = MESSAGES;
    }
    (host.cpu.system, host.cpu.idle) = (100, 200);
    Measured { sender_host: host, receiver_host: host, ..made::measured(end(Role::Sender, 0), end(Role::Receiver, 1)) }
}

/// The record of a trial in `block`.
pub fn record(test: Test, size: u64, block: u32, measured: Measured) -> TrialRecord {
    made::record(cell(test, size), block, measured)
}

/// A study and the table that these trials are in, which are clean ones.
pub fn fed<S: Study>(plan: &Plan, records: impl IntoIterator<Item = TrialRecord>) -> (Option<S>, TrialTable) {
    let (mut study, mut table) = (S::for_plan(plan), TrialTable::for_plan(plan));
    for record in records {
        let (place, arm) = (table.place(&record.cell), table.arm_of(&record).unwrap());
        table.push(place, arm, &record, record.measured().unwrap(), |trial| study.iter_mut().for_each(|study| study.push(trial)));
    }
    (study, table)
}

/// The figures of a measured trial.
pub fn figures(record: &TrialRecord) -> Figures {
    let source = Source { measured: record.measured().unwrap(), cell: record.cell_as_run(), link: None, round_trips: None };
    Figures::new(record, &source)
}

/// A finished run over these cells, of at most so many blocks, looked at once.
pub fn run(cells: Vec<Cell>, blocks: u32) -> Run {
    let plan = Plan { title: "Made up".into(), blocks: made::blocks(blocks), ..made::plan("test", cells) };
    Run { started_ms: 0, tool: "test".into(), ..made::run(plan) }
}

/// Trials of two cells, one a block, whose time per message is `factor` of the usual, by
/// block and size, with a little scatter.
pub fn two_cells(blocks: u32, pass: Pass, factor: impl Fn(u32, u64) -> f64) -> Collector {
    let sizes = [1, 64];
    let mut collector = Collector::new(run(sizes.map(|size| cell(Test::UdpStream, size)).to_vec(), blocks), Vec::new());
    for (block, size) in (0..blocks).flat_map(|block| sizes.map(|size| (block, size))) {
        let mut measured = measured(Test::UdpStream, size);
        let window = &mut measured.receiver.window;
        let length = window.length().get() as f64 * factor(block, size) * (1.0 + 0.002 * f64::from(block % 5));
        window.end = window.start + Nanos::new(length as u64);
        collector.push(&TrialRecord { pass, ..record(Test::UdpStream, size, block, measured) });
    }
    collector
}

/// Analysis of these trials; their cells are the plan's.
pub fn analyse(records: impl Iterator<Item = TrialRecord>) -> Analysis {
    let records: Vec<TrialRecord> = records.collect();
    let mut cells: Vec<Cell> = Vec::new();
    for record in &records {
        if !cells.contains(&record.cell) {
            cells.push(record.cell.clone());
        }
    }
    let mut collector = Collector::new(run(cells, 9), Vec::new());
    records.iter().for_each(|record| collector.push(record));
    collector.finish()
}
