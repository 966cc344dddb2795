//! What a terminal prints without `-v`: the answer first, in few lines.

use crate::support::{attached, buffers, disturbed, empty, hostile, receipts, sample, spoilt, studies, trials};
use crate::{microscope, verdicts};
use std::sync::LazyLock;

use analysis::answer::Grade;
use analysis::attached::Attached;
use analysis::result::{Analysis, CellResult, Metric};
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

/// A result that a terminal prints.
#[allow(clippy::large_enum_variant, reason = "a list of a few, made once")]
enum Kind {
    Run(Analysis),
    Attached(Attached),
    /// So many kernels under the microscope.
    Kernels(usize),
    /// What changed between two of them.
    Changes,
}

/// Every kind of result.
static KINDS: LazyLock<Vec<(&str, Kind)>> = LazyLock::new(|| {
    vec![
        ("quick", Kind::Run(quick(sample()))),
        ("receipt", Kind::Run(receipts::receipts())),
        ("arms", Kind::Run(verdicts::arms())),
        ("arms set alike", Kind::Run(verdicts::alike())),
        ("ways", Kind::Run(studies::ways())),
        ("levels", Kind::Run(studies::host_load(&studies::few_levels(), &[1, 1_024, 16_384], &[1]))),
        ("repetitions", Kind::Run(studies::repetitions())),
        ("latency", Kind::Run(studies::latency())),
        ("buffers", Kind::Run(buffers::buffers())),
        ("buffers at the edge", Kind::Run(crate::grades::at_the_edge())),
        ("buffers, diagonal", Kind::Run(buffers::diagonal())),
        ("fleet", Kind::Run(studies::fleet(true))),
        ("fleet of equals", Kind::Run(studies::fleet(false))),
        ("attach", Kind::Attached(attached::server(8, 1.0))),
        ("attach, a client as well", Kind::Attached(attached::proxy())),
        ("attach in two arms", Kind::Attached(attached::switched(1.2))),
        ("microscope", Kind::Kernels(1)),
        ("microscope, two kernels", Kind::Kernels(2)),
        ("microscope diff", Kind::Changes),
        ("nothing", Kind::Run(empty())),
    ]
});

fn in_style(kind: &Kind, style: Style) -> String {
    match kind {
        Kind::Run(analysis) => report::terminal::render(analysis, style),
        Kind::Attached(run) => report::terminal::document(&report::attached::document(run, &[]), style),
        Kind::Kernels(count) => microscope::in_a_terminal(*count, style),
        Kind::Changes => microscope::changes_in_a_terminal(style),
    }
}

/// The counterparts of the design's drafts: the answer in the first three lines, 25 lines in all.
#[test]
fn every_kind_takes_25_lines() {
    let mut wrong = Vec::new();
    for (name, kind) in KINDS.iter() {
        let text = in_style(kind, Style::PLAIN);
        let graded = text.lines().position(|line| Grade::ALL.iter().any(|grade| line.starts_with(grade.name())));
        let lines = text.lines().count();
        let has_answer = graded.is_some_and(|at| at <= 3) || matches!(kind, Kind::Changes);
        wrong.extend((lines > 25 || !has_answer).then(|| format!("{name}: {lines} lines, graded in {graded:?}")));
        insta::assert_snapshot!(format!("brief of {name}"), text);
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_line_of_any_kind_is_wider_than_the_terminal() {
    for (width, verbose, ascii) in [(40, false, false), (40, true, true), (57, true, false), (80, true, true), (120, true, false)] {
        let style = Style { width, verbose, ascii, ..Style::PLAIN };
        let more = [("hostile", report::terminal::render(&hostile(), style)), ("spoilt", report::terminal::render(&spoilt(), style))];
        for (name, text) in KINDS.iter().map(|(name, kind)| (*name, in_style(kind, style))).chain(more) {
            for line in text.lines() {
                assert!(line.width() <= width, "{name} at {width}: {line}");
            }
            assert!(!ascii || text.is_ascii(), "{name}: {:?}", text.chars().find(|letter| !letter.is_ascii()));
        }
    }
}

/// A narrow terminal has every figure of the answer that a wide one has.
#[test]
fn a_narrow_terminal_loses_no_figure() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (name, kind) in KINDS.iter() {
        let [wide, narrow] = [200, 40].map(|width| words(&in_style(kind, Style { width, ..Style::PLAIN })));
        let narrow = narrow.concat();
        let is_figure = |word: &&String| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.');
        for figure in wide.iter().filter(is_figure) {
            assert!(narrow.contains(figure.as_str()), "{name}: {figure} is missing in 40 columns");
        }
    }
    // The study that everybody begins with, and the smallest difference of a row, in 80.
    let quick = in_style(&KINDS[0].1, Style::PLAIN);
    assert!(quick.contains("both ends, µs") && quick.contains("sender, µs") && quick.contains("receiver, µs"), "{quick}");
    let arms = crate::grades::of_arms(1);
    let [wide, usual] = [200, 80].map(|width| report::terminal::render(&arms, Style { width, ..Style::VERBOSE }));
    let missed = |text: &str| text.lines().filter(|line| line.ends_with(" %  ? open")).map(words).collect::<Vec<_>>();
    assert!(!missed(&wide).is_empty(), "{wide}");
    assert_eq!(missed(&usual).len(), missed(&wide).len(), "{usual}");
    insta::assert_snapshot!("arms in 40 columns", report::terminal::render(&verdicts::arms(), Style { width: 40, ..Style::PLAIN }));
}

#[test]
fn a_quick_study_has_21_cells() {
    assert_eq!(quick(sample()).cells.len(), 21);
}

#[test]
fn a_disturbed_study_says_which_figures_are_of_a_busy_machine() {
    let text = within(26, brief(&quick(disturbed())));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("in 246 of 246 trials: rates and times are those of a busy machine.") && !flat.contains("UNRELIABLE"), "{text}");
    // The grade above it says that it stands.
    assert!(flat.contains("is enough; shared CPUs do not touch it"), "{text}");
}

