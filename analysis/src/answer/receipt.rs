//! The answer of a study with receipts: what one message costs at each end, and its dearest layers.

use attribution::{BILLED, Figure, Footing, Receipt};
use model::Role;
use model::sorting::Order;

use super::next;
use super::notation::{amount, message, plural, size, time, time_in, verb};
use super::{Answer, Grade, Part};
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::studies::receipt::{CellReceipt, ReceiptOutcome};

/// Reach of the CPU time's interval up to which it is settled, and up to which it is rough.
pub const REACHES: [f64; 2] = [0.1, 0.5];

/// Samples of an end from which on rows are settled, and below which there are none to be read.
pub const SAMPLES: [u64; 2] = [500, 100];

/// Layers that a headline names.
const MOST_LAYERS: usize = 2;

/// Reach of an interval as a share; `None` without one.
pub fn reach(figure: &Figure) -> Option<f64> {
    let [low, high] = figure.interval?;
    Some((figure.value - low).max(high - figure.value) / figure.value).filter(|reach| reach.is_finite())
}

/// The reason of a CPU time whose interval is too wide to be settled.
pub fn wide(known: &str) -> String {
    format!("{known}; settled needs ±{} %", amount(REACHES[0]))
}

/// The grade of receipts by their CPU time, samples and sums.
pub fn grade(receipts: &[&Receipt], ends: usize) -> (Grade, String) {
    let Some(samples) = receipts.iter().map(|receipt| receipt.sampling.samples).min() else {
        return (Grade::Open, "there is no receipt".to_owned());
    };
    let reach = receipts.iter().map(|receipt| reach(&receipt.cpu)).reduce(|a, b| Some(a?.max(b?))).flatten();
    let footing = |wanted: fn(Footing) -> bool| receipts.iter().any(|receipt| wanted(receipt.footing()));
    let without = receipts.iter().filter(|receipt| receipt.cpu.interval.is_none()).count();
    let known = match reach {
        Some(reach) => format!("CPU within ±{} %", amount(reach)),
        None if without == receipts.len() => "no interval of the CPU time".to_owned(),
        None => {
            let has = verb(without as u64, "has", "have");
            format!("{without} of {} {has} no interval of the CPU time", plural(receipts.len() as u64, "end"))
        }
    };
    let reach = reach.unwrap_or(f64::INFINITY);
    if samples < SAMPLES[1] {
        return (Grade::Open, format!("{}: only the CPU time can be read", plural(samples, "sample")));
    }
    let missing = ends.saturating_sub(receipts.len());
    if missing > 0 {
        return (Grade::Rough, format!("{known}; {} without a receipt", plural(missing as u64, "end")));
    }
    match () {
        () if reach.is_infinite() => (Grade::Open, known),
        () if reach > REACHES[1] => (Grade::Open, format!("{known}; rough needs ±{} %", amount(REACHES[1]))),
        () if footing(|one| one == Footing::Off) => (Grade::Rough, format!("{known}; rows that do not add up are not to be used")),
        () if footing(|one| one == Footing::NoRecords) => {
            (Grade::Rough, format!("{known}; rows are shares of what was sampled, compared with no time"))
        }
        () if reach > REACHES[0] => (Grade::Rough, wide(&known)),
        () if samples < SAMPLES[0] => {
            (Grade::Rough, format!("{known}; {} at an end, settled needs {}", plural(samples, "sample"), SAMPLES[0]))
        }
        () => (Grade::Settled, format!("{known}; rows add up")),
    }
}

