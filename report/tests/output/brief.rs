//! What a terminal prints without `-v`: the answer first, in few lines.

use crate::support::{disturbed, empty, receipts, sample, spoilt, studies, trials};
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
fn a_quick_study_takes_25_lines() {
    let quick = quick(sample());
    assert_eq!(quick.cells.len(), 21);
    insta::assert_snapshot!(within(25, brief(&quick)));
}

#[test]
fn a_disturbed_study_says_which_figures_are_of_a_busy_machine() {
    let text = within(26, brief(&quick(disturbed())));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("in 246 of 246 trials: rates and times are those of a busy machine.") && !flat.contains("UNRELIABLE"), "{text}");
}

#[test]
fn a_receipt_takes_25_lines() {
    insta::assert_snapshot!(within(25, brief(&receipts::receipts())));
    let (red, _) = receipts::red();
    assert!(brief(&red).contains("Do not use "));
}

#[test]
fn runs_take_30_lines_and_arms_25() {
    insta::assert_snapshot!("arms", within(25, brief(&verdicts::arms())));
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
fn the_first_lines_are_the_answer_its_grade_and_the_next_command() {
    for analysis in [sample(), spoilt(), empty(), disturbed(), studies::repetitions(), studies::latency(), verdicts::arms()] {
        let text = brief(&analysis);
        let answer = analysis::answer::of(&analysis);
        let head: String = text.lines().take(5).collect::<Vec<_>>().join(" ");
        let first: String = answer.headline.chars().take(60).collect();
        assert!(head.starts_with(&first), "{text}");
        let graded = text.lines().skip(1).take(3).any(|line| line.starts_with(answer.grade.name()));
        assert!(graded, "{text}");
        if let Some(command) = answer.command() {
            assert!(text.lines().take(8).any(|line| line.trim() == command), "{text}");
        }
    }
}

/// Figures of two units are never joined: `652–58.5k` is 652 to 58,500.
#[test]
fn a_range_has_one_unit() {
    for analysis in [sample(), disturbed(), studies::repetitions(), studies::latency(), verdicts::arms()] {
        for style in [Style::PLAIN, Style::VERBOSE] {
            let text = report::terminal::render(&analysis, style);
            for (place, _) in text.match_indices('–') {
                let before = text[..place].chars().next_back().is_some_and(|letter| letter.is_ascii_digit());
                let after =
                    text[place + '–'.len_utf8()..].trim_start_matches(|letter: char| letter.is_ascii_digit() || ".,".contains(letter));
                assert!(!(before && after.starts_with(['k', 'M', 'G', 'T'])), "{}", &text[place.saturating_sub(12)..]);
            }
        }
    }
}
