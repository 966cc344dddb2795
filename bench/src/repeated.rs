//! What a study of ways says, when it is asked again: sizes at which two ways cost the same, and the way
//! that is advised.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;
use stress::bars::Row;

use crate::ours;

/// Pairs of ways, with the cells of their study.
const PAIRS: [(&str, &str); 2] = [
    (
        "send and send-more over veth",
        "link = { kind = \"veth\" }\n[[cells]]\ntest = \"TCP_STREAM\"\nnodelay = true\ncc = \"cubic\"\n\
         size = [64, 512, 1024, 2048, 4096, 16384]\napi = [\"send\", \"send-more\"]\n",
    ),
    (
        "send and sendmmsg over loopback",
        "link = { kind = \"loopback\" }\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = [64, 512, 2048, 8192, 16384, 32768]\n\
         api = [\"send\", \"sendmmsg\"]\n",
    ),
];

/// What advice is asked for: words, and flags.
const SCENARIOS: [(&str, &[&str]); 5] = [
    ("datagrams of 64 B over veth", &["--size", "64", "--protocol", "UDP"]),
    ("datagrams of 1 KiB over veth", &["--size", "1K", "--protocol", "UDP"]),
    ("datagrams of 8 KiB over loopback", &["--size", "8K", "--protocol", "UDP", "--link", "loopback"]),
    ("64 B by TCP over veth", &["--size", "64", "--protocol", "TCP"]),
    ("16 KiB by TCP over loopback", &["--size", "16K", "--protocol", "TCP", "--link", "loopback"]),
];

/// Finds the crossing of each pair in two runs.
pub fn crossings(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    PAIRS.iter().map(|(name, cells)| crossing(nettoll, name, cells, blocks)).collect()
}

fn crossing(nettoll: &Path, name: &str, cells: &str, blocks: u32) -> anyhow::Result<Row> {
    let find = |seed: u32| -> anyhow::Result<Value> {
        let plan = format!(
            "name = \"crossing\"\nseed = {seed}\ntrial = {{ length = \"100ms\", warmup = \"20ms\" }}\n\
             blocks = {{ least = {blocks}, most = {blocks} }}\n{cells}"
        );
        let analysis = ours::study(nettoll, &plan, &[])?;
        let crossings = analysis["ways"]["series"][0]["crossings"].as_array().with_context(|| format!("no crossings: {analysis}"))?;
        Ok(crossings.first().with_context(|| format!("no pair of ways: {analysis}"))?["place"].clone())
    };
    let (first, second) = (find(1)?, find(2)?);
    let interval = |place: &Value| {
        let size = &place["at"]["size"];
        Some((size["value"].as_f64()?, size["interval"]["low"].as_f64()?, size["interval"]["high"].as_f64()?))
    };
    let what = |words: &str| format!("crossing of {name}, {words}");
    Ok(match (interval(&first), interval(&second)) {
        (Some((one, low, high)), Some((other, least, most))) => {
            Row::printed(what(&format!("first run {one:.0} B ({low:.0} to {high:.0}), second")), other, "B", blocks as usize)
                .within(least, most)
                .against("the intervals of two runs overlap", low <= most && least <= high)
        }
        // Without a crossing in range both runs have to say so.
        _ => {
            let none = [&first, &second].iter().all(|place| place["nowhere"].is_object() || place["undecided"].is_object());
            Row::printed(what(&format!("{first}, then {second}")), f64::NAN, "B", blocks as usize)
                .against("both runs say that there is none", none)
        }
    })
}

/// Asks for advice twice in each scenario.
pub fn advice(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    SCENARIOS.iter().map(|(name, flags)| scenario(nettoll, name, flags, blocks)).collect()
}

fn scenario(nettoll: &Path, name: &str, flags: &[&str], blocks: u32) -> anyhow::Result<Row> {
    let ask = |seed: &str| -> anyhow::Result<Vec<Value>> {
        let runs = tempfile::tempdir().context("make a directory for the run")?;
        let blocks = blocks.to_string();
        let extent = ["--blocks", &blocks, "--seed", seed, "-J"];
        let answer = ours::json(Command::new(nettoll).arg("advise").args(flags).args(extent).arg("--runs").arg(runs.path()))?;
        answer["rankings"][0]["ways"].as_array().cloned().with_context(|| format!("no ranking: {answer}"))
    };
    let way = |ranked: &Value| [ranked["api"].clone(), ranked["receive"].clone(), ranked["batch"].clone()];
    let (first, again) = (ask("1")?, ask("2")?);
    let advised = first.first().context("no way was measured")?;
    let found = again.iter().find(|ranked| way(ranked) == way(advised)).context("the way was not measured again")?;
    let (cheapest, cost) = (&again[0]["cost_ns"]["value"], &found["cost_ns"]["value"]);
    let ratio = cost.as_f64().unwrap_or(f64::NAN) / cheapest.as_f64().unwrap_or(f64::NAN);
    let [api, ..] = way(advised).map(|part| part.as_str().unwrap_or_default().to_owned());
    // The first of a ranking is marked like those that it is not shown to be cheaper than.
    let is_cheapest = way(&again[0]) == way(advised) || found["ties"] == true;
    Ok(Row::printed(format!("{name}: {api} is advised; its cost over the cheapest, measured again"), ratio, "x", blocks as usize)
        .against("the cheapest, or not shown to cost more", is_cheapest))
}