/// The answer.
pub fn of(analysis: &Analysis) -> Answer {
    let cells = analysis.receipt().map_or(&[][..], |study| &study.cells);
    let receipts: Vec<&Receipt> = cells.iter().flat_map(CellReceipt::receipts).collect();
    let (grade, mut reason) = grade(&receipts, 2 * cells.len());
    let absent = || cells.iter().flat_map(|cell| [Role::Sender, Role::Receiver].map(|role| &cell.end(role).outcome));
    if receipts.is_empty()
        && let Some(why) = absent().find_map(|outcome| if let ReceiptOutcome::Absent { reason } = outcome { Some(reason) } else { None })
    {
        reason = format!("no receipt was made: {why}");
    }
    // The same one that is drawn first and tabled first.
    let lead = analysis.receipt().and_then(|study| study.lead());
    let is_lead = |cell: &&CellReceipt| lead.is_some_and(|(series, size)| cell.cell.size == size && cell.series() == series);
    let first = cells.iter().find(is_lead).or_else(|| cells.iter().find(|cell| cell.receipts().next().is_some())).or(cells.first());
    let Some(cell) = first else { return Answer::new("receipt", "Nothing was measured.", grade, reason) };
    let question = format!("receipt, {} of {}", message(cell.cell.test), size(cell.cell.size));
    let ends: Vec<(&str, &Receipt)> =
        [Role::Sender, Role::Receiver].into_iter().filter_map(|role| Some((role.name(), cell.end(role).outcome.receipt()?))).collect();
    // A receipt is of one message on its way.
    if analysis.cells.iter().any(|one| one.cell == cell.cell && one.is_lossy()) {
        reason += "; lost datagrams are not counted";
    }
    let subject = format!("One {} of {}", message(cell.cell.test), size(cell.cell.size));
    let sum: f64 = ends.iter().map(|(_, receipt)| receipt.cpu.value).sum();
    let each: Vec<String> =
        ends.iter().map(|(end, receipt)| format!("{end} {}", time_in(receipt.cpu.value, receipt.cpu.interval))).collect();
    let mut headline = match ends.as_slice() {
        [] => format!("{subject} has no receipt."),
        [(end, receipt)] => format!("{subject} costs the {end} {} of CPU.", time_in(receipt.cpu.value, receipt.cpu.interval)),
        _ => format!("{subject} costs {} of CPU: {}.", time(sum), each.join(", ")),
    };
    let readable = ends.iter().filter(|(_, receipt)| receipt.sampling.samples >= SAMPLES[1] && receipt.footing() != Footing::Off);
    let readable: Vec<(&str, &Receipt)> = readable.copied().collect();
    headline += &dearest(&readable);
    let brief = match readable.iter().flat_map(|(_, receipt)| &receipt.rows.layers).max_by(|a, b| a.ns.value.total_cmp(&b.ns.value)) {
        Some(row) if sum > 0.0 => format!("{}; {} {} %", time(sum), row.key, amount(row.ns.value / sum)),
        _ if ends.is_empty() => "no receipt".to_owned(),
        _ => time(sum),
    };
    let part = |(end, receipt): &(&str, &Receipt)| {
        let metric = if receipt.role == Role::Sender { Metric::SenderCpuPerMessageNs } else { Metric::ReceiverCpuPerMessageNs };
        Part { interval: receipt.cpu.interval, ..Part::figure(*end, Some(metric), Some(cell.cell.size), receipt.cpu.value) }
    };
    let parts = ends.iter().map(part).collect();
    let next = (grade != Grade::Settled && !receipts.is_empty()).then(|| next::halve(analysis, "halve the intervals"));
    let next = next
        .or_else(|| receipts.is_empty().then(|| next::Next::command("see what this machine lacks for receipts", "nettoll doctor", None)));
    Answer { parts, brief, next, ..Answer::new(question, headline, grade, reason) }
}

/// The dearest rows: ` Dearest: billed before it ran 1.19 µs (receiver), ip 432 ns (sender).`
fn dearest(ends: &[(&str, &Receipt)]) -> String {
    let rows = |(end, receipt): &(&'_ str, &Receipt)| -> Vec<(String, String, f64)> {
        let layers = receipt.rows.layers.iter().map(|row| (row.key.to_string(), row.ns.value));
        let charged = receipt.off_cpu.charged.map(|charged| (BILLED.to_owned(), charged.value));
        layers.chain(charged).map(|(name, ns)| ((*end).to_owned(), name, ns)).collect()
    };
    let mut rows: Vec<_> = ends.iter().flat_map(rows).filter(|(.., ns)| *ns > 0.0).collect();
    rows.order_by(|a, b| b.2.total_cmp(&a.2));
    rows.truncate(MOST_LAYERS);
    let all: Vec<String> = rows.iter().map(|(end, name, ns)| format!("{name} {} ({end})", time(*ns))).collect();
    if all.is_empty() { String::new() } else { format!(" Dearest: {}.", all.join(", ")) }
}
