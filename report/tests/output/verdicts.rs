//! Arms and separate runs compared with each other, as every form shows them.

use crate::support::{host, trials};
use analysis::Collector;
use analysis::result::Analysis;
use analysis::runs::{Demands, RunComparison, RunsCompared, compare_runs};
use analysis::table::TrialTable;
use analysis::verdict::{Conclusion, GATE};
use model::plan::Blocks;
use model::run::{RUN_FORMAT, Run, Status};
use model::trial::Outcome;
use model::wakeups::WakeupCost;
use model::{Arm, Bytes, Cell, Nanos, Plan, Test, TrialRecord};
use report::terminal::Style;

const BLOCKS: u32 = 12;
const SIZES: [u64; 4] = [1, 512, 1_024, 1_472];

/// A run of these tests in arms, if any: in the last a message costs 100 ns more,
/// a byte what it did, and the receiver is woken half as often.
fn run(test: Test, sizes: &[u64], arms: &[&str]) -> (Plan, Vec<TrialRecord>) {
    let cells: Vec<Cell> = sizes.iter().map(|size| Cell::plain(test, Bytes::new(*size))).collect();
    let one = trials::trial(cells[0].clone(), false);
    let words: Vec<String> = arms.iter().map(|arm| (*arm).to_owned()).collect();
    let arms = if words.is_empty() { Vec::new() } else { Arm::parse_all(&words).expect("arms") };
    let plan = Plan {
        name: "size".into(),
        title: "Streams in arms".into(),
        blocks: Blocks { least: BLOCKS, most: BLOCKS, interval: 0.05, confidence: 0.95 },
        arms,
        cells: cells.clone(),
        ..one.plan
    };
    let mut records = Vec::new();
    for block in 0..BLOCKS {
        for (place, cell) in cells.iter().enumerate() {
            for arm in 0..plan.arms.len().max(1) {
                let name = plan.arms.get(arm).map(|arm| arm.name.clone());
                let more = if arm > 0 && arm + 1 == plan.arms.len() { 100.0 } else { 0.0 };
                let mut record = record(cell, block, (place * plan.arms.len().max(1) + arm) as u32, name, more);
                record.as_run = plan.cell_in(cell, arm).ok().filter(|_| !plan.arms.is_empty()).map(Box::new);
                records.push(record);
            }
        }
    }
    (plan, records)
}

fn record(cell: &Cell, block: u32, position: u32, arm: Option<String>, more: f64) -> TrialRecord {
    let made = trials::trial(cell.clone(), block % 2 == 1).record;
    let mut record = TrialRecord { block, position, arm, started_ms: made.started_ms + 4_000 * u64::from(block), ..made };
    let Outcome::Measured(measured) = &mut record.outcome else { unreachable!("made here") };
    // A little scatter, the same in every form of the run.
    let scatter = 1.0 + 0.003 * f64::from((block * 5 + position * 3) % 7);
    let one = (1_000.0 + 0.25 * cell.size.get() as f64 + more) * scatter;
    for end in [&mut measured.sender, &mut measured.receiver] {
        let length = Nanos::new((one * end.counts.messages as f64) as u64);
        end.window.end = end.window.start + length;
        end.cpu_time.process = length;
        end.cpu_time.irq = None;
        end.switches.voluntary = if more > 0.0 { 3_000 } else { 6_000 };
        if !cell.test.is_stream() {
            end.switches.voluntary = end.counts.messages / if more > 0.0 { 2 } else { 1 };
        }
    }
    if !cell.test.is_stream() {
        let [low, median, high] = [390, 400, 410].map(Nanos::new);
        measured.wakeups = [Some(WakeupCost { low, median, high }); 2];
    }
    record
}

fn analysed(test: Test, sizes: &[u64], arms: &[&str]) -> (Analysis, TrialTable) {
    let (plan, records) = run(test, sizes, arms);
    let run = Run {
        format: RUN_FORMAT,
        id: "2026-11-21T20-14-05Z-size-7f3a".into(),
        plan,
        started_ms: 1_795_307_465_000,
        tool: "0.1.0".into(),
        status: Status::BlocksDone,
        warnings: Vec::new(),
        proof: None,
        pooled: None,
    };
    let mut collector = Collector::new(run, vec![host("a", vec![0]), host("b", vec![1])]);
    records.iter().for_each(|record| collector.push(record));
    collector.finish_with_table()
}

