//! Equal arms, woven and in turn within the same minutes: how narrow their intervals are after ten seconds and how often
//! these hold 1, and how exactly slices take turns; and the same next to a busy neighbour.

use std::path::Path;

use analysis::result::hand_over::LATE;
use analysis::woven::WOVEN_TIME;
use anyhow::Context;
use lab::proof::Neighbours;
use model::woven::{OVERHEAD, SliceTimes};
use model::{Bytes, Cell, Test};
use stats::median::median;

use crate::attached::usable;
use crate::bars::Row;
use crate::ours::{Answer, Arms, BOTH_ENDS, Pair};
use crate::pairs;

/// Runs of each kind for which the bars hold, and next to a busy neighbour.
const FULL: usize = 5;
const FULL_BUSY: usize = 3;
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
    arms: Arms,
    /// Largest half-width, in percent.
    half_width: f64,
    /// Largest share of the half-width in turn.
    of_in_turn: Option<f64>,
    /// It is measured next to a busy neighbour as well.
    busy: bool,
}

const TRAFFIC: [Traffic; 6] = [
    Traffic { busy: true, ..traffic("UDP 1 KiB", (Test::UdpStream, 1_024), &[], 1.5, Some(1.0 / 3.0)) },
    traffic("UDP GSO 1,448 B x 32", (Test::UdpStream, 1_448), &["--api", "gso", "--batch", "32"], 2.0, None),
    Traffic { busy: true, ..traffic("TCP_RR 64 B", (Test::TcpRr, 64), &[], 2.0, Some(1.0 / 2.0)) },
    traffic("UDP_RR 64 B", (Test::UdpRr, 64), &[], 2.0, Some(1.0 / 3.0)),
    traffic("TCP 1,448 B", (Test::TcpStream, 1_448), &[], 3.0, None),
    traffic("TCP 16 KiB", (Test::TcpStream, 16 << 10), &[], 4.0, None),
];

const fn traffic(
    name: &'static str,
    cell: (Test, u64),
    flags: &'static [&'static str],
    half_width: f64,
    of_in_turn: Option<f64>,
) -> Traffic {
    Traffic { arms: Arms { name, cell, arms: ["a", "a"], flags, metric: BOTH_ENDS }, half_width, of_in_turn, busy: false }
}

/// Measures each traffic so often, each way.
pub fn measure(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for traffic in &TRAFFIC {
        let pairs = traffic.pairs(nettoll, runs)?;
        rows.extend(traffic.rows(&pairs));
        all.extend(pairs);
    }
    let (woven, in_turn): (Vec<Option<Answer>>, Vec<Option<Answer>>) = all.into_iter().unzip();
    rows.extend(coverage("woven", &woven, runs as usize >= FULL));
    rows.extend(coverage("in turn", &in_turn, false));
    Ok(rows)
}

/// Measures some kinds next to a busy neighbour on each CPU: 8 ms on, 12 ms off.
pub fn busy(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let cpus: Vec<u32> = usable()?.into_iter().map(|cpu| cpu as u32).collect();
    let _neighbours = Neighbours::start(&cpus).context("keep the CPUs busy")?;
    let mut rows = Vec::new();
    for traffic in TRAFFIC.iter().filter(|traffic| traffic.busy) {
        rows.extend(traffic.busy_rows(&traffic.pairs(nettoll, runs)?));
    }
    Ok(rows)
}

