//! Exact counts in the terms of 1997: instructions, reads and writes by what is done for a message and by layer.

use attribution::Rules;
use attribution::exact::{Counts, Measured, Phase, PhaseRow, Stack, phases};
use literature::Study;
use literature::claims::evidence::{Curve, Figure};

use super::add;

/// An end of 1997, and what it does for a message.
const ENDS: [(&str, [Phase; 2]); 2] = [("send", [Phase::Send, Phase::AckTaken]), ("receive", [Phase::Receive, Phase::AckSent])];

/// The layers that the paper sums.
const SUMMED: [Stack; 3] = [Stack::Socket, Stack::Tcp, Stack::Ip];

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
    let sum = |phase: Phase| -> Counts {
        rows.iter().filter(|row| row.phase == Some(phase) && SUMMED.contains(&row.stack)).map(|row| row.counts).sum()
    };
    for (end, [message, acknowledgement]) in ENDS {
        let [message, acknowledgement] = [message, acknowledgement].map(|phase| sum(phase).instructions);
        if message > 0 && acknowledgement > 0 {
            let share = acknowledgement as f64 / (message + acknowledgement) as f64;
            let name = format!("{end}, by instructions of {kernel}");
            add(curves, "acknowledgement", &name, kernel, &[end], (bytes, Figure::exact(share)));
        }
    }
}

#[cfg(test)]
mod tests {
    use attribution::exact::{Counts, Phase, PhaseRow, Stack};

    use super::of_message;

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
}
