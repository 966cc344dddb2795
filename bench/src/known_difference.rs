//! A difference that is known: work before each datagram, found in what a message costs its sender, by size in turn and
//! by woven arms.

use std::path::Path;

use anyhow::Context;
use engine::injection::calibrate;
use model::control::Injection;
use model::{Nanos, Test};
use serde_json::Value;
use stats::median::median;

use crate::bars::Row;
use crate::ours::{self, Answer, Arms};

/// The added time, in ns.
const ADDED: f64 = 1_000.0;
/// Largest distance of the change from it, as a share.
const BAR: f64 = 0.10;
/// Largest half-width of its interval, in ns.
const REACH: f64 = 60.0;

/// Work of woven arms: that of both takes longer than it says, by about as much.
const WORK: [Nanos; 2] = [Nanos::new(3_000), Nanos::new(3_684)];
const WOVEN: Arms = Arms {
    name: "3,684 ns of work a datagram against 3,000 ns",
    cell: (Test::UdpStream, 1_024),
    arms: ["base: work=3us", "more: work=3684ns"],
    // A receiver that blocks is woken more often by a slower sender, which pays for that.
    flags: &["--waiting", "spin", "--gate", "sender-cpu", "--blocks", "8"],
    metric: "sender_cpu_per_message_ns",
};
/// Calibrations for each run.
const CALIBRATIONS: u32 = 5;
/// Runs of which so many intervals at least hold the difference.
const HOLDING: [usize; 2] = [10, 8];
/// Largest half-width of a woven interval, in percent.
const HALF_WIDTH: f64 = 3.0;

/// The sizes lie within one frame. A receiver that spins is never woken; one that
/// blocks is woken less often the more of a message's time is not the kernel's.
fn plan(blocks: u32) -> String {
    format!(
        r#"
name = "known-difference"
trial = {{ length = "60ms", warmup = "10ms" }}
blocks = {{ least = {blocks}, most = {blocks} }}
arms = ["base", "work: work=1us"]
[[cells]]
test = "UDP_STREAM"
size = [1, 256, 512, 768, 1024, 1472]
waiting = ["spin", "block"]
"#
    )
}

/// Measures it in a number of blocks.
pub fn measure(nettoll: &Path, blocks: u32) -> anyhow::Result<Vec<Row>> {
    let analysis = ours::study(nettoll, &plan(blocks), &[])?;
    let verdict = &analysis["verdicts"][0];
    let mut rows = Vec::new();
    for (series, spins) in [("UDP_STREAM (spinning)", true), ("UDP_STREAM", false)] {
        rows.extend(coefficients(verdict, series, spins)?);
    }
    rows.extend(wakeups(verdict, &analysis["cells"]));
    Ok(rows)
}

/// The sender's CPU: only next to a receiver that spins nothing else changes.
fn coefficients(verdict: &Value, series: &str, barred: bool) -> anyhow::Result<Vec<Row>> {
    let all = verdict["coefficients"].as_array().with_context(|| format!("no verdict: {verdict}"))?;
    let of = all.iter().find(|of| of["series"] == series && of["quantity"] == "sender_cpu");
    let found = of.and_then(|of| of["outcome"]["compared"]["coefficients"].as_array());
    let found = found.with_context(|| format!("no coefficients of {series}: {}", of.unwrap_or(&Value::Null)))?;
    let row = |coefficient: &Value| {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let change = &coefficient["difference_ns"];
        let (value, low, high) = (number(&change["value"]), number(&change["interval"]["low"]), number(&change["interval"]["high"]));
        let term = coefficient["term"].as_str().unwrap_or_default();
        let what = format!("{series}, 1 us of work a message: change of the sender's CPU per {term}");
        let row = Row::printed(what, value, "ns", change["n"].as_u64().unwrap_or_default() as usize).within(low, high);
        match (barred, term) {
            (true, "message") => {
                let clears = (value / ADDED - 1.0).abs() <= BAR && (high - low) / 2.0 <= REACH;
                row.against(format!("{ADDED:.0} ns within {:.0} %, within {REACH:.0} ns either way", BAR * 100.0), clears)
            }
            (true, "byte") => row.against("its interval contains 0", low <= 0.0 && 0.0 <= high),
            _ => row,
        }
    };
    Ok(found.iter().map(row).collect())
}

