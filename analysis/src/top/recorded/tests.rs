//! Made recordings, whose changes are known.

use std::collections::BTreeMap;
use std::ops::Range;

use model::Nanos;
use model::recording::{RECORDING_FORMAT, RecordedUnit, RecordedWindow, Recording};
use rand_chacha::ChaCha8Rng;
use stats::noise::{generator, normal};

use super::{MOST_PARTS, Recorded, RecordingsCompared, Shift, UnitChange, UnitOutcome};

const UNITS: [(&str, f64); 5] = [("/nginx", 250.0), ("/redis", 120.0), ("/api", 60.0), ("/small", 5.0), ("unowned", 20.0)];

/// Windows of 10 s whose samples scatter as counts do; the work of `/redis` costs `factor` times as much.
fn made(windows: u64, factor: f64, seed: u64) -> Recorded {
    let run = Recording { format: RECORDING_FORMAT, id: format!("{seed}"), ..Recording::default() };
    let mut recorded = Recorded::new(run);
    made_windows(0..windows, factor, seed).iter().for_each(|window| recorded.push(window));
    recorded
}

/// Samples of so many in the mean.
fn scattered(mean: f64, random: &mut ChaCha8Rng) -> u64 {
    (mean + normal(random) * mean.sqrt()).round().max(0.0) as u64
}

/// A quantity that wanders from window to window: a normal one, of which a share is its neighbour's.
struct Wandering {
    last: f64,
    share: f64,
}

impl Wandering {
    fn new(share: f64, random: &mut ChaCha8Rng) -> Self {
        Self { last: normal(random), share }
    }

    fn next(&mut self, random: &mut ChaCha8Rng) -> f64 {
        self.last = self.share * self.last + (1.0 - self.share * self.share).sqrt() * normal(random);
        self.last
    }
}

/// CPUs of services.
const SERVICES: [f64; 10] = [0.4, 0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.03, 0.02];
/// The service whose messages cost more.
const DEARER: &str = "/service-2";

/// Windows of services whose load wanders by a fifth, the next window's being much like the last one's; whose messages cost a few
/// per cent more or less, and are counted in part of the time; and of which one's messages cost `factor` times as much.
fn served(windows: u64, factor: f64, seed: u64) -> Recorded {
    let random = &mut generator(seed);
    let mut recorded = Recorded::new(Recording { format: RECORDING_FORMAT, id: format!("{seed}"), ..Recording::default() });
    let mut wandering = SERVICES.map(|cpus| (cpus, Wandering::new(0.8, random), Wandering::new(0.5, random)));
    for number in 0..windows {
        let mut unit = |(place, (cpus, load, cost)): (usize, &mut (f64, Wandering, Wandering))| {
            let name = format!("/service-{place}");
            let (load, cost) = ((0.2 * load.next(random)).exp(), (0.03 * cost.next(random)).exp());
            let factor = if name == DEARER { factor } else { 1.0 };
            // Of 10 s at 99 Hz.
            let call = scattered(990.0 * *cpus * load * cost * factor, random);
            let messages = (100_000.0 * load * (1.0 + 0.05 * normal(random))) as u64;
            RecordedUnit { name, call, messages, ..RecordedUnit::default() }
        };
        let units = wandering.iter_mut().enumerate().map(&mut unit).collect();
        recorded.push(&RecordedWindow {
            time_ms: 1_000_000 + number * 10_000,
            elapsed: Nanos::from_millis(10_000),
            cpus: 4,
            period: Nanos::new(1_000_000_000 / 99),
            has_messages: true,
            units,
            ..RecordedWindow::default()
        });
    }
    recorded
}

fn made_windows(numbers: Range<u64>, factor: f64, seed: u64) -> Vec<RecordedWindow> {
    let mut random = generator(seed);
    let mut windows = Vec::new();
    for number in numbers {
        let mut units = Vec::new();
        for (name, mean) in UNITS {
            let mean = if name == "/redis" { mean * factor } else { mean };
            let call = scattered(mean, &mut random);
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

/// Units whose messages are shown to cost more or less.
fn of_messages(found: &RecordingsCompared) -> Vec<(&str, UnitOutcome)> {
    let outcome = |unit: &UnitChange| unit.message_ns.map(|shift| shift.outcome);
    let units = found.units.iter().filter_map(|unit| Some((unit.name.as_str(), outcome(unit)?)));
    units.filter(|(_, outcome)| matches!(outcome, UnitOutcome::More | UnitOutcome::Less)).collect()
}

#[test]
fn a_unit_whose_work_costs_a_fifth_more_is_named_and_nothing_else() {
    for (windows, least) in [(24, 91), (60, 95)] {
        let mut alone = 0;
        for seed in 0..100 {
            let found = RecordingsCompared::of(&served(windows, 1.0, seed), &served(windows, 1.2, 1_000 + seed), 0.05).unwrap();
            let dearer = found.units.iter().find(|unit| unit.name == DEARER).and_then(|unit| unit.message_ns).unwrap();
            assert!((dearer.means[1] / dearer.means[0] - 1.2).abs() < 0.12, "{seed}: {dearer:?}");
            alone += u32::from(of_messages(&found) == [(DEARER, UnitOutcome::More)]);
        }
        assert!(alone >= least, "{windows} windows: named alone in {alone} of 100");
    }
}

#[test]
fn recordings_that_are_alike_name_a_unit_as_rarely_as_promised() {
    // Of a load that is level; of the messages of one that wanders.
    let level = |seed| RecordingsCompared::of(&made(48, 1.0, seed), &made(48, 1.0, 5_000 + seed), 0.0).unwrap();
    let wandering = |seed| RecordingsCompared::of(&served(60, 1.0, seed), &served(60, 1.0, 5_000 + seed), 0.0).unwrap();
    let named = |found: &RecordingsCompared, p: f64, of: fn(&UnitChange) -> Option<Shift>| {
        usize::from(found.units.iter().filter_map(of).any(|shift| shift.p <= p))
    };
    let mut alarms = [0; 4];
    for seed in 0..200 {
        let [level, wandering] = [level(seed), wandering(seed)];
        alarms[0] += usize::from(level.changed().count() > 0);
        alarms[1] += named(&level, 0.05, |unit| Some(unit.cpus));
        alarms[2] += named(&wandering, 0.01, |unit| unit.message_ns);
        alarms[3] += named(&wandering, 0.05, |unit| unit.message_ns);
    }
    // 1 and 5 % of 200, and three standard errors.
    assert!(alarms.iter().zip([6, 19, 6, 19]).all(|(alarms, most)| *alarms <= most), "{alarms:?}");
}

/// A unit that works in few of the windows says little, however much it does then.
#[test]
fn messages_of_a_moment_show_nothing() {
    let burst = |at: u64, ns: u64| {
        let mut recorded = Recorded::new(Recording::default());
        for number in 0..24 {
            let mut window = made_windows(number..number + 1, 1.0, 1).remove(0);
            let messages = if number == at { 1_000_000 } else { 1 };
            window.units.push(RecordedUnit {
                name: "/burst".to_owned(),
                call: messages * ns / 10_000_000,
                messages,
                ..RecordedUnit::default()
            });
            recorded.push(&window);
        }
        recorded
    };
    let found = RecordingsCompared::of(&burst(3, 1_000), &burst(9, 2_000), 0.05).unwrap();
    let unit = found.units.iter().find(|unit| unit.name == "/burst").unwrap();
    assert_eq!((unit.message_ns, unit.cpus.outcome), (None, UnitOutcome::Open), "{unit:?}");
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
