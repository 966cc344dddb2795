//! A made day.

use std::collections::BTreeMap;

use analysis::top::{Recorded, RecordingsCompared};
use model::Nanos;
use model::recording::{RECORDING_FORMAT, RecordedUnit, RecordedWindow, Recording};

use super::{compared, csv_head, csv_rows, document, headline, json};
use crate::sinks::terminal::Style;

/// Windows of 10 s; the first unit's work costs `factor` times as much.
fn made(windows: u64, units: u64, factor: f64) -> (Recorded, RecordedWindow) {
    let run = Recording {
        format: RECORDING_FORMAT,
        id: format!("2026-11-21T20-14-05Z-top-{:04x}", (factor * 100.0) as u64),
        started_ms: 1_795_292_045_999,
        tool: "0.1.0".to_owned(),
        host: "db3".to_owned(),
        kernel: "6.12.1".to_owned(),
        cpu_model: "Some CPU".to_owned(),
        machine: "32 x Some CPU (x86_64), 64 GiB, no virtualisation seen".to_owned(),
    };
    let mut recorded = Recorded::new(run);
    let mut last = RecordedWindow::default();
    for number in 0..windows {
        let unit = |place: u64| {
            let factor = if place == 0 { factor } else { 1.0 };
            let samples = 3_000 / (place + 1) + number * 7 % 13;
            RecordedUnit {
                name: format!("/system.slice/service-{place}.service"),
                call: (samples as f64 * factor) as u64,
                softirq: samples / 2,
                shared: samples / 5,
                messages: 100_000,
                bytes: 100_000_000,
            }
        };
        let units: Vec<RecordedUnit> = (0..units).map(unit).collect();
        let sum = units.iter().map(RecordedUnit::samples).sum::<u64>();
        let parts = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), sum / names.len() as u64)).collect::<BTreeMap<_, _>>();
        last = RecordedWindow {
            time_ms: 1_795_292_055_999 + number * 10_000,
            elapsed: Nanos::from_millis(10_000),
            cpus: 32,
            period: Nanos::from_millis(10),
            samples: [32_000, 31_900],
            own: Nanos::from_millis(120),
            layers: parts(&["tcp", "ip", "netdev"]),
            kinds: parts(&["protocol", "data-movement"]),
            has_messages: true,
            units,
        };
        recorded.push(&last);
    }
    (recorded, last)
}

#[test]
fn the_page_of_a_day_is_small_and_loads_nothing() {
    let (recorded, _) = made(8_640, 40, 1.0);
    let page = crate::html::document(&document(&recorded), "0.1.0");
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    // Its style lets the table of units fit a narrow window.
    for part in ["class=\"tolls", "CPUs by unit", "CPUs by layer", "CPUs by kind of work", "service-0.service", "others"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(headline(&recorded).contains("service-0.service the most"), "{}", headline(&recorded));
    let value: serde_json::Value = serde_json::from_str(&json(&recorded)).unwrap();
    assert_eq!((value["units"].as_array().unwrap().len(), &value["windows"]), (40, &8_640.into()));
    let ends = value["parts"]["ends_ms"].as_array().unwrap().len();
    assert!(ends <= 96 && value["parts"]["units"].as_array().unwrap().iter().all(|unit| unit["cpus"].as_array().unwrap().len() == ends));
}

#[test]
fn a_terminal_shows_units_and_their_changes() {
    let (first, second) = (made(60, 4, 1.0), made(60, 4, 1.2));
    let style = Style { verbose: true, ..Style::PLAIN };
    insta::assert_snapshot!("recording", crate::terminal::document(&document(&first.0), style));
    let found = RecordingsCompared::of(&first.0, &second.0, 0.05).unwrap();
    insta::assert_snapshot!("compared", crate::terminal::document(&compared(&found), style));
    insta::assert_snapshot!("windows", csv_head(&first.0.run) + &csv_rows(&first.0.run, &first.1));
}

#[test]
fn names_of_others_are_text_in_a_page() {
    let (mut recorded, mut window) = made(3, 2, 1.0);
    window.units[1].name = "/<script>alert(1)</script>\u{1b}[31m".to_owned();
    recorded.push(&window);
    assert!(!crate::html::document(&document(&recorded), "0.1.0").contains("<script>alert"));
}