/// Has such a share of its CPU time billed before its ends ran.
fn bill(cell: &mut CellResult, share: f64) {
    let found = cell.metrics[&Metric::CpuPerMessageNs];
    cell.metrics.insert(Metric::BilledPerMessageNs, found.map(|ns| ns * share));
}

/// CPU times of levels and of ways that were billed in part say so, from 2 % on.
#[test]
fn levels_and_ways_say_how_much_was_billed() {
    let levels = || studies::host_load(&studies::few_levels(), &[1, 1_024, 16_384], &[1]);
    for (mut analysis, of) in [(levels(), "the base's CPU time"), (studies::ways(), "the CPU time")] {
        assert!(!brief(&analysis).contains("bills"));
        let shares = [0.25, 0.004, 0.1];
        analysis
            .cells
            .iter_mut()
            .filter(|cell| cell.cell.conditions.load.is_usual())
            .zip(shares.into_iter().cycle())
            .for_each(|(cell, share)| bill(cell, share));
        let text = within(27, brief(&analysis)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("The clock bills 0.4 to 25 % of {of} for wake-ups, before the ends run.")), "{text}");
        analysis.cells.iter_mut().for_each(|cell| bill(cell, 0.019));
        assert!(!brief(&analysis).contains("bills"));
    }
}

/// Ends that sleep: what the clock bills before they run stands next to their CPU time, and only where there is any.
#[test]
fn billed_time_stands_next_to_the_cpu_time_of_ends_that_sleep() {
    let mut analysis = quick(sample());
    assert!(!brief(&analysis).contains("billed"));
    for cell in analysis.cells.iter_mut().filter(|cell| cell.cell.test == Test::UdpRr) {
        bill(cell, 0.25);
    }
    let text = within(27, brief(&analysis));
    let line = |of: &str| text.lines().find(|line| line.starts_with(of)).unwrap_or_else(|| panic!("{of}: {text}"));
    assert!(line("round trip").ends_with("CPU, both ends  billed") && line("UDP_RR 1 B").ends_with("25 %"), "{text}");
    // The size is not cut off in 80 columns.
    assert!(line("TCP_RR 1 B").ends_with('–') && text.contains("billed: share of the CPU time"), "{text}");
    // No stream's end slept.
    assert!(line("CPU per message").ends_with("receiver, µs"), "{text}");
}

#[test]
fn a_receipt_that_does_not_add_up_says_so() {
    let (red, _) = receipts::red();
    assert!(brief(&red).contains("Do not use "));
}

#[test]
fn runs_take_30_lines() {
    insta::assert_snapshot!("runs", within(30, report::terminal::document(&report::verdict::document(&verdicts::between()), Style::PLAIN)));
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
