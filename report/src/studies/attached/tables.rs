//! Tables of an attached program.

use analysis::answer::notation::{ends_of_time, unit_of};
use analysis::attached::{Call, Quantity, State, Work};
use attribution::{Context, Direction, Figure, Receipt, Row};
use model::attach::{Connection, Pattern, Way};
use model::sorting::Order;

use super::breakdown::{LEAST_SHARE, MOST_LAYERS};
use crate::document::{Block, Level, Rows, Table};
use crate::number::{NOTHING, bytes, percent, significant, time, whole};
use crate::studies::glance::{short, within};
use crate::studies::receipt::figure::{self, BILLED, UNSAMPLED};
use crate::words::{list, plural};

/// Routines that are shown at all.
const ROUTINES: usize = 60;
/// Functions of own code, and those that are the answer.
const OWN: usize = 40;
const MOST_OWN: usize = 6;
/// Rows of other tables, and routines that are the answer.
const MOST: usize = 12;

/// A row of the table of the answer: a part of a request's CPU time.
struct Portion {
    name: String,
    figure: String,
    share: String,
    /// What of it sends, receives and acknowledges.
    ways: [String; 3],
}

/// Where a request's CPU time goes, the dearest layers first, what it exchanges and what it waits for; empty where
/// its samples bear no rows.
pub fn at_a_glance(state: &State) -> Vec<Block> {
    let Some(receipt) = state.receipt().filter(|_| state.sampled(Work::Network).is_some()) else { return Vec::new() };
    let (factor, unit) = unit_of(receipt.cpu.value);
    let share = |ns: f64| percent(ns / receipt.cpu.value);
    let nothing = || [NOTHING, NOTHING, NOTHING].map(str::to_owned);
    let mut layers: Vec<&Row<attribution::Layer>> = receipt.rows.layers.iter().filter(|row| row.ns.value > 0.0).collect();
    layers.order_by(|a, b| b.ns.value.total_cmp(&a.ns.value));
    let others: f64 = layers.split_off(layers.len().min(MOST_LAYERS)).iter().map(|row| row.ns.value).sum();
    let layer = |row: &&Row<attribution::Layer>| {
        let own = row.key == attribution::Layer::User;
        let part = |way: Direction| {
            let ns = part(receipt, row, Some(way));
            if ns == 0.0 { NOTHING.to_owned() } else { short(ns / factor) }
        };
        Portion {
            name: if own { "own code".to_owned() } else { row.key.to_string() },
            figure: within(row.ns.value, row.ns.interval.map(|ends| ends_of_time(row.ns.value, ends)), factor),
            share: share(row.ns.value),
            ways: if own { nothing() } else { [Direction::Send, Direction::Receive, Direction::Acknowledgement].map(part) },
        }
    };
    let plain = |name: &str, ns: f64| Portion { name: name.to_owned(), figure: short(ns / factor), share: share(ns), ways: nothing() };
    let rest = [(UNSAMPLED, receipt.off_cpu.unsampled), (BILLED, receipt.off_cpu.charged)];
    let rest = rest.into_iter().filter_map(|(name, found)| Some((name, found?.value)));
    let rest = rest.filter(|(_, ns)| *ns >= LEAST_SHARE * receipt.cpu.value).map(|(name, ns)| plain(name, ns));
    let others = (others > 0.0).then(|| plain("others", others));
    let portions: Vec<Portion> = layers.iter().map(layer).chain(others).chain(rest).collect();
    let head = format!("a {}, {unit}", state.unit());
    let table = Rows::of(&portions)
        .words("", |row| row.name.as_str())
        .figures((head.as_str(), 12, ["", head.as_str()]), |row| row.figure.as_str())
        .figures(("share", 11, ["", "share"]), |row| row.share.as_str())
        .figures(("send", 8, ["", "send"]), |row| row.ways[0].as_str())
        .figures(("receive", 7, ["", "receive"]), |row| row.ways[1].as_str())
        .figures(("ack", 6, ["", "ack"]), |row| row.ways[2].as_str())
        .table()
        .labelled(format!("CPU time of a {} by layer", state.unit()), "");
    std::iter::once(table.into()).chain(Block::sentences(exchange(state).into_iter().chain(waits(receipt)))).collect()
}

