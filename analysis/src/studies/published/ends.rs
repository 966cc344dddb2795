//! Receipts of a run in the terms of 1993 and 1997: both ends of a message summed, by kind of
//! work, and by layer and direction.

use attribution::{Category, Layer, Phase, Receipt, Row, Stack};
use literature::Study;
use literature::claims::evidence::{Curve, Figure};
use model::Cell;
use model::plan::Offload;
use stats::distribution::student_critical;

use super::exact::{ACKNOWLEDGED, ACKNOWLEDGEMENT, ALONE, ENDS, RATE, SUMMED};
use super::{add, figure, inverse, link, protocol};
use crate::Analysis;
use crate::grouping::group_by;
use crate::metric::Metric;
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

/// Quantity of the curves by phase and layer.
const LAYERS: &str = "layer-ns";

/// Work that touches payload.
pub const TOUCHES: &str = "touches-payload";

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

/// What a run with receipts says of each of its cells.
struct Labels {
    /// Protocol, link, and who sums checksums.
    labels: [String; 3],
    /// Its curves are of one group.
    group: String,
    /// It is over loopback, where nothing is summed.
    loopback: bool,
    /// Checksums are summed by the CPU.
    software: bool,
}

impl Labels {
    fn of(analysis: &Analysis, cell: &Cell) -> Self {
        let (protocol, link) = (protocol(cell.test), link(analysis, cell));
        let software = analysis.run.plan.link.offloads.get(&Offload::Tx) == Some(&false);
        let loopback = link == "loopback";
        let group = match (software, loopback) {
            (false, false) => protocol.to_owned(),
            (true, _) => format!("{protocol}, checksums by the CPU"),
            (false, true) => format!("{protocol} over loopback"),
        };
        Self { labels: [protocol.to_owned(), link, if software { "software" } else { "offload" }.to_owned()], group, loopback, software }
    }

    fn with<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        more.iter().copied().chain(self.labels.iter().map(String::as_str)).collect()
    }
}

/// Curves of every cell of which both ends have a receipt: kinds of work for 1984 and 1993, directions and layers for 1997,
/// for 2007 those of loopback alone.
pub fn curves(analysis: &Analysis) -> Vec<(Study, Curve)> {
    let mut all = Vec::new();
    let cells = analysis.receipt().into_iter().flat_map(|study| &study.cells);
    for cell in cells.filter(|cell| cell.arm.is_none() && cell.cell.test.is_stream() && cell.cell.mix.is_none()) {
        if let (Some(sender), Some(receiver)) = (cell.sender.outcome.receipt(), cell.receiver.outcome.receipt()) {
            of_cell(&mut all, analysis, cell, [sender, receiver]);
        }
    }
    all.into_iter().flat_map(|(study, curves)| curves.into_iter().map(move |curve| (study, curve))).collect()
}

/// Curves of each paper.
type Papers = Vec<(Study, Vec<Curve>)>;

/// Those of one.
fn of_paper(all: &mut Papers, study: Study) -> &mut Vec<Curve> {
    let place = all.iter().position(|(known, _)| *known == study).unwrap_or_else(|| {
        all.push((study, Vec::new()));
        all.len() - 1
    });
    &mut all[place].1
}

fn of_cell(all: &mut Papers, analysis: &Analysis, cell: &CellReceipt, ends: [&Receipt; 2]) {
    let (labels, bytes) = (Labels::of(analysis, &cell.cell), cell.cell.size.get() as f64);
    let whole: f64 = ends.iter().map(|end| end.cpu.value).sum();
    let sums = kinds(ends);
    for (name, sum) in &sums {
        let (figure, known) = (sum.figure(), labels.with(&[*name]));
        let share = Figure::within(figure.value / whole, [figure.low / whole, figure.high / whole]);
        let papers = if labels.loopback { [None, Some(Study::Bidulock2007)] } else { [Some(Study::Kay1993), Some(Study::Cabrera1984)] };
        for study in papers.into_iter().flatten() {
            add(of_paper(all, study), "kind", name, &labels.group, &known, (bytes, figure));
            add(of_paper(all, study), "share", name, &labels.group, &known, (bytes, share));
        }
        if *name == TOUCHES && labels.labels[0] == "udp" && cell.cell.size.get() == BLOCK && !labels.loopback && !labels.software {
            let one = (0.0, share);
            add(of_paper(all, Study::Kay1993), MIX, "messages of 8 KiB", &labels.group, &labels.with(&[TOUCHES]), one);
        }
    }
    if labels.loopback {
        return;
    }
    let cpu = analysis.cells.iter().find(|known| known.cell == cell.cell).and_then(|known| known.metrics.get(&Metric::CpuPerMessageNs));
    let quantity = if labels.software { "cost-with-checksum" } else { "cost-without-checksum" };
    if let Some(cpu) = cpu {
        add(of_paper(all, Study::Kay1993), quantity, &labels.group, "", &labels.with(&[]), (bytes, figure(cpu)));
    }
    if !labels.software {
        functions(of_paper(all, Study::Cabrera1984), &labels, bytes, ends);
        // The paper is of TCP alone.
        if labels.labels[0] == "tcp" {
            phases(of_paper(all, Study::Kim1997), &labels, bytes, ends);
        }
    }
}

