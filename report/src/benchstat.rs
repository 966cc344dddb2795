//! Trials in the format of Go's benchmarks, which `benchstat` reads (Go proposal 14313, "Benchmark
//! data format"): a line for each trial, so that its own statistics can be made of them.

use std::collections::BTreeMap;
use std::fmt::Write;

use analysis::result::{Metric, Unit};
use analysis::table::TrialTable;
use model::host::{HostFacts, hardware};
use model::plan::{Factor, Link};
use model::{Bytes, Cell, Run, Test};

use crate::clock;
use crate::csv::{PIECE, level};

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
    key("run", &run.id);
    key("study", &run.plan.name);
    key("started", &clock::plain(run.started_ms));
    key("nettoll", &run.tool);
    let host = hosts.first();
    key("kernel", host.map_or("", |host| &host.kernel));
    key("cpu", host.map_or("", |host| &host.cpu_model));
    key("machine", &hardware(hosts));
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

/// Factors that name the cells of a run: the size, and those of which cells of one test and size have several levels. The
/// settings of an arm are no part of a name, so that `-col /arm` compares the arms of one cell.
fn named(run: &Run) -> Vec<Factor> {
    let tells_apart = |factor: Factor| {
        let mut levels: BTreeMap<(Test, Bytes), String> = BTreeMap::new();
        run.plan.cells.iter().any(|cell| {
            let found = level(factor, cell, &run.plan.link).to_string();
            *levels.entry((cell.test, cell.size)).or_insert_with(|| found.clone()) != found
        })
    };
    Factor::ALL.iter().copied().filter(|factor| *factor == Factor::Size || tells_apart(*factor)).collect()
}

/// A name of keys and values: `UDP_STREAM/size=64/nodelay=true/arm=a`.
fn name_of(cell: &Cell, named: &[Factor], link: &Link, arm: Option<&str>) -> String {
    let word = |text: &str| text.replace(|letter: char| letter.is_whitespace() || letter == '/', "_");
    let levels = named.iter().map(|factor| (factor.column(), level(*factor, cell, link).to_string()));
    let others = [("mix", cell.mix.as_ref().map(|mix| mix.name.as_str())), ("arm", arm)];
    let others = others.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    let keys = levels.filter(|(_, level)| !level.is_empty()).chain(others);
    keys.fold(cell.test.to_string(), |name, (key, value)| format!("{name}/{key}={}", word(&value)))
}
