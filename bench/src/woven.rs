//! Equal arms, woven and in turn within the same minutes: how narrow their intervals are after ten seconds and how often
//! these hold 1, and how exactly slices take turns.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use analysis::result::hand_over::LATE;
use analysis::woven::WOVEN_TIME;
use anyhow::Context;
use model::woven::{OVERHEAD, SliceTimes};
use model::{Bytes, Cell, Nanos, Test};
use serde_json::Value;
use stats::median::median;

use crate::bars::Row;
use crate::{ours, pairs};

/// Runs of each kind for which the bars hold.
const FULL: u32 = 5;
/// Blocks of two trials of `study size`, which take as long in turn.
const BLOCKS: u64 = 32;
/// Largest median of hand-overs.
const HAND_OVER: Nanos = Nanos::new(50_000);
/// Largest share of late slices.
const LATE_SHARE: f64 = 0.01;
/// Runs of which so many intervals hold 1 at least, and so many verdicts are false at most.
const COVERAGE: [usize; 3] = [40, 36, 4];

/// Traffic and its bars.
struct Traffic {
    name: &'static str,
    test: Test,
    size: u64,
    flags: &'static [&'static str],
    /// Largest half-width, in percent.
    half_width: f64,
    /// Largest share of the half-width in turn.
    of_in_turn: Option<f64>,
}

const TRAFFIC: [Traffic; 6] = [
    traffic("UDP 1 KiB", (Test::UdpStream, 1_024), &[], 1.5, Some(1.0 / 3.0)),
    traffic("UDP GSO 1,448 B x 32", (Test::UdpStream, 1_448), &["--api", "gso", "--batch", "32"], 2.0, None),
    traffic("TCP_RR 64 B", (Test::TcpRr, 64), &[], 2.0, Some(1.0 / 2.0)),
    traffic("UDP_RR 64 B", (Test::UdpRr, 64), &[], 2.0, Some(1.0 / 3.0)),
    traffic("TCP 1,448 B", (Test::TcpStream, 1_448), &[], 3.0, None),
    traffic("TCP 16 KiB", (Test::TcpStream, 16 << 10), &[], 4.0, None),
];

const fn traffic(
    name: &'static str,
    (test, size): (Test, u64),
    flags: &'static [&'static str],
    half_width: f64,
    of_in_turn: Option<f64>,
) -> Traffic {
    Traffic { name, test, size, flags, half_width, of_in_turn }
}

/// The answer of a run about CPU time of both ends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Answer {
    /// Half-width of the interval of the ratio, in percent of it.
    half_width: f64,
    holds_one: bool,
    /// Better or worse: of equal arms, false.
    shown: bool,
    /// Of woven arms the median and the 99th percentile of hand-overs, in ns, and the share of late slices.
    turns: Option<[f64; 3]>,
}

/// Measures each traffic so often, each way.
pub fn measure(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for traffic in &TRAFFIC {
        let found = pairs::run(runs, || traffic.woven(nettoll), || traffic.in_turn(nettoll))?;
        rows.extend(traffic.rows(&found));
        all.extend(found);
    }
    let (woven, in_turn): (Vec<Answer>, Vec<Answer>) = all.into_iter().unzip();
    rows.extend(coverage("woven", &woven, runs >= FULL));
    rows.extend(coverage("in turn", &in_turn, false));
    Ok(rows)
}

impl Traffic {
    fn woven(&self, nettoll: &Path) -> anyhow::Result<Answer> {
        let cell = Cell::plain(self.test, Bytes::new(self.size));
        let times = SliceTimes::of(&cell, 2).ok().context("slices of this traffic are too short")?;
        let instances = WOVEN_TIME.get() / (times.instance_length(&cell, 2) + OVERHEAD).get();
        self.run(nettoll, instances, &["--woven"], "woven")
    }

    fn in_turn(&self, nettoll: &Path) -> anyhow::Result<Answer> {
        self.run(nettoll, BLOCKS, &["--in-turn"], "paired")
    }

