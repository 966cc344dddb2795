//! The answer of every kind of result at every grade that it can have: headline, reason, next command and exit code.

use analysis::answer::{self, Answer, Grade};
use analysis::attached::Attached;
use analysis::history::{CellHistory, History, HistoryRun, Level, Turn};
use analysis::result::receipt::ReceiptOutcome;
use analysis::result::repetitions::{Advice, Trend};
use analysis::result::{Analysis, Estimate, Interval, Method, Metric, StudyResult};
use analysis::single::{self, single};
use analysis::verdict::{Conclusion, SideComparison, Verdict};
use model::{Bytes, Cell, Test};
use report::terminal::Style;

use crate::support::{attached, buffers, empty, receipts, sample, studies, trials};
use crate::{microscope, verdicts};

use Grade::{DoNotUse, Open, Rough, Settled};

/// An estimate whose interval is `times` its value and an as small part of it.
fn wide(found: &Estimate, times: f64) -> Estimate {
    let (low, high) = (found.value / times, found.value * times);
    let interval = Interval { low, high, confidence: 0.95, method: Method::OrderStatistics };
    Estimate { interval: Some(interval), ..*found }
}

/// A run whose cells' CPU times have such intervals; `None` has none.
fn sweep(times: Option<f64>) -> Analysis {
    let mut analysis = sample();
    for found in analysis.cells.iter_mut().flat_map(|cell| cell.metrics.values_mut()) {
        *found = times.map_or(Estimate { interval: None, ..*found }, |times| wide(found, times));
    }
    analysis
}

fn changed(mut analysis: Analysis, change: impl Fn(&mut StudyResult)) -> Analysis {
    analysis.studies.iter_mut().for_each(change);
    analysis
}

/// Ways of which the cheapest ties with the next at so many sizes.
fn ways(ties: usize) -> Analysis {
    changed(studies::ways(), |study| {
        let StudyResult::Ways(study) = study else { return };
        let cheapest = study.series.iter_mut().flat_map(|series| &mut series.cheapest).flatten();
        cheapest.enumerate().for_each(|(place, one)| one.ties = if place < ties { vec![(one.way + 1) % 3] } else { Vec::new() });
    })
}

/// Receipts whose CPU times have intervals of so much on either side.
fn of_receipts(reach: Option<f64>) -> Analysis {
    changed(receipts::receipts(), |study| {
        let StudyResult::Receipt(study) = study else { return };
        for end in study.cells.iter_mut().flat_map(|cell| [&mut cell.sender, &mut cell.receiver]) {
            let ReceiptOutcome::Made(receipt) = &mut end.outcome else { continue };
            let cpu = receipt.cpu.value;
            receipt.cpu.interval = reach.map(|reach| [cpu * (1.0 - reach), cpu * (1.0 + reach)]);
        }
    })
}

/// A map whose whole interval reaches the plateau from this pair on; `None`: it has no plateau.
fn of_buffers(surely: Option<usize>) -> Analysis {
    changed(buffers::buffers(), |study| {
        let StudyResult::Buffers(maps) = study else { return };
        maps.iter_mut().for_each(|map| map.knee = surely.and(map.knee));
        maps.iter_mut().filter_map(|map| map.knee.as_mut()).for_each(|knee| knee.surely = surely);
    })
}

/// A map whose largest pair is the first that reaches the plateau, on a link without a limit.
pub fn at_the_edge() -> Analysis {
    changed(buffers::buffers(), |study| {
        let StudyResult::Buffers(maps) = study else { return };
        for map in maps {
            let last = map.diagonal.len() - 1;
            map.knee.iter_mut().for_each(|knee| (knee.at, knee.buffer, knee.surely) = (last, last, None));
            map.cells.iter_mut().for_each(|cell| cell.limit_share = None);
        }
    })
}

