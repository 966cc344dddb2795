//! The transport providers against the kernel's sockets: the cost of a message and of each byte
//! adds, as ratios.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::bars::Row;
use crate::ours;

/// Largest half-width of an interval, as a share.
const HALF_WIDTH: f64 = 0.03;

/// Measures over loopback, as in 2007, where sizes reach far enough for what a byte costs: both against connected sockets, and against the provider's fair base, sockets that are not
/// connected.
pub fn measure(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for base in ["send", "sendto"] {
        let plan = format!(
            "name = \"implementations\"\ntrial = {{ length = \"100ms\", warmup = \"20ms\" }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n\
             link = {{ kind = \"loopback\" }}\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = [64, 512, 1460, 4096, 16384]\napi = [\"{base}\", \"tpi-sockets\", \"tpi-streams\"]\n"
        );
        let analysis = ours::study(nettoll, &plan, &[])?;
        let series = &analysis["ways"]["series"][0];
        let ways = series["ways"].as_array().with_context(|| format!("no ways: {analysis}"))?;
        for way in ways.iter().filter(|way| way["api"] != base) {
            rows.extend(of_way(way, base, blocks as usize));
        }
    }
    Ok(rows)
}

fn of_way(way: &Value, base: &str, n: usize) -> Vec<Row> {
    let name = way["api"].as_str().unwrap_or_default();
    let line = &way["line"];
    if line.is_null() {
        return vec![Row::printed(format!("{name} / {base}: the cost is no line in the size"), f64::NAN, "x", n)];
    }
    let row = |what: &str, key: &str| {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let ratio = &line[key];
        let (value, low, high) = (number(&ratio["value"]), number(&ratio["interval"]["low"]), number(&ratio["interval"]["high"]));
        let half_width = (high - low) / 2.0 / value;
        // The second copy: a byte costs the provider above sockets more, as in 2007.
        let apart = name != "tpi-sockets" || key != "byte_of_base" || low > 1.0;
        let words = if name == "tpi-sockets" && key == "byte_of_base" { ", lower end > 1" } else { "" };
        Row::printed(format!("cost per {what}, {name} / {base}"), value, "x", n)
            .within(low, high)
            .against(format!("half-width <= {HALF_WIDTH}{words}"), half_width <= HALF_WIDTH && apart)
    };
    vec![row("message", "message_of_base"), row("byte", "byte_of_base")]
}
