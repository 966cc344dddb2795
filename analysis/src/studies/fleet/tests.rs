//! Fleets that are made up, from their records to what is named.

use model::plan::{FleetHost, FleetPlan};
use model::trial::Outcome;
use model::{Nanos, Plan, Run, Test, TrialRecord};
use stats::noise::{generator, normal};

use super::{Fault, FleetResult};
use crate::Collector;
use crate::fleet::schedule;
use crate::metric::Metric;
use crate::testing::{cell, measured, run};

/// A fleet of `hosts`, two a rack.
fn plan(hosts: usize) -> Plan {
    let host =
        |at: usize| FleetHost { name: format!("n{at}"), at: format!("ssh:n{at}").parse().unwrap(), rack: Some(format!("r{}", at / 2)) };
    let rounds = stats::fleet::usual_rounds(hosts) as u32;
    let fleet = FleetPlan { hosts: (0..hosts).map(host).collect(), rounds, parallel: false, least: 0.05 };
    Plan { fleet: Some(fleet), ..run(vec![cell(Test::TcpStream, 64)], rounds).plan }
}

/// Its records, whose measured window is longer by a factor of both ends.
fn records(plan: &Plan, longer: impl Fn([usize; 2]) -> f64) -> Vec<TrialRecord> {
    let mut random = generator(3);
    let mut all = Vec::new();
    for (round, meeting) in schedule(plan).into_iter().enumerate().flat_map(|(round, all)| all.into_iter().map(move |one| (round, one))) {
        for (at, slot) in meeting.slots.iter().enumerate() {
            let [a, b] = meeting.hosts;
            let ends = if slot.swapped { [b, a] } else { [a, b] };
            let mut trial = measured(Test::TcpStream, 64);
            let window = &mut trial.receiver.window;
            let length = window.length().get() as f64 * longer(ends) * (0.01 * normal(&mut random)).exp();
            window.end = window.start + Nanos::new(length as u64);
            all.push(TrialRecord {
                block: round as u32,
                position: (meeting.position + at) as u32,
                hosts: Some(ends.map(|end| format!("n{end}"))),
                ..TrialRecord::new(plan.cells[0].clone(), Outcome::Measured(Box::new(trial)))
            });
        }
    }
    all
}

fn analyse(plan: &Plan, records: &[TrialRecord]) -> FleetResult {
    let mut collector = Collector::new(Run { plan: plan.clone(), ..run(Vec::new(), 1) }, Vec::new());
    records.iter().for_each(|record| collector.push(record));
    let analysis = collector.finish();
    assert!(analysis.roles().is_none() && analysis.order().is_none());
    let json = serde_json::to_value(&analysis).unwrap();
    assert_eq!(json["fleet"]["hosts"].as_array().unwrap().len(), plan.fleet.as_ref().unwrap().hosts.len());
    analysis.fleet().unwrap().clone()
}

fn words(result: &FleetResult) -> Vec<(Fault, String, Metric)> {
    result.named.iter().map(|named| (named.fault, named.who.join(" "), result.figures[named.figure].metric)).collect()
}

#[test]
fn a_slow_host_is_named_by_the_figure_that_shows_it() {
    let plan = plan(8);
    let found = analyse(&plan, &records(&plan, |ends| if ends.contains(&3) { 1.0 / 0.85 } else { 1.0 }));
    assert_eq!(words(&found), [(Fault::Host, "n3".to_owned(), Metric::GoodputBitPerS)]);
    let change = found.named[0].change;
    let [low, high] = change.interval.unwrap();
    assert!((change.change + 0.15).abs() < 0.01 && low <= -0.15 && -0.15 <= high, "{change:?}");
    let goodput = &found.figures[0];
    assert_eq!((goodput.hosts[0].host, goodput.matrix.len(), found.pairs), (3, 56, 28));
    assert!((goodput.noise - 0.01).abs() < 0.003 && goodput.told_apart && goodput.spread.is_none());
    assert_eq!((goodput.racks.len(), goodput.racks[0].rack.as_str(), goodput.racks[0].hosts), (4, "r1", 2));
    assert!(goodput.racks.iter().all(|rack| rack.within.is_some()));
}

#[test]
fn a_host_that_receives_slowly_is_named_as_receiver() {
    let plan = plan(8);
    let found = analyse(&plan, &records(&plan, |ends| if ends[1] == 5 { 1.3 } else { 1.0 }));
    assert_eq!(words(&found), [(Fault::Receiver, "n5".to_owned(), Metric::GoodputBitPerS)]);
}

#[test]
fn a_fleet_of_equals_names_nobody() {
    let plan = plan(8);
    let found = analyse(&plan, &records(&plan, |_| 1.0));
    assert_eq!(words(&found), []);
    assert!(found.figures.iter().all(|figure| figure.links.len() <= 20 && figure.hosts.len() == 8));
}

#[test]
fn a_rack_that_reaches_the_others_slowly_is_named() {
    let plan = plan(16);
    let found = analyse(&plan, &records(&plan, |ends| if (ends[0] / 2 == 2) != (ends[1] / 2 == 2) { 1.25 } else { 1.0 }));
    assert!(words(&found).contains(&(Fault::Rack, "r2".to_owned(), Metric::GoodputBitPerS)), "{:?}", words(&found));
}

#[test]
fn hosts_that_failed_are_counted_and_say_why() {
    let plan = plan(5);
    let mut all = records(&plan, |_| 1.0);
    for record in all.iter_mut().filter(|record| record.hosts.as_ref().unwrap().contains(&"n2".to_owned())) {
        record.outcome = Outcome::Failed { error: "host n2: gone".to_owned(), lost: true };
    }
    let mut strange = all[0].clone();
    strange.hosts = Some(["n1".to_owned(), "nobody".to_owned()]);
    all.push(strange);
    let found = analyse(&plan, &all);
    let host = &found.hosts[2];
    assert_eq!((host.measured, host.failed > 0, host.error.as_deref()), (0, true, Some("host n2: gone")));
    assert_eq!((found.pairs, found.figures[0].hosts.len(), words(&found).len()), (6, 4, 0));
}
