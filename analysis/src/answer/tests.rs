//! Headlines, grades and exit codes of comparisons, a row each; the other kinds of results are
//! in the tests of their reports, which have them whole.

use super::pair::Pair;
use super::places::Places;
use super::{Answer, Grade, sweep};
use crate::metric::{Direction, Metric};
use crate::studies::StudyResult;
use crate::studies::verdicts::ArmVerdict;
use crate::testing::{analyse, measured, record};
use crate::verdict::{CellVerdict, Comparison, Conclusion, Design, MetricComparison, OverallVerdict, SideComparison, Verdict};
use model::{Bytes, Cell, Test};
use stats::estimate::{Estimate, Interval, Method};

const BETTER: Verdict = Verdict::Better;
const WORSE: Verdict = Verdict::Worse;
const SAME: Verdict = Verdict::Equivalent;
const OPEN: Verdict = Verdict::Inconclusive { smallest: 0.17 };

/// A change in percent with both ends of its interval.
type Row = (f64, f64, f64, Verdict);

fn judged((change, low, high, verdict): Row) -> CellVerdict {
    let share = |percent: f64| 1.0 + percent / 100.0;
    let interval = Interval { low: share(low), high: share(high), confidence: 0.95, method: Method::Randomisation };
    let ratio = Estimate { value: share(change), interval: Some(interval), n: 12 };
    CellVerdict { ratio: Some(ratio), medians: None, p: Some(0.5), p_adjusted: Some(0.5), dropped: 0, verdict }
}

fn comparison(rows: &[Row]) -> Comparison {
    let cells: Vec<CellVerdict> = rows.iter().copied().map(judged).collect();
    let count = |wanted: fn(&Verdict) -> bool| rows.iter().filter(|row| wanted(&row.3)).count();
    let too_few = count(|verdict| matches!(verdict, Verdict::NotEnoughBlocks { .. }));
    let (better, worse, same) = (count(|one| *one == BETTER), count(|one| *one == WORSE), count(|one| *one == SAME));
    let inconclusive = rows.len() - better - worse - same - too_few;
    let conclusion = match () {
        () if worse > 0 => Conclusion::Against,
        () if inconclusive + too_few == 0 => Conclusion::Done,
        () => Conclusion::Inconclusive,
    };
    let mean = match cells.as_slice() {
        [one] => *one,
        _ => judged((0.0, -50.0, 50.0, OPEN)),
    };
    let verdict = if better > 0 { BETTER } else { OPEN };
    let overall = OverallVerdict { mean, better, worse, equivalent: same, inconclusive, too_few, verdict };
    let (direction, design) = (Direction::LowerIsBetter, Design::Paired);
    Comparison {
        direction,
        design,
        threshold: 0.02,
        confidence: 0.95,
        held_to: 0.95,
        tested: rows.len(),
        needed: 7,
        cells,
        overall,
        conclusion,
    }
}

/// Metrics with their rows; the first is the gate's.
fn compared(metrics: &[(Metric, &[Row])]) -> SideComparison {
    let one = |(place, (metric, rows)): (usize, &(Metric, &[Row]))| MetricComparison {
        metric: *metric,
        gate: place == 0,
        comparison: comparison(rows),
        doubts: Vec::new(),
        scatter: None,
        pairs: Vec::new(),
    };
    let metrics: Vec<MetricComparison> = metrics.iter().enumerate().map(one).collect();
    let conclusion = metrics[0].comparison.conclusion;
    SideComparison { metrics, means: Vec::new(), coefficients: Vec::new(), self_test: None, conclusion }
}

fn answer(names: [&str; 2], (test, sizes): (Test, &[u64]), metrics: &[(Metric, &[Row])]) -> Answer {
    let cells: Vec<Cell> = sizes.iter().map(|size| Cell::plain(test, Bytes::new(*size))).collect();
    let places = Places::new(&cells.iter().collect::<Vec<_>>());
    let is_self_test = names[1].starts_with(names[0]) && names[1].contains('#');
    let compared = compared(metrics);
    Pair { names, compared: &compared, places: &places, alike: &[], is_self_test, times_invalid: false }.answer(String::new())
}

