//! The toll of one message: a picture of one size of a series, both ends on one axis of time.

use analysis::group_by;
use analysis::result::Analysis;
use analysis::result::receipt::{Column, ReceiptStudy, SeriesReceipt};
use attribution::{Category, Figure, Layer};
use model::sorting::Order;
use model::{Bytes, Role, Test};

use super::receipt::{figure, tables};
use super::run;
use crate::document::charts::{Bar, RowName, Waterfall};
use crate::document::{Block, Picture, Section, Waterfalls};
use crate::words::{list, plural};
use crate::{clock, number};

/// The layers from the top of the stack to its bottom, then those that serve all of them.
pub const ORDER: [Layer; 15] = [
    Layer::User,
    Layer::Syscall,
    Layer::Security,
    Layer::Socket,
    Layer::Tcp,
    Layer::Udp,
    Layer::Ip,
    Layer::Netfilter,
    Layer::Bpf,
    Layer::Netdev,
    Layer::Driver,
    Layer::Sched,
    Layer::Timer,
    Layer::Mm,
    Layer::Other,
];

/// Layers that take less of the CPU time of either end share a row.
const LEAST_SHARE: f64 = 0.01;

/// A kind of work of a smaller share would be named with none.
const LEAST_NAMED: f64 = 0.0005;

/// A picture that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPicture(String);

impl std::fmt::Display for NoPicture {
    fn fmt(&self, text: &mut std::fmt::Formatter) -> std::fmt::Result {
        text.write_str(&self.0)
    }
}

impl std::error::Error for NoPicture {}

/// Both ends of a series.
struct Pair<'a> {
    name: &'a str,
    test: Test,
    ends: [&'a SeriesReceipt; 2],
}

impl Pair<'_> {
    /// The columns of a size at both ends.
    fn columns(&self, size: Bytes) -> Option<[usize; 2]> {
        let [sender, receiver] = self.ends.map(|end| end.columns.iter().position(|column| column.size == size));
        Some([sender?, receiver?])
    }

    fn sizes(&self) -> Vec<Bytes> {
        let all = self.ends[0].columns.iter().map(|column| column.size);
        all.filter(|size| self.columns(*size).is_some()).collect()
    }

    fn usual(&self) -> Option<Bytes> {
        self.ends[0].usual(&self.sizes())
    }
}

/// Series of which both ends have a receipt of a size: that of the headline first, then datagrams.
fn pairs(study: &ReceiptStudy) -> Vec<Pair<'_>> {
    let grouped = group_by(&study.series, |series| series.series.as_str());
    let mut pairs: Vec<Pair> = grouped
        .into_iter()
        .filter_map(|(name, ends)| {
            let end = |role: Role| ends.iter().copied().find(|end| end.role == role);
            let ends = [end(Role::Sender)?, end(Role::Receiver)?];
            Some(Pair { name, test: ends[0].test, ends })
        })
        .filter(|pair| !pair.sizes().is_empty())
        .collect();
    let lead = study.lead().map(|(name, _)| name);
    pairs.order_by_key(|pair| (Some(pair.name) != lead, pair.test != Test::UdpStream));
    pairs
}

/// The data of a picture of one message: of the size asked for, else of the usual one.
///
/// # Errors
/// A run without receipts, or without one of that size; the message names the remedy.
pub(crate) fn one(analysis: &Analysis, size: Option<Bytes>) -> Result<Waterfall, NoPicture> {
    const REMEDY: &str = "`nettoll study receipt` makes a run with receipts";
    let id = &analysis.run.id;
    let study =
        analysis.receipt().ok_or_else(|| NoPicture(format!("{id} has no receipts, so there is no picture of a message; {REMEDY}")))?;
    let pairs = pairs(study);
    if pairs.is_empty() {
        return Err(NoPicture(format!(
            "no cell of {id} has a receipt of both ends, so there is no picture of a message; `nettoll report` says why"
        )));
    }
    let wanted = |pair: &Pair| size.map_or_else(|| pair.usual(), |size| pair.columns(size).map(|_| size));
    let found = pairs.iter().find_map(|pair| Some((pair, wanted(pair)?)));
    let Some((pair, size)) = found else {
        let mut sizes: Vec<Bytes> = pairs.iter().flat_map(Pair::sizes).collect();
        sizes.order();
        sizes.dedup();
        let known: Vec<String> = sizes.iter().map(|size| number::whole(size.get())).collect();
        return Err(NoPicture(format!("{id} has no receipt of that size; ask for one of {} B", known.join(", "))));
    };
    of(analysis, study, pair, size).ok_or_else(|| NoPicture(format!("{id} has no receipt of that size")))
}

/// The pictures with which a report of receipts begins; `None` where no series has both ends.
pub(crate) fn section(analysis: &Analysis) -> Option<Section> {
    let study = analysis.receipt()?;
    let pairs = pairs(study);
    let mut all = pairs.iter().enumerate().map(|(place, pair)| pictures(analysis, study, pair, place));
    let first = all.next();
    let names: Vec<String> = pairs.iter().skip(1).map(|pair| pair.name.to_owned()).collect();
    let drawn: Vec<Block> = first.into_iter().chain(Block::folded(format!("The same over {}", list(&names)), all)).collect();
    (!drawn.is_empty()).then(|| Section::new("toll", "The toll of one message", drawn).led("Toll"))
}

