//! TCP goodput against iperf3 by named congestion control, and the receiver's CPU time for each byte.
//!
//! iperf3's receiver selects, then reads until its buffer is full or nothing is left. What a
//! receiver does before it sleeps decides how often the sender has to wake it, so the bars are
//! for nettoll's receiver in the same way of waiting; its usual way, to sleep in `recv`, is printed next to it.

use std::cell::RefCell;
use std::fs;

use model::{Protocol, Waiting};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::bars::Row;
use crate::pairs::PairEstimate;
use crate::{iperf, ours, pairs};

/// iperf3's default: what one call hands over, and what one call asks for.
const SIZE: u64 = 128 << 10;
/// Length of a run; iperf3 takes whole seconds.
const SECONDS: u64 = 1;
const NAMES: [&str; 3] = ["reno", "cubic", "bbr"];
/// Ways in which nettoll's receiver waits: iperf3's, for which the bars are, and the usual one.
const WAYS: [Waiting; 2] = [Waiting::Select, Waiting::Block];
/// Bars: of goodput, and of the receiver's CPU time for each byte.
const GOODPUT: f64 = 0.97;
const CPU: f64 = 1.0;

/// Measures pairs of runs by each congestion control that the kernel has.
pub fn measure(count: u32) -> anyhow::Result<Vec<Row>> {
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    let mut rows = Vec::new();
    for name in NAMES {
        match known.split_whitespace().any(|known| known == name) {
            true => rows.extend(by(name, count)?),
            false => rows.push(Row::printed(format!("{name}: not measured, this kernel has {}", known.trim()), f64::NAN, "", 0)),
        }
    }
    Ok(rows)
}

fn by(name: &'static str, count: u32) -> anyhow::Result<Vec<Row>> {
    let session = RefCell::new(ours::session()?);
    let plans = WAYS.map(|waiting| {
        let mut cell = ours::stream(Protocol::Tcp, SIZE, SIZE);
        (cell.cc, cell.waiting) = (Some(name.to_owned()), waiting);
        // iperf3 measures its slow start; so do we.
        ours::plan(cell, 0, SECONDS * 1_000)
    });
    let one_run = |plan| -> anyhow::Result<iperf::Run> {
        let end = ours::measure(&mut session.borrow_mut(), plan)?.receiver;
        let bytes = end.counts.bytes as f64;
        Ok(iperf::Run {
            goodput: bytes * 8.0 / end.window.length().as_secs_f64(),
            receiver_cpu_per_byte: end.cpu_time.process.get() as f64 / bytes.max(1.0),
        })
    };
    let mut order = ChaCha8Rng::seed_from_u64(1_984);
    let run = iperf::Settings { size: SIZE, nodelay: true, seconds: SECONDS, flows: 1, cc: Some(name) };
    let pairs = pairs::run(
        count,
        || {
            // Neither is always the first.
            let turn = usize::from(order.random::<bool>());
            let first = one_run(&plans[turn])?;
            let second = one_run(&plans[1 - turn])?;
            Ok(if turn == 0 { [first, second] } else { [second, first] })
        },
        || iperf::run(&mut session.borrow_mut(), run).map(|theirs| [theirs; 2]),
    )?;
    let mut rows = Vec::new();
    for (place, waiting) in WAYS.into_iter().enumerate() {
        let mut row = |what: &str, figure: fn(&iperf::Run) -> f64, bar: &str, clears: fn(&PairEstimate) -> bool| -> anyhow::Result<()> {
            let found = pairs::ratio(&pairs, |runs| figure(&runs[place]), 0.95)?;
            let label = format!("{what}, {name}, waiting by {waiting}, ours / iperf3");
            let row = Row::printed(label, found.value, "x", found.n).within(found.low, found.high);
            rows.push(if waiting == Waiting::Select { row.against(bar, clears(&found)) } else { row });
            Ok(())
        };
        row("TCP goodput, 128 KiB", |run| run.goodput, &format!("lower end of 95 % >= {GOODPUT}"), |found| found.low >= GOODPUT)?;
        row("CPU per byte of the receiver", |run| run.receiver_cpu_per_byte, &format!("<= {CPU}"), |found| found.value <= CPU)?;
    }
    Ok(rows)
}
