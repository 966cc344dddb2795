//! A real machine against itself: how often its verdicts are false.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use serde_json::Value;

use crate::ours;
use stress::bars::Row;

/// A short study: enough blocks for a verdict over its cells, and no more.
const PLAN: &str = r#"
name = "equal-arms"
trial = { length = "25ms", warmup = "5ms" }
blocks = { least = 10, most = 10 }
arms = ["a", "a"]
[[cells]]
test = "UDP_STREAM"
size = [1, 512, 1472]
[[cells]]
test = "TCP_STREAM"
size = [64, 1448, 16384]
nodelay = true
[[cells]]
test = ["UDP_RR", "TCP_RR"]
size = 1
nodelay = true
"#;

/// The most false verdicts of 60 studies.
const BAR: usize = 6;
/// Studies for which it holds.
const FULL: u32 = 60;

/// Compares this machine with itself in a number of studies.
pub fn measure(nettoll: &Path, studies: u32) -> anyhow::Result<Vec<Row>> {
    let (mut shown, mut noises, mut smallest) = (Vec::new(), Vec::new(), Vec::new());
    let begun = Instant::now();
    for seed in 0..studies {
        let analysis = ours::study(nettoll, PLAN, &["--seed", &(1_000 + seed).to_string()])?;
        let verdict = &analysis["verdicts"][0];
        let metrics = verdict["metrics"].as_array().with_context(|| format!("no verdict: {analysis}"))?;
        let of = |metric: &Value| metric["comparison"]["overall"]["verdict"].clone();
        shown.push(metrics.iter().map(|metric| (metric["metric"].clone(), is_shown(&of(metric)))).collect::<Vec<_>>());
        noises.extend(verdict["self_test"]["noise"].as_f64());
        smallest.extend(of(&metrics[0])["inconclusive"]["smallest"].as_f64());
    }
    Ok(rows(&shown, &noises, &smallest, begun.elapsed().as_secs_f64() / f64::from(studies.max(1)), studies))
}

fn is_shown(verdict: &Value) -> bool {
    verdict.as_str().is_some_and(|word| ["better", "worse", "mixed"].contains(&word))
}

fn rows(shown: &[Vec<(Value, bool)>], noises: &[f64], smallest: &[f64], seconds: f64, studies: u32) -> Vec<Row> {
    let n = shown.len();
    let metrics = shown.first().map_or(Vec::new(), |first| first.iter().map(|(metric, _)| metric.clone()).collect());
    let mut rows: Vec<Row> = Vec::new();
    for (place, metric) in metrics.iter().enumerate() {
        let false_ones = shown.iter().filter(|study| study.get(place).is_some_and(|(_, shown)| *shown)).count();
        let what = format!("a against a, false overall verdicts by {}", metric.as_str().unwrap_or_default());
        let row = Row::printed(what, false_ones as f64, "", n);
        // What a conclusion follows from comes first.
        rows.push(if place == 0 && studies >= FULL {
            row.against(format!("<= {BAR} of {FULL}"), false_ones * FULL as usize <= BAR * n)
        } else {
            row
        });
    }
    let median = |values: &[f64]| stats::median::median(values).unwrap_or(f64::NAN);
    rows.push(Row::printed("  a block's ratio scatters by, in the middling cell", median(noises), "", noises.len()));
    rows.push(Row::printed("  the smallest difference that a study could have shown in every cell", median(smallest), "", smallest.len()));
    rows.push(Row::printed("  seconds a study", seconds, "s", n));
    rows
}