/// Parts that do not add up are drawn hollow, with the reason.
#[test]
fn parts_that_are_not_to_be_used_are_hollow() {
    let page = |seen| report::html::document(&report::attached::document(&attached::server(8, seen), &[]), "0.1.0");
    let parts = |text: &str| {
        let bars = text.split("<svg class=\"chart breakdown").nth(1).and_then(|part| part.split("</svg>").next()).expect("a bar");
        [bars.matches("\"mark part rest\"").count(), bars.matches("\"mark part a").count()]
    };
    let (sound, off) = (page(1.0), page(0.6));
    assert!(parts(&sound)[1] > 3 && !sound.contains("Do not use the parts"), "{:?}", parts(&sound));
    assert!(parts(&off)[0] > 3 && parts(&off)[1] == 0 && off.contains("Do not use the parts, drawn hollow"), "{:?}", parts(&off));
}

/// Rates at which the p99 has an interval of this factor either way; `None`: nothing above it was answered.
fn latency(times: Option<f64>) -> Analysis {
    let mut analysis = studies::latency();
    let found = analysis.cells.iter_mut().filter_map(|cell| cell.latency.as_mut()).flat_map(|latency| &mut latency.percentiles);
    for one in found.filter(|one| one.percent > 98.0 && one.percent < 99.5) {
        match times {
            Some(times) => one.estimate = wide(&one.estimate, times),
            None => one.at_least = true,
        }
    }
    analysis
}

fn levels() -> Analysis {
    studies::host_load(&studies::few_levels()[..2], &[1, 16_384], &[1])
}

/// Levels whose ratios have no interval.
fn without_means(analysis: Analysis) -> Analysis {
    changed(analysis, |study| {
        let StudyResult::Levels(study) = study else { return };
        let series = study.factors.iter_mut().flat_map(|factor| &mut factor.series);
        let figures = series.flat_map(|series| &mut series.levels).flat_map(|level| level.figures.values_mut());
        figures.filter_map(|figure| figure.mean.as_mut()).for_each(|mean| mean.interval = None);
    })
}

/// Counts of which this is advised.
fn of_counts(advice: Advice) -> Analysis {
    changed(studies::repetitions(), |study| {
        let StudyResult::Repetitions(study) = study else { return };
        study.series.iter_mut().for_each(|series| series.advice = advice);
    })
}

/// A fleet that was there whole, or whose rounds do not place its hosts.
fn fleet(slow: bool, placed: bool) -> Analysis {
    changed(studies::fleet(slow), |study| {
        let StudyResult::Fleet(fleet) = study else { return };
        fleet.hosts.retain(|host| host.measured > 0);
        fleet.figures.iter_mut().for_each(|figure| figure.told_apart = placed);
    })
}

/// Verdicts of which so many cells of each metric are open; where all are, their mean is as well.
fn open_cells(compared: &mut SideComparison, open: usize) {
    let unknown = Verdict::Inconclusive { smallest: 0.17 };
    for comparison in compared.metrics.iter_mut().map(|metric| &mut metric.comparison) {
        comparison.cells.iter_mut().take(open).for_each(|judged| judged.verdict = unknown);
        if open >= comparison.cells.len() {
            (comparison.overall.mean.verdict, comparison.overall.verdict) = (unknown, unknown);
            comparison.conclusion = Conclusion::Inconclusive;
            compared.conclusion = Conclusion::Inconclusive;
        }
    }
}

/// Arms of which so many sizes are open.
pub fn of_arms(open: usize) -> Analysis {
    changed(verdicts::arms(), |study| {
        let StudyResult::Verdicts(all) = study else { return };
        all.iter_mut().for_each(|verdict| open_cells(&mut verdict.compared, open));
    })
}

/// Two runs of which so many sizes are open.
fn of_runs(open: usize) -> Answer {
    let mut between = verdicts::between();
    between.comparisons.iter_mut().for_each(|runs| open_cells(&mut runs.figures.compared, open));
    answer::between(&between)
}