fn pictures(analysis: &Analysis, study: &ReceiptStudy, pair: &Pair, place: usize) -> Block {
    let usual = pair.usual();
    let one = |size: &Bytes| {
        let name = format!("s{}", size.get());
        Some((name, format!("{} B", number::whole(size.get())), usual == Some(*size), of(analysis, study, pair, *size)?))
    };
    let all = pair.sizes().iter().filter_map(one).collect();
    Block::Picture(Picture::Waterfalls(Waterfalls { id: format!("toll-{place}"), title: format!("One message over {}", pair.name), all }))
}

/// One size of a series.
fn of(analysis: &Analysis, study: &ReceiptStudy, pair: &Pair, size: Bytes) -> Option<Waterfall> {
    let places = pair.columns(size)?;
    let columns = [0, 1].map(|end| &pair.ends[end].columns[places[end]]);
    let cpu = columns.map(|column| &column.cpu);
    let subject = format!("{} · {} B", pair.name, number::whole(size.get()));
    let [sender, receiver] = cpu.map(|figure| number::time(figure.value));
    let sum = number::time(cpu[0].value + cpu[1].value);
    let red = columns.iter().any(|column| column.red);
    Some(Waterfall {
        heading: "The toll of one message".to_owned(),
        axis: "CPU time for this message, the receiver's after the sender's".to_owned(),
        subject,
        whole: format!("{sum} of CPU time: {sender} where it is sent, {receiver} where it is received."),
        bad: if red { "This receipt does not add up: its rows are not to be used.".to_owned() } else { String::new() },
        ends: [("sender ↓", cpu[0]), ("receiver ↑", cpu[1])].map(|(name, figure)| (name.to_owned(), with_margin(figure))),
        rows: rows(study, pair, places),
        kinds: kinds(study, columns),
        caption: caption(analysis, study, columns),
    })
}

fn with_margin(figure: &Figure) -> String {
    format!("{} {}", number::time(figure.value), figure::plus_minus(figure))
}

fn rows(study: &ReceiptStudy, pair: &Pair, places: [usize; 2]) -> Vec<(RowName, [Option<Bar>; 2])> {
    let share = |end: usize, layer: Layer| {
        let row = pair.ends[end].layers.rows.iter().find(|row| row.key == layer);
        row.map_or(0.0, |row| row.cells[places[end]].share)
    };
    let large = |layer: &Layer| share(0, *layer).max(share(1, *layer)) >= LEAST_SHARE;
    let bars = |layer: Layer| [0, 1].map(|end| bar(study, pair.ends[end], places[end], layer));
    let mut rows: Vec<(RowName, [Option<Bar>; 2])> =
        ORDER.iter().filter(|layer| large(layer)).map(|layer| (layer.to_string().into(), bars(*layer))).collect();
    let small: Vec<Layer> = ORDER.into_iter().filter(|layer| !large(layer) && share(0, *layer) + share(1, *layer) > 0.0).collect();
    if !small.is_empty() {
        rows.push((plural(small.len() as u64, "small layer").into(), [0, 1].map(|end| sum(study, pair.ends[end], places[end], &small))));
    }
    let rest = |name: &str, of: fn(&Column) -> Option<Figure>, end: usize| {
        let ns = of(&pair.ends[end].columns[places[end]]).filter(|ns| ns.value.is_finite())?;
        let hint = format!("{name} · {}\n{}\n{} ns", pair.ends[end].role, with_margin(&ns), figure::time_range(&ns, figure::ns));
        Some(Bar { ns: ns.value, interval: ns.interval, parts: Vec::new(), text: text(&ns), hint })
    };
    let unsampled: (_, _, fn(&Column) -> _) = (figure::UNSAMPLED, figure::UNSAMPLED_SHORT, |column| column.unsampled);
    let billed: (_, _, fn(&Column) -> _) = (figure::BILLED, figure::BILLED_SHORT, |column| column.charged);
    let shown = pair.ends.iter().any(|end| tables::shows_unsampled(end)).then_some(unsampled);
    for (name, short, of) in shown.into_iter().chain([billed]) {
        let ends = [0, 1].map(|end| rest(name, of, end));
        if ends.iter().any(Option::is_some) {
            rows.push((RowName { whole: name.to_owned(), short: Some(short) }, ends));
        }
    }
    rows
}

/// A figure next to a bar: with its `±`, or both ends of its interval where they lie far apart.
fn text(figure: &Figure) -> String {
    match figure.interval {
        Some([low, high]) if (high - low) > figure.value.abs() => {
            format!("{} to {} ns", figure::ns(low), figure::ns(high)).replace('-', "−")
        }
        _ => with_margin(figure),
    }
}

