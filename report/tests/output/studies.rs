//! Studies of levels, counts and rates, compared with files in `snapshots`.

use crate::support::section;
use crate::support::studies::{few_levels, host_load, latency, repetitions, thirteen_levels, ways, ways_cell};
use analysis::ranking::{Failures, rank};
use analysis::result::ways::Cheapest;
use analysis::result::{Analysis, Estimate, Finding, HandOver, Interval, Method, Metric, StudyResult};
use model::plan::Unfit;
use model::trial::Outcome;
use model::{Api, Bytes, TrialRecord, Warning};
use report::advice::Advice;
use report::terminal::Style;
use unicode_width::UnicodeWidthStr;

#[test]
fn levels_in_a_terminal() {
    insta::assert_snapshot!(report::terminal::render(&host_load(&few_levels(), &[1, 1_024, 16_384], &[1]), Style::VERBOSE));
}

#[test]
fn levels_in_a_page() {
    insta::assert_snapshot!(section(&report::html::render(&host_load(&few_levels()[..2], &[1, 16_384], &[1])), "levels"));
}

#[test]
fn counts_in_a_terminal_and_a_page() {
    let analysis = repetitions();
    insta::assert_snapshot!("counts_in_a_terminal", report::terminal::render(&analysis, Style::VERBOSE));
    insta::assert_snapshot!("counts_in_a_page", section(&report::html::render(&analysis), "repetitions"));
}

#[test]
fn rates_in_a_terminal_and_a_page() {
    let analysis = latency();
    insta::assert_snapshot!("rates_in_a_terminal", report::terminal::render(&analysis, Style::VERBOSE));
    insta::assert_snapshot!("rates_in_a_page", section(&report::html::render(&analysis), "open-loop"));
}

#[test]
fn ways_in_a_terminal_and_a_page() {
    let analysis = ways();
    insta::assert_snapshot!("ways_in_a_terminal", report::terminal::render(&analysis, Style::VERBOSE));
    insta::assert_snapshot!("ways_in_a_page", section(&report::html::render(&analysis), "ways"));
}

/// The ways as if they were woven: the second is known within 2 % of `of_base`, and the third stays in turn.
fn woven_ways(of_base: f64) -> Analysis {
    let mut analysis = ways();
    let studies = analysis.studies.iter_mut().filter_map(|study| if let StudyResult::Ways(found) = study { Some(found) } else { None });
    for series in studies.flat_map(|found| &mut found.series) {
        (series.woven, series.ways[2].in_turn) = (true, Some(Unfit::KernelThread));
        for ratio in series.ways[1..].iter_mut().flat_map(|way| &mut way.of_base).flatten() {
            let interval = Interval { low: of_base - 0.02, high: of_base + 0.02, confidence: 0.95, method: Method::Instances };
            *ratio = Estimate { value: of_base, interval: Some(interval), n: 12 };
        }
        // The others tie, and where they are not shown to differ from the base it ties with them.
        let same = (of_base - 1.0).abs() <= 0.02;
        for size in 0..series.sizes.len() {
            let others = (1..series.ways.len()).filter(|way| series.ways[*way].of_base[size].is_some());
            let mut ties: Vec<usize> = same.then_some(0).into_iter().chain(others).collect();
            series.cheapest[size] = Some(Cheapest { way: ties.remove(0), ties });
        }
    }
    analysis.studies.push(StudyResult::HandOver(HandOver { slices: 1_640, p50_ns: 34_000, p99_ns: 180_000, late_share: 0.004 }));
    analysis
}

