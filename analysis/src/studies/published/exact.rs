//! Exact counts in the terms of 1997: instructions, reads and writes by what is done for a message and by layer.

use attribution::exact::{Counts, Measured, PhaseRow, phases};
use attribution::{Phase, Rules, Stack};
use literature::Study;
use literature::claims::evidence::{Curve, Figure};

use super::add;

/// An end of 1997, and what it does for a message.
pub(super) const ENDS: [(&str, [Phase; 2]); 2] = [("send", [Phase::Send, Phase::AckTaken]), ("receive", [Phase::Receive, Phase::AckSent])];

/// The layers that the paper sums.
pub(super) const SUMMED: [Stack; 3] = [Stack::Socket, Stack::Tcp, Stack::Ip];

/// Labels of a message with its acknowledgement, and without it.
pub(super) const ACKNOWLEDGED: &str = "acknowledged";
pub(super) const ALONE: &str = "alone";

/// Quantities: the rate that processing alone sustains, the acknowledgement's share of it, and what a byte of payload moves.
pub(super) const RATE: &str = "cpu-rate";
pub(super) const ACKNOWLEDGEMENT: &str = "acknowledgement";
const BYTES: &str = "moved-per-byte";
const ACCESSES: &str = "accesses-per-byte";

/// A count of a row.
type Counted = (&'static str, fn(&Counts) -> u64);

/// What is drawn of each message.
const COUNTED: [Counted; 3] = [
    ("layer-instructions", |counts| counts.instructions),
    ("layer-reads", |counts| counts.reads),
    ("layer-writes", |counts| counts.writes),
];

/// Curves of the TCP messages of an emulated machine, by the first of its kernels.
pub fn exact(measured: &[Measured]) -> Vec<(Study, Curve)> {
    let (Some(one), Ok(rules)) = (measured.first(), Rules::builtin()) else { return Vec::new() };
    let mut curves = Vec::new();
    for region in &one.regions {
        if let ("tcp", Some(bytes)) = region.scenario() {
            of_message(&mut curves, &one.provenance.kernel, bytes as f64, &phases(&region.tree, &rules));
        }
    }
    curves.into_iter().map(|curve| (Study::Kim1997, curve)).collect()
}

fn of_message(curves: &mut Vec<Curve>, kernel: &str, bytes: f64, rows: &[PhaseRow]) {
    for row in rows {
        let Some(phase) = row.phase else { continue };
        for (quantity, count) in COUNTED {
            let figure = Figure::exact(count(&row.counts) as f64);
            add(curves, quantity, row.stack.name(), phase.name(), &[phase.name(), row.stack.name(), kernel], (bytes, figure));
        }
    }
    let sum = |phases: &[Phase]| -> Counts {
        let summed = rows.iter().filter(|row| row.phase.is_some_and(|phase| phases.contains(&phase)) && SUMMED.contains(&row.stack));
        summed.map(|row| row.counts).sum()
    };
    for (end, both) in ENDS {
        let (acknowledged, alone) = (sum(&both), sum(&both[..1]));
        if alone.instructions == 0 || acknowledged.instructions == alone.instructions {
            continue;
        }
        let share = (acknowledged.instructions - alone.instructions) as f64 / acknowledged.instructions as f64;
        let name = format!("{end}, by instructions of {kernel}");
        add(curves, ACKNOWLEDGEMENT, &name, kernel, &[end], (bytes, Figure::exact(share)));
        for (how, counts) in [(ACKNOWLEDGED, acknowledged), (ALONE, alone)] {
            let name = format!("{end}, {how}, by counts of {kernel}");
            let moved = [(ACCESSES, counts.reads.saturating_add(counts.writes)), (BYTES, counts.bytes)];
            for (quantity, count) in moved.into_iter().filter(|(_, count)| *count > 0) {
                add(curves, quantity, &name, kernel, &[end, how], (bytes, Figure::exact(count as f64 / bytes)));
            }
        }
    }
}

/// Memory that counted messages need at the rates that receipts allow: MB/s, and a million accesses a second.
pub fn memory(curves: &[(Study, Curve)]) -> Vec<(Study, Curve)> {
    let of = |quantity: &'static str| curves.iter().map(|(_, curve)| curve).filter(move |curve| curve.quantity == quantity);
    let mut found = Vec::new();
    for (counted, quantity) in [(BYTES, "memory"), (ACCESSES, "memory-accesses")] {
        for count in of(counted) {
            for rate in of(RATE).filter(|rate| count.labels.iter().all(|label| rate.labels.contains(label))) {
                let labels: Vec<&str> = rate.labels.iter().map(String::as_str).collect();
                for (at, rate) in &rate.points {
                    let Some((_, a_byte)) = count.points.iter().find(|point| point.0 == *at) else { continue };
                    let per_s = rate.scaled(a_byte.value / 8.0);
                    add(&mut found, quantity, &count.name, &count.group, &labels, (*at, per_s));
                }
            }
        }
    }
    found.into_iter().map(|curve| (Study::Kim1997, curve)).collect()
}

#[cfg(test)]
mod tests {
    use attribution::exact::{Counts, PhaseRow};
    use attribution::{Phase, Stack};

    use super::{memory, of_message};
    use literature::Study;
    use literature::claims::evidence::{Curve, Figure};

    #[test]
    fn layers_are_summed_as_in_1997() {
        let row = |phase, stack, instructions, reads| PhaseRow {
            phase: Some(phase),
            stack,
            counts: Counts { instructions, reads, ..Counts::default() },
        };
        let rows = [
            row(Phase::Send, Stack::Tcp, 600, 100),
            row(Phase::Send, Stack::Socket, 100, 50),
            row(Phase::Send, Stack::Ethernet, 5_000, 5_000),
            row(Phase::AckTaken, Stack::Tcp, 300, 50),
            PhaseRow { phase: None, ..row(Phase::Send, Stack::Tcp, 9_000, 9_000) },
        ];
        let mut curves = Vec::new();
        of_message(&mut curves, "6.12", 1_440.0, &rows);
        let of = |quantity: &str, label: &str| {
            let curve = curves.iter().find(|curve| curve.quantity == quantity && curve.labels.iter().any(|known| known == label));
            curve.map(|curve| curve.points[0].1)
        };
        assert_eq!(of("acknowledgement", "send").unwrap().value, 0.3);
        assert!(of("acknowledgement", "receive").is_none());
        assert_eq!(of("layer-instructions", "Ethernet").unwrap().value, 5_000.0);
    }

    #[test]
    fn memory_is_what_a_byte_moves_at_the_rate_that_processing_allows() {
        let row = |phase, stack, bytes| PhaseRow {
            phase: Some(phase),
            stack,
            counts: Counts { instructions: 10, reads: bytes / 16, writes: bytes / 16, bytes, ..Counts::default() },
        };
        let rows = [
            row(Phase::Send, Stack::Tcp, 11_520),
            row(Phase::AckTaken, Stack::Ip, 2_880),
            // What 1997 left out moves nothing here.
            row(Phase::Send, Stack::Ethernet, 90_000),
        ];
        let mut curves = Vec::new();
        of_message(&mut curves, "6.12", 1_440.0, &rows);
        let rate = |how: &str, mbit: f64| Curve {
            quantity: "cpu-rate",
            name: format!("send, {how}"),
            group: String::new(),
            labels: ["send", how, "tcp", "veth"].map(str::to_owned).to_vec(),
            points: vec![(1_440.0, Figure::within(mbit, [mbit * 0.9, mbit * 1.1]))],
            given: false,
        };
        curves.extend([rate("acknowledged", 800.0), rate("alone", 1_000.0)]);
        let all: Vec<_> = curves.into_iter().map(|curve| (Study::Kim1997, curve)).collect();
        let found = memory(&all);
        let of = |quantity: &str, how: &str| {
            let curve = found
                .iter()
                .map(|(_, curve)| curve)
                .find(|curve| curve.quantity == quantity && curve.labels.iter().any(|label| label == how));
            let figure = curve.unwrap().points[0].1;
            [figure.value, figure.low, figure.high].map(|value| value.round())
        };
        // 10 bytes moved a byte of payload at 100 MB/s of it; 8 without the acknowledgement, at 125.
        assert_eq!((of("memory", "acknowledged"), of("memory", "alone")), ([1_000.0, 900.0, 1_100.0], [1_000.0, 900.0, 1_100.0]));
        assert_eq!(of("memory-accesses", "acknowledged"), [125.0, 113.0, 138.0]);
        assert_eq!(found.len(), 4);
    }
}
