//! TCP goodput against iperf3 with equal settings, of one flow or of several, and by named congestion control.
//!
//! iperf3 up to 3.15 serves all of its streams in one thread at each end; ours
//! have a thread each. Both are bound to the same CPUs.
//!
//! iperf3's receiver selects, then reads until its buffer is full or nothing is left. What a
//! receiver does before it sleeps decides how often the sender has to wake it, so the bars by congestion control
//! are for nettoll's receiver in the same way of waiting; its usual way, to sleep in `recv`, is printed next to it.

use std::cell::RefCell;
use std::fs;

use model::{Cell, Waiting};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::bars::Row;
use crate::iperf::Run;
use crate::{iperf, ours, pairs};

const NAMES: [&str; 3] = ["reno", "cubic", "bbr"];
/// Ways in which nettoll's receiver waits: iperf3's, for which the bars are, and the usual one.
const WAYS: [Waiting; 2] = [Waiting::Select, Waiting::Block];
/// Bars: of goodput, by congestion control, and of the receiver's CPU time for each byte.
const GOODPUT: f64 = 0.95;
const GOODPUT_BY_CONTROL: f64 = 0.97;
const CPU: f64 = 1.0;

/// Measures pairs of runs, with TCP_NODELAY and without.
pub fn measure(flows: u32, count: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for nodelay in [true, false] {
        let session = RefCell::new(ours::session()?);
        let cell = Cell { nodelay, flows, ..iperf::cell() };
        let pairs = pairs::run(count, || iperf::trial(&mut session.borrow_mut(), &cell), || iperf::run(&mut session.borrow_mut(), &cell))?;
        let (several, name) = (if flows == 1 { String::new() } else { format!("{flows} flows, ") }, if nodelay { "on" } else { "off" });
        let what = format!("TCP goodput, {several}128 KiB, TCP_NODELAY {name}, ours / iperf3");
        rows.push(goodput(pairs::ratio(what, &pairs, |run| run.goodput, 0.95)?, GOODPUT));
    }
    Ok(rows)
}

fn goodput(row: Row, bar: f64) -> Row {
    row.judged(format!("lower end of 95 % >= {bar}"), |row| row.ends().0 >= bar)
}

/// Measures pairs of runs by each congestion control that the kernel has.
pub fn by_control(count: u32) -> anyhow::Result<Vec<Row>> {
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

fn by(name: &str, count: u32) -> anyhow::Result<Vec<Row>> {
    let session = RefCell::new(ours::session()?);
    let cells = WAYS.map(|waiting| Cell { cc: Some(name.to_owned()), waiting, ..iperf::cell() });
    let one_run = |cell: &Cell| iperf::trial(&mut session.borrow_mut(), cell);
    let mut order = ChaCha8Rng::seed_from_u64(1_984);
    let pairs = pairs::run(
        count,
        || {
            // Neither is always the first.
            let turn = usize::from(order.random::<bool>());
            let first = one_run(&cells[turn])?;
            let second = one_run(&cells[1 - turn])?;
            Ok(if turn == 0 { [first, second] } else { [second, first] })
        },
        || iperf::run(&mut session.borrow_mut(), &cells[0]).map(|theirs| [theirs; 2]),
    )?;
    let mut rows = Vec::new();
    for (place, waiting) in WAYS.into_iter().enumerate() {
        let row = |what: &str, figure: fn(&Run) -> f64| {
            pairs::ratio(format!("{what}, {name}, waiting by {waiting}, ours / iperf3"), &pairs, |runs| figure(&runs[place]), 0.95)
        };
        let both = [row("TCP goodput, 128 KiB", |run| run.goodput)?, row("CPU per byte of the receiver", |run| run.receiver_cpu_per_byte)?];
        rows.extend(match (waiting, both) {
            (Waiting::Select, [bits, cpu]) => [goodput(bits, GOODPUT_BY_CONTROL), cpu.judged(format!("<= {CPU}"), |row| row.value <= CPU)],
            (_, both) => both,
        });
    }
    Ok(rows)
}
