//! Simulated fleets: what the judgement of a fleet finds, how often it names somebody who is
//! like all others, and what it costs. `cargo run --release -p nettoll-stats --example fleet
//! [FLEETS]`; the first part is one fleet of 1,000 hosts, whose time and memory are printed.
#![allow(clippy::print_stdout, reason = "a program")]

use std::time::Instant;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use stats::fleet::{Design, Effort, FleetEstimate, Question, judge, rounds, usual_rounds};
use stats::noise::{generator, normal};

/// What a fleet's trials scatter by, and what one slow host is slower by.
const NOISE: f64 = 0.05;
const SLOW: f64 = 0.15;

/// Disturbances of a fleet.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Normal noise of 5 %.
    Normal,
    /// One trial in 20 is slower, by 30 % in the mean.
    Disturbed,
    /// Noise of a t distribution with 3 degrees of freedom.
    HeavyTails,
    /// Hosts differ by 3 % anyway.
    HostsDiffer,
}

fn main() {
    let fleets: usize = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1_000);
    thousand();
    for hosts in [4, 8, 16, 64] {
        for kind in [Kind::Normal, Kind::Disturbed, Kind::HeavyTails, Kind::HostsDiffer] {
            rates(hosts, kind, fleets, 4_242);
        }
    }
    rates(1_000, Kind::Normal, fleets / 5, 1);
}

fn design(hosts: usize, seed: u64) -> Design {
    let drawn = rounds(hosts, usual_rounds(hosts), seed);
    Design::new(hosts, drawn.into_iter().flatten().flat_map(|(a, b)| [(a, b), (b, a)])).expect("hosts of the fleet")
}

fn thousand() {
    let began = Instant::now();
    let design = design(1_000, 1);
    let scheduled = began.elapsed();
    let values = values(&design, SLOW, Kind::Normal, &mut generator(2));
    // As many figures as a fleet has: goodput, the CPU time of both ends, the round trip.
    let judged = (0..4).map(|seed| judge(&design, &values, &question(seed)).expect("a fit")).next_back();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!(
        "1,000 hosts, {} trials: schedule {scheduled:.2?}, with four figures {:.2?}; {peak}; named {:?}",
        design.trials().len(),
        began.elapsed(),
        judged.map(|judged| named(&judged))
    );
}

fn rates(hosts: usize, kind: Kind, fleets: usize, seed: u64) {
    let mut random = generator(seed);
    let (mut found, mut others, mut falsely) = (0, 0, 0);
    for at in 0..fleets as u64 {
        let design = design(hosts, seed + at);
        let slow = judge(&design, &values(&design, SLOW, kind, &mut random), &question(at)).expect("a fit");
        let names = named(&slow);
        found += usize::from(names.contains(&0));
        others += usize::from(names.iter().any(|host| *host != 0));
        let none = judge(&design, &values(&design, 0.0, kind, &mut random), &question(at)).expect("a fit");
        falsely += usize::from(anything(&none));
    }
    let share = |count: usize| 100.0 * count as f64 / fleets as f64;
    println!(
        "{hosts} hosts, {kind:?}: a host 15 % slower found in {:.1} %, another named in {:.1} %; without one something named in {:.2} % of {fleets}",
        share(found),
        share(others),
        share(falsely)
    );
}

const fn question(seed: u64) -> Question {
    Question { level: 0.01, least: 0.05, effort: Effort::usual(seed) }
}

fn values(design: &Design, slow: f64, kind: Kind, random: &mut ChaCha8Rng) -> Vec<f64> {
    let own: Vec<f64> = (0..design.hosts())
        .map(|host| {
            let differs = if matches!(kind, Kind::HostsDiffer) { 0.03 * normal(random) } else { 0.0 };
            differs - if host == 0 { (1.0 - slow).ln() } else { 0.0 }
        })
        .collect();
    let mut noise = || match kind {
        Kind::Disturbed if random.random::<f64>() < 0.05 => NOISE * normal(random) - 0.3 * random.random::<f64>().max(1e-12).ln(),
        Kind::HeavyTails => {
            let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
            NOISE * normal(random) / (squares / 3.0).sqrt()
        }
        _ => NOISE * normal(random),
    };
    design.trials().iter().map(|ends| own[ends[0]] + own[ends[1]] + noise()).collect()
}

fn named(judged: &FleetEstimate) -> Vec<usize> {
    let out = judged.hosts.iter().filter(|host| host.both.falls_out || host.sender.falls_out || host.receiver.falls_out);
    out.map(|host| host.host).collect()
}

fn anything(judged: &FleetEstimate) -> bool {
    !named(judged).is_empty()
        || judged.hosts.iter().any(|host| host.difference.falls_out)
        || judged.links.iter().any(|link| link.effect.falls_out)
        || judged.directions.iter().any(|one| one.effect.falls_out)
}
