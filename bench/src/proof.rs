//! Known costs at senders, against what their receipts show of them.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::bars::{Row, number};
use crate::ours;

/// Smallest and largest part of a known cost that a receipt may show.
const BAR: [f64; 2] = [0.85, 1.15];

/// Measures them once, on a quiet machine and next to a busy neighbour.
pub fn measure(nettoll: &Path) -> anyhow::Result<Vec<Row>> {
    let found = ours::json(Command::new(nettoll).args(["doctor", "--prove", "--yes", "-J"]))?;
    let mut rows = Vec::new();
    for (neighbour, costs) in found.as_object().context("no proof")? {
        for cost in costs.as_array().map_or(&[][..], Vec::as_slice) {
            let word = |key: &str| cost[key].as_str().unwrap_or_default();
            let name = format!("{neighbour}: {} in {}, found / put in", word("cause"), word("traffic"));
            let ratio = &cost["Ok"]["ratio"];
            let value = number(&ratio["value"]);
            let samples = cost["Ok"]["samples"].as_u64().unwrap_or_default() as usize;
            let row = Row::printed(name, value, "", samples).within(number(&ratio["interval"][0]), number(&ratio["interval"][1]));
            rows.push(row.against("0.85 to 1.15", (BAR[0]..=BAR[1]).contains(&value)));
        }
    }
    Ok(rows)
}
