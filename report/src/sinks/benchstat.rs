//! Trials in the format of Go's benchmarks, which `benchstat` reads (Go proposal 14313, "Benchmark
//! data format"): a line for each trial, so that its own statistics can be made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use analysis::result::{Metric, Unit};
use analysis::table::TrialTable;
use model::host::HostFacts;
use model::plan::{Factor, Link};
use model::{Bytes, Cell, Run, Test};

use super::csv::{PIECE, level};
use crate::origin;

/// Metrics of a line besides the time.
const METRICS: [(Metric, &str); 6] = [
    (Metric::CpuPerMessageNs, "cpu-ns/op"),
    (Metric::SenderCpuPerMessageNs, "sender-ns/op"),
    (Metric::ReceiverCpuPerMessageNs, "receiver-ns/op"),
    (Metric::GoodputBitPerS, "bit/s"),
    (Metric::RoundTripP50Ns, "p50-ns"),
    (Metric::RoundTripP99Ns, "p99-ns"),
];

/// Tells `out` the trials of a run in pieces of whole lines. Its facts stand before them as keys
/// of configuration.
///
/// # Errors
/// The first of `out`.
pub fn trials<E>(run: &Run, hosts: &[HostFacts], table: &TrialTable, mut out: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let mut text = String::new();
    let mut key = |name: &str, value: &str| {
        // A key has one line; an empty one takes back that of the run before.
        let _ = writeln!(text, "{name}: {}", value.replace(char::is_control, " "));
    };
    origin::facts(run, hosts).iter().for_each(|(name, fact)| key(name, fact));
    key("study", &run.plan.name);
    key("link", &links(run, table));
    let named = named(run);
    for (arm, name) in table.arm_names().into_iter().enumerate() {
        for (cell, planned) in table.arm(arm).iter().zip(&run.plan.cells) {
            let name = name_of(planned, &named, &run.plan.link, name);
            for (at, trial) in cell.figures.iter().enumerate() {
                if at % PIECE == 0 && !text.is_empty() {
                    out(&std::mem::take(&mut text))?;
                }
                let Some(time) = trial.get(Metric::TimePerMessageNs) else { continue };
                let _ = write!(text, "Benchmark{name} 1 {time} ns/op");
                for (metric, unit) in METRICS {
                    if let Some(value) = trial.get(metric).filter(|value| value.is_finite()) {
                        debug_assert!(matches!(metric.unit(), Unit::Nanoseconds | Unit::BitsPerSecond));
                        let _ = write!(text, " {value} {unit}");
                    }
                }
                text.push('\n');
            }
        }
    }
    out(&text)
}

/// The links of a run. Where it has several, names of cells or arms distinguish them.
fn links(run: &Run, table: &TrialTable) -> String {
    let arms = (0..table.arm_names().len()).flat_map(|arm| table.arm(arm));
    let links: BTreeSet<String> = arms.map(|cell| level(Factor::Link, &cell.cell, &run.plan.link).0).collect();
    links.into_iter().filter(|link| !link.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Factors that name the cells of a run: those of which cells of one test and size have several levels, and the size. The
/// settings of an arm are no part of a name, so that `-col /arm` compares the arms of one cell.
fn named(run: &Run) -> Vec<Factor> {
    let tells_apart = |factor: Factor| {
        let mut levels: BTreeMap<(Test, Bytes), String> = BTreeMap::new();
        run.plan.cells.iter().any(|cell| {
            let found = level(factor, cell, &run.plan.link).0;
            *levels.entry((cell.test, cell.size)).or_insert_with(|| found.clone()) != found
        })
    };
    let others = Factor::ALL.iter().copied().filter(|factor| *factor != Factor::Size && tells_apart(*factor));
    others.chain([Factor::Size]).collect()
}

/// A name of keys and values: `TCP_RR/arm=a-1/nodelay=true/size=64`. The size is last, because Go takes `-1` at the end of a name
/// for a number of CPUs.
fn name_of(cell: &Cell, named: &[Factor], link: &Link, arm: Option<&str>) -> String {
    let word = |text: &str| text.replace(|letter: char| letter.is_whitespace() || letter == '/', "_");
    let levels = named.iter().map(|factor| (factor.column(), level(*factor, cell, link).0));
    let others = [("mix", cell.mix.as_ref().map(|mix| mix.name.as_str())), ("arm", arm)];
    let others = others.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    let keys = others.chain(levels.filter(|(_, level)| !level.is_empty()));
    keys.fold(cell.test.to_string(), |name, (key, value)| format!("{name}/{key}={}", word(&value)))
}
