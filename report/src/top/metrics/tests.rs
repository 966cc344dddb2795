//! Counters of made machines, scraped again and again.

use std::collections::BTreeMap;

use analysis::top::{Counters, Machine};
use attribution::Rules;
use model::Nanos;
use model::top::{Bucket, Chain, CpuTime, Messages, Owner, Process, ProcessMessages, Sample, Task};
use proptest::prelude::{prop_assert_eq, proptest};
use proptest::test_runner::Config;

use super::{MetricsForm, metrics};

const SEND: [&str; 4] = ["udp_sendmsg", "__sys_sendto", "__x64_sys_sendto", "do_syscall_64"];
const RECEIVE: [&str; 5] = ["udp_queue_rcv_skb", "udp_rcv", "ip_local_deliver", "net_rx_action", "handle_softirqs"];
/// Distance of samples, in ns.
const PERIOD: u64 = 10_101_010;

/// One stretch: samples of calls, of softirqs with an owner, and without, by unit.
fn bucket(samples: &[(usize, u8)]) -> Bucket {
    let mut bucket = Bucket {
        elapsed: Nanos::from_millis(1_000),
        period: Nanos::new(PERIOD),
        cpus: BTreeMap::from([(0, CpuTime::default())]),
        symbols: SEND.iter().chain(&RECEIVE).map(|name| (*name).to_owned()).collect(),
        chains: vec![Chain { frames: vec![0, 1, 2, 3], user: false }, Chain { frames: vec![4, 5, 6, 7, 8], user: false }],
        ..Bucket::default()
    };
    let mut messages = Vec::new();
    for (unit, kind) in samples {
        let place = bucket.units.len() as u32;
        bucket.units.push(format!("/unit {unit}"));
        let pid = 100 + *unit as u32;
        bucket.processes.insert(pid, Process { unit: Some(place), wait: Some(Nanos::new(7)), arrivals: Some(1), ..Process::default() });
        let owner = Owner { process: Some(pid), unit: Some(place) };
        let (task, chain, found) = match kind {
            0 => (Task::Process(pid), 0, None),
            1 => (Task::Idle, 1, Some(owner)),
            _ => (Task::Idle, 1, None),
        };
        bucket.samples.push(Sample { cpu: 0, task, chain, socket_call: None, owner: found });
        messages.push(ProcessMessages { owner, messages: [1, 2], bytes: [10, 20] });
    }
    bucket.messages = Some(Messages { counted: Nanos::from_millis(100), processes: messages });
    bucket
}

/// Figures by name and labels; CPU times in ns, which they are to the digit.
fn figures(text: &str) -> BTreeMap<String, u128> {
    let figures = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let (whole, rest) = value.split_once('.').unwrap_or((value, ""));
        (name.to_owned(), format!("{whole}{rest:0<9}").parse().unwrap())
    });
    let all: Vec<(String, u128)> = figures.collect();
    let map: BTreeMap<String, u128> = all.iter().cloned().collect();
    assert_eq!(map.len(), all.len(), "a series stands once");
    map
}

/// Units that come and go: no counter of a listed unit falls, every scrape adds up, and the page stays small.
fn scrapes(stretches: impl Iterator<Item = Vec<(usize, u8)>>) -> (usize, Counters) {
    let rules = Rules::builtin().unwrap();
    let mut machine = Machine::new(&rules, Vec::new(), 10);
    let (mut counters, mut before, mut count) = (Counters::default(), BTreeMap::new(), 0);
    for samples in stretches {
        machine.add(&bucket(&samples), Vec::new());
        machine.count(&mut counters);
        let text = metrics(&counters, "1", MetricsForm::OpenMetrics);
        let now = figures(&text);
        for (name, value) in &now {
            assert!(before.get(name).is_none_or(|before| before <= value), "{name} fell from {:?} to {value}", before.get(name));
        }
        let sum = |family: &str| now.iter().filter(|(name, _)| name.starts_with(family)).map(|(_, value)| value).sum::<u128>();
        // What a query of rates adds up: each series by what it rose, one that is new from 0.
        let rise = |family: &str| {
            let of = |(name, value): (&String, &u128)| value - before.get(name).copied().unwrap_or(0);
            now.iter().filter(|(name, _)| name.starts_with(family)).map(of).sum::<u128>()
        };
        assert_eq!(rise("nettoll_unit_network_cpu_seconds_total"), rise("nettoll_network_cpu_seconds_total"));
        let ended = counters.ended.cpu.iter().sum::<u64>();
        assert_eq!(sum("nettoll_unit_network_cpu_seconds_total") + u128::from(ended), sum("nettoll_network_cpu_seconds_total"));
        assert!(now.keys().filter(|name| name.starts_with("nettoll_unit_run_delay")).count() <= 201);
        (before, count) = (now, count + 1);
    }
    (count, counters)
}

