//! The cost models of the sample.

use analysis::result::{Breakpoint, CellResult, CostModel, Fit, FitOutcome, FitPoint, Metric, Piece, Quantity, Term, TermEstimate};
use model::Bytes;

use super::bootstrapped;

/// One for each stream series and quantity.
pub fn all(cells: &[CellResult]) -> Vec<CostModel> {
    let mut models = Vec::new();
    let mut seen = Vec::new();
    for cell in cells.iter().filter(|cell| cell.cell.test.is_stream()) {
        let series = cell.cell.series();
        if seen.contains(&series) {
            continue;
        }
        let of_series: Vec<_> = cells.iter().filter(|other| other.cell.series() == cell.cell.series()).collect();
        for quantity in [Quantity::Elapsed, Quantity::SenderCpu, Quantity::ReceiverCpu] {
            let outcome = outcome(&series.to_string(), quantity, &of_series);
            models.push(CostModel { series: series.clone(), protocol: cell.cell.protocol(), quantity, outcome });
        }
        seen.push(series);
    }
    models
}

fn outcome(series: &str, quantity: Quantity, cells: &[&CellResult]) -> FitOutcome {
    let share = match quantity {
        Quantity::Elapsed => (1.0, 0.0),
        Quantity::SenderCpu => (0.99, 0.0),
        Quantity::ReceiverCpu => (0.62, 300.0),
    };
    let line = |a: f64, b: f64| (a * share.0 + share.1, b * share.0);
    match series {
        "UDP_STREAM" => fit(quantity, cells, &[(1, 1_472, line(1_900.0, 0.31)), (1_473, 16_384, line(3_900.0, 0.38))], Some(0.997)),
        "UDP_STREAM (ipv6)" => fit(quantity, cells, &[(1, 1_452, line(2_050.0, 0.33)), (8_192, 16_384, line(4_350.0, 0.33))], None),
        "TCP_STREAM (nodelay)" => fit(quantity, cells, &[(1, 16_384, line(1_150.0, 0.21))], None),
        _ => FitOutcome::NotALine {
            reason: "Nagle's algorithm gathers small messages into full segments, so the time per message is not a line in its size; read the time per full segment, or measure with nodelay".into(),
        },
    }
}

fn fit(quantity: Quantity, cells: &[&CellResult], pieces: &[(u64, u64, (f64, f64))], collinearity: Option<f64>) -> FitOutcome {
    let metric = match quantity {
        Quantity::Elapsed => Metric::TimePerMessageNs,
        Quantity::SenderCpu => Metric::SenderCpuPerMessageNs,
        Quantity::ReceiverCpu => Metric::ReceiverCpuPerMessageNs,
    };
    let fitted = |size: u64| {
        let (_, _, (a, b)) = pieces.iter().find(|(from, to, _)| (*from..=*to).contains(&size)).expect("a size of the sample");
        a + b * size as f64
    };
    let points = cells
        .iter()
        .filter_map(|cell| {
            let measured = *cell.metrics.get(&metric)?;
            let fitted = fitted(cell.cell.size.get());
            Some(FitPoint { size: cell.cell.size, measured, fitted, residual: measured.value / fitted - 1.0 })
        })
        .collect();
    let term = |term, value: f64| TermEstimate { term, estimate: bootstrapped(value, value * 0.016), counted: None };
    let pieces_of = pieces.iter().map(|&(from, to, (a, b))| {
        let mut terms = vec![term(Term::Message, a), term(Term::Byte, b)];
        // Beyond the MTU, where frames vary.
        let collinearity = collinearity.filter(|_| from > 1_472);
        if collinearity.is_some() {
            terms.push(term(Term::FullSegment, b * 1472.0));
        }
        if quantity == Quantity::ReceiverCpu && pieces.len() == 1 {
            // No cost per byte is shown, and wake-ups count.
            terms[1].estimate = bootstrapped(-0.002, 0.009);
            terms.push(TermEstimate { counted: Some([0.031, 0.95]), ..term(Term::Wakeup, 2_400.0) });
        }
        Piece { from: Bytes::new(from), to: Bytes::new(to), terms, collinearity }
    });
    let breakpoints =
        pieces.windows(2).map(|pair| Breakpoint { after: Bytes::new(pair[0].1), before: Bytes::new(pair[1].0), name: Some("MTU".into()) });
    FitOutcome::Fitted(Fit { pieces: pieces_of.collect(), breakpoints: breakpoints.collect(), r_squared: 0.9983, points })
}