impl Traffic {
    fn pairs(&self, nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Pair>> {
        let (test, size) = self.arms.cell;
        let cell = Cell::plain(test, Bytes::new(size));
        let times = SliceTimes::of(&cell, 2).ok().context("slices of this traffic are too short")?;
        let instances = WOVEN_TIME.get() / (times.instance_length(&cell, 2) + OVERHEAD).get();
        let [instances, blocks] = [instances, BLOCKS].map(|blocks| blocks.to_string());
        let woven = || Ok(self.arms.compare(nettoll, &["--woven", "--blocks", &instances], "woven"));
        pairs::run(runs, woven, || Ok(self.arms.compare(nettoll, &["--in-turn", "--blocks", &blocks], "paired")))
    }

    /// The median over pairs of runs.
    fn median(&self, pairs: &[Pair], what: &str, unit: &'static str, figure: &dyn Fn(&Pair) -> Option<f64>) -> Row {
        let figures: Vec<f64> = pairs.iter().filter_map(figure).collect();
        Row::printed(format!("{}: {what}", self.arms.name), median(&figures).unwrap_or(f64::NAN), unit, figures.len())
    }

    /// Half-widths woven and in turn, and their ratio.
    fn widths(&self, pairs: &[Pair], next_to: &str) -> [Row; 3] {
        let width = |answer: Option<Answer>| answer.map(|answer| answer.half_width());
        [
            self.median(pairs, &format!("half-width{next_to}, woven"), "%", &|(woven, _)| width(*woven)),
            self.median(pairs, &format!("half-width{next_to}, in turn"), "%", &|(_, in_turn)| width(*in_turn)),
            self.median(pairs, &format!("half-width{next_to}, woven / in turn"), "x", &|(woven, in_turn)| {
                Some(width(*woven)? / width(*in_turn)?)
            }),
        ]
    }

    fn failed(&self, pairs: &[Pair], next_to: &str, enough: bool) -> Row {
        let failed = pairs.iter().map(|(woven, in_turn)| usize::from(woven.is_none()) + usize::from(in_turn.is_none())).sum::<usize>();
        Row::printed(format!("{}: runs{next_to} that failed", self.arms.name), failed as f64, "", 2 * pairs.len()).against_if(
            enough,
            "0",
            failed == 0,
        )
    }

    fn rows(&self, pairs: &[Pair]) -> Vec<Row> {
        let enough = pairs.len() >= FULL;
        let turns = |what: &str, unit, place: usize, scale: f64| {
            self.median(pairs, what, unit, &|(woven, _)| woven.and_then(|woven| woven.turns).map(|turns| turns[place] * scale))
        };
        let [woven, in_turn, share] = self.widths(pairs, "");
        let half = turns("hand-over, median of slices", "us", 0, 1e-3);
        let late = turns(&format!("slices over {LATE} late"), "%", 2, 100.0);
        let [narrow, short, punctual] = [woven.value <= self.half_width, half.value <= HAND_OVER_US, late.value <= LATE_SHARE * 100.0];
        let of_in_turn = self.of_in_turn.unwrap_or(f64::INFINITY);
        let narrower = share.value <= of_in_turn;
        vec![
            woven.against_if(enough, format!("<= {} %", self.half_width), narrow),
            in_turn,
            share.against_if(enough && self.of_in_turn.is_some(), format!("<= {of_in_turn:.2}"), narrower),
            half.against_if(enough, format!("<= {HAND_OVER_US} us"), short),
            turns("hand-over, 99 in 100 slices", "us", 1, 1e-3),
            late.against_if(enough, "<= 1 %", punctual),
            self.failed(pairs, "", enough),
        ]
    }

    fn busy_rows(&self, pairs: &[Pair]) -> [Row; 4] {
        let (enough, next_to) = (pairs.len() >= FULL_BUSY, " next to a busy neighbour");
        let [woven, in_turn, share] = self.widths(pairs, next_to);
        let no_wider = share.value <= 1.0;
        [woven, in_turn, share.against_if(enough, "<= 1", no_wider), self.failed(pairs, next_to, enough)]
    }
}

/// Intervals of equal arms that hold 1, and false verdicts.
fn coverage(way: &str, answers: &[Option<Answer>], enough: bool) -> [Row; 2] {
    let [full, holding, shown] = COVERAGE;
    let n = answers.iter().flatten().count();
    let held = answers.iter().flatten().filter(|answer| answer.holds(1.0)).count();
    let wrong = answers.iter().flatten().filter(|answer| matches!(answer.verdict, Some("better" | "worse"))).count();
    let row = |what: &str, count: usize| Row::printed(format!("equal arms, {way}: {what}"), count as f64, "", n);
    [
        row("intervals that hold 1", held).against_if(enough, format!(">= {holding} of {full}"), n > 0 && held * full >= holding * n),
        row("false verdicts", wrong).against_if(enough, format!("<= {shown} of {full}"), n > 0 && wrong * full <= shown * n),
    ]
}

#[cfg(test)]
mod tests {
    use super::{FULL_BUSY, TRAFFIC, coverage};
    use crate::ours::Pair;
    use crate::ours::tests::answer;

    fn pair(woven: f64, in_turn: f64) -> Pair {
        (Some(answer(1.0, [1.0 - woven, 1.0 + woven], None)), Some(answer(1.0, [1.0 - in_turn, 1.0 + in_turn], None)))
    }

    #[test]
    fn next_to_a_neighbour_woven_arms_are_no_wider_in_the_median() {
        let clears = |pairs: &[Pair]| TRAFFIC[0].busy_rows(pairs).map(|row| row.clears);
        let (narrow, wide) = (pair(0.02, 0.04), pair(0.05, 0.04));
        assert_eq!(clears(&[wide, narrow, narrow]), [None, None, Some(true), Some(true)]);
        assert_eq!(clears(&[wide, narrow, wide]), [None, None, Some(false), Some(true)]);
        assert_eq!(clears(&[(None, narrow.1), narrow, narrow]), [None, None, Some(true), Some(false)]);
        assert_eq!(clears(&[(None, None); FULL_BUSY]), [None, None, Some(false), Some(false)]);
        assert_eq!(clears(&[wide]), [None; 4], "too few for a bar");
    }

    #[test]
    fn intervals_without_1_and_false_verdicts_are_counted() {
        let (good, off, wrong) =
            (answer(1.0, [0.99, 1.01], None), answer(1.1, [1.05, 1.15], None), answer(1.1, [1.05, 1.15], Some("worse")));
        let of = |bad, n| -> Vec<_> { (0..40).map(|place| Some(if place < n { bad } else { good })).collect() };
        let clears = |answers: &[_]| coverage("woven", answers, true).map(|row| row.clears);
        assert_eq!(clears(&of(off, 4)), [Some(true); 2]);
        assert_eq!(clears(&of(off, 5)), [Some(false), Some(true)]);
        assert_eq!(clears(&of(wrong, 5)), [Some(false); 2]);
        assert_eq!(clears(&[None]), [Some(false); 2]);
    }
}