/// Returns how often a receiver that blocks was woken, without and with the work.
fn wakeups(verdict: &Value, cells: &Value) -> Vec<Row> {
    let means = verdict["means"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(of) = means.iter().find(|of| of["metric"] == "receiver_wakeups_per_message") else { return Vec::new() };
    let labels = cells.as_array().map_or(&[][..], Vec::as_slice).iter().map(|cell| cell["label"].as_str().unwrap_or_default());
    let moved = of["cells"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let row = |(label, moved): (&str, &Value)| {
        let number = |value: &Value| value.as_f64();
        let change = &moved["difference"];
        let row = Row::printed(
            format!("{label}: change of the receiver's wake-ups per message"),
            number(&change["value"])?,
            "",
            change["n"].as_u64()? as usize,
        );
        Some(row.within(number(&change["interval"]["low"])?, number(&change["interval"]["high"])?))
    };
    labels.zip(moved).filter_map(row).collect()
}

/// Measures a difference with woven arms in a number of runs, next to the time that it takes by itself.
pub fn woven(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let (mut known, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        for _ in 0..CALIBRATIONS {
            let [base, more] = WORK.map(|work| calibrate(Injection::Work(work)));
            known.push(more?.context("work has a time")?.get() as f64 - base?.context("work has a time")?.get() as f64);
        }
        answers.push(WOVEN.compare(nettoll, &[], "woven"));
    }
    Ok(woven_rows(&known, &answers).into())
}

/// The sender's intervals against the difference by itself. A run that failed does not hold it.
fn woven_rows(known: &[f64], answers: &[Option<Answer>]) -> [Row; 4] {
    let expected = median(known).unwrap_or(f64::NAN);
    let [least, most] = [f64::min, f64::max].map(|further| known.iter().copied().fold(f64::NAN, further));
    let [full, holding] = HOLDING;
    let (n, found) = (answers.len(), answers.iter().flatten());
    let held = found.clone().filter(|answer| answer.holds(1.0 + expected / answer.baseline)).count();
    let middle = |of: fn(&Answer) -> f64| median(&found.clone().map(of).collect::<Vec<f64>>()).unwrap_or(f64::NAN);
    let half_width = middle(Answer::half_width);
    let row = |what: &str, value, unit| Row::printed(format!("{}: {what}", WOVEN.name), value, unit, n);
    [
        Row::printed(format!("{}: the difference by itself", WOVEN.name), expected, "ns", known.len()).within(least, most),
        row("change of the sender's CPU, woven, in the median run", middle(|answer| answer.baseline * (answer.ratio - 1.0)), "ns"),
        row("intervals of the sender's CPU that hold it", held as f64, "").against_if(
            n >= full,
            format!(">= {holding} of {full}"),
            held * full >= holding * n,
        ),
        row("half-width, in the median run", half_width, "%").against_if(n >= full, format!("<= {HALF_WIDTH} %"), half_width <= HALF_WIDTH),
    ]
}

#[cfg(test)]
mod tests {
    use super::woven_rows;
    use crate::ours::Answer;
    use crate::ours::tests::answer;

    #[test]
    fn eight_of_ten_narrow_intervals_hold_the_difference() {
        // 5,000 ns and 680 more.
        let (holds, off) = (answer(1.13, [1.12, 1.14], None), answer(1.16, [1.15, 1.17], None));
        let of = |bad: Option<Answer>, n| -> Vec<_> { (0..10).map(|place| if place < n { bad } else { Some(holds) }).collect() };
        let clears = |answers: &[_]| woven_rows(&[670.0, 680.0, 700.0], answers).map(|row| row.clears);
        assert_eq!(clears(&of(Some(off), 2)), [None, None, Some(true), Some(true)]);
        assert_eq!(clears(&of(Some(off), 3)), [None, None, Some(false), Some(true)]);
        assert_eq!(clears(&of(None, 3)), [None, None, Some(false), Some(true)]);
        assert_eq!(clears(&of(None, 10)), [None, None, Some(false), Some(false)]);
        let wide = answer(1.13, [1.09, 1.17], None);
        assert_eq!(clears(&of(Some(wide), 6)), [None, None, Some(true), Some(false)]);
        assert_eq!(clears(&of(Some(off), 10)[..9]), [None; 4], "too few for a bar");
        let rows = woven_rows(&[670.0, 680.0, 700.0], &of(None, 0));
        assert_eq!((rows[0].value, rows[0].interval), (680.0, Some((670.0, 700.0))));
        assert!((rows[1].value - 650.0).abs() < 1e-6);
    }
}
