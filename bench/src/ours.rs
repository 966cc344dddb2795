//! nettoll's own trials, as a study would run them.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use lab::connection::Credentials;
use lab::event::Quiet;
use lab::session::Session;
use model::plan::{ApprovedPlan, PlanEnd};
use model::trial::Measured;
use model::{Bytes, Cell, Nanos, Plan, Protocol, Test};
use serde_json::Value;
use testkit::made;

use crate::bare::{End, LENGTH_MS, Trial, WARMUP_MS};

/// Two hosts joined by a virtual Ethernet of usual settings.
pub fn session() -> anyhow::Result<Session> {
    let plan = plan(stream(Protocol::Udp, 1, 1), WARMUP_MS, LENGTH_MS);
    let session = Session::open(&approved(plan)?, &Credentials::default(), &mut Quiet)?;
    anyhow::ensure!(session.is_isolated(), "the benchmark needs namespaces of its own: run it as root");
    Ok(session)
}

/// A plan of one cell.
pub fn plan(cell: Cell, warmup_ms: u64, length_ms: u64) -> Plan {
    Plan {
        end: PlanEnd::Length(Nanos::from_millis(length_ms)),
        warmup: Nanos::from_millis(warmup_ms),
        blocks: made::blocks(1),
        ..made::plan("bench", vec![cell])
    }
}

/// A stream cell.
pub fn stream(protocol: Protocol, size: u64, read_size: u64) -> Cell {
    let test = match protocol {
        Protocol::Tcp => Test::TcpStream,
        Protocol::Udp => Test::UdpStream,
    };
    let read_size = Bytes::new(read_size);
    Cell { read_size, nodelay: protocol == Protocol::Tcp, ..Cell::plain(test, Bytes::new(size)) }
}

/// A plan that a benchmark made, to be carried out.
#[expect(clippy::disallowed_methods, reason = "a benchmark's own plan asks no user")]
pub fn approved(plan: Plan) -> anyhow::Result<ApprovedPlan> {
    let actions = plan.actions();
    Ok(plan.approve(&actions)?)
}

/// Runs the only cell of a plan once.
pub fn measure(session: &mut Session, plan: &Plan) -> anyhow::Result<Measured> {
    lab::trial::once(session, &approved(plan.clone())?, &mut Quiet).context("run a trial of nettoll")
}

/// One stream trial, in the terms of the bare loop.
pub fn run(session: &mut Session, protocol: Protocol, size: u64) -> anyhow::Result<Trial> {
    let read_size = if protocol == Protocol::Tcp { 128 << 10 } else { size };
    run_cell(session, stream(protocol, size, read_size))
}

/// The same of any cell.
pub fn run_cell(session: &mut Session, cell: Cell) -> anyhow::Result<Trial> {
    let measured = measure(session, &plan(cell, WARMUP_MS, LENGTH_MS))?;
    let end = |end: &model::end::EndReport| End {
        messages: end.counts.messages as f64,
        cpu_ns: end.cpu_time.process.get() as f64,
        switches: end.switches.voluntary as f64,
    };
    Ok(Trial { sender: end(&measured.sender), receiver: end(&measured.receiver) })
}

/// Runs a study of a plan, given as text, and returns its analysis.
pub fn study(nettoll: &Path, plan: &str, arguments: &[&str]) -> anyhow::Result<Value> {
    let directory = tempfile::tempdir().context("make a directory for the run")?;
    let file = directory.path().join("plan.toml");
    std::fs::write(&file, plan).context("write the plan")?;
    json(Command::new(nettoll).args(["study", "-J"]).args(arguments).arg("--plan").arg(&file).arg("--runs").arg(directory.path()))
}

/// Runs a command of nettoll and reads its answer.
pub fn json(command: &mut Command) -> anyhow::Result<Value> {
    let output = command.output().with_context(|| format!("start {}; build it first", command.get_program().display()))?;
    let said = || format!("read the answer of nettoll ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    serde_json::from_slice(&output.stdout).with_context(said)
}

/// The metric of verdicts: CPU time of both ends.
pub const BOTH_ENDS: &str = "cpu_per_message_ns";

/// Two arms that `study size` compares on one cell.
pub struct Arms {
    /// The question in a few words.
    pub name: &'static str,
    /// Test and size.
    pub cell: (Test, u64),
    /// The baseline and the other arm.
    pub arms: [&'static str; 2],
    /// Flags besides these.
    pub flags: &'static [&'static str],
    /// The metric that answers.
    pub metric: &'static str,
}

/// The answer of one study about two arms by one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Median of the baseline.
    pub baseline: f64,
    /// The other arm over the baseline.
    pub ratio: f64,
    /// Interval of the ratio.
    pub interval: [f64; 2],
    /// `better`, `worse` or `equivalent`; `None` where that is open.
    pub verdict: Option<&'static str>,
    /// Of woven arms the median and the 99th percentile of hand-overs, in ns, and the share of late slices.
    pub turns: Option<[f64; 3]>,
    /// Seconds from the command to the answer.
    pub seconds: f64,
}

/// Answers woven and in turn: `None` where a run failed.
pub type Pair = (Option<Answer>, Option<Answer>);

impl Arms {
    /// Compares the arms once by a design. A run that failed is named; the others take minutes together and are not lost
    /// with it.
    pub fn compare(&self, nettoll: &Path, flags: &[&str], design: &str) -> Option<Answer> {
        let begun = Instant::now();
        let analysis = self.analysis(nettoll, flags);
        let seconds = begun.elapsed().as_secs_f64();
        let answer = analysis.and_then(|analysis| {
            let answer = Answer::of(&analysis, self.metric, design, seconds);
            answer.with_context(|| format!("no interval of arms that are {design}: {:.500}", analysis.to_string()))
        });
        let words = answer.as_ref().map_or_else(|error| format!("failed: {error:#}"), Answer::to_string);
        eprintln!("{}, {design}: {words} in {seconds:.1} s", self.name);
        answer.ok()
    }