#[test]
fn a_thousand_scrapes_of_units_that_come_and_go_never_fall_and_add_up() {
    // Two new units a second, of which each lives for 40 s: 2,000 in all, 80 at once.
    let (count, counters) = scrapes((0..1_000_usize).map(|second| {
        let born = second * 2;
        (0..30).map(|one| ((born + 80 - one * 7 % 80), (one % 3) as u8)).collect()
    }));
    assert_eq!((count, counters.units.len()), (1_000, 200));
    assert!(counters.other.has_work() && counters.ended.has_work());
    assert_eq!(counters.network.values().sum::<u64>(), 30_000 * PERIOD);
}

proptest! {
    #![proptest_config(Config { cases: 6, ..Config::default() })]
    #[test]
    fn counters_of_any_machine_add_up(stretches in proptest::collection::vec(proptest::collection::vec((0..400_usize, 0..4_u8), 0..60), 1..40)) {
        let samples: usize = stretches.iter().map(Vec::len).sum();
        let (_, counters) = scrapes(stretches.into_iter());
        prop_assert_eq!(counters.network.values().sum::<u64>(), samples as u64 * PERIOD);
    }
}

#[test]
fn parts_of_samples_are_shared_out_so_that_no_owner_takes_them_all() {
    let (_, counters) = scrapes((0..100).map(|_| vec![(1, 1), (1, 1), (1, 1), (2, 1), (3, 2)]));
    let softirq = |unit: &str| counters.units[unit].cpu(analysis::top::WorkContext::Softirq);
    // To a ns a second, which goes to the larger.
    assert!(softirq("/unit 1").abs_diff(375 * PERIOD) <= 100 && softirq("/unit 2").abs_diff(125 * PERIOD) <= 100);
    // One message sent in each 100 ms that stand for a second.
    assert_eq!(counters.units["/unit 2"].messages, [1_000.0, 2_000.0]);
}

#[test]
fn both_forms_are_stable_and_names_of_others_stay_in_their_quotes() {
    let mut made = bucket(&[(1, 0), (2, 1)]);
    made.units[1] = "/a\"b\\c\nd\u{1b}[31m{x=\"1\"} 9".to_owned();
    let rules = Rules::builtin().unwrap();
    let mut machine = Machine::new(&rules, Vec::new(), 10);
    let mut counters = Counters::default();
    machine.add(&made, Vec::new());
    machine.count(&mut counters);
    insta::assert_snapshot!("open_metrics", metrics(&counters, "1", MetricsForm::OpenMetrics));
    insta::assert_snapshot!("prometheus", metrics(&counters, "1", MetricsForm::Prometheus));
    let long = format!("/{}/end", "x".repeat(5_000));
    made.units[1] = long;
    machine.add(&made, Vec::new());
    machine.count(&mut counters);
    assert!(counters.units.keys().all(|name| name.chars().count() <= 202) && counters.units.keys().any(|name| name.ends_with("xx/end")));
}

#[test]
fn a_machine_without_samples_has_its_own_cost_alone() {
    let text = metrics(&Counters::default(), "1", MetricsForm::Prometheus);
    assert!(text.contains("nettoll_own_cpu_seconds_total{part=\"reader\"} 0\n") && !text.contains("unit"), "{text}");
}
