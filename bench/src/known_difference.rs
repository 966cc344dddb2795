//! A difference that is known: work before each datagram, found by woven arms in what a message costs its sender.

use std::path::Path;

use anyhow::Context;
use engine::injection::calibrate;
use model::control::Injection;
use model::{Nanos, Test};
use stats::median::median;

use crate::bars::Row;
use crate::ours::{Answer, Arms};

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

/// Measures a difference with woven arms in a number of runs, next to the time that it takes by itself.
pub fn measure(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let (mut known, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        for _ in 0..CALIBRATIONS {
            let [base, more] = WORK.map(|work| calibrate(Injection::Work(work)));
            known.push(more?.context("work has a time")?.get() as f64 - base?.context("work has a time")?.get() as f64);
        }
        answers.push(WOVEN.compare(nettoll, &[], "woven"));
    }
    Ok(rows(&known, &answers).into())
}

/// The sender's intervals against the difference by itself. A run that failed does not hold it.
fn rows(known: &[f64], answers: &[Option<Answer>]) -> [Row; 4] {
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
    use super::rows;
    use crate::ours::Answer;
    use crate::ours::tests::answer;

    #[test]
    fn eight_of_ten_narrow_intervals_hold_the_difference() {
        // 5,000 ns and 680 more.
        let (holds, off) = (answer(1.13, [1.12, 1.14], None), answer(1.16, [1.15, 1.17], None));
        let of = |bad: Option<Answer>, n| -> Vec<_> { (0..10).map(|place| if place < n { bad } else { Some(holds) }).collect() };
        let clears = |answers: &[_]| rows(&[670.0, 680.0, 700.0], answers).map(|row| row.clears);
        assert_eq!(clears(&of(Some(off), 2)), [None, None, Some(true), Some(true)]);
        assert_eq!(clears(&of(Some(off), 3)), [None, None, Some(false), Some(true)]);
        assert_eq!(clears(&of(None, 3)), [None, None, Some(false), Some(true)]);
        assert_eq!(clears(&of(None, 10)), [None, None, Some(false), Some(false)]);
        let wide = answer(1.13, [1.09, 1.17], None);
        assert_eq!(clears(&of(Some(wide), 6)), [None, None, Some(true), Some(false)]);
        assert_eq!(clears(&of(Some(off), 10)[..9]), [None; 4], "too few for a bar");
        let rows = rows(&[670.0, 680.0, 700.0], &of(None, 0));
        assert_eq!((rows[0].value, rows[0].interval), (680.0, Some((670.0, 700.0))));
        assert!((rows[1].value - 650.0).abs() < 1e-6);
    }
}
