//! A difference that is known: work of 1,000 ns before each datagram, found in
//! what a message costs its sender.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::bars::Row;
use crate::ours;

/// The added time, in ns.
const ADDED: f64 = 1_000.0;
/// Largest distance of the change from it, as a share.
const BAR: f64 = 0.10;
/// Largest half-width of its interval, in ns.
const REACH: f64 = 60.0;

/// The sizes lie within one frame. A receiver that spins is never woken; one that
/// blocks is woken less often the more of a message's time is not the kernel's.
fn plan(blocks: u32) -> String {
    format!(
        r#"
name = "known-difference"
trial = {{ length = "60ms", warmup = "10ms" }}
blocks = {{ least = {blocks}, most = {blocks} }}
arms = ["base", "work: work=1us"]
[[cells]]
test = "UDP_STREAM"
size = [1, 256, 512, 768, 1024, 1472]
waiting = ["spin", "block"]
"#
    )
}

/// Measures it in a number of blocks.
pub fn measure(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    let analysis = ours::study(nettoll, &plan(blocks), &[])?;
    let verdict = &analysis["verdicts"][0];
    let mut rows = Vec::new();
    for (series, spins) in [("UDP_STREAM (spinning)", true), ("UDP_STREAM", false)] {
        rows.extend(coefficients(verdict, series, spins)?);
    }
    rows.extend(wakeups(verdict, &analysis["cells"]));
    Ok(rows)
}

/// The sender's CPU: only next to a receiver that spins nothing else changes.
fn coefficients(verdict: &Value, series: &str, barred: bool) -> anyhow::Result<Vec<Row>> {
    let all = verdict["coefficients"].as_array().with_context(|| format!("no verdict: {verdict}"))?;
    let of = all.iter().find(|of| of["series"] == series && of["quantity"] == "sender_cpu");
    let found = of.and_then(|of| of["outcome"]["compared"]["coefficients"].as_array());
    let found = found.with_context(|| format!("no coefficients of {series}: {}", of.unwrap_or(&Value::Null)))?;
    let row = |coefficient: &Value| {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let change = &coefficient["difference_ns"];
        let (value, low, high) = (number(&change["value"]), number(&change["interval"]["low"]), number(&change["interval"]["high"]));
        let term = coefficient["term"].as_str().unwrap_or_default();
        let what = format!("{series}, 1 us of work a message: change of the sender's CPU per {term}");
        let row = Row::printed(what, value, "ns", change["n"].as_u64().unwrap_or_default() as usize).within(low, high);
        match (barred, term) {
            (true, "message") => {
                let clears = (value / ADDED - 1.0).abs() <= BAR && (high - low) / 2.0 <= REACH;
                row.against(format!("{ADDED:.0} ns within {:.0} %, within {REACH:.0} ns either way", BAR * 100.0), clears)
            }
            (true, "byte") => row.against("its interval contains 0", low <= 0.0 && 0.0 <= high),
            _ => row,
        }
    };
    Ok(found.iter().map(row).collect())
}

/// Returns how often a receiver that blocks was woken, without and with the work.
fn wakeups(verdict: &Value, cells: &Value) -> Vec<Row> {
    let means = verdict["means"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(of) = means.iter().find(|of| of["metric"] == "receiver_wakeups_per_message") else { return Vec::new() };
    let labels = cells.as_array().map_or(&[][..], Vec::as_slice).iter().map(|cell| cell["label"].as_str().unwrap_or_default());
    let moved = of["cells"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let row = |(label, moved): (&str, &Value)| {
        let number = |value: &Value| value.as_f64();
        let change = &moved["difference"];
        let row = Row::printed(
            format!("{label}: change of the receiver's wake-ups per message"),
            number(&change["value"])?,
            "",
            change["n"].as_u64()? as usize,
        );
        Some(row.within(number(&change["interval"]["low"])?, number(&change["interval"]["high"])?))
    };
    labels.zip(moved).filter_map(row).collect()
}