/// The usual exchange.
fn exchange(state: &State) -> Option<String> {
    let usual = state.patterns.first()?;
    let sizes = usual.sends.iter().map(|size| whole(*size)).collect::<Vec<_>>().join(" + ");
    let given = match usual.sends.len() {
        0 => "nothing".to_owned(),
        writes => format!("{sizes} B in {}", plural(writes as u64, "write")),
    };
    let share = percent(usual.count as f64 / state.exchanges.max(1) as f64);
    let taken = format!("{} B in {}", whole(usual.received), plural(u64::from(usual.receives), "read"));
    Some(format!("An exchange takes {taken} and gives {given} ({share} of {}).", whole(state.exchanges)))
}

/// What a request waits for.
fn waits(receipt: &Receipt) -> Option<String> {
    let of =
        |found: Option<Figure>, words: &str| found.filter(|found| found.value > 0.0).map(|found| format!("{} {words}", time(found.value)));
    let all = [of(receipt.off_cpu.blocked, "asleep (all threads)"), of(receipt.off_cpu.runnable, "ready without a CPU")];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("Next to it: {}.", list(&all)))
}

/// The part of a layer that works for one way.
fn part(receipt: &Receipt, row: &Row<attribution::Layer>, wanted: Option<Direction>) -> f64 {
    let own = receipt.rows.paths.iter().filter(|path| path.key.layer == row.key && path.key.direction == wanted);
    own.map(|path| path.ns.value).sum()
}

/// Where the CPU time of a request goes; empty without a receipt.
pub fn receipt(state: &State) -> Vec<Block> {
    let Some(receipt) = state.receipt() else { return Vec::new() };
    let work = Rows::of(&state.work)
        .words("spent for", |row| row.work.to_string())
        .figures(per(state), |row| ns(&row.ns))
        .figures("share", |row| figure::share(row.share.value))
        .table()
        .labelled("Spent for", format!("CPU time of a {} by what the program asked of the kernel", state.unit()));
    let mut blocks: Vec<Block> =
        vec![work.into(), layers(state, receipt).into(), rows(state, "kind of work", &receipt.rows.categories).into()];
    // One row says no more than that of own code does.
    if state.own_code.iter().any(|row| row.function.is_some()) {
        blocks.push(own_code(state).labelled("Own code", "The program's own code by function").into());
    }
    let context = rows(state, "context", &receipt.rows.contexts);
    blocks.push(Block::usual([context.into()]));
    blocks.push(sums(state, receipt).into());
    let routines = &receipt.rows.functions[..receipt.rows.functions.len().min(ROUTINES)];
    let table = Table { row_levels: levels(MOST, routines.len()), ..rows(state, "routine", routines) };
    blocks.push(table.labelled("Routines", "Routines, the costliest first").into());
    blocks
}

fn own_code(state: &State) -> Table {
    let table = Rows::of(state.own_code.iter().take(OWN))
        .words("own code", |row| row.function.clone().unwrap_or_else(|| "others".to_owned()))
        .figures(per(state), |row| ns(&row.ns))
        .figures("share", |row| figure::share(row.share.value))
        .table();
    Table { row_levels: levels(MOST_OWN, table.rows()), ..table }
}

/// Levels of rows of which so many are the answer; a terminal leaves the others to the page.
fn levels(most: usize, rows: usize) -> Vec<Level> {
    (0..rows).map(|row| if row < most { Level::Answer } else { Level::Everything }).collect()
}

/// The head of a column of times.
fn per(state: &State) -> String {
    format!("ns a {}", state.unit())
}

fn ns(figure: &Figure) -> String {
    with_interval(figure::ns(figure.value), figure)
}

/// A value with half its interval; an interval of 0 is no share of anything.
fn with_interval(value: String, figure: &Figure) -> String {
    if figure.value == 0.0 { value } else { format!("{value} {}", figure::plus_minus(figure)) }
}

