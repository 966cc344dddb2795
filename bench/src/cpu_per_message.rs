//! CPU time per message at both ends, against the bare loop.

use model::Protocol;

use crate::bare::{Bare, End, Trial};
use crate::bars::Row;
use crate::{ours, pairs};

/// The bar: no cell may be shown to be slower than this.
const BAR: f64 = 1.02;
/// Largest half-width of an interval, as a share.
const HALF_WIDTH: f64 = 0.05;

/// An end of a trial, by name.
pub type Pick = (&'static str, fn(&Trial) -> &End);

/// Both.
pub const ENDS: [Pick; 2] = [("sender", |trial| &trial.sender), ("receiver", |trial| &trial.receiver)];

/// Measures pairs of trials: UDP against its bar, TCP for the record.
pub fn measure(bare: &Bare, count: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (protocol, sizes, count) in [(Protocol::Udp, [1, 1_024, 16_384], count), (Protocol::Tcp, [1, 1_024, 16_384], count / 4)] {
        for size in sizes {
            rows.extend(one_size(bare, protocol, size, count)?);
        }
    }
    Ok(rows)
}

fn one_size(bare: &Bare, protocol: Protocol, size: u64, count: u32) -> anyhow::Result<Vec<Row>> {
    // Two sessions of one kind would differ; both tools use the same hosts and link.
    let session = std::cell::RefCell::new(ours::session()?);
    let pairs = pairs::run(
        count,
        || ours::run(&mut session.borrow_mut(), protocol, size),
        || bare.stream(&mut session.borrow_mut(), protocol, size),
    )?;
    let mut rows = Vec::new();
    for (end, pick) in ENDS {
        let wakeups = |of: fn(&(Trial, Trial)) -> &Trial| {
            let values: Vec<f64> = pairs.iter().map(|pair| pick(of(pair)).wakeups_per_message()).collect();
            stats::median::median(&values).unwrap_or_default()
        };
        let what = format!("CPU per message, {protocol} {size} B, {end}, ours / bare");
        let row = pairs::ratio(what, &pairs, |trial| pick(trial).cpu_per_message(), 0.99)?;
        rows.push(if protocol == Protocol::Udp { row.no_dearer(BAR, HALF_WIDTH) } else { row });
        rows.push(Row::printed(format!("  wake-ups per message, ours, {end}"), wakeups(|pair| &pair.0), "", pairs.len()));
        rows.push(Row::printed(format!("  wake-ups per message, bare, {end}"), wakeups(|pair| &pair.1), "", pairs.len()));
    }
    Ok(rows)
}
