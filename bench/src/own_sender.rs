//! nettoll's own sender, attached to while it sends and in a receipt of the same traffic.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use model::schedule::{self, Shape};
use serde_json::Value;
use sys::process::Stat;
use testkit::processes::{self, Process};

use crate::bars::Row;
use crate::endure::tool::{Study, Tool};
use crate::{attached, ours};

/// Largest distance of a layer's shares.
const POINTS: f64 = 0.05;
/// What is sent: tests and sizes.
const TRAFFIC: [(&str, u64); 3] = [("UDP_STREAM", 1024), ("TCP_STREAM", 16 << 10), ("TCP_RR", 64)];
/// The longest that a sender takes to start.
const START: Duration = Duration::from_secs(20);
/// The seed of orders: it decides which host sends first.
const SEED: u64 = 31;
/// Ticks of CPU time after which its traffic flows.
const BUSY: u64 = 20;

/// Observes each for `seconds`, then makes its receipt.
pub fn measure(nettoll: &Path, seconds: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (test, size) in TRAFFIC {
        let attached = of_attached(nettoll, test, size, seconds)?;
        let plan = plan(test, size, "200ms", 6) + "receipt = { samples = 8000 }\n";
        let study = ours::study(nettoll, &plan, &[])?;
        let receipt = &study["receipt"]["cells"][0]["sender"]["outcome"]["made"];
        ensure!(receipt.is_object(), "no receipt of the sender: {}", study["receipt"]["cells"][0]);
        rows.push(row(&format!("{test}, {size} B"), &attached, receipt));
    }
    Ok(rows)
}

/// A plan of one cell over a virtual Ethernet.
fn plan(test: &str, size: u64, length: &str, blocks: u32) -> String {
    format!(
        "name = \"sender\"\nseed = {SEED}\ncells = [{{ test = \"{test}\", size = {size} }}]\nlink = {{ kind = \"veth\" }}\n\
         trial = {{ length = \"{length}\", warmup = \"20ms\" }}\nblocks = {{ least = {blocks}, most = {blocks} }}\n"
    )
}

/// The receipt that `attach` makes of the sender of one long trial.
fn of_attached(nettoll: &Path, test: &str, size: u64, seconds: u32) -> anyhow::Result<Value> {
    let tool = Tool::new(nettoll)?;
    let mut study = tool.start(&[], &plan(test, size, &format!("{}s", seconds + 60), 1), &[])?;
    let sender = sender(tool.mark(), &mut study)?;
    // The study ends with its owner.
    attached::receipt(nettoll, &sender.pid.to_string(), seconds, "sends", &tool.file("attached"))
}

/// The endpoint that sends in the first block of a study, once it does.
fn sender(mark: &str, study: &mut Study) -> anyhow::Result<Process> {
    let name = if schedule::block(SEED, 0, Shape::plain(1, 1)).swapped { "b" } else { "a" };
    let begun = Instant::now();
    while begun.elapsed() < START && !study.is_over() {
        let all = processes::marked(mark);
        let host = all.iter().find(|process| process.kind == "__host" && process.name == name);
        let endpoint = host.and_then(|host| all.iter().find(|process| process.kind == "__endpoint" && process.parent == host.pid));
        let sends = |endpoint: &&Process| Stat::of(endpoint.pid).is_some_and(|stat| stat.ticks.iter().sum::<u64>() >= BUSY);
        if let Some(endpoint) = endpoint.filter(sends) {
            return Ok(endpoint.clone());
        }
        thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("the study sends nothing within {} s", START.as_secs())
}

/// The layer whose shares of the samples are furthest apart.
fn row(traffic: &str, attached: &Value, receipt: &Value) -> Row {
    let [ours, theirs] = [attached, receipt].map(layers);
    let share = |layers: &BTreeMap<String, f64>, layer| layers.get(layer).copied().unwrap_or_default();
    let distances = ours.keys().chain(theirs.keys()).map(|layer| (layer, share(&ours, layer) - share(&theirs, layer)));
    let furthest = distances.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let (layer, apart) = furthest.map_or(("none", f64::NAN), |(layer, apart)| (layer.as_str(), apart));
    let samples = attached["samples"].as_u64().unwrap_or_default() as usize;
    Row::printed(format!("{traffic}: largest distance of a layer, attached less in a receipt: {layer}"), apart * 100.0, "points", samples)
        .against(format!("within {:.0} points", POINTS * 100.0), apart.abs() <= POINTS)
}

/// Shares of layers in the sampled time: the rest of the CPU time, in no row, differs with the kinds of windows.
fn layers(receipt: &Value) -> BTreeMap<String, f64> {
    let rows = receipt["layers"].as_array().into_iter().flatten();
    let shares: Vec<(String, f64)> =
        rows.filter_map(|row| Some((row["key"].as_str()?.to_owned(), row["share"]["value"].as_f64()?))).collect();
    let all = shares.iter().map(|(_, share)| share).sum::<f64>();
    shares.into_iter().map(|(layer, share)| (layer, share / all)).collect()
}
