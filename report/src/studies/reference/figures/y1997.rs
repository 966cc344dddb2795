//! 1997: cycles, instructions, reads and writes by layer and size, of which the text states sums of
//! one size.

use literature::claims::evidence::{Curve, Figure as Point};

use super::{DRAWING, Item, by_size, counted, drawn_sizes, figure, stacked};
use crate::document::figure::{Figure, Panel, Scale, Trace};
use crate::document::{Kind, Rows, Table};
use crate::number;

/// The paper's conclusion in our words.
pub const CONCLUSION: &str = "the link layer costs most. Without it, processing alone bounds TCP to 56 Mbit/s on sending and 62 on receiving; \
acknowledgements are a third and a quarter of that, and without them the bounds are 87 and 85.";

/// ns of a cycle at 150 MHz.
const CYCLE: f64 = 1e3 / 150.0;

/// What the text states of 1,440 B: direction, ms, Mbit/s with the acknowledgement, ms and Mbit/s without, MB/s of memory.
const STATED: [(&str, f64, f64, f64, f64, f64); 2] =
    [("send, acknowledgement received", 0.21, 56.0, 0.13, 87.0, 61.0), ("receive, acknowledgement sent", 0.19, 62.0, 0.14, 85.0, 172.0)];

fn cycles(id: u8, place: usize) -> Figure {
    let (direction, with, _, alone, ..) = STATED[place];
    let point = |ms: f64, name: &str| {
        let cycles = ms * 1e6 / CYCLE;
        ("1,440 B".to_owned(), cycles, name.to_owned(), format!("{cycles:.0} cycles, {ms} ms"))
    };
    let traces = vec![
        Trace::points("with the acknowledgement", 0, [point(with, "with the acknowledgement")]),
        Trace::points("without", 1, [point(alone, "without")]),
    ];
    let caption = "Sums of socket, TCP and IP that the text states in ms, as cycles of 6.67 ns.";
    figure(
        format!("f1997-{id}"),
        &format!("Figure {id}: {direction}"),
        caption,
        None,
        Panel::of("cycles per message", "").on(Scale::Linear),
        traces,
    )
}

fn table() -> Table {
    let row = |(direction, ms, rate, alone, alone_rate, memory): &(&str, f64, f64, f64, f64, f64)| {
        let figures = [*ms, *rate, *alone, *alone_rate, *memory].map(|figure| figure.to_string());
        std::iter::once((*direction).to_owned()).chain(figures).collect()
    };
    let heads = vec!["1,440 B", "ms", "Mbit/s", "ms without acknowledgement", "Mbit/s without", "MB/s of memory"];
    Table::of_rows(heads, STATED.iter().map(row).collect(), Kind::Figures)
}

/// Layers of 1997 in their order, and what it left out.
const STACK: [(&str, &str); 5] =
    [("socket", "socket"), ("TCP", "TCP"), ("IP", "IP"), ("Ethernet", "Ethernet"), ("apart", "switches and the rest")];

/// What is done for a message, its place in the page, and in words.
type Phase = (&'static str, &'static str, &'static str);

/// Those of figures 3 to 5, and of figures 6 to 8.
const SENDING: [Phase; 2] = [("send", "send", "sent"), ("acknowledgement taken", "taken", "its acknowledgement taken")];
const RECEIVING: [Phase; 2] = [("receive", "receive", "received"), ("acknowledgement sent", "acknowledge", "its acknowledgement sent")];

fn of_phase<'a>(today: &'a [Curve], phase: &str) -> Vec<&'a Curve> {
    let wanted = |curve: &&Curve| curve.quantity == "layer-ns" && curve.group == phase && curve.labels.iter().any(|label| label == "tcp");
    today.iter().filter(wanted).collect()
}

/// ns of today by layer, in place of cycles.
fn times(today: &[Curve], figure: u8, phases: &[Phase]) -> Vec<Figure> {
    let one = |(phase, id, name): &Phase| {
        let curves = of_phase(today, phase);
        let caption = format!("TCP: ns of both ends today, by the layers of 1997, at {}.", drawn_sizes(&curves));
        stacked(&format!("f1997-{id}"), &format!("Figure {figure} today: {name}"), &caption, &curves, &STACK)
    };
    phases.iter().map(one).collect()
}

/// Counts of today by phase and layer.
fn counts(today: &[Curve], figure: u8, phases: &[Phase], quantity: &str, of: &'static str) -> Vec<Figure> {
    let one = |(phase, id, name): &Phase| {
        let curves: Vec<&Curve> = today.iter().filter(|curve| curve.quantity == quantity && curve.group == *phase).collect();
        let sizes = drawn_sizes(&curves);
        let caption = format!("Exact counts of a message in an emulated machine, by the layers of 1997, at {sizes}.");
        counted(&format!("f1997-{quantity}-{id}"), &format!("Figure {figure} today: {of}, {name}"), &caption, of, &curves, &STACK)
    };
    phases.iter().map(one).collect()
}