/// Layers, with the ways that each worked for.
fn layers(state: &State, receipt: &Receipt) -> Table {
    let part = |row: &Row<attribution::Layer>, wanted: Option<Direction>| {
        let sum = part(receipt, row, wanted);
        if sum == 0.0 { NOTHING.to_owned() } else { figure::ns(sum) }
    };
    let softirq = |row: &Row<attribution::Layer>| {
        let own = receipt.rows.paths.iter().filter(|path| path.key.layer == row.key && path.key.context != Context::Process);
        let sum: f64 = own.map(|path| path.ns.value).sum();
        if sum == 0.0 { NOTHING.to_owned() } else { figure::ns(sum) }
    };
    Rows::of(&receipt.rows.layers)
        .words("layer", |row| row.key.to_string())
        .figures(per(state), |row| ns(&row.ns))
        .figures("share", |row| figure::share(row.share.value))
        .figures("send", |row| part(row, Some(Direction::Send)))
        .figures("receive", |row| part(row, Some(Direction::Receive)))
        .figures("ack", |row| part(row, Some(Direction::Acknowledgement)))
        .figures("neither", |row| part(row, None))
        .figures("in irqs", softirq)
        .table()
        .labelled("Layers", format!("CPU time of a {} by layer", state.unit()))
}

fn rows<K: std::fmt::Display>(state: &State, head: &str, all: &[Row<K>]) -> Table {
    Rows::of(all)
        .words(head, |row| row.key.to_string())
        .figures(per(state), |row| ns(&row.ns))
        .figures("share", |row| figure::share(row.share.value))
        .table()
}

/// Does it add up?
fn sums(state: &State, receipt: &Receipt) -> Table {
    let closure = &receipt.closure;
    let ratio = |value: f64| figure::ratio(value);
    let mut lines: Vec<Vec<String>> = vec![vec!["CPU time, without an instrument".to_owned(), ns(&receipt.cpu)]];
    lines.extend(receipt.off_cpu.unsampled.map(|unsampled| vec![UNSAMPLED.to_owned(), ns(&unsampled)]));
    lines.extend(receipt.off_cpu.charged.map(|charged| vec![BILLED.to_owned(), ns(&charged)]));
    lines.extend(receipt.off_cpu.runnable.map(|runnable| vec!["ready, without a CPU".to_owned(), ns(&runnable)]));
    lines.extend(receipt.off_cpu.blocked.map(|blocked| vec!["asleep, all threads together".to_owned(), ns(&blocked)]));
    lines.extend(closure.sampler.map(|sampler| vec!["samples over time on the CPU (0.93 to 1.04)".to_owned(), ratio(sampler.value)]));
    lines.extend(closure.own.map(|own| vec!["CPU time and waits over wall time (0.95 to 1.05)".to_owned(), ratio(own)]));
    lines.extend(receipt.observer.as_ref().map(|observer| {
        vec![
            "CPU time with samples over without".to_owned(),
            format!("{} {}", ratio(observer.ratio.value), crate::interval::plus_minus(&observer.ratio)),
        ]
    }));
    Table::of_figures("", vec!["does it add up?".to_owned(), format!("{}, or ratio", per(state))], lines)
}

