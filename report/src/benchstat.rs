//! Trials in the format of Go's benchmarks, which `benchstat` reads (Go proposal 14313, "Benchmark
//! data format"): a line for each trial, so that its own statistics can be made of them.

use std::fmt::Write;

use analysis::result::{Metric, Unit};
use analysis::table::TrialTable;
use model::Cell;
use model::Run;
use model::host::HostFacts;

use crate::csv::PIECE;

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
    key("nettoll", &run.tool);
    let host = hosts.first();
    key("kernel", host.map_or("", |host| &host.kernel));
    key("cpu", host.map_or("", |host| &host.cpu_model));
    for (arm, name) in table.arm_names().into_iter().enumerate() {
        for cell in table.arm(arm) {
            let name = name_of(&cell.cell, name);
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

/// A name without blanks: `UDP_STREAM/64/...` as a cell is written, the arm as a key.
fn name_of(cell: &Cell, arm: Option<&str>) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("/");
    let arm = arm.map_or_else(String::new, |arm| format!("/arm={}", words(arm)));
    format!("{}{arm}", words(&cell.to_string()))
}