fn by_layer(today: &[Curve], phases: &[Phase]) -> Option<Table> {
    let of = |(phase, _, name): &Phase| {
        let curves = of_phase(today, phase);
        STACK
            .iter()
            .filter_map(|(key, layer)| Some((format!("{name}: {layer}"), *curves.iter().find(|curve| curve.name == *key)?)))
            .collect::<Vec<_>>()
    };
    by_size("TCP by phase and layer", &phases.iter().flat_map(of).collect::<Vec<_>>())
}

/// Bounds of today at the paper's size: what processing alone sustains, and what memory has to deliver for it.
fn bounds(today: &[Curve]) -> Option<Table> {
    const SIZE: f64 = 1_440.0;
    const ENDS: [(&str, &str, &str); 4] = [
        ("send", "acknowledged", "send, acknowledged"),
        ("send", "alone", "send alone"),
        ("receive", "acknowledged", "receive, acknowledged"),
        ("receive", "alone", "receive alone"),
    ];
    let of = |quantity: &str, (end, how, _): &(&str, &str, &str)| {
        let labelled = |curve: &&Curve| [end, how].iter().all(|label| curve.labels.iter().any(|known| known == *label));
        let wanted = today.iter().filter(|curve| curve.quantity == quantity).filter(labelled);
        wanted.flat_map(|curve| &curve.points).find(|point| point.0 == SIZE).map(|point| point.1)
    };
    let written = |figure: Point, write: fn(f64) -> String| match figure.high > figure.low && figure.high.is_finite() {
        true => format!("{} ({} to {})", write(figure.value), write(figure.low), write(figure.high)),
        false => write(figure.value),
    };
    let rows: Vec<_> = ENDS.iter().filter(|row| of("cpu-rate", row).is_some()).collect();
    // Counts of earlier have no bytes.
    let bytes = rows.iter().any(|row| of("memory", row).is_some());
    let (memory, head) = if bytes { ("memory", "memory, MB/s") } else { ("memory-accesses", "memory, M accesses/s") };
    let table = Rows::of(&rows)
        .words("1,440 B, today", |(.., name)| *name)
        .figures("Mbit/s", |row| of("cpu-rate", row).map(|figure| written(figure, whole)))
        .figures(head, |row| of(memory, row).map(|figure| written(figure, whole)))
        .figures("B a byte", |row| of("moved-per-byte", row).map(|figure| written(figure, |bytes| number::significant(bytes, 3))));
    let title = "Bounds of today. Times are of a stream, by receipts; reads and writes are of a message that goes alone, counted in an emulated machine.";
    (!rows.is_empty()).then(|| table.table().titled(title))
}

fn whole(value: f64) -> String {
    number::whole(value.round() as u64)
}

pub fn items(today: &[Curve]) -> Vec<Item> {
    const RECEIPT: &str = "study receipt --test TCP_STREAM --size 100,300,500,1440";
    const MICROSCOPE: &str = "microscope --scenario tcp --size 100,300,500,1440";
    let cycles = |id: u8, place: usize, phases: &[Phase], shows: &str, claims: &'static [&'static str]| {
        Item::new(format!("Figure {id}"), format!("cycles by layer, {shows}"), DRAWING, claims)
            .drawn(std::iter::once(cycles(id, place)).chain(times(today, id, phases)))
            .tabled(by_layer(today, phases))
            .measured_by(RECEIPT)
    };
    let instructions = |id: u8, phases: &[Phase], shows: &str| {
        Item::new(format!("Figure {id}"), format!("instructions by layer, {shows}"), DRAWING, &[])
            .drawn(counts(today, id, phases, "layer-instructions", "instructions"))
            .measured_by(MICROSCOPE)
    };
    let memory = |id: u8, phases: &[Phase], shows: &str, claims: &'static [&'static str]| {
        let all = ["layer-reads", "layer-writes"].into_iter().zip(["reads", "writes"]);
        Item::new(format!("Figure {id}"), format!("data reads and data writes by layer, {shows}"), DRAWING, claims)
            .drawn(all.flat_map(|(quantity, of)| counts(today, id, phases, quantity, of)))
            .measured_by(MICROSCOPE)
    };
    let (send, receive) = ("a message sent and its acknowledgement received", "a message received and its acknowledgement sent");
    vec![
        cycles(3, 0, &SENDING, send, &["k97-01", "k97-03", "k97-05", "k97-08"]),
        instructions(4, &SENDING, send),
        memory(5, &SENDING, send, &["k97-06"]),
        cycles(6, 1, &RECEIVING, receive, &["k97-02", "k97-04"]),
        instructions(7, &RECEIVING, receive),
        memory(8, &RECEIVING, receive, &[]),
        Item::new("Section 3", "bounds of sending and receiving at 1,440 B", "stated figures only.", &["k97-07"])
            .tabled([table()])
            .tabled_today(bounds(today))
            .measured_by(RECEIPT),
    ]
}
