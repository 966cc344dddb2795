//! What a study of ways says, when it is asked again: sizes at which two ways cost the same, and the way
//! that is advised.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::bars::{Row, number};
use anyhow::Context;
use serde_json::Value;

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

/// Where sizes do not tell two ways apart, either may cost at most this share more, or it is not known that
/// they do not cross.
const MOST_UNTOLD: f64 = 0.25;

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
        Ok(crossings.first().with_context(|| format!("no pair of ways: {analysis}"))?.clone())
    };
    let (first, second) = (Found::of(&find(1)?), Found::of(&find(2)?));
    let row = |value| Row::printed(format!("crossing of {name}: {first}, then {second}"), value, "B", blocks as usize);
    Ok(match (&first, &second) {
        (Found::At { above, low, high, .. }, Found::At { above: again, size, low: least, high: most }) => {
            row(*size).within(*least, *most).against("the intervals of two runs overlap", above == again && low <= most && least <= high)
        }
        (Found::None { cheaper, at_most }, Found::None { cheaper: again, at_most: most }) => {
            let agree = cheaper.iter().chain(again).collect::<BTreeSet<_>>().len() <= 1;
            let known = [at_most, most].into_iter().flatten().all(|most| *most <= MOST_UNTOLD);
            let bar = format!("both find none, the same way cheaper, and at most {:.0} % between them elsewhere", MOST_UNTOLD * 100.0);
            row(f64::NAN).against(bar, agree && known)
        }
        _ => row(f64::NAN).against("two runs say the same", false),
    })
}

/// What one run says of a pair of ways.
enum Found {
    /// They cross once, at this size in bytes with its interval.
    At { above: u64, size: f64, low: f64, high: f64 },
    /// They do not; the cheaper ones of the sizes that distinguish them, and by which share one may cost more
    /// at the others.
    None { cheaper: Vec<u64>, at_most: Option<f64> },
    /// Anything else.
    Other(String),
}

impl Found {
    fn of(crossing: &Value) -> Self {
        let changes = crossing["changes"].as_array().map_or(&[][..], Vec::as_slice);
        let one = || {
            let [change] = changes else { return None };
            let (size, interval) = (&change["size"]["value"], &change["size"]["interval"]);
            let (low, high) = (interval["low"].as_f64()?, interval["high"].as_f64()?);
            Some(Self::At { above: change["above"].as_u64()?, size: size.as_f64()?, low, high })
        };
        let none = || {
            let (sizes, at_most) = (crossing["cheaper"].as_array()?, crossing["at_most"].as_f64());
            let cheaper: Vec<u64> = sizes.iter().filter_map(Value::as_u64).collect();
            (changes.is_empty() && !sizes.is_empty()).then_some(Self::None { cheaper, at_most })
        };
        one().or_else(none).unwrap_or_else(|| Self::Other(crossing.to_string()))
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { size, low, high, .. } => write!(f, "{size:.0} B ({low:.0} to {high:.0})"),
            Self::None { cheaper, at_most } => {
                write!(f, "none ({} sizes tell them apart", cheaper.len())?;
                at_most.map_or(Ok(()), |most| write!(f, ", at the others either costs at most {:.0} % more", most * 100.0))?;
                f.write_str(")")
            }
            Self::Other(crossing) => f.write_str(crossing),
        }
    }
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
    let ratio = number(cost) / number(cheapest);
    let [api, ..] = way(advised).map(|part| part.as_str().unwrap_or_default().to_owned());
    // The first of a ranking is one of its ties.
    Ok(Row::printed(format!("{name}: {api} is advised; its cost over the cheapest, measured again"), ratio, "x", blocks as usize)
        .against("the cheapest, or not shown to cost more", found["ties"] == true))
}
