//! What a terminal prints without `-v`: the answer first, in few lines.

use crate::support::{disturbed, empty, hostile, receipts, sample, spoilt, studies, trials};
use crate::verdicts;
use analysis::result::Analysis;
use model::Test;
use report::oneshot::{Intervals, header, summary};
use report::terminal::Style;
use unicode_width::UnicodeWidthStr;

/// The text, after checks that it has no more than `most` lines, none wider than 80
/// columns.
#[track_caller]
fn within(most: usize, text: String) -> String {
    let lines = text.lines().count();
    assert!(lines <= most, "{lines} lines, {most} at most:\n{text}");
    for line in text.lines() {
        assert!(line.width() <= 80, "{line}");
    }
    text
}

fn brief(analysis: &Analysis) -> String {
    report::terminal::render(analysis, Style::PLAIN)
}

/// The 21 cells of the study `quick`.
fn quick(mut analysis: Analysis) -> Analysis {
    analysis.cells.retain(|one| !["ipv6", "nagle"].iter().any(|word| one.label.contains(word)));
    analysis
}

#[test]
fn a_quick_study_takes_45_lines() {
    let quick = quick(sample());
    assert_eq!(quick.cells.len(), 21);
    insta::assert_snapshot!(within(45, brief(&quick)));
}

#[test]
fn a_disturbed_study_says_so_first() {
    let text = within(45, brief(&quick(disturbed())));
    let second = text.lines().nth(1).expect("a second line");
    assert!(second.starts_with("UNRELIABLE: "), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_receipt_takes_60_lines() {
    insta::assert_snapshot!(within(60, brief(&receipts::receipts())));
    let (red, _) = receipts::red();
    assert!(brief(&red).contains("RED: "));
}

#[test]
fn runs_take_30_lines_and_arms_with_their_cells_36() {
    insta::assert_snapshot!("arms", within(36, brief(&verdicts::arms())));
    insta::assert_snapshot!(
        "runs",
        within(30, report::terminal::document(&report::verdict::document(&verdicts::between(), ""), Style::PLAIN))
    );
}

#[test]
fn a_trial_takes_15_lines() {
    for test in [Test::TcpStream, Test::UdpStream, Test::TcpRr] {
        let trial = trials::trial(trials::cell(test), false);
        let intervals = Intervals::new(&trial.record.cell, trial.plan.warmup);
        let rows: Vec<String> = trial.rows.iter().map(|row| intervals.line(row)).collect();
        let [head, tail] =
            [header(&trial.setting()), summary(&trial.setting(), &trial.record)].map(|one| report::terminal::document(&one, Style::PLAIN));
        // Rows of a second each come between.
        let text = format!("{head}\n{}\n{}\n\n{tail}", intervals.head(), rows.join("\n"));
        insta::assert_snapshot!(format!("trial of {test}"), within(15, text));
    }
}

#[test]
fn every_run_is_trusted_or_not_in_its_second_line() {
    for analysis in [sample(), hostile(), spoilt(), empty(), disturbed(), studies::repetitions(), studies::latency()] {
        let text = brief(&analysis);
        let second = text.lines().nth(1).expect("a second line");
        assert!(["UNRELIABLE: ", "Usable with care: ", "Reliable: "].iter().any(|word| second.starts_with(word)), "{text}");
    }
}

#[test]
fn colour_sets_back_what_missed_its_precision() {
    let mut analysis = sample();
    analysis.run.plan.blocks.interval = 0.01;
    let plain = brief(&analysis);
    assert!(plain.contains("%*"), "{plain}");
    let coloured = report::terminal::render(&analysis, Style { colour: true, ..Style::PLAIN });
    assert!(coloured.contains("\u{1b}[2m  ") && coloured.contains("%*"), "{coloured}");
    analysis.run.plan.blocks.interval = 10.0;
    assert!(!brief(&analysis).contains("%*"));
}