/// System calls, exchanges, and what clocks and counters tell of a request.
pub fn calls(state: &State) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !state.calls.is_empty() {
        let size = |call: &Call| call.sizes.first().map_or_else(|| NOTHING.to_owned(), |(size, _)| whole(*size));
        let asks = |call: &Call| {
            let least = if call.at_least.is_some_and(|share| share > 0.0) { "≥ " } else { "" };
            call.asked_bytes.map_or_else(|| NOTHING.to_owned(), |mean| format!("{least}{}", significant(mean, 4)))
        };
        let way = |call: &Call| if call.way == Way::In { "takes" } else { "gives" };
        let table = Rows::of(state.calls.iter().take(MOST))
            .words("call", |call| call.call.clone())
            .words("", way)
            .words("socket", |call| call.protocol.clone())
            .figures(format!("a {}", state.unit()), |call| figure::calls(call.per_request.value))
            .figures("mean B", |call| significant(call.mean_bytes, 4))
            .figures("usual B", size)
            .figures("asks B", asks)
            .figures("short", |call| call.short.map_or_else(|| NOTHING.to_owned(), percent))
            .figures("empty", |call| figure::calls(call.empty))
            .table()
            .labelled("Calls", "System calls that carry data");
        blocks.push(table.into());
    }
    if !state.patterns.is_empty() {
        let sends = |pattern: &Pattern| pattern.sends.iter().map(|size| whole(*size)).collect::<Vec<_>>().join(" + ");
        let table = Rows::of(state.patterns.iter().take(MOST))
            .words("exchange", |pattern| format!("takes {} B in {}", whole(pattern.received), pattern.receives))
            .words("gives B", |pattern| format!("{} ({})", sends(pattern), pattern.call))
            .figures("share", |pattern| percent(pattern.count as f64 / state.exchanges.max(1) as f64))
            .table()
            .labelled("Exchanges", "What is taken and what is given in answer");
        blocks.push(table.into());
    }
    if !state.per_request.is_empty() {
        let value = |one: &Quantity| match one.unit {
            "ns" => time(one.figure.value),
            "bytes" => bytes(one.figure.value),
            _ => figure::calls(one.figure.value),
        };
        let table = Rows::of(&state.per_request)
            .words("counted", |one| one.name.clone())
            .figures(format!("a {}", state.unit()), |one| with_interval(value(one), &one.figure))
            .table()
            .labelled("Counts", format!("Counts and times of a {}", state.unit()));
        blocks.push(table.into());
    }
    blocks
}

/// Sockets.
pub fn sockets(state: &State) -> Vec<Block> {
    let Some(sockets) = &state.sockets else { return Vec::new() };
    let counts: Vec<String> = sockets.count.iter().map(|(name, count)| format!("{} {name}", whole(*count))).collect();
    let mut blocks = vec![Block::Paragraph(format!("Sockets: {}.", counts.join(", ")).into())];
    if sockets.drops > 0 {
        blocks.push(Block::Paragraph(format!("Datagrams dropped at full receive buffers so far: {}.", whole(sockets.drops)).into()));
    }
    let sums = &sockets.sums;
    if sums.connections > 0 {
        let part = |time: u64| percent(time as f64 / sums.busy.max(1) as f64);
        blocks.push(Block::Paragraph(
            format!(
                "Connections, over their lives: {} segments sent again; of the time spent sending, {} held back by receivers' windows, {} by send buffers.",
                whole(sums.resent),
                part(sums.window_limited),
                part(sums.buffer_limited)
            )
            .into(),
        ));
    }
    if !sockets.connections.is_empty() {
        let rtt = |one: &Connection| one.tcp.map_or_else(|| NOTHING.to_owned(), |tcp| time(f64::from(tcp.rtt) * 1000.0));
        let resent = |one: &Connection| one.tcp.map_or_else(|| NOTHING.to_owned(), |tcp| whole(u64::from(tcp.total_retrans)));
        let table = Rows::of(sockets.connections.iter().take(MOST))
            .words("peer", |one| one.peer.clone())
            .level(Level::Everything)
            .words("own address", |one| one.local.clone())
            .level(Level::Answer)
            .figures("in queue", |one| whole(u64::from(one.receive_queue)))
            .figures("out queue", |one| whole(u64::from(one.send_queue)))
            .figures("rcvbuf", |one| bytes(f64::from(one.receive_buffer)))
            .figures("sndbuf", |one| bytes(f64::from(one.send_buffer)))
            .figures("rtt", rtt)
            .figures("sent again", resent)
            .figures("drops", |one| whole(u64::from(one.drops)))
            .table()
            .labelled("Sockets", "The sockets that moved most");
        blocks.push(Block::usual([table.into()]));
    }
    blocks
}
