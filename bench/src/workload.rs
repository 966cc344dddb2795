//! Workloads: predictions from single sizes, against the mix as it is sent.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::bars::{Row, number};
use crate::ours;

/// The workloads with a bar.
const WORKLOADS: [&str; 3] = ["W1", "W2", "W3"];
/// Largest distance of measured from predicted, as a share.
const UDP: f64 = 0.10;
/// The same of TCP with TCP_NODELAY.
const TCP: f64 = 0.15;

/// The figures with a bar: CPU per message at both ends, and their rate.
const WITH_BAR: [&str; 3] = ["sender_cpu", "receiver_cpu", "messages_per_s"];

/// Measures sizes and mixes in the same blocks with the tool itself.
pub fn measure(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    let runs = tempfile::tempdir().context("make a directory for the run")?;
    let blocks = blocks.to_string();
    let mut command = Command::new(nettoll);
    command.args(["workload", "--measure", "-J", "--blocks", &blocks, "--runs"]).arg(runs.path()).args(WORKLOADS);
    let study = ours::json(&mut command)?;
    let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut rows = Vec::new();
    for result in of(&study["workloads"]) {
        for series in of(&result["series"]) {
            rows.extend(of(&series["figures"]).iter().flat_map(|figure| figure_rows(&result["workload"], &series, figure)));
        }
    }
    anyhow::ensure!(!rows.is_empty(), "nettoll workload predicted nothing: {study}");
    Ok(rows)
}

/// One figure: its ratio, against the bar of its series; with Nagle both figures.
fn figure_rows(workload: &Value, series: &Value, figure: &Value) -> Vec<Row> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let quantity = word(&figure["quantity"]);
    let what = format!("{}, {}, {quantity}", word(workload), word(&series["series"]));
    let row = Row::read(format!("{what}, measured / predicted by {}", word(&figure["source"])), "x", &figure["ratio"]);
    if series["nagle"] == true {
        let both =
            ["predicted", "measured"].map(|side| Row::printed(format!("  {what}, {side}"), number(&figure[side]["value"]), "", row.n));
        return [vec![row], both.into()].concat();
    }
    let bar = if series["cut"].is_object() || series["protocol"] == "UDP" { UDP } else { TCP };
    if !WITH_BAR.contains(&quantity.as_str()) {
        return vec![row];
    }
    vec![row.judged(format!("1 within {:.0} %", bar * 100.0), |row| (row.value - 1.0).abs() <= bar)]
}