    fn run(&self, nettoll: &Path, blocks: u64, way: &[&str], design: &str) -> anyhow::Result<Answer> {
        let runs = tempfile::tempdir().context("make a directory for the run")?;
        let [test, size, blocks] = [self.test.to_string(), self.size.to_string(), blocks.to_string()];
        let mut command = Command::new(nettoll);
        command.args(["study", "size", "-J", "--arm", "a", "--arm", "a", "--test", &test, "--size", &size, "--blocks", &blocks]);
        let begun = Instant::now();
        let analysis = ours::json(command.args(self.flags).args(way).arg("--runs").arg(runs.path()))?;
        let answer = Answer::of(&analysis, design).with_context(|| format!("no interval of {}, {design}: {analysis}", self.name))?;
        // Runs take minutes together.
        eprintln!("{}, {design}: ±{:.1} % in {:.1} s", self.name, answer.half_width, begun.elapsed().as_secs_f64());
        Ok(answer)
    }

    /// Medians over runs, woven and in turn.
    fn rows(&self, found: &[(Answer, Answer)]) -> Vec<Row> {
        let of = |figure: &dyn Fn(&(Answer, Answer)) -> f64| median(&found.iter().map(figure).collect::<Vec<_>>()).unwrap_or(f64::NAN);
        let row = |what: &str, value: f64, unit| Row::printed(format!("{}: {what}", self.name), value, unit, found.len());
        let barred = |row: Row, words: String, clears: bool| if found.len() >= FULL as usize { row.against(words, clears) } else { row };
        let (woven, in_turn) = (of(&|(woven, _)| woven.half_width), of(&|(_, in_turn)| in_turn.half_width));
        let share = of(&|(woven, in_turn)| woven.half_width / in_turn.half_width);
        let turns = |place: usize| of(&|(woven, _)| woven.turns.map_or(f64::NAN, |turns| turns[place]));
        let [half, most, late] = [turns(0), turns(1), turns(2)];
        let of_in_turn = row("half-width, woven / in turn", share, "x");
        vec![
            barred(row("half-width, woven", woven, "%"), format!("<= {} %", self.half_width), woven <= self.half_width),
            row("half-width, in turn", in_turn, "%"),
            match self.of_in_turn {
                Some(bar) => barred(of_in_turn, format!("<= {bar:.2}"), share <= bar),
                None => of_in_turn,
            },
            barred(row("hand-over, median of slices", half / 1e3, "us"), "<= 50 us".to_owned(), half <= HAND_OVER.get() as f64),
            row("hand-over, 99 in 100 slices", most / 1e3, "us"),
            barred(row(&format!("slices over {LATE} late"), late * 100.0, "%"), "<= 1 %".to_owned(), late <= LATE_SHARE),
        ]
    }
}

impl Answer {
    /// `None` without an interval, and of arms compared by another design.
    fn of(analysis: &Value, design: &str) -> Option<Self> {
        let metrics = analysis["verdicts"][0]["metrics"].as_array()?;
        let comparison = &metrics.iter().find(|metric| metric["metric"] == "cpu_per_message_ns")?["comparison"];
        let (cell, turns) = (&comparison["cells"][0], &analysis["hand_over"]);
        let (value, interval) = (cell["ratio"]["value"].as_f64()?, &cell["ratio"]["interval"]);
        let (low, high) = (interval["low"].as_f64()?, interval["high"].as_f64()?);
        let turns = || Some([turns["p50_ns"].as_f64()?, turns["p99_ns"].as_f64()?, turns["late_share"].as_f64()?]);
        (comparison["design"] == design).then(|| Self {
            half_width: (high - low) / 2.0 / value * 100.0,
            holds_one: (low..=high).contains(&1.0),
            shown: matches!(cell["verdict"].as_str(), Some("better" | "worse")),
            turns: turns(),
        })
    }
}

