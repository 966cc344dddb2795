//! TCP goodput against iperf3 with equal settings, of one flow or of several.
//!
//! iperf3 up to 3.15 serves all of its streams in one thread at each end; ours
//! have a thread each. Both are bound to the same CPUs.

use std::cell::RefCell;

use model::Protocol;

use crate::bars::Row;
use crate::{iperf, ours, pairs};

/// iperf3's default: what one call hands over, and what one call asks for.
const SIZE: u64 = 128 << 10;
/// Length of a run; iperf3 takes whole seconds.
const SECONDS: u64 = 1;

/// Measures pairs of runs, with TCP_NODELAY and without.
pub fn measure(flows: u32, count: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for nodelay in [true, false] {
        let session = RefCell::new(ours::session()?);
        let mut cell = ours::stream(Protocol::Tcp, SIZE, SIZE);
        (cell.nodelay, cell.flows) = (nodelay, flows);
        // iperf3 measures its slow start; so do we.
        let plan = ours::plan(cell, 0, SECONDS * 1_000);
        let run = iperf::Settings { size: SIZE, nodelay, seconds: SECONDS, flows, cc: None };
        let pairs = pairs::run(
            count,
            || {
                let end = ours::measure(&mut session.borrow_mut(), &plan)?.receiver;
                Ok(end.counts.bytes as f64 * 8.0 / end.window.length().as_secs_f64())
            },
            || iperf::goodput(&mut session.borrow_mut(), run),
        )?;
        let ratio = pairs::ratio(&pairs, |goodput| *goodput, 0.95)?;
        let (several, name) = (if flows == 1 { String::new() } else { format!("{flows} flows, ") }, if nodelay { "on" } else { "off" });
        rows.push(
            Row::printed(format!("TCP goodput, {several}128 KiB, TCP_NODELAY {name}, ours / iperf3"), ratio.value, "x", ratio.n)
                .within(ratio.low, ratio.high)
                .against("lower end of 95 % >= 0.95", ratio.low >= 0.95),
        );
    }
    Ok(rows)
}
