//! Workloads predicted and measured, compared with files in `snapshots`.

use crate::support::{bootstrapped, estimate};
use analysis::workload::{
    Beyond, Cut, FigureRow, MixTotals, NoModel, Quantity, ShareOfTime, Source, Touching, WORKLOAD_FORMAT, WorkloadResult, WorkloadSeries,
    WorkloadStudy,
};
use model::{Protocol, Role};
use report::terminal::Style;
use report::workload::{Origin, document, json};

fn terminal(study: &WorkloadStudy, origin: Origin, style: Style) -> String {
    report::terminal::document(&document(study, origin), style)
}

fn html(study: &WorkloadStudy, origin: Origin, tool: &str) -> String {
    report::html::document(&document(study, origin), tool)
}

const RUNS: Origin = Origin { sizes: "runs/2026-11-22T04-05-06Z-size-1a2b", mixes: Some("runs/2026-11-22T04-15-16Z-workload-3c4d") };

/// A figure of so much, of which the mix took `ratio` times as much.
fn row(quantity: Quantity, source: Source, predicted: f64, ratio: Option<f64>) -> FigureRow {
    FigureRow {
        quantity,
        source,
        predicted: bootstrapped(predicted, predicted * 0.021),
        measured: ratio.map(|ratio| estimate(predicted * ratio, 0.01, 0.015)),
        ratio: ratio.map(|ratio| bootstrapped(ratio, 0.012)),
    }
}

fn series(name: &str, protocol: Protocol, ratio: Option<f64>) -> WorkloadSeries {
    let udp = protocol == Protocol::Udp;
    WorkloadSeries {
        series: name.to_owned(),
        protocol,
        nagle: false,
        mean_bytes: if udp { 1_020.89 } else { 2_927.68 },
        cut: udp.then_some(Cut { limit: 65_507, messages: 0.0067856, bytes: 0.65366 }),
        measured_sizes: [1, if udp { 65_507 } else { 1_048_576 }],
        sizes: 12,
        beyond: if udp { Beyond::default() } else { Beyond { messages: 0.00031, bytes: 0.262 } },
        no_model: Vec::new(),
        figures: vec![
            row(Quantity::SenderCpu, Source::Model, 1_931.0, ratio),
            row(Quantity::ReceiverCpu, Source::Model, 2_044.0, ratio),
            row(Quantity::MessagesPerS, Source::Sizes, 488_700.0, ratio.map(|ratio| 1.0 / ratio)),
            row(Quantity::Frames, Source::Sizes, 1.6213, ratio),
            row(Quantity::ReceiverWakeups, Source::Sizes, 0.0123, ratio),
        ],
        touching: Vec::new(),
        sent: ratio.map(|_| MixTotals { trials: 9, messages: 812_345, mean_bytes: if udp { 1_021.4 } else { 2_911.0 } }),
    }
}

fn study(measured: bool, same_run: bool) -> WorkloadStudy {
    let ratio = |value: f64| measured.then_some(value);
    let mut udp = series("UDP_STREAM", Protocol::Udp, ratio(1.043));
    udp.touching = vec![Touching {
        role: Role::Sender,
        predicted: Some(ShareOfTime { value: 0.214, interval: Some([0.201, 0.227]) }),
        left_out: 0.012,
        measured: ratio(1.0).map(|_| ShareOfTime { value: 0.226, interval: None }),
    }];
    let mut nagle = series("TCP_STREAM (nagle)", Protocol::Tcp, ratio(0.61));
    nagle.nagle = true;
    let mut refused = series("TCP_STREAM (nodelay)", Protocol::Tcp, ratio(1.113));
    let reason = "even the best line would mislead: it explains 71 % of the variance, and 1 B is 62 % off; read the cells themselves";
    refused.no_model = [Role::Sender, Role::Receiver].map(|role| NoModel { role, reason: reason.to_owned() }).into();
    WorkloadStudy {
        format: WORKLOAD_FORMAT,
        same_run: measured.then_some(same_run),
        blocks: 9,
        workloads: vec![
            WorkloadResult {
                workload: "W3".to_owned(),
                title: "all applications of a Google datacentre".to_owned(),
                mean_bytes: 2_927.68,
                largest_bytes: 15_158_197,
                series: vec![udp, refused, nagle],
            },
            WorkloadResult {
                workload: "<my> \"sizes\"".to_owned(),
                title: String::new(),
                mean_bytes: 70_000.0,
                largest_bytes: 70_000,
                series: Vec::new(),
            },
        ],
    }
}

#[test]
fn both_laid_side_by_side() {
    insta::assert_snapshot!(terminal(&study(true, true), RUNS, Style::VERBOSE));
}

#[test]
fn predicted_alone() {
    insta::assert_snapshot!(terminal(&study(false, false), Origin { mixes: None, ..RUNS }, Style::VERBOSE));
}

#[test]
fn mixes_without_a_usable_trial_are_told() {
    let failed = WorkloadStudy { same_run: Some(false), ..study(false, false) };
    let words = terminal(&failed, RUNS, Style::VERBOSE).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Mixes: runs/2026-11-22T04-15-16Z-workload-3c4d, of which no trial can be used"), "{words}");
}

#[test]
fn no_line_is_wider_than_asked_for_and_another_run_is_named() {
    let text = terminal(&study(true, false), RUNS, Style::VERBOSE);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Mixes: runs/2026-11-22T04-15-16Z-workload-3c4d, at another time"), "{text}");
}

#[test]
fn the_page_holds_every_word_of_the_text_and_escapes_names() {
    let page = html(&study(true, true), RUNS, "0.0.0");
    assert!(page.contains("&lt;my&gt; &quot;sizes&quot;") && !page.contains("<my>"));
    for word in ["are larger than the largest datagram", "1.043", "With Nagle's algorithm", "either end", "touches data"] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn json_has_runs_and_figures() {
    let value: serde_json::Value = serde_json::from_str(&json(&study(true, true), RUNS)).unwrap();
    assert_eq!(value["runs"]["sizes"], RUNS.sizes);
    assert_eq!((&value["format"], &value["same_run"]), (&1.into(), &true.into()));
    let row = &value["workloads"][0]["series"][0]["figures"][0];
    assert_eq!((&row["quantity"], &row["source"]), (&"sender_cpu".into(), &"model".into()));
    assert_eq!(value["workloads"][0]["series"][0]["cut"]["limit"], 65_507);
}
