//! Receipts of a run in the terms of 1993 and 1997: both ends of a message summed, by kind of
//! work, and by layer and direction.

use attribution::exact::Stack;
use attribution::{Category, Layer, Receipt, Row};
use literature::claims::evidence::{Curve, Figure};
use stats::distribution::student_critical;

use super::{add, protocol};
use crate::Analysis;
use crate::studies::receipt::CellReceipt;

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// The kind of 1993 that a category belongs to: a loop that copies and sums is checksum.
const fn kind(category: Category) -> &'static str {
    match category {
        Category::CopyChecksum => Category::Checksum.name(),
        category => category.name(),
    }
}

/// Quantity of the curves by direction and layer.
pub const LAYERS: &str = "layer-ns";

/// Work that touches payload.
const TOUCHES: &str = "touches-payload";

/// What TCP itself does of the protocol's work.
const OF_TCP: &str = "protocol-of-tcp";

/// What no sample shows, and what is billed before an end runs: 1993's other has them.
const OTHER: &str = Category::Other.name();

/// ns of both ends: the figure, and the sums of each block's passes.
#[derive(Default)]
struct Sum {
    ns: f64,
    passes: Vec<f64>,
}

impl Sum {
    fn add<K>(&mut self, row: &Row<K>) {
        self.ns += row.ns.value;
        if self.passes.len() < row.passes.len() {
            self.passes.resize(row.passes.len(), 0.0);
        }
        self.passes.iter_mut().zip(&row.passes).for_each(|(sum, one)| *sum += one);
    }

    /// The sum with the interval of its blocks: both ends are drawn together.
    fn figure(&self) -> Figure {
        let n = self.passes.len() as f64;
        let mean = self.passes.iter().sum::<f64>() / n;
        let variance = self.passes.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let reach = student_critical(CONFIDENCE, n - 1.0) * (variance / n).sqrt();
        match n >= 2.0 && reach.is_finite() {
            true => Figure::within(self.ns, [(self.ns - reach).max(0.0), self.ns + reach]),
            false => Figure::within(self.ns, [0.0, f64::INFINITY]),
        }
    }
}

/// Curves of every cell of which both ends have a receipt.
pub fn curves(analysis: &Analysis) -> Vec<Curve> {
    let mut curves = Vec::new();
    let cells = analysis.receipt().into_iter().flat_map(|study| &study.cells);
    for cell in cells.filter(|cell| cell.arm.is_none() && cell.cell.test.is_stream()) {
        if let (Some(sender), Some(receiver)) = (cell.sender.outcome.receipt(), cell.receiver.outcome.receipt()) {
            of_cell(&mut curves, cell, [sender, receiver]);
        }
    }
    curves
}

fn of_cell(curves: &mut Vec<Curve>, cell: &CellReceipt, ends: [&Receipt; 2]) {
    let (protocol, bytes) = (protocol(cell.cell.test), cell.cell.size.get() as f64);
    let whole: f64 = ends.iter().map(|end| end.cpu.value).sum();
    let mut sums: Vec<(&'static str, Sum)> = Vec::new();
    let mut of = |name: &'static str, fill: &dyn Fn(&mut Sum)| match sums.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => fill(sum),
        None => {
            let mut sum = Sum::default();
            fill(&mut sum);
            sums.push((name, sum));
        }
    };
    for end in ends {
        end.rows.categories.iter().for_each(|row| of(kind(row.key), &|sum| sum.add(row)));
        let rest = [end.off_cpu.unsampled, end.off_cpu.charged].into_iter().flatten().map(|figure| figure.value).sum::<f64>();
        of(OTHER, &|sum| sum.ns += rest);
        of(TOUCHES, &|sum| sum.add(&end.rows.touching));
        let tcp = end.rows.work.iter().filter(|row| row.key == (Layer::Tcp, Category::Protocol));
        tcp.for_each(|row| of(OF_TCP, &|sum| sum.add(row)));
    }
    for (name, sum) in &sums {
        let figure = sum.figure();
        let share = Figure::within(figure.value / whole, [figure.low / whole, figure.high / whole]);
        add(curves, "kind", name, protocol, &[name, protocol], (bytes, figure));
        add(curves, "share", name, protocol, &[name, protocol], (bytes, share));
    }
    directions(curves, protocol, bytes, ends);
}

/// ns of both ends by direction, in the layers of 1997.
fn directions(curves: &mut Vec<Curve>, protocol: &str, bytes: f64, ends: [&Receipt; 2]) {
    for direction in attribution::Direction::ALL {
        for stack in Stack::ALL {
            let mut sum = Sum::default();
            let rows = ends.iter().flat_map(|end| &end.rows.paths);
            rows.filter(|row| row.key.direction == Some(*direction) && Stack::of(row.key.layer) == *stack).for_each(|row| sum.add(row));
            if sum.ns > 0.0 {
                add(curves, LAYERS, stack.name(), direction.name(), &[direction.name(), stack.name(), protocol], (bytes, sum.figure()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Category, Sum, kind};

    #[test]
    fn a_sum_is_as_well_known_as_its_blocks_agree() {
        let of = |passes: &[f64]| Sum { ns: 10.0, passes: passes.to_vec() }.figure();
        // t of three degrees of freedom at 95 % is 3.182.
        let four = of(&[9.0, 10.0, 10.0, 11.0]);
        let reach = 3.182 * (2.0_f64 / 3.0 / 4.0).sqrt();
        assert!((four.high - 10.0 - reach).abs() < 1e-3 && (10.0 - four.low - reach).abs() < 1e-3, "{four:?}");
        assert!(of(&[10.0]).high.is_infinite() && of(&[]).high.is_infinite(), "one block tells nothing");
        assert!(of(&[-90.0, 110.0]).low >= 0.0, "no time is below none");
    }

    #[test]
    fn a_loop_that_copies_and_sums_counts_once() {
        assert_eq!(
            [kind(Category::Checksum), kind(Category::CopyChecksum), kind(Category::Protocol)],
            ["checksum", "checksum", "protocol"]
        );
    }
}
