//! One request as a bar: own code first, then the layers of the kernel by what they take.

use analysis::attached::State;
use attribution::{Footing, Layer, Receipt};
use model::sorting::Order;

use crate::document::charts::{Breakdown, Share};
use crate::document::{Block, Chart};
use crate::number::{percent, time};
use crate::studies::receipt::figure::{self, BILLED, UNSAMPLED};

/// Remainders of the CPU time that are no layer are shown from this share on.
pub const LEAST_SHARE: f64 = 0.03;
/// Layers that are parts of their own, in the bar and in the table; the others are one.
pub const MOST_LAYERS: usize = 6;

/// The bar of a receipt; none where nothing was sampled.
pub fn block(program: &str, state: &State, place: usize) -> Option<Block> {
    let unit = state.unit();
    let receipt = state.receipt().filter(|receipt| receipt.sampling.samples > 0)?;
    let mut parts = parts(receipt);
    let is_off = receipt.footing() == Footing::Off;
    if is_off {
        parts.iter_mut().for_each(|part| part.colour = None);
    }
    let barred = if is_off { "Do not use the parts, drawn hollow: they do not add up to it. " } else { "" };
    let sum: f64 = parts.iter().map(|part| part.amount).sum();
    let named: Vec<String> = parts.iter().map(|part| format!("{} {}", part.name, part.figure)).collect();
    let cpu = format!("{} ({} at 95 %)", time(receipt.cpu.value), figure::time_range(&receipt.cpu, time));
    Block::charts([Chart::Breakdown(Breakdown {
        id: format!("parts-{place}"),
        title: format!("One {unit}, by layer"),
        caption: format!("{barred}CPU time of {program} per {unit}: {cpu}. The parts add up to {}.", time(sum)),
        alt: format!("CPU time of a {unit} of {program}: {}.", named.join(", ")),
        parts,
    })])
}

fn parts(receipt: &Receipt) -> Vec<Share> {
    let cpu = receipt.cpu.value;
    let part = |name: String, ns: f64, colour: Option<usize>| {
        let figure = time(ns).replace(' ', "\u{a0}");
        Share { name, amount: ns, figure, share: percent(ns / cpu).replace(' ', "\u{a0}"), colour }
    };
    let mut layers: Vec<_> = receipt.rows.layers.iter().filter(|row| row.ns.value.is_finite() && row.ns.value > 0.0).collect();
    layers.order_by(|a, b| b.ns.value.total_cmp(&a.ns.value));
    let small = layers.split_off(layers.len().min(MOST_LAYERS));
    let (own, large): (Vec<_>, Vec<_>) = layers.into_iter().partition(|row| row.key == Layer::User);
    let place = |layer: Layer| Layer::ALL.iter().position(|known| *known == layer);
    let name = |layer: Layer| if layer == Layer::User { "own code".to_owned() } else { layer.to_string() };
    let named = own.into_iter().chain(large).map(|row| part(name(row.key), row.ns.value, place(row.key)));
    let others: f64 = small.iter().map(|row| row.ns.value).sum();
    let others = (others > 0.0).then(|| part("others".to_owned(), others, place(Layer::Other)));
    let rest = [(UNSAMPLED, receipt.off_cpu.unsampled), (BILLED, receipt.off_cpu.charged)];
    let rest = rest.into_iter().filter_map(|(name, ns)| Some((name, ns?.value))).filter(|(_, ns)| *ns >= LEAST_SHARE * cpu);
    named.chain(others).chain(rest.map(|(name, ns)| part(name.to_owned(), ns, None))).collect()
}