fn history(runs: usize, newest: Turn) -> Answer {
    answer::history(&of_days(runs, newest))
}

/// So many runs of one cell, whose newest level is of this kind.
fn of_days(runs: usize, newest: Turn) -> History {
    let run = |place: usize| HistoryRun {
        id: format!("2026-11-{:02}T20-14-05Z-size-{place:04}", place + 1),
        started_ms: 0,
        kernel: "6.18".to_owned(),
        tool: "0.1.0".to_owned(),
    };
    let level = |first, value, change, turn| Level { first, value, billed: None, change, p: change.map(|_| 0.001), turn };
    let mut levels = vec![level(0, 3_020.0, None, Turn::None)];
    levels.extend((newest != Turn::None).then(|| level(7, 3_620.0, Some(0.2), newest)));
    let cell = CellHistory {
        arm: None,
        name: "TCP_STREAM 64 B".to_owned(),
        cell: Cell::plain(Test::TcpStream, Bytes::new(64)),
        runs: (0..runs).collect(),
        values: vec![3_020.0; runs],
        billed: Vec::new(),
        levels,
        p: (runs >= 10).then_some(0.001),
        alike: false,
        newest,
    };
    History {
        format: 1,
        study: "size".to_owned(),
        machine: "one machine".to_owned(),
        metric: Metric::TimePerMessageNs,
        title: "Time per message",
        runs: (0..runs).map(run).collect(),
        cells: vec![cell],
        level: 0.015,
        worse: newest == Turn::Worse,
    }
}

/// What a change of CPU time does not owe to the stack stands next to it.
#[test]
fn a_level_of_cpu_time_says_which_part_of_it_was_billed() {
    let mut history = of_days(12, Turn::Worse);
    let text = |history: &History| {
        report::terminal::document(&report::history::document(history, report::history::Axis::Date, &[]), Style::VERBOSE)
    };
    assert!(!text(&history).to_lowercase().contains("billed"));
    for (level, billed) in history.cells[0].levels.iter_mut().zip([30.0, 1_200.0]) {
        level.billed = Some(billed);
    }
    let found = text(&history).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(found.contains("; billed before it ran: 30.0 ns -> 1.20 µs") && found.contains("level billed change since"), "{found}");
}

fn of_trial() -> Answer {
    let trial = trials::trial(trials::cell(Test::UdpStream), false);
    single::answer(&trial.record, &single(&trial.record).unwrap())
}

/// Counts of one kernel of which so many messages in a hundred take the usual course.
fn exact(usual: u64) -> Answer {
    let mut measured = microscope::matrix();
    for region in measured.iter_mut().flat_map(|one| &mut one.regions) {
        (region.usual, region.messages) = (usual, 100);
    }
    answer::exact(&measured)
}

fn seen(blocks: u32, seen: f64) -> Attached {
    attached::server(blocks, seen)
}

