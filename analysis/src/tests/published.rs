//! The published tables, analysed as if they were a run of ours.

use crate::cost::{Fit, FitOutcome, Quantity};
use crate::testing::{analyse, measured, record};
use model::{Nanos, Test, TrialRecord};
use stats::cost::Term;
use stats::cost::design::Point;
use stats::cost::robust;

/// Bidulock, "Experimental Test Results for Linux" (OpenSS7, 2007).
const TABLES: &str = include_str!("../../../reference/bidulock2007/udp_loopback.csv");

/// The `sockets` rows of each table: bytes, and ns per message received.
fn sockets() -> Vec<(String, Vec<(u64, f64)>)> {
    let mut tables: Vec<(String, Vec<(u64, f64)>)> = Vec::new();
    for row in TABLES.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [table, host, distribution, _, "sockets", bytes, seconds, _, received] = fields[..] else { continue };
        let name = format!("table {table}, {host}, {distribution}");
        let delay = seconds.parse::<f64>().unwrap() * 1e9 / received.parse::<f64>().unwrap();
        match tables.last_mut().filter(|(last, _)| *last == name) {
            Some((_, rows)) => rows.push((bytes.parse().unwrap(), delay)),
            None => tables.push((name, vec![(bytes.parse().unwrap(), delay)])),
        }
    }
    tables
}

fn r_squared(points: &[Point], coefficients: &[f64]) -> f64 {
    let mean = points.iter().map(|p| p.time).sum::<f64>() / points.len() as f64;
    let left: f64 = points.iter().map(|p| (p.time - coefficients[0] - coefficients[1] * p.size).powi(2)).sum();
    1.0 - left / points.iter().map(|p| (p.time - mean).powi(2)).sum::<f64>()
}

/// One trial of a size, and nothing counted but messages.
fn as_trial(block: u32, bytes: u64, delay: f64) -> TrialRecord {
    let mut trial = measured(Test::UdpStream, bytes);
    trial.receiver.counts.messages = 1_000_000;
    trial.receiver.window.end = trial.receiver.window.start + Nanos::new((delay * 1e6) as u64);
    trial.sender_host.link.tx_packets = 0;
    record(Test::UdpStream, bytes, block, trial)
}

#[test]
fn the_delay_of_udp_sockets_in_2007_is_a_line() {
    let tables = sockets();
    assert_eq!(tables.len(), 5);
    for (name, rows) in tables {
        assert_eq!((rows.len(), rows[0].0, rows[14].0), (15, 1, 16_384), "{name}");
        let points: Vec<Point> =
            rows.iter().map(|(bytes, time)| Point { size: *bytes as f64, time: *time, frames: None, wakeups: None }).collect();
        let line = robust::fit(&points, &[Term::Message, Term::Byte], 0.02).unwrap();
        let r = r_squared(&points, &line);
        eprintln!("{name}: {:.0} ns + {:.3} ns/B, r2 = {r:.4}", line[0], line[1]);
        assert!(r >= 0.99, "{name}: {r}");
    }
}

#[test]
fn the_whole_analysis_says_so_too() {
    for (name, rows) in sockets() {
        // The tables have one figure a size; a model needs six blocks.
        let trials = (0..6).flat_map(|block| rows.iter().map(move |(bytes, delay)| as_trial(block, *bytes, *delay)));
        let analysis = analyse(trials);
        let elapsed = analysis.models().iter().find(|model| model.quantity == Quantity::Elapsed).unwrap();
        let FitOutcome::Fitted(Fit { r_squared, pieces, points, .. }) = &elapsed.outcome else { panic!("{name}: {:?}", elapsed.outcome) };
        let worst = points.iter().map(|point| point.residual.abs()).fold(0.0, f64::max);
        eprintln!("{name}: {} piece(s), r2 = {r_squared:.4}, worst residual {:.1} %", pieces.len(), worst * 100.0);
        assert!(*r_squared >= 0.99 && pieces.len() == 1, "{name}: {r_squared} in {} pieces", pieces.len());
        assert_eq!(pieces[0].terms.iter().map(|term| term.term).collect::<Vec<_>>(), [Term::Message, Term::Byte]);
    }
}
