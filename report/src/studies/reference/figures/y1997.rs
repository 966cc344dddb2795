//! 1997: cycles, instructions, reads and writes by layer and size, of which the text states sums of
//! one size.

use literature::claims::evidence::Curve;

use super::{DRAWING, Item, by_size, counted, figure, stacked};
use crate::document::figure::{Figure, Panel, Scale, Trace};
use crate::document::{Kind, Table};

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

/// Directions of a TCP message today; of acknowledgements the samples do not tell sent from received.
const DIRECTIONS: [(&str, &str); 3] = [("send", "sent"), ("receive", "received"), ("acknowledgement", "acknowledgements, both ways")];

fn of_direction<'a>(today: &'a [Curve], direction: &str) -> Vec<&'a Curve> {
    let wanted =
        |curve: &&Curve| curve.quantity == "layer-ns" && curve.group == direction && curve.labels.iter().any(|label| label == "tcp");
    today.iter().filter(wanted).collect()
}

/// ns of today by layer, in place of cycles.
fn times(today: &[Curve]) -> Vec<Figure> {
    let caption = "ns of both ends today, by the layers of 1997. The exact split of acknowledgements is the microscope's.";
    let one = |(direction, name): &(&str, &str)| {
        stacked(&format!("f1997-{direction}"), &format!("Today: {name}"), caption, &of_direction(today, direction), &STACK)
    };
    DIRECTIONS.iter().map(one).collect()
}

/// What is done for a message, as the microscope tells it apart.
const PHASES: [(&str, &str, &str); 4] = [
    ("send", "send", "sent"),
    ("acknowledgement taken", "taken", "its acknowledgement taken"),
    ("receive", "receive", "received"),
    ("acknowledgement sent", "acknowledge", "its acknowledgement sent"),
];

/// Counts of today by phase and layer.
fn counts(today: &[Curve], quantity: &str, of: &'static str) -> Vec<Figure> {
    let caption = "Exact counts of a message in an emulated machine, by the layers of 1997.";
    let one = |(phase, id, name): &(&str, &str, &str)| {
        let curves: Vec<&Curve> = today.iter().filter(|curve| curve.quantity == quantity && curve.group == *phase).collect();
        counted(&format!("f1997-{quantity}-{id}"), &format!("Today: {of}, {name}"), caption, of, &curves, &STACK)
    };
    PHASES.iter().map(one).collect()
}

fn by_layer(today: &[Curve]) -> Option<Table> {
    let of = |(direction, name): &(&str, &str)| {
        let curves = of_direction(today, direction);
        STACK
            .iter()
            .filter_map(|(key, layer)| Some((format!("{name}: {layer}"), *curves.iter().find(|curve| curve.name == *key)?)))
            .collect::<Vec<_>>()
    };
    by_size("TCP by direction and layer", &DIRECTIONS.iter().flat_map(of).collect::<Vec<_>>())
}

pub fn items(today: &[Curve]) -> Vec<Item> {
    vec![
        Item::new(
            "Figures 3 and 6",
            "cycles by layer: socket, TCP, IP, Ethernet at 100, 300, 500 and 1,440 B",
            DRAWING,
            &["k97-01", "k97-02", "k97-03", "k97-04", "k97-05", "k97-08"],
        )
        .drawn([cycles(3, 0), cycles(6, 1)].into_iter().chain(times(today)))
        .tabled(by_layer(today)),
        Item::new("Figures 4 and 7", "instructions by layer", DRAWING, &[]).drawn(counts(today, "layer-instructions", "instructions")),
        Item::new("Figures 5 and 8", "data reads and data writes by layer", DRAWING, &["k97-06"])
            .drawn(counts(today, "layer-reads", "reads").into_iter().chain(counts(today, "layer-writes", "writes"))),
        Item::new("Section 3", "bounds at 1,440 B", "stated figures only.", &["k97-07"]).tabled([table()]),
    ]
}