#[test]
fn every_kind_has_an_answer_at_every_grade() {
    let of = |analysis: &Analysis| answer::of(analysis);
    let rows: Vec<(&str, Grade, Answer)> = vec![
        ("sweep", Settled, of(&sweep(Some(1.05)))),
        ("sweep", Rough, of(&sweep(Some(1.3)))),
        ("sweep", Open, of(&sweep(Some(1.9)))),
        ("sweep without intervals", Open, of(&sweep(None))),
        ("ways", Settled, of(&ways(0))),
        ("ways", Rough, of(&ways(2))),
        ("ways", Open, of(&ways(99))),
        ("receipt", Settled, of(&of_receipts(Some(0.05)))),
        ("receipt", Rough, of(&of_receipts(Some(0.3)))),
        ("receipt", Open, of(&of_receipts(Some(0.8)))),
        ("receipt without intervals", Open, of(&of_receipts(None))),
        ("receipt that does not add up", Rough, of(&receipts::red().0)),
        ("buffers", Settled, of(&of_buffers(Some(6)))),
        ("buffers", Rough, of(&of_buffers(Some(7)))),
        ("buffers without a plateau", Open, of(&of_buffers(None))),
        ("buffers at the edge of the grid", Open, of(&at_the_edge())),
        ("buffers of few blocks", Open, of(&Analysis { blocks: 3, ..of_buffers(Some(6)) })),
        ("latency", Settled, of(&latency(Some(1.1)))),
        ("latency", Rough, of(&latency(Some(1.35)))),
        ("latency", Open, of(&latency(Some(2.0)))),
        ("latency without answers", Open, of(&latency(None))),
        ("levels", Settled, of(&levels())),
        ("levels of few blocks", Open, of(&Analysis { blocks: 3, ..without_means(levels()) })),
        ("repetitions", Settled, of(&of_counts(Advice::Least { count: 100, shown: true }))),
        ("repetitions", Rough, of(&of_counts(Advice::Least { count: 100, shown: false }))),
        ("repetitions", Open, of(&of_counts(Advice::MoreRuns { spread: 0.4, trend: Trend::Stays, runs: 7_190 }))),
        ("fleet", Settled, of(&fleet(true, true))),
        ("fleet of equals", Settled, of(&fleet(false, true))),
        ("fleet", Rough, of(&studies::fleet(true))),
        ("fleet", Open, of(&fleet(true, false))),
        ("attach", Settled, answer::attached(&seen(8, 1.0))),
        ("attach, few samples", Rough, answer::attached(&seen(8, 0.02))),
        ("attach, hardly a sample", Open, answer::attached(&seen(8, 0.000_5))),
        ("attach, rows that do not add up", Open, answer::attached(&seen(8, 0.6))),
        ("attach, a client as well", Rough, answer::attached(&attached::proxy())),
        ("attach in two arms", Settled, answer::attached(&attached::switched(1.2))),
        ("attach in two arms alike", Settled, answer::attached(&attached::switched(1.0))),
        ("microscope", Settled, exact(98)),
        ("microscope", Rough, exact(56)),
        ("history", Open, history(4, Turn::None)),
        ("history without a change", Settled, history(12, Turn::None)),
        ("history", Settled, history(12, Turn::Worse)),
        ("arms", Settled, of(&verdicts::arms())),
        ("arms set alike that differ", Settled, of(&verdicts::alike())),
        ("arms of which a size is open", Rough, of(&of_arms(1))),
        ("arms of which every size is open", Open, of(&of_arms(9))),
        ("runs", Settled, answer::between(&verdicts::between())),
        ("runs of which a size is open", Rough, of_runs(1)),
        ("runs of which every size is open", Open, of_runs(9)),
        ("one trial", Open, of_trial()),
        ("nothing measured", DoNotUse, of(&empty())),
    ];
    let mut text = String::new();
    for (kind, grade, answer) in &rows {
        assert_eq!(answer.grade, *grade, "{kind}: {answer:#?}");
        assert!(answer.headline.chars().count() <= 240, "three lines: {}", answer.headline);
        let command = answer.command().map_or_else(String::new, |command| format!("\n  $ {command}"));
        let next = answer.next_line().map_or_else(String::new, |next| format!("\n  {next}"));
        let red: String = answer.do_not_use.iter().map(|one| format!("\n  ! {}: {}", one.figure, one.reason)).collect();
        let exit = answer.exit.as_ref().map_or_else(String::new, |exit| format!("\n  exit {}: {}", exit.code, exit.reason));
        text += &format!("{kind}\n  {}\n  {}{next}{command}{red}{exit}\n", answer.headline, answer.grade_line());
        // What is not settled says what to do.
        let has_next = answer.next.is_some() || ["one trial", "nothing measured"].contains(kind);
        assert!(answer.grade == Settled || has_next, "{kind}: {answer:#?}");
    }
    insta::assert_snapshot!("answers", text);
}