const CPU: Metric = Metric::CpuPerMessageNs;
const TIME: Metric = Metric::TimePerMessageNs;
const SENDER: Metric = Metric::SenderCpuPerMessageNs;
const RECEIVER: Metric = Metric::ReceiverCpuPerMessageNs;

/// The twelve headlines of the design, by what was measured.
#[test]
fn headlines_grades_and_exit_codes() {
    use Grade::{Open, Rough, Settled};
    let few = Verdict::NotEnoughBlocks { blocks: 1, missing: 6 };
    type Case<'a> = ([&'a str; 2], (Test, &'a [u64]), &'a [(Metric, &'a [Row])], &'a str, Grade, u8);
    let cases: &[Case] = &[
        (
            ["send", "batch"],
            (Test::UdpStream, &[256]),
            &[(CPU, &[(-13.0, -20.0, -6.0, BETTER)]), (TIME, &[(-5.0, -22.0, 9.0, OPEN)]), (SENDER, &[(-16.0, -19.0, -14.0, BETTER)])],
            "batch costs 13 % less CPU than send (6 to 20), both ends, UDP 256 B; time open.",
            Settled,
            0,
        ),
        (
            ["send", "batch"],
            (Test::UdpStream, &[256]),
            &[(SENDER, &[(-16.0, -19.0, -14.0, BETTER)]), (CPU, &[(-13.0, -20.0, -6.0, BETTER)])],
            "batch costs the sender 16 % less CPU than send (14 to 19), UDP 256 B.",
            Settled,
            0,
        ),
        (
            ["auto", "r64"],
            (Test::TcpStream, &[16_384]),
            &[(CPU, &[(20.0, 9.0, 36.0, WORSE)]), (TIME, &[(27.0, 14.0, 46.0, WORSE)])],
            "r64 costs 20 % more CPU than auto (9 to 36), both ends, and takes 27 % longer (14 to 46), 16 KiB.",
            Settled,
            3,
        ),
        (
            ["nagle", "nodelay"],
            (Test::TcpStream, &[64, 1_448, 16_384]),
            &[(CPU, &[(184.0, 171.0, 200.0, WORSE), (-7.9, -28.0, 15.0, OPEN), (-27.0, -37.0, -22.0, BETTER)])],
            "Mixed by size: nodelay costs 184 % more CPU at 64 B and 27 % less at 16 KiB; 1,448 B open (−28 to +15).",
            Rough,
            3,
        ),
        (
            ["bbr", "reno"],
            (Test::TcpStream, &[16_384]),
            &[(CPU, &[(0.9, -12.0, 14.0, OPEN)]), (SENDER, &[(40.0, 16.0, 58.0, WORSE)]), (RECEIVER, &[(-37.0, -48.0, -19.0, BETTER)])],
            "reno moves work: sender +40 % (16 to 58), receiver −37 % (−48 to −19); both ends open (−12 to +14), 16 KiB.",
            Open,
            4,
        ),
        (
            ["bbr", "reno"],
            (Test::TcpStream, &[1_448, 16_384]),
            &[
                (CPU, &[(3.0, -9.0, 17.0, OPEN), (-6.0, -12.0, 0.5, OPEN)]),
                (SENDER, &[(1.0, -9.0, 17.0, OPEN), (3.0, -10.0, 9.0, OPEN)]),
                (RECEIVER, &[(1.0, -9.0, 17.0, OPEN), (-28.0, -36.0, -20.0, BETTER)]),
            ],
            "reno costs the receiver 28 % less CPU than bbr at 16 KiB (20 to 36); both ends open (−12 to +0.5), \
             1,448 B open (−9 to +17).",
            Open,
            4,
        ),
        (
            ["send", "batch"],
            (Test::UdpStream, &[256]),
            &[(CPU, &[(-7.5, -15.0, -0.5, OPEN)]), (SENDER, &[(-12.0, -18.0, -4.0, BETTER)])],
            "batch costs 7.5 % less CPU than send (0.5 to 15), not shown beyond 2 %, UDP 256 B; sender −12 % (−18 to −4).",
            Open,
            4,
        ),
        (
            ["cubic", "bbr"],
            (Test::TcpStream, &[1_448]),
            &[(CPU, &[(14.0, -26.0, 76.0, OPEN)])],
            "Open: both ends −26 to +76 %, bbr against cubic, 1,448 B.",
            Open,
            4,
        ),
        (
            ["base", "pinned"],
            (Test::TcpStream, &[1_448]),
            &[(CPU, &[(-3.0, -3.0, -3.0, few)])],
            "Too early: 1 of 7 blocks. pinned against base.",
            Open,
            4,
        ),
        (
            ["a", "a#2"],
            (Test::TcpStream, &[1_448]),
            &[(CPU, &[(1.0, -10.0, 12.0, OPEN)]), (TIME, &[(2.0, -15.0, 19.0, Verdict::Inconclusive { smallest: 0.27 })])],
            "a and a#2 are set alike: in 4 of 5 runs 12 blocks here find a difference of 17 % or more in CPU, of 27 % in time.",
            Open,
            4,
        ),
        (
            ["a", "b"],
            (Test::TcpStream, &[1_448]),
            &[(CPU, &[(0.3, -0.9, 1.6, SAME)]), (TIME, &[(-0.2, -1.5, 1.1, SAME)])],
            "b and a are the same within 2 %: CPU +0.3 % (−0.9 to +1.6), time −0.2 % (−1.5 to +1.1).",
            Settled,
            0,
        ),
        // An end that goes the other way is named next to a sum that is settled.
        (
            ["bbr", "reno"],
            (Test::TcpStream, &[16_384]),
            &[(CPU, &[(-9.0, -12.0, -5.0, BETTER)]), (SENDER, &[(21.0, 16.0, 28.0, WORSE)]), (RECEIVER, &[(-37.0, -48.0, -19.0, BETTER)])],
            "reno costs 9 % less CPU than bbr (5 to 12), both ends, 16 KiB; sender +21 % (16 to 28).",
            Settled,
            0,
        ),
        (
            ["a", "b"],
            (Test::UdpStream, &[64, 256]),
            &[(CPU, &[(-20.0, -25.0, -14.0, BETTER), (0.3, -0.9, 1.6, SAME)])],
            "b costs 20 % less CPU than a at 64 B (14 to 25), both ends; 256 B the same within 2 %.",
            Settled,
            0,
        ),
    ];
    for (names, cells, metrics, headline, grade, code) in cases {
        let found = answer(*names, *cells, metrics);
        assert_eq!((found.headline.as_str(), found.grade), (*headline, *grade));
        assert_eq!(found.exit.as_ref().map(|exit| exit.code), Some(*code), "{headline}: {:?}", found.exit);
        assert!(found.headline.chars().count() <= 158, "two lines: {headline}");
        // What is settled and better never ends as open.
        assert!(!(found.grade == Settled && *code == 4), "{headline}");
    }
}

/// Of several arms the cheapest is named, and what is open next to it.
#[test]
fn the_cheapest_of_several_arms() {
    let trial = record(Test::UdpStream, 1_024, 0, measured(Test::UdpStream, 1_024));
    let mut analysis = analyse(std::iter::once(trial));
    let verdict = |candidate: &str, rows: &[Row]| ArmVerdict {
        baseline: "send".to_owned(),
        candidate: candidate.to_owned(),
        is_self_test: false,
        alike: Vec::new(),
        headline: CPU,
        compared: compared(&[(CPU, rows)]),
    };
    let gso = verdict("gso ×32", &[(-77.0, -80.0, -75.0, BETTER)]);
    let others = [verdict("sendmmsg", &[(-8.0, -17.0, 1.0, OPEN)]), verdict("uring", &[(6.0, -11.0, 25.0, OPEN)])];
    analysis.studies.push(StudyResult::Verdicts([gso.clone()].into_iter().chain(others.clone()).collect()));
    let found = super::of(&analysis);
    assert_eq!(
        found.headline,
        "Cheapest of 4 at 1,024 B: gso ×32, −77 % (−80 to −75) against send; sendmmsg (−17 to +1) and uring (−11 to +25) open."
    );
    assert_eq!((found.grade, found.reason.as_str()), (Grade::Rough, "1 of 3 comparisons settled"));
    let exit = found.exit.unwrap();
    assert_eq!((exit.code, exit.reason.as_str()), (4, "sendmmsg and uring open at 1,024 B (CPU of both ends)"));
    assert_eq!(found.parts.len(), 3);
    // An arm that is worse is the reason, whatever is open.
    let dearer = verdict("uring", &[(26.0, 11.0, 45.0, WORSE)]);
    analysis.studies.pop();
    analysis.studies.push(StudyResult::Verdicts(vec![gso, others[0].clone(), dearer]));
    let found = super::of(&analysis);
    assert!(found.headline.ends_with("against send; uring +26 %; sendmmsg (−17 to +1) open."), "{}", found.headline);
    assert_eq!(found.exit.map(|exit| (exit.code, exit.reason)), Some((3, "uring worse at 1,024 B (CPU of both ends)".to_owned())));
}

#[test]
fn an_exit_names_the_metric_and_the_size() {
    let mixed =
        answer(["nagle", "nodelay"], (Test::TcpStream, &[64, 1_448]), &[(CPU, &[(184.0, 171.0, 200.0, WORSE), (-7.9, -28.0, 15.0, OPEN)])]);
    assert_eq!(mixed.exit.unwrap().reason, "worse at 64 B (CPU of both ends)");
    assert_eq!(mixed.reason, "1 of 2 intervals of CPU of both ends excludes 0");
    assert_eq!((mixed.parts.len(), mixed.parts[1].interval.map(|ends| ends.map(|end| (end * 100.0).round()))), (2, Some([-28.0, 15.0])));
}

/// The reason for a grade is where the intervals lie.
#[test]
fn a_grade_says_where_the_intervals_lie() {
    let reason = |rows: &[Row]| {
        let sizes: Vec<u64> = (0..rows.len() as u64).map(|place| 64 << place).collect();
        answer(["a", "b"], (Test::TcpStream, &sizes), &[(CPU, rows)]).reason
    };
    let (better, same) = ((-13.0, -20.0, -6.0, BETTER), (0.3, -0.9, 1.6, SAME));
    let (open, near) = ((-7.9, -28.0, 15.0, OPEN), (-7.5, -15.0, -0.5, OPEN));
    let power = "12 blocks find a difference of 17 % or more in 4 of 5 runs";
    assert_eq!(reason(&[better]), "the interval of CPU of both ends excludes 0");
    assert_eq!(reason(&[same]), "the interval of CPU of both ends lies within ±2 %");
    assert_eq!(reason(&[better, better]), "each interval of CPU of both ends excludes 0");
    assert_eq!(reason(&[better, same]), "each interval of CPU of both ends excludes 0 or lies within ±2 %");
    assert_eq!(reason(&[better, better, open]), "2 of 3 intervals of CPU of both ends exclude 0");
    assert_eq!(reason(&[better, same, open]), "2 of 3 intervals of CPU of both ends exclude 0 or lie within ±2 %");
    assert_eq!(reason(&[open]), format!("the interval of CPU of both ends holds 0; {power}"));
    assert_eq!(reason(&[open, open]), format!("each interval of CPU of both ends holds 0; {power}"));
    assert_eq!(reason(&[open, near]), format!("1 of 2 intervals of CPU of both ends holds 0; {power}"));
    assert_eq!(reason(&[near]), format!("no difference shown beyond ±2 %; {power}"));
}

#[test]
fn a_sweep_is_graded_by_the_width_of_its_intervals() {
    let grade = |blocks: u32, widths: &[Option<f64>]| sweep::grade(blocks, widths, "CPU").0;
    assert_eq!(grade(9, &[Some(1.1), Some(1.2), Some(1.9)]), Grade::Settled);
    assert_eq!(grade(9, &[Some(1.1), Some(1.2), Some(2.1)]), Grade::Rough);
    assert_eq!(grade(9, &[Some(1.5), Some(1.6), Some(9.0)]), Grade::Rough);
    assert_eq!(grade(9, &[Some(2.5), Some(1.6), Some(9.0)]), Grade::Open);
    assert_eq!(grade(5, &[None, None]), Grade::Open);
    assert_eq!(sweep::grade(3, &[None], "CPU").1, "3 blocks give no interval (6 needed)");
    assert_eq!(
        sweep::grade(9, &[Some(1.21), Some(1.44)], "CPU").1,
        "CPU known within ±10 to ±20 %; settled needs ±12 % at the median size"
    );
    assert_eq!(sweep::grade(9, &[Some(1.21)], "CPU").1, "CPU known within ±10 %; ±12 % is enough");
    assert_eq!(
        sweep::grade(9, &[Some(1.1), Some(1.1), Some(4.0)], "CPU").1,
        "CPU known within ±4.9 to ±100 %; settled needs ±41 % at every size"
    );
}

/// What is wrong makes its own figure invalid, and no other; width, contention and lost CPU time none.
#[test]
fn red_is_of_the_figure_that_is_wrong() {
    use model::{Nanos, Role, Warning};
    let trial = record(Test::UdpStream, 1_024, 0, measured(Test::UdpStream, 1_024));
    let mut analysis = analyse(std::iter::once(trial));
    analysis.findings.clear();
    let windows = |overlap_ns| Warning::WindowsApart { overlap_ns, sender: Nanos::new(1_000), receiver: Nanos::new(1_000) };
    let option = || Warning::OptionNotTaken {
        role: Role::Sender,
        option: "TCP_CONGESTION".into(),
        asked: "bbr".to_owned(),
        got: "cubic".to_owned(),
    };
    let claim = || Warning::Claim { role: Role::Sender, says: "9 messages".to_owned(), counted: "the receiver 5".to_owned() };
    let cases: [(Warning, Option<&str>); 11] = [
        (Warning::Unaccounted { datagrams: 3 }, Some("the loss")),
        (Warning::WrongPath { payload: 9, carried: 1 }, Some("every figure")),
        (Warning::NoLink { reason: "unshare: EPERM".to_owned() }, Some("every figure")),
        (claim(), Some("every figure")),
        (option(), Some("what depends on TCP_CONGESTION")),
        (Warning::TrialFailed { error: "no answer".to_owned() }, Some("figures of UDP_STREAM 1024 B")),
        (Warning::Impossible { figure: "the goodput".to_owned(), share: 1.4 }, Some("the goodput")),
        (windows(500), Some("rates and times")),
        (windows(950), None),
        (Warning::Contended { role: Role::Sender, share: 0.6 }, None),
        (Warning::Stolen { share: 0.3 }, None),
    ];
    for (warning, figure) in cases {
        let finding = |trials| crate::findings::Finding {
            warning: warning.clone(),
            text: warning.to_string(),
            is_of_whole_arm: false,
            remedy: warning.remedy(),
            trials,
            cells: vec!["UDP_STREAM 1024 B".to_owned()],
            places: vec![0],
        };
        analysis.findings = vec![finding(1)];
        let invalid: Vec<String> = super::of(&analysis).do_not_use.into_iter().map(|one| one.figure.to_string()).collect();
        assert_eq!(invalid.first().map(String::as_str), figure, "{warning:?}");
        let whole = super::of(&analysis).grade == Grade::DoNotUse;
        assert_eq!(whole, figure == Some("every figure"), "{warning:?}");
        // One trial in twenty leaves the others as they are.
        analysis.trials = 20;
        assert_eq!(super::of(&analysis).do_not_use, Vec::new(), "{warning:?}");
        analysis.trials = 1;
    }
}
