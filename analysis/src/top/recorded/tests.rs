//! Made recordings, whose changes are known.

use std::collections::BTreeMap;
use std::ops::Range;

use model::Nanos;
use model::recording::{RECORDING_FORMAT, RecordedUnit, RecordedWindow, Recording};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{MOST_PARTS, Recorded, RecordingsCompared, UnitOutcome};

const UNITS: [(&str, f64); 5] = [("/nginx", 250.0), ("/redis", 120.0), ("/api", 60.0), ("/small", 5.0), ("unowned", 20.0)];

/// Windows of 10 s whose samples scatter as counts do; the work of `/redis` costs `factor` times as much.
fn made(windows: u64, factor: f64, seed: u64) -> Recorded {
    let run = Recording { format: RECORDING_FORMAT, id: format!("{seed}"), ..Recording::default() };
    let mut recorded = Recorded::new(run);
    made_windows(0..windows, factor, seed).iter().for_each(|window| recorded.push(window));
    recorded
}

fn made_windows(numbers: Range<u64>, factor: f64, seed: u64) -> Vec<RecordedWindow> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut windows = Vec::new();
    for number in numbers {
        let mut units = Vec::new();
        for (name, mean) in UNITS {
            let mean = if name == "/redis" { mean * factor } else { mean };
            // A sum of twelve uniform numbers is normal to the eye.
            let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            let call = (mean + normal * mean.sqrt()).round().max(0.0) as u64;
            units.push(RecordedUnit { name: name.to_owned(), call, messages: 100_000, ..RecordedUnit::default() });
        }
        let sum = units.iter().map(|unit| unit.call).sum();
        windows.push(RecordedWindow {
            time_ms: 1_000_000 + number * 10_000,
            elapsed: Nanos::from_millis(10_000),
            cpus: 2,
            period: Nanos::from_millis(10),
            layers: BTreeMap::from([("tcp".to_owned(), sum)]),
            has_messages: true,
            units,
            ..RecordedWindow::default()
        });
    }
    windows
}

#[test]
fn parts_stay_few_and_sum_to_the_whole() {
    for windows in [1, 95, 96, 97, 1_000, 8_640] {
        let recorded = made(windows, 1.0, 1);
        assert!(recorded.parts.len() <= MOST_PARTS && recorded.windows() == windows as usize, "{windows}");
        let (all, units) = recorded.units();
        assert!((all.cpus - units.iter().map(|unit| unit.all.cpus).sum::<f64>()).abs() < 1e-9);
        let sums = [recorded.unit_series(3), recorded.layer_series()].map(|series| series.iter().map(|(_, cpus)| cpus[0]).sum::<f64>());
        assert!((sums[0] - sums[1]).abs() < 1e-9, "{sums:?}");
    }
    let (_, units) = made(500, 1.0, 1).units();
    assert_eq!(units[0].name, "/nginx");
    // 250 samples of 10 ms in 10 s.
    assert!(units[0].all.low < 0.25 && 0.25 < units[0].all.high && (units[0].message_ns.unwrap() - 25_000.0).abs() < 500.0);
}

#[test]
fn a_unit_whose_work_costs_a_fifth_more_is_named_and_nothing_else() {
    for seed in 0..20 {
        let found = RecordingsCompared::of(&made(360, 1.0, seed), &made(360, 1.2, 1_000 + seed), 0.05).unwrap();
        let named: Vec<_> = found.changed().map(|unit| (unit.name.as_str(), unit.outcome)).collect();
        assert_eq!(named, [("/redis", UnitOutcome::More)], "{seed}: {found:#?}");
        let [before, after] = found.changed().next().unwrap().message_ns.unwrap();
        assert!((after / before - 1.2).abs() < 0.03);
    }
}

#[test]
fn recordings_that_are_alike_name_a_unit_as_rarely_as_promised() {
    let alarms = (0..200).filter(|seed| {
        let found = RecordingsCompared::of(&made(48, 1.0, *seed), &made(48, 1.0, 5_000 + seed), 0.0).unwrap();
        found.changed().count() > 0
    });
    // 1 % of 200, and three standard errors.
    assert!(alarms.count() <= 2 + 4);
}

#[test]
fn a_step_is_found_in_its_unit_and_a_level_load_has_none() {
    let quiet: usize = (0..100).filter(|seed| !made(200, 1.0, *seed).steps().is_empty()).count();
    // 1 % of 100, and four standard errors.
    assert!(quiet <= 5, "{quiet}");
    let mut recorded = made(200, 1.0, 1);
    let later = made_windows(200..400, 1.3, 2);
    later.iter().for_each(|window| recorded.push(window));
    let steps = recorded.steps();
    assert!(steps.len() == 1 && steps[0].name == "/redis", "{steps:?}");
    assert!(steps[0].time_ms.abs_diff(1_000_000 + 199 * 10_000) <= 80_000 && steps[0].cpus[1] / steps[0].cpus[0] > 1.2, "{steps:?}");
}

#[test]
fn what_is_too_short_or_impossible_is_left_out() {
    assert_eq!(RecordingsCompared::of(&made(3, 1.0, 1), &made(100, 1.0, 2), 0.05), None);
    let mut recorded = made(10, 1.0, 1);
    let unit = RecordedUnit { name: "/x".to_owned(), call: u64::MAX, softirq: u64::MAX, ..RecordedUnit::default() };
    recorded.push(&RecordedWindow {
        elapsed: Nanos::from_millis(1),
        cpus: 1,
        period: Nanos::new(u64::MAX),
        units: vec![unit],
        ..RecordedWindow::default()
    });
    recorded.push(&RecordedWindow::default());
    assert_eq!((recorded.damaged, recorded.windows()), (2, 10));
    let usual = made_windows(10..11, 1.0, 1).remove(0);
    for (layers, own) in [(u64::MAX, 0), (1, u64::MAX)] {
        let layers = BTreeMap::from([("tcp".to_owned(), layers)]);
        recorded.push(&RecordedWindow { layers, own: Nanos::new(own), ..usual.clone() });
    }
    assert_eq!((recorded.damaged, recorded.windows()), (4, 10));
    // Names that no nettoll has are one.
    (0..100).for_each(|layer| recorded.push(&RecordedWindow { layers: BTreeMap::from([(format!("layer {layer}"), 1)]), ..usual.clone() }));
    assert_eq!(recorded.layer_series().into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["tcp", "others"]);
}
