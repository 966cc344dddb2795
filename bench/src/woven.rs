//! Equal arms, woven and in turn within the same minutes: how narrow their intervals are after ten seconds and how often
//! these hold 1, and how exactly slices take turns.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use analysis::result::hand_over::LATE;
use analysis::woven::WOVEN_TIME;
use anyhow::Context;
use model::woven::{OVERHEAD, SliceTimes};
use model::{Bytes, Cell, Test};
use serde_json::Value;
use stats::median::median;

use crate::bars::Row;
use crate::pairs;

/// Runs of each kind for which the bars hold.
const FULL: u32 = 5;
/// Blocks of two trials of `study size`, which take as long in turn.
const BLOCKS: u64 = 32;
/// Largest median of hand-overs.
const HAND_OVER_US: f64 = 50.0;
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
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// Half-width of the interval of the ratio, in percent of it.
    half_width: f64,
    holds_one: bool,
    /// Better or worse: of equal arms, false.
    shown: bool,
    /// Of woven arms the median and the 99th percentile of hand-overs, in ns, and the share of late slices.
    turns: Option<[f64; 3]>,
}

/// A pair of runs, woven and in turn: `None` where one failed.
type Pair = (Option<Answer>, Option<Answer>);

/// Measures each traffic so often, each way.
pub fn measure(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for traffic in &TRAFFIC {
        let pairs = pairs::run(runs, || traffic.woven(nettoll), || traffic.in_turn(nettoll))?;
        rows.extend(traffic.rows(&pairs));
        all.extend(pairs);
    }
    let (woven, in_turn): (Vec<Option<Answer>>, Vec<Option<Answer>>) = all.into_iter().unzip();
    rows.extend(coverage("woven", &woven, runs >= FULL));
    rows.extend(coverage("in turn", &in_turn, false));
    Ok(rows)
}

impl Traffic {
    fn woven(&self, nettoll: &Path) -> anyhow::Result<Option<Answer>> {
        let cell = Cell::plain(self.test, Bytes::new(self.size));
        let times = SliceTimes::of(&cell, 2).ok().context("slices of this traffic are too short")?;
        let instances = WOVEN_TIME.get() / (times.instance_length(&cell, 2) + OVERHEAD).get();
        Ok(self.run(nettoll, instances, "--woven", "woven"))
    }

    fn in_turn(&self, nettoll: &Path) -> anyhow::Result<Option<Answer>> {
        Ok(self.run(nettoll, BLOCKS, "--in-turn", "paired"))
    }

    /// Compares equal arms once. A run that failed is named; the others take minutes together and are not lost with it.
    fn run(&self, nettoll: &Path, blocks: u64, way: &str, design: &str) -> Option<Answer> {
        let begun = Instant::now();
        let answer = self.compare(nettoll, blocks, way, design);
        let words = match &answer {
            Ok(answer) => format!("±{:.1} %", answer.half_width),
            Err(error) => format!("failed: {error:#}"),
        };
        eprintln!("{}, {design}: {words} in {:.1} s", self.name, begun.elapsed().as_secs_f64());
        answer.ok()
    }

    fn compare(&self, nettoll: &Path, blocks: u64, way: &str, design: &str) -> anyhow::Result<Answer> {
        let runs = tempfile::tempdir().context("make a directory for the run")?;
        let [test, size, blocks] = [self.test.to_string(), self.size.to_string(), blocks.to_string()];
        let mut command = Command::new(nettoll);
        command.args(["study", "size", "-J", "--arm", "a", "--arm", "a", "--test", &test, "--size", &size, "--blocks", &blocks]);
        command.args(self.flags).arg(way).arg("--runs").arg(runs.path());
        let output = command.output().context("start nettoll; build it first")?;
        let answer = serde_json::from_slice(&output.stdout).ok().and_then(|analysis| Answer::of(&analysis, design));
        answer.with_context(|| format!("no interval ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end()))
    }

    /// Medians over runs, woven and in turn.
    fn rows(&self, pairs: &[Pair]) -> Vec<Row> {
        let barred = |row: Row, words: String, clears: bool| if pairs.len() >= FULL as usize { row.against(words, clears) } else { row };
        let of = |what: &str, unit, figure: &dyn Fn(&Pair) -> Option<f64>| {
            let figures: Vec<f64> = pairs.iter().filter_map(figure).collect();
            Row::printed(format!("{}: {what}", self.name), median(&figures).unwrap_or(f64::NAN), unit, figures.len())
        };
        let width = |answer: Option<Answer>| answer.map(|answer| answer.half_width);
        let turns = |what: &str, unit, place: usize, scale: f64| {
            of(what, unit, &|(woven, _)| woven.and_then(|woven| woven.turns).map(|turns| turns[place] * scale))
        };
        let woven = of("half-width, woven", "%", &|(woven, _)| width(*woven));
        let share = of("half-width, woven / in turn", "x", &|(woven, in_turn)| Some(width(*woven)? / width(*in_turn)?));
        let half = turns("hand-over, median of slices", "us", 0, 1e-3);
        let late = turns(&format!("slices over {LATE} late"), "%", 2, 100.0);
        let failed = pairs.iter().map(|(woven, in_turn)| usize::from(woven.is_none()) + usize::from(in_turn.is_none())).sum::<usize>();
        let [narrow, short, punctual] = [woven.value <= self.half_width, half.value <= HAND_OVER_US, late.value <= LATE_SHARE * 100.0];
        vec![
            barred(woven, format!("<= {} %", self.half_width), narrow),
            of("half-width, in turn", "%", &|(_, in_turn)| width(*in_turn)),
            match self.of_in_turn {
                Some(bar) => {
                    let clears = share.value <= bar;
                    barred(share, format!("<= {bar:.2}"), clears)
                }
                None => share,
            },
            barred(half, format!("<= {HAND_OVER_US} us"), short),
            turns("hand-over, 99 in 100 slices", "us", 1, 1e-3),
            barred(late, "<= 1 %".to_owned(), punctual),
            barred(
                Row::printed(format!("{}: runs that failed", self.name), failed as f64, "", 2 * pairs.len()),
                "0".to_owned(),
                failed == 0,
            ),
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
fn coverage(way: &str, answers: &[Option<Answer>], barred: bool) -> [Row; 2] {
    let [full, holding, shown] = COVERAGE;
    let n = answers.iter().flatten().count();
    let [held, wrong] = [|answer: &&Answer| answer.holds_one, |answer: &&Answer| answer.shown]
        .map(|counts| answers.iter().flatten().filter(counts).count());
    let row = |what: &str, count: usize| Row::printed(format!("equal arms, {way}: {what}"), count as f64, "", n);
    let against = |row: Row, words: String, clears: bool| if barred { row.against(words, clears) } else { row };
    [
        against(row("intervals that hold 1", held), format!(">= {holding} of {full}"), n > 0 && held * full >= holding * n),
        against(row("false verdicts", wrong), format!("<= {shown} of {full}"), n > 0 && wrong * full <= shown * n),
    ]
}