#[test]
fn woven_ways_are_shares_and_without_a_difference_there_is_no_rank() {
    let plain = |analysis: &Analysis| report::terminal::render(analysis, Style::VERBOSE).split_whitespace().collect::<Vec<_>>().join(" ");
    let page = report::html::render;
    let alike = woven_ways(1.01);
    let text = plain(&alike);
    for words in [
        "101 (99–103)?",
        "? not shown to differ from send",
        "101 % (99–103)≈",
        "≈ not shown to differ",
        "Shares are of rounds in which up to seven ways and send take turns of milliseconds, in 12 instances.",
        "Half of 1,640 slices were handed over within 34.0 µs, 99 in 100 within 180 µs; 0.40 % ended over 200 µs late.",
        "In turn, next to a trial of send: gso ×32, because a thread of the kernel's sends for an end, in others' turns as well.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // A share has an interval, never `9.6% ±11%`, and one that holds 100 % is no saving.
    let answer = analysis::answer::of(&woven_ways(0.096));
    assert!(answer.headline.contains("90 % less than send") && !answer.headline.contains('±'), "{}", answer.headline);
    let ranking = page(&alike);
    assert!(ranking.contains("No difference shown between any two: no ranks.") && !ranking.contains("1. send"), "{ranking}");
    assert!(ranking.contains("</tspan> no difference shown"), "{ranking}");
    let apart = page(&woven_ways(0.7));
    assert!(apart.contains("1. gso") && apart.contains("2. send") && !apart.contains("no ranks"), "{apart}");
}

/// A way that failed at a size is grey, dashed and named there, in the ranking as among the curves; what is lost is said.
#[test]
fn a_way_that_is_not_to_be_used_is_drawn_so() {
    let sound = report::html::render(&ways());
    assert!(!sound.contains("barred\"") && !sound.contains(": do not use") && !sound.contains("% lost"), "{sound}");
    let mut analysis = ways();
    let warning = Warning::TrialFailed { error: "no answer".to_owned() };
    let place = analysis.cells.iter().position(|found| found.cell == ways_cell(Api::Sendmmsg, 1_460)).expect("a cell");
    analysis.findings.push(Finding {
        text: "9 of 12 trials failed".to_owned(),
        remedy: warning.remedy(),
        warning,
        trials: 90,
        cells: vec![analysis.cells[place].label.clone()],
        places: vec![place],
        is_of_whole_arm: false,
    });
    let lossy = analysis.cells.iter_mut().find(|found| found.cell == ways_cell(Api::Send, 1_460)).expect("a cell");
    lossy.metrics.insert(Metric::LossShare, Estimate { value: 0.31, interval: None, n: 12 });
    let page = report::html::render(&analysis);
    assert_eq!(page.matches("class=\"s barred\"").count(), 2, "one row, on a wide and a narrow screen: {page}");
    for words in ["sendmmsg ×32\n", "</tspan> do not use", "Grey and dashed: not to be used.", "sendmmsg ×32: do not use", "31\u{a0}% lost"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[test]
fn advice_in_a_terminal_and_as_json() {
    let mut analysis = ways();
    let refused = TrialRecord::new(
        ways_cell(Api::Zerocopy, 1_460),
        Outcome::Failed { error: "this kernel refuses SO_ZEROCOPY: Operation not supported (os error 95)".to_owned(), lost: false },
    );
    let mut failures = Failures::default();
    failures.push(&refused);
    let rankings = rank(&analysis, &failures, Some(Bytes::new(1_400)), Some(200_000.0));
    let advice = Advice { rankings: &rankings, rate: Some(200_000.0), workload: None };
    insta::assert_snapshot!("advice_in_a_terminal", report::terminal::document(&advice.document(), Style::PLAIN));
    let json: serde_json::Value = serde_json::from_str(&advice.json()).unwrap();
    assert_eq!((&json["rankings"][0]["ways"][0]["api"], &json["rankings"][0]["tells_apart"]), (&"gso".into(), &true.into()));
    assert!(json["rankings"][0]["ways"][0]["needs"]["change"].is_string(), "{json}");
    // Without a second way there is nothing to rank.
    analysis.studies.clear();
    assert_eq!(rank(&analysis, &failures, None, None), []);
}

/// As JSON and CSV, in short: what is new in them.
#[test]
fn every_section_is_in_the_json_and_the_csv() {
    let of = |analysis| serde_json::from_str::<serde_json::Value>(&report::json::render(&analysis)).unwrap();
    let json = of(host_load(&few_levels()[..2], &[1, 16_384], &[1]));
    insta::assert_snapshot!("levels_as_json", serde_json::to_string_pretty(&json["levels"]["factors"][0]["series"][0]).unwrap());
    assert!(json["levels"]["findings"].is_array());
    let counts = of(repetitions());
    assert_eq!(counts["repetitions"]["series"][0]["counts"].as_array().unwrap().len(), 18);
    assert_eq!(of(latency())["open_loop"]["series"][0]["rates"][3]["reached"], false);
    let csv = |text: &str, wanted: &[&str]| {
        let names: Vec<&str> = text.lines().filter(|line| wanted.iter().any(|name| line.contains(name))).collect();
        names.join("\n")
    };
    let levels = report::csv::render(&host_load(&few_levels()[..2], &[1, 16_384], &[1]));
    insta::assert_snapshot!("levels_as_csv", csv(&levels, &["load_throughput_ratio", "load_loss_difference", "load_round_trip_p99_ratio"]));
    let counts = report::csv::render(&repetitions());
    insta::assert_snapshot!("counts_as_csv", csv(&counts, &[",total_ns", ",spread_share"]));
}

/// 13 levels of 14 cells: 182 in all.
#[test]
fn a_study_of_many_cells_stays_readable() {
    let analysis = host_load(&thirteen_levels(), &[1, 1_024, 16_384], &[1, 64, 1_024, 16_384]);
    assert_eq!(analysis.cells.len(), 182);
    for width in [80, 100, 200] {
        let text = report::terminal::render(&analysis, Style { width, ..Style::VERBOSE });
        assert!(text.lines().all(|line| line.width() <= width), "{text}");
        let lines = text.lines().count();
        assert!(lines < 400, "{lines} lines for 182 cells:\n{text}");
    }
    let text = report::terminal::render(&analysis, Style::VERBOSE);
    // The base's tables alone lead, and every level stands once in each of the others.
    assert_eq!(text.lines().filter(|line| line.starts_with("TCP_STREAM")).count(), 3, "the answer, its table and its costs");
    assert!(text.contains("48 series more are summed up above"), "{text}");
    let page = report::html::render(&analysis);
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
}