/// A run of two arms of which the second is slower.
pub fn arms() -> Analysis {
    analysed(Test::UdpStream, &SIZES, &["base", "slower: work=1us"]).0
}

/// A run of two arms that set the same.
pub fn alike() -> Analysis {
    analysed(Test::UdpStream, &SIZES, &["a", "a"]).0
}

/// The part of a report that is about verdicts.
fn verdicts(text: &str) -> &str {
    let start = text.find("slower against base").expect("a verdict");
    &text[start..]
}

#[test]
fn arms_in_a_terminal_and_as_markdown() {
    let analysis = arms();
    let text = report::terminal::render(&analysis, Style::VERBOSE);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("arms_in_a_terminal", verdicts(&text));
    insta::assert_snapshot!("arms_as_markdown", report::arms_as_markdown(&analysis));
}

#[test]
fn a_machine_against_itself_in_a_terminal() {
    let text = report::terminal::render(&alike(), Style::VERBOSE);
    let start = text.find(" against a").expect("a verdict");
    insta::assert_snapshot!(&text[start..]);
}

/// As a user asks who trusts that runs do not differ of themselves.
const DEMANDS: Demands = Demands { threshold: 0.02, confidence: 0.95, gate: &GATE, trust_single_runs: true };

/// Two runs of which the second is slower.
pub fn between() -> RunComparison {
    between_runs(Test::UdpStream, &SIZES)
}

fn between_runs(test: Test, sizes: &[u64]) -> RunComparison {
    let (analysis, usual) = analysed(test, sizes, &[]);
    let (_, all) = run(test, sizes, &["base", "slower: work=1us"]);
    let mut slower = Collector::new(analysis.run.clone(), Vec::new());
    all.into_iter()
        .filter(|record| record.arm.as_deref() == Some("slower"))
        .for_each(|record| slower.push(&TrialRecord { arm: None, ..record }));
    let runs = RunsCompared {
        baseline: vec!["monday".into()],
        candidate: vec!["tuesday".into()],
        differences: vec!["host a: kernel was 6.1, is 6.2".into()],
        slight: vec!["host a: boot differs".into()],
        figures: compare_runs([&[&usual], &[&slower.into_table()]], analysis.models(), &DEMANDS),
        receipts: None,
    };
    RunComparison::from_candidates(vec![runs])
}

#[test]
fn separate_runs_in_a_terminal_and_a_page() {
    let between = between();
    assert_eq!(between.conclusion, Conclusion::Against);
    let text = report::terminal::document(&report::verdict::document(&between), Style::VERBOSE);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("runs_in_a_terminal", text);
    let page = report::html::document(&report::verdict::document(&between), "0.1.0");
    let start = page.find("<main").expect("a page");
    let end = page.find("</main>").expect("its end");
    insta::assert_snapshot!("runs_in_a_page", page[start..end].replace("><", ">\n<"));
}

/// Each wake-up of ends that sleep is billed 400 ns: the slower arm, which is woken half as often, saves a fifth of the
/// baseline's 1,000 ns by that.
#[test]
fn a_change_of_cpu_time_says_which_part_of_it_was_billed() {
    assert!(!report::terminal::render(&arms(), Style::VERBOSE).contains("billed"));
    for sizes in [&[1][..], &[1, 512]] {
        let analysis = analysed(Test::UdpRr, sizes, &["base", "slower: work=1us"]).0;
        let [brief, whole] = [Style::PLAIN, Style::VERBOSE].map(|style| report::terminal::render(&analysis, style));
        assert!(brief.lines().chain(whole.lines()).all(|line| line.chars().count() <= 80), "{brief}{whole}");
        let head = brief.lines().find(|line| line.starts_with("µs per message")).unwrap();
        let row = brief.lines().find(|line| line.starts_with("CPU, both ends")).unwrap();
        assert!(head.contains("95 % interval  billed") && row.contains("  −20 %"), "{brief}");
        let row = whole.lines().find(|line| line.contains(", billed ")).unwrap();
        assert!(row.contains("800ns") && row.contains("400ns") && row.contains("-20%"), "{whole}");
        let between = between_runs(Test::UdpRr, sizes);
        let compared = report::verdict::document(&between);
        let text = report::terminal::document(&compared, Style::PLAIN);
        assert!(text.contains(", billed ") && text.contains("Billed: the part of the change"), "{text}");
        for page in [report::html::document(&compared, "0.1.0"), report::html::render(&analysis)] {
            assert!(page.contains("of the CPU time for wake-ups, before the ends run."));
        }
    }
}