/// Both ends by kind of work, and the sums across kinds that claims take.
fn kinds(ends: [&Receipt; 2]) -> Vec<(&'static str, Sum)> {
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
    sums
}

/// Seconds of each function, both ends summed: the routines of 1984.
fn functions(curves: &mut Vec<Curve>, labels: &Labels, bytes: f64, ends: [&Receipt; 2]) {
    let rows = ends.iter().flat_map(|end| &end.rows.functions);
    for (name, rows) in group_by(rows, |row| row.key.as_str()) {
        let mut sum = Sum::default();
        rows.into_iter().for_each(|row| sum.add(row));
        let ns = sum.figure();
        add(
            curves,
            "seconds",
            name,
            &labels.group,
            &labels.with(&[name]),
            (bytes, Figure::within(ns.value * 1e-9, [ns.low * 1e-9, ns.high * 1e-9])),
        );
    }
}

/// ns of both ends by phase, in the layers of 1997, and what follows from their sums.
fn phases(curves: &mut Vec<Curve>, labels: &Labels, bytes: f64, ends: [&Receipt; 2]) {
    let sum_of = |wanted: &dyn Fn(Option<Phase>, Stack) -> bool| {
        let mut sum = Sum::default();
        let rows = ends.iter().flat_map(|end| &end.rows.phases);
        rows.filter(|row| wanted(row.key.0, row.key.1)).for_each(|row| sum.add(row));
        sum
    };
    for phase in Phase::ALL {
        for stack in Stack::ALL {
            let sum = sum_of(&|of, layer| of == Some(*phase) && layer == *stack);
            if sum.ns > 0.0 {
                add(curves, LAYERS, stack.name(), phase.name(), &labels.with(&[phase.name(), stack.name()]), (bytes, sum.figure()));
            }
        }
    }
    for (end, both) in &ENDS {
        let [acknowledged, alone] =
            [&both[..], &both[..1]].map(|phases| sum_of(&|of, layer| of.is_some_and(|of| phases.contains(&of)) && SUMMED.contains(&layer)));
        for (how, sum) in [(ACKNOWLEDGED, &acknowledged), (ALONE, &alone)].into_iter().filter(|(_, sum)| sum.ns > 0.0) {
            let rate = inverse(sum.figure(), bytes * 8e3);
            add(curves, RATE, &format!("{end}, {how}"), "", &labels.with(&[end, how]), (bytes, rate));
        }
        let acknowledgement = sum_of(&|of, layer| of == Some(both[1]) && SUMMED.contains(&layer));
        if acknowledgement.ns > 0.0 {
            let part = acknowledgement.figure();
            let share = Figure::within(part.value / acknowledged.ns, [part.low / acknowledged.ns, part.high / acknowledged.ns]);
            add(curves, ACKNOWLEDGEMENT, &format!("{end}, by time"), "", &labels.with(&[end]), (bytes, share));
        }
    }
    let (link, whole) = (sum_of(&|_, layer| layer == Stack::Ethernet).figure(), sum_of(&|_, _| true).ns);
    if whole > 0.0 {
        let share = Figure::within(link.value / whole, [link.low / whole, link.high / whole]);
        add(curves, "layer-share", "devices and drivers", "", &labels.with(&["link"]), (bytes, share));
    }
}

/// A block of a file server of 1993.
const BLOCK: u64 = 8_192;

/// Quantity of the shares of a mix of sizes.
pub const MIX: &str = "mix";

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
