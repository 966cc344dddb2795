//! A request as a picture: down the stack what the program gives, up again what it takes.

use analysis::attached::State;
use attribution::{Context, Direction, Footing, Layer, Path, Receipt, Row};

use crate::document::charts::{Bar, RowName, Waterfall};
use crate::document::{Block, Picture, Waterfalls};
use crate::number::{percent, time};
use crate::studies::receipt::figure::{self, BILLED, BILLED_SHORT, UNSAMPLED, UNSAMPLED_SHORT};
use crate::studies::toll::ORDER;

/// Layers that take less of the CPU time share a row.
const LEAST_SHARE: f64 = 0.01;
/// Contexts, each with its place among colours and its words.
const CONTEXTS: [(Context, usize, &str); 3] =
    [(Context::Process, 0, "in the program"), (Context::Softirq, 2, "in softirqs"), (Context::Hardirq, 5, "in interrupts")];

/// The picture of a receipt; none where nothing was sampled.
pub fn block(program: &str, state: &State, place: usize) -> Option<Block> {
    let receipt = state.receipt().filter(|receipt| receipt.sampling.samples > 0)?;
    let all = Waterfall {
        heading: format!("One {}", state.unit()),
        axis: format!("CPU time of a {}: received, then sent", state.unit()),
        subject: program.to_owned(),
        whole: format!("{} of CPU time.", with_margin(&receipt.cpu)),
        bad: if state.footing == Some(Footing::Off) {
            "This receipt does not add up: its rows are not to be used.".to_owned()
        } else {
            String::new()
        },
        ends: [("gives, and neither ↓", false), ("takes ↑", true)]
            .map(|(name, takes)| (name.to_owned(), time(sum(&paths(receipt, takes, &|_| true))))),
        rows: rows(receipt),
        kinds: kinds(receipt),
        caption: vec!["Bars are in the order of the stack, not in time. Costs without a direction are on the left.".to_owned()],
    };
    let title = format!("One {} of {program}", state.unit());
    let all = vec![(String::new(), String::new(), true, all)];
    Some(Block::Picture(Picture::Waterfalls(Waterfalls { id: format!("request-{place}"), title, all })))
}

fn with_margin(figure: &attribution::Figure) -> String {
    format!("{} {}", time(figure.value), figure::plus_minus(figure))
}

/// Rows of one side: what takes data and acknowledges it, or everything else.
fn paths<'a>(receipt: &'a Receipt, takes: bool, of: &dyn Fn(Layer) -> bool) -> Vec<&'a Row<Path>> {
    let taking = |way: Option<Direction>| matches!(way, Some(Direction::Receive | Direction::Acknowledgement));
    receipt.rows.paths.iter().filter(|row| of(row.key.layer) && taking(row.key.direction) == takes).collect()
}

fn sum(rows: &[&Row<Path>]) -> f64 {
    rows.iter().map(|row| row.ns.value).sum()
}

fn rows(receipt: &Receipt) -> Vec<(RowName, [Option<Bar>; 2])> {
    let share = |layer: Layer| receipt.rows.layers.iter().find(|row| row.key == layer).map_or(0.0, |row| row.share.value);
    let bars = |name: &str, of: &dyn Fn(Layer) -> bool| [false, true].map(|takes| bar(receipt, name, &paths(receipt, takes, of)));
    let large = ORDER.iter().filter(|layer| share(**layer) >= LEAST_SHARE);
    let mut rows: Vec<(RowName, [Option<Bar>; 2])> =
        large.map(|one| (one.to_string().into(), bars(one.name(), &|layer| layer == *one))).collect();
    let small = |layer: Layer| share(layer) > 0.0 && share(layer) < LEAST_SHARE;
    if Layer::ALL.iter().any(|layer| small(*layer)) {
        rows.push(("small layers".to_owned().into(), bars("small layers", &small)));
    }
    let off_cpu = &receipt.off_cpu;
    for (name, short, ns, least) in [
        (UNSAMPLED, UNSAMPLED_SHORT, off_cpu.unsampled, LEAST_SHARE * receipt.cpu.value),
        (BILLED, BILLED_SHORT, off_cpu.charged, f64::MIN),
    ] {
        let Some(ns) = ns.filter(|ns| ns.value.is_finite() && ns.value >= least) else {
            continue;
        };
        let hint = format!("{name}\n{}", with_margin(&ns));
        let bar = Bar { ns: ns.value, interval: ns.interval, parts: Vec::new(), text: with_margin(&ns), hint };
        rows.push((RowName { whole: name.to_owned(), short: Some(short) }, [Some(bar), None]));
    }
    rows
}

fn bar(receipt: &Receipt, name: &str, rows: &[&Row<Path>]) -> Option<Bar> {
    let ns = sum(rows);
    if ns <= 0.0 || !ns.is_finite() {
        return None;
    }
    let of_context = |(context, place, words): &(Context, usize, &str)| {
        let part: f64 = rows.iter().filter(|row| row.key.context == *context).map(|row| row.ns.value).sum();
        (part > 0.0).then(|| (*place, (*words).to_owned(), part))
    };
    let parts: Vec<(usize, String, f64)> = CONTEXTS.iter().filter_map(of_context).collect();
    let share = percent(ns / receipt.cpu.value);
    let mut hint = format!("{name}\n{} ({share} of the CPU time)", time(ns));
    for (_, words, part) in &parts {
        hint += &format!("\n{words} {}", time(*part));
    }
    Some(Bar { ns, interval: None, parts, text: time(ns), hint })
}

fn kinds(receipt: &Receipt) -> Vec<(usize, String, String)> {
    let of = |(context, place, words): &(Context, usize, &str)| {
        let ns: f64 = receipt.rows.contexts.iter().filter(|row| row.key == *context).map(|row| row.ns.value).sum();
        (ns > 0.0).then(|| (*place, (*words).to_owned(), time(ns)))
    };
    CONTEXTS.iter().filter_map(of).collect()
}