/// The kinds of work of a layer at an end, the costliest first.
fn work(study: &ReceiptStudy, series: &SeriesReceipt, place: usize, layers: &[Layer]) -> Vec<(usize, String, f64)> {
    let column = &series.columns[place];
    let Some(receipt) = study.cells[column.cell].end(series.role).outcome.receipt() else { return Vec::new() };
    let of_kind = |(place, category): (usize, &Category)| {
        let rows = receipt.rows.work.iter().filter(|row| row.key.1 == *category && layers.contains(&row.key.0));
        let ns: f64 = rows.map(|row| row.ns.value).sum();
        (ns > 0.0).then(|| (place, words(*category), ns))
    };
    Category::ALL.iter().enumerate().filter_map(of_kind).collect()
}

fn bar(study: &ReceiptStudy, series: &SeriesReceipt, place: usize, layer: Layer) -> Option<Bar> {
    let row = series.layers.rows.iter().find(|row| row.key == layer)?.cells.get(place)?;
    if !row.ns.value.is_finite() || row.ns.value <= 0.0 {
        return None;
    }
    let parts = work(study, series, place, &[layer]);
    let mut hint = format!("{layer} · {}\n{} ({} of its CPU time)", series.role, with_margin(&row.ns), figure::share(row.share));
    for (_, name, ns) in &parts {
        hint += &format!("\n{name} {}", number::time(*ns));
    }
    Some(Bar { ns: row.ns.value, interval: row.ns.interval, parts, text: text(&row.ns), hint })
}

/// Several layers in one bar, which has no interval of its own.
fn sum(study: &ReceiptStudy, series: &SeriesReceipt, place: usize, layers: &[Layer]) -> Option<Bar> {
    let rows = layers.iter().filter_map(|layer| Some((layer, series.layers.rows.iter().find(|row| row.key == *layer)?.cells.get(place)?)));
    let rows: Vec<_> = rows.filter(|(_, row)| row.ns.value > 0.0).collect();
    let ns: f64 = rows.iter().map(|(_, row)| row.ns.value).sum();
    let names: Vec<String> = rows.iter().map(|(layer, row)| format!("{layer} {}", with_margin(&row.ns))).collect();
    let hint = format!("layers below {} · {}\n{}\n{}", number::percent(LEAST_SHARE), series.role, number::time(ns), names.join("\n"));
    (ns > 0.0).then(|| Bar { ns, interval: None, parts: work(study, series, place, layers), text: number::time(ns), hint })
}

/// Name of a kind of work as a sentence has it.
fn words(category: Category) -> String {
    category.to_string().replace('-', " ")
}

/// The kinds of work of both ends, each with its share of their CPU time.
fn kinds(study: &ReceiptStudy, columns: [&Column; 2]) -> Vec<(usize, String, String)> {
    let receipts: Vec<_> = [Role::Sender, Role::Receiver]
        .into_iter()
        .zip(columns)
        .filter_map(|(role, column)| study.cells[column.cell].end(role).outcome.receipt())
        .collect();
    let cpu: f64 = receipts.iter().map(|receipt| receipt.cpu.value).sum();
    let one = |(place, category): (usize, &Category)| {
        let rows = receipts.iter().flat_map(|receipt| &receipt.rows.categories).filter(|row| row.key == *category);
        let ns: f64 = rows.map(|row| row.ns.value).sum();
        (ns / cpu >= LEAST_NAMED).then(|| (place, words(*category), figure::share(ns / cpu)))
    };
    Category::ALL.iter().enumerate().filter_map(one).collect()
}

/// What it was measured on, then how it is to be read.
fn caption(analysis: &Analysis, study: &ReceiptStudy, columns: [&Column; 2]) -> Vec<String> {
    let ran = &analysis.run;
    let host = analysis.hosts.first().map(run::host).into_iter();
    let on: Vec<String> = host.chain([run::link(&ran.plan), clock::utc(ran.started_ms), format!("nettoll {}", ran.tool)]).collect();
    let passes = |role: Role, column: &Column| {
        let receipt = study.cells[column.cell].end(role).outcome.receipt();
        receipt.map(|receipt| (receipt.sampling.samples, receipt.sampling.passes as u64))
    };
    let known: Vec<(u64, u64)> = [passes(Role::Sender, columns[0]), passes(Role::Receiver, columns[1])].into_iter().flatten().collect();
    let samples: u64 = known.iter().map(|(samples, _)| samples).sum();
    let trials = known.iter().map(|(_, passes)| *passes).min().unwrap_or(0);
    let read = format!(
        "± and whiskers: intervals at 95 % from {} of {} at each end. Rows stand in the order of the stack; both ends work at the same time. \
         A share in the legend is of the CPU time of both ends; “billed before it ran” is CPU time that the clock gives an end for a wake-up, before it has a CPU, “on a CPU, unsampled” what no sample shows.",
        plural(samples, "sample"),
        plural(trials, "trial"),
    );
    vec![on.join(" · "), read]
}