/// Intervals of equal arms that hold 1, and false verdicts.
fn coverage(way: &str, answers: &[Answer], barred: bool) -> [Row; 2] {
    let [full, holding, shown] = COVERAGE;
    let n = answers.len();
    let [held, wrong] = [|answer: &Answer| answer.holds_one, |answer: &Answer| answer.shown]
        .map(|counts| answers.iter().filter(|answer| counts(answer)).count());
    let row = |what: &str, count: usize| Row::printed(format!("equal arms, {way}: {what}"), count as f64, "", n);
    let against = |row: Row, words: String, clears: bool| if barred { row.against(words, clears) } else { row };
    [
        against(row("intervals that hold 1", held), format!(">= {holding} of {full}"), held * full >= holding * n),
        against(row("false verdicts", wrong), format!("<= {shown} of {full}"), wrong * full <= shown * n),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Answer, TRAFFIC, coverage};

    fn answer(half_width: f64, turns: Option<[f64; 3]>) -> Answer {
        Answer { half_width, holds_one: true, shown: false, turns }
    }

    #[test]
    fn an_answer_has_its_interval_its_verdict_and_its_turns() {
        let ratio = json!({ "value": 1.25, "interval": { "low": 1.2, "high": 1.3 } });
        let cells = json!([{ "ratio": ratio, "verdict": "worse" }]);
        let metric = json!({ "metric": "cpu_per_message_ns", "comparison": { "design": "woven", "cells": cells } });
        let turns = json!({ "slices": 9, "p50_ns": 30_000, "p99_ns": 90_000, "late_share": 0.25 });
        let mut analysis = json!({ "verdicts": [{ "metrics": [metric] }], "hand_over": turns });
        let found = Answer::of(&analysis, "woven").unwrap();
        assert!((found.half_width - 4.0).abs() < 1e-9 && !found.holds_one && found.shown, "{found:?}");
        assert_eq!(found.turns, Some([30_000.0, 90_000.0, 0.25]));
        assert_eq!(Answer::of(&analysis, "paired"), None, "compared the other way");
        analysis["verdicts"][0]["metrics"][0]["comparison"]["cells"][0]["ratio"]["interval"] = json!(null);
        assert_eq!(Answer::of(&analysis, "woven"), None);
    }

    #[test]
    fn medians_of_runs_are_held_to_the_bars_once_there_are_enough() {
        let pair = |woven: f64| (answer(woven, Some([40_000.0, 80_000.0, 0.02])), answer(3.0 * woven, None));
        let found = [1.0, 1.4, 9.0, 1.2, 1.6].map(pair);
        let rows = TRAFFIC[0].rows(&found);
        let clears = |place: usize| rows[place].clears;
        assert_eq!((rows[0].value, clears(0), rows[1].value, clears(1)), (1.4, Some(true), 3.0 * 1.4, None));
        assert!((rows[2].value - 1.0 / 3.0).abs() < 1e-9, "{:?}", rows[2]);
        assert_eq!((rows[3].value, clears(3), rows[4].value, clears(4)), (40.0, Some(true), 80.0, None));
        assert_eq!((rows[5].value, clears(5)), (2.0, Some(false)));
        assert!(TRAFFIC[0].rows(&found[..4]).iter().all(|row| row.clears.is_none()));
        // Without figures of turns no bar is cleared.
        let none = [1.0; 5].map(|woven| (answer(woven, None), answer(woven, None)));
        let rows = TRAFFIC[0].rows(&none);
        assert_eq!([2, 3, 5].map(|place| rows[place].clears), [Some(false); 3]);
    }

    #[test]
    fn coverage_is_asked_in_proportion() {
        let of = |missing: usize| -> Vec<Answer> {
            (0..30).map(|run| Answer { holds_one: run >= missing, shown: run < missing, ..answer(1.0, None) }).collect()
        };
        let clears = |missing: usize, barred: bool| coverage("woven", &of(missing), barred).map(|row| row.clears);
        assert_eq!((clears(3, true), clears(4, true), clears(4, false)), ([Some(true); 2], [Some(false); 2], [None; 2]));
    }
}