    fn analysis(&self, nettoll: &Path, flags: &[&str]) -> anyhow::Result<Value> {
        let runs = tempfile::tempdir().context("make a directory for the run")?;
        let ((test, size), [baseline, other]) = (self.cell, self.arms);
        let mut command = Command::new(nettoll);
        command.args(["study", "size", "-J", "--arm", baseline, "--arm", other, "--test", &test.to_string(), "--size", &size.to_string()]);
        json(command.args(self.flags).args(flags).arg("--runs").arg(runs.path()))
    }
}

impl Answer {
    /// `None` without an interval, and of arms compared by another design.
    fn of(analysis: &Value, metric: &str, design: &str, seconds: f64) -> Option<Self> {
        let metrics = analysis["verdicts"][0]["metrics"].as_array()?;
        let comparison = &metrics.iter().find(|one| one["metric"] == metric)?["comparison"];
        let (cell, turns) = (&comparison["cells"][0], &analysis["hand_over"]);
        let interval = &cell["ratio"]["interval"];
        let turns = || Some([turns["p50_ns"].as_f64()?, turns["p99_ns"].as_f64()?, turns["late_share"].as_f64()?]);
        let answer = Self {
            baseline: cell["medians"][0].as_f64()?,
            ratio: cell["ratio"]["value"].as_f64()?,
            interval: [interval["low"].as_f64()?, interval["high"].as_f64()?],
            verdict: ["better", "worse", "equivalent"].into_iter().find(|word| cell["verdict"] == *word),
            turns: turns(),
            seconds,
        };
        (comparison["design"] == design).then_some(answer)
    }

    /// Half-width of the interval, in percent of the ratio.
    pub fn half_width(&self) -> f64 {
        let [low, high] = self.interval;
        (high - low) / 2.0 / self.ratio * 100.0
    }

    /// Returns whether the interval holds a ratio.
    pub fn holds(&self, ratio: f64) -> bool {
        let [low, high] = self.interval;
        (low..=high).contains(&ratio)
    }

    /// Returns whether both intervals have a ratio in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let ([low, high], [least, most]) = (self.interval, other.interval);
        low <= most && least <= high
    }
}

/// `better, 0.85 ± 1.3 %`.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:.3} ± {:.1} %", self.verdict.unwrap_or("open"), self.ratio, self.half_width())
    }
}

#[cfg(test)]
pub mod tests {
    use serde_json::{Value, json};

    use super::{Answer, BOTH_ENDS};

    /// An answer of woven arms after a second.
    pub fn answer(ratio: f64, interval: [f64; 2], verdict: Option<&'static str>) -> Answer {
        Answer { baseline: 5_000.0, ratio, interval, verdict, turns: None, seconds: 1.0 }
    }

    fn analysis(design: &str, verdict: &Value) -> Value {
        let ratio = json!({ "value": 0.8, "interval": { "low": 0.78, "high": 0.82 }, "n": 8 });
        let comparison = json!({ "design": design, "cells": [{ "ratio": ratio, "medians": [5_000.0, 4_000.0], "verdict": verdict }] });
        json!({ "verdicts": [{ "metrics": [{ "metric": "other" }, { "metric": BOTH_ENDS, "comparison": comparison }] }] })
    }

    #[test]
    fn an_answer_is_of_its_metric_and_design() {
        let found = Answer::of(&analysis("woven", &json!("better")), BOTH_ENDS, "woven", 1.0);
        assert_eq!(found, Some(answer(0.8, [0.78, 0.82], Some("better"))));
        let open = Answer::of(&analysis("woven", &json!({ "inconclusive": { "smallest": 0.1 } })), BOTH_ENDS, "woven", 1.0);
        assert_eq!(open.map(|open| open.verdict), Some(None));
        assert_eq!(Answer::of(&analysis("paired", &json!("better")), BOTH_ENDS, "woven", 1.0), None);
        assert_eq!(Answer::of(&analysis("woven", &json!("better")), "sender_cpu_per_message_ns", "woven", 1.0), None);
        let mut without = analysis("woven", &json!("better"));
        without["verdicts"][0]["metrics"][1]["comparison"]["cells"][0]["ratio"]["interval"] = Value::Null;
        assert_eq!(Answer::of(&without, BOTH_ENDS, "woven", 1.0), None);
        let mut timed = analysis("woven", &json!("better"));
        timed["hand_over"] = json!({ "p50_ns": 20_000, "p99_ns": 90_000, "late_share": 0.01 });
        let turns = Answer::of(&timed, BOTH_ENDS, "woven", 1.0).and_then(|found| found.turns);
        assert_eq!(turns, Some([20_000.0, 90_000.0, 0.01]));
    }

    #[test]
    fn intervals_hold_ratios_and_overlap() {
        let one = answer(1.0, [0.98, 1.02], None);
        assert!((one.half_width() - 2.0).abs() < 1e-9 && one.holds(1.02) && !one.holds(1.021));
        let overlaps = |low: f64, high: f64| one.overlaps(&answer(1.0, [low, high], None));
        assert!(overlaps(1.02, 1.1) && overlaps(0.9, 0.98) && overlaps(0.99, 1.01));
        assert!(!overlaps(1.03, 1.1) && !overlaps(0.9, 0.97));
    }
}
