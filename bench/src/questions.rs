//! A/B questions that people ask, by `study size` as it stops by default: how soon they have a verdict, and whether arms
//! in turn agree.

use std::path::Path;

use model::Test;

use crate::bars::Row;
use crate::ours::{Answer, Arms, BOTH_ENDS, Pair};
use crate::pairs;

/// Seconds within which a question is answered.
const WITHIN: f64 = 15.0;
/// Questions of which so many at least have a verdict.
const SETTLED: [usize; 2] = [5, 4];

const QUESTIONS: [Arms; 5] = [
    question("batch or single sends", Test::UdpStream, ["single: api=send", "batch: api=sendmmsg, batch=32"]),
    question("cubic or reno", Test::TcpStream, ["cubic: cc=cubic", "reno: cc=reno"]),
    question("Nagle off or on", Test::TcpStream, ["off: cc=cubic, nodelay=on", "on: cc=cubic, nodelay=off"]),
    question("receive buffer autotuned or 64 KiB", Test::TcpStream, ["autotuned: cc=cubic", "64K: cc=cubic, rcvbuf=64K"]),
    question("GRO on or off", Test::TcpStream, ["on: cc=cubic, offload.gro=on", "off: cc=cubic, offload.gro=off"]),
];

/// At the size of `study size` with arms. TCP by cubic: of two equal connections by bbr one may cost five times as much
/// as the other.
const fn question(name: &'static str, test: Test, arms: [&'static str; 2]) -> Arms {
    Arms { name, cell: (test, 1_024), arms, flags: &[], metric: BOTH_ENDS }
}

/// Asks each so often, woven and in turn.
pub fn measure(nettoll: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for question in &QUESTIONS {
        let woven = || Ok(question.compare(nettoll, &[], "woven"));
        let pairs = pairs::run(runs, woven, || Ok(question.compare(nettoll, &["--in-turn"], "paired")))?;
        rows.extend(pairs.iter().flat_map(|pair| each(question.name, pair)));
        all.extend(pairs);
    }
    rows.extend(together(&all));
    Ok(rows)
}

/// The time to an answer, and what it is by either way.
fn each(name: &str, (woven, in_turn): &Pair) -> Vec<Row> {
    let words = |answer: &Option<Answer>| answer.as_ref().map_or_else(|| "failed".to_owned(), Answer::to_string);
    let seconds = woven.map_or(f64::NAN, |answer| answer.seconds);
    let ratio = |way: &str, answer: &Option<Answer>| {
        let row =
            |answer: &Answer| Row::printed(format!("  {name}, {way}"), answer.ratio, "x", 1).within(answer.interval[0], answer.interval[1]);
        answer.as_ref().map(row)
    };
    let first = Row::printed(format!("{name}: {}", words(woven)), seconds, "s", 1).against(format!("<= {WITHIN} s"), seconds <= WITHIN);
    [Some(first), ratio("woven", woven), ratio("in turn", in_turn)].into_iter().flatten().collect()
}

/// Verdicts, and agreement where both ways have an interval.
fn together(pairs: &[Pair]) -> [Row; 2] {
    let [full, least] = SETTLED;
    let enough = |count: usize| count > 0 && count * full >= least * pairs.len();
    let settled = pairs.iter().filter(|(woven, _)| woven.is_some_and(|answer| answer.verdict.is_some())).count();
    let both: Vec<bool> = pairs.iter().filter_map(|(woven, in_turn)| Some(woven.as_ref()?.overlaps(in_turn.as_ref()?))).collect();
    let agreeing = both.iter().filter(|agrees| **agrees).count();
    [
        Row::printed("questions with a verdict, woven", settled as f64, "", pairs.len())
            .against(format!(">= {least} of {full}"), enough(settled)),
        Row::printed("questions whose intervals overlap, woven and in turn", agreeing as f64, "", both.len())
            .against(format!("all, of {least} in {full} at least"), agreeing == both.len() && enough(agreeing)),
    ]
}

#[cfg(test)]
mod tests {
    use model::Arm;

    use super::{Answer, Pair, QUESTIONS, each, together};
    use crate::ours::tests::answer;

    fn better() -> Option<Answer> {
        Some(answer(0.8, [0.78, 0.82], Some("better")))
    }

    fn open() -> Option<Answer> {
        Some(answer(0.81, [0.75, 0.87], None))
    }

    #[test]
    fn each_question_has_two_arms_that_differ() {
        for question in &QUESTIONS {
            let arms = Arm::parse_all(&question.arms.map(str::to_owned)).unwrap();
            assert!(arms.len() == 2 && arms[0].settings != arms[1].settings, "{}", question.name);
        }
    }

    #[test]
    fn an_answer_comes_in_time_or_misses() {
        let clears = |pair: &Pair| each("q", pair).into_iter().filter_map(|row| row.clears).collect::<Vec<bool>>();
        assert_eq!(clears(&(better(), open())), [true]);
        let late = better().map(|answer| Answer { seconds: 15.1, ..answer });
        assert_eq!(clears(&(late, open())), [false]);
        assert_eq!(clears(&(None, open())), [false]);
        assert_eq!(each("q", &(open(), None))[0].what, "q: open, 0.810 ± 7.4 %");
    }

    #[test]
    fn four_of_five_have_a_verdict_and_all_agree() {
        let apart = Some(answer(0.95, [0.9, 1.0], None));
        let with =
            |others: [Pair; 2]| together(&[[(better(), open()); 3].as_slice(), &others].concat()).map(|row| row.clears == Some(true));
        let good = (better(), open());
        assert_eq!(with([good, good]), [true, true]);
        assert_eq!(with([good, (open(), better())]), [true, true]);
        assert_eq!(with([(open(), open()), (open(), open())]), [false, true]);
        assert_eq!(with([good, (better(), apart)]), [true, false]);
        assert_eq!(with([good, (better(), None)]), [true, true]);
        assert_eq!(with([good, (None, open())]), [true, true]);
        assert_eq!(with([(None, open()), (better(), None)]), [true, false]);
        assert_eq!(together(&[]).map(|row| row.clears), [Some(false); 2]);
    }
}
