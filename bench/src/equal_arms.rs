//! A real machine against itself: how often its verdicts are false.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;

use crate::bars::Row;
use crate::ours;

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

/// The most studies of 60 with a false verdict on any cell by any metric of the gate.
const BAR: usize = 6;
/// Studies for which it holds.
const FULL: u32 = 60;

/// Verdicts on cells by one metric, over all studies.
#[derive(Default)]
struct Verdicts {
    equivalent: usize,
    inconclusive: usize,
    /// Better or worse: of two arms that are one, false.
    shown: usize,
}

/// Compares this machine with itself in a number of studies.
pub fn measure(nettoll: &Path, studies: u32) -> anyhow::Result<Vec<Row>> {
    let mut by_metric: BTreeMap<String, Verdicts> = BTreeMap::new();
    let (mut conclusions, mut noises) = (BTreeMap::<String, usize>::new(), Vec::new());
    let mut false_studies = 0;
    let begun = Instant::now();
    for seed in 0..studies {
        let analysis = ours::study(nettoll, PLAN, &["--seed", &(1_000 + seed).to_string()])?;
        let verdict = &analysis["verdicts"][0];
        let metrics = verdict["metrics"].as_array().with_context(|| format!("no verdict: {analysis}"))?;
        let mut shown = false;
        for metric in metrics.iter().filter(|metric| metric["gate"] == true) {
            let counts = by_metric.entry(metric["metric"].as_str().unwrap_or_default().to_owned()).or_default();
            for cell in metric["comparison"]["cells"].as_array().into_iter().flatten() {
                match cell["verdict"].as_str() {
                    Some("equivalent") => counts.equivalent += 1,
                    Some("better" | "worse") => (counts.shown, shown) = (counts.shown + 1, true),
                    _ => counts.inconclusive += 1,
                }
            }
        }
        false_studies += usize::from(shown);
        *conclusions.entry(verdict["conclusion"].as_str().unwrap_or("none").to_owned()).or_default() += 1;
        noises.extend(verdict["self_test"]["noise"].as_f64());
    }
    let n = studies as usize;
    let row = Row::printed("a against a: studies with a false better or worse", false_studies as f64, "", n);
    let mut rows = vec![row.against_if(studies >= FULL, format!("<= {BAR} of {FULL}"), false_studies * FULL as usize <= BAR * n)];
    rows.extend(conclusions.iter().map(|(word, count)| Row::printed(format!("  studies that end {word}"), *count as f64, "", n)));
    rows.extend(by_metric.iter().flat_map(|(metric, counts)| counts.rows(metric)));
    let noise = stats::median::median(&noises).unwrap_or(f64::NAN);
    rows.push(Row::printed("  a block's ratio scatters by, in the median cell", noise, "", noises.len()));
    rows.push(Row::printed("  seconds a study", begun.elapsed().as_secs_f64() / f64::from(studies.max(1)), "s", n));
    Ok(rows)
}

impl Verdicts {
    fn rows(&self, metric: &str) -> [Row; 3] {
        let all = self.equivalent + self.inconclusive + self.shown;
        let row = |word: &str, count: usize| Row::printed(format!("  {metric}: share of cells {word}"), count as f64 / all as f64, "", all);
        [row("equivalent", self.equivalent), row("inconclusive", self.inconclusive), row("better or worse", self.shown)]
    }
}
