//! One message from 1984 on: its time over its size, and what a message and a byte cost by year.

use literature::years::{Fall, Year, falls};

use crate::document::figure::{Figure, Panel, Scale, SizeAxis, Ticks, Trace};
use crate::document::{Block, Rows, Section, Table};
use crate::number;

const NS: f64 = 1e-9;

/// The section.
pub fn section(years: &[Year]) -> Section {
    let lead = "1984 is elapsed time on a wire of 10 Mbit/s, 1988 a packet at two buffers, 1997 the CPU of one end without the link, 2007 both ends on one CPU or \
                on two hardware threads, today each end on its own CPU. Lines are costs of a message and a byte; one size alone gives an upper bound.";
    let [message, byte] = falls(years);
    let falls =
        [("A message", message), ("A byte", byte)].into_iter().filter_map(|(what, fall)| fall.as_ref().map(|fall| sentence(what, fall)));
    let blocks = [Block::Lead(lead.into())].into_iter().chain(Block::figures(vec![by_size(years), by_year(years)]));
    let all = Block::everything("Cost of a message and of a byte by year", [table(years).into()]);
    let behind = Block::usual(blocks.collect::<Vec<_>>());
    let last = years.iter().map(|one| one.year).max().unwrap_or_default();
    let title = format!("One message, 1984 to {last}");
    Section::new("years", &title, [behind].into_iter().chain(Block::sentences(falls)).chain(all)).led("One message")
}

fn sentence(what: &str, fall: &Fall) -> String {
    let [from, to] = &fall.stacks;
    let factor = number::whole(fall.factor.round() as u64);
    let halved = number::significant(fall.halved_in, 2);
    format!("{what} by UDP: {factor} times cheaper by {to} than by {from}. It halved every {halved} years.")
}

fn name(one: &Year) -> String {
    format!("{} {}, {}", one.year, one.stack, one.machine)
}

/// The last year of the papers.
const LAST: u16 = 2007;

/// Year and stack without its kernel's version and what all of a run have set: what one line of a legend names.
fn kind(one: &Year) -> String {
    let words = one.stack.split_once("Linux ").and_then(|(_, rest)| rest.split_once(' ')).map_or(one.stack.as_str(), |(_, stack)| stack);
    let kind = match words.split_once(" (").filter(|(_, inside)| inside.contains('=')) {
        Some((stack, inside)) => {
            let own: Vec<&str> = inside.trim_end_matches(')').split(", ").filter(|word| !word.contains('=')).collect();
            if own.is_empty() { stack.to_owned() } else { format!("{stack} ({})", own.join(", ")) }
        }
        None => words.to_owned(),
    };
    let when = if one.year > LAST { "today" } else { "then" };
    format!("{when}, {} {kind}", one.year)
}

/// Places and times of a stack's line, or of its upper bound at one size; a gap behind them.
fn line(one: &Year) -> Vec<(f64, f64, String, String)> {
    let (message, byte) = (one.ns_per_message.unwrap_or(0.0), one.ns_per_byte.unwrap_or(0.0));
    let Some([from, to]) = one.span().filter(|_| message + byte > 0.0) else { return Vec::new() };
    let count = if to > from { 8 } else { 1 };
    let point = |step: u8| {
        let size = from * (to / from).powf(f64::from(step) / f64::from((count - 1).max(1)));
        let ns = message + byte * size;
        (size, ns * NS, format!("{}, {} B", name(one), number::whole(size.round() as u64)), number::time(ns))
    };
    (0..count).map(point).chain([(to, f64::NAN, String::new(), String::new())]).collect()
}

/// Time of a message over its size; where there is one size, the upper bound. Machines of a year that run one kind of
/// stack share a name.
fn by_size(years: &[Year]) -> Figure {
    let kinds = analysis::group_by(years, |one| kind(one));
    let trace = |(place, (kind, all)): (usize, (String, Vec<&Year>))| {
        let hollow = all.iter().all(|one| one.year <= LAST);
        let name = if all.len() > 1 { format!("{kind} ({})", all.len()) } else { kind };
        Trace { hollow, ..Trace::points(&name, place, all.into_iter().flat_map(line)) }
    };
    let traces: Vec<Trace> = kinds.into_iter().enumerate().map(trace).filter(|trace| !trace.is_empty()).collect();
    let mut axis = SizeAxis::over(1, 16_384);
    axis.linear_ticks = Ticks::default();
    let at: Vec<f64> = (0..=7).map(|power| 4_f64.powi(power)).collect();
    axis.log_ticks = Ticks { text: at.iter().map(|size| number::size(*size as u64)).collect(), at };
    Figure {
        id: "years-sizes".into(),
        title: "Time of a message over its size".into(),
        caption: "Both axes are logarithmic. A line is cost of a message plus cost of its bytes; a single mark is an upper bound. In \
                  parentheses: machines and kernels, a line each."
            .to_owned(),
        alt: "Time of a message over its size, a line a stack. The figures are in the table below.".to_owned(),
        sizes: Some(axis),
        panels: vec![Panel::of("time per message", "s").on(Scale::Log)],
        traces,
    }
}

/// Costs over the year, a message above and a byte below.
fn by_year(years: &[Year]) -> Figure {
    // Only UDP over sockets is one thing through the years, one of each year: all others are marks by themselves.
    let joined = literature::years::of_udp_sockets(years);
    let is_joined = |one: &Year| joined.iter().any(|other| std::ptr::eq(*other, one));
    let point = |one: &Year, of: fn(&Year) -> Option<f64>| Some((f64::from(one.year), of(one)? * NS, name(one), number::time(of(one)?)));
    let marks = |panel: usize, of: fn(&Year) -> Option<f64>| {
        let others = |line: bool| years.iter().filter(move |one| one.is_line() == line).filter(|one| !is_joined(one)).collect();
        let all: [(&str, Vec<&Year>); 3] =
            [("UDP over sockets", joined.clone()), ("other stacks", others(true)), ("an upper bound", others(false))];
        all.into_iter().enumerate().map(move |(series, (kind, of_kind))| {
            let trace = Trace::points(kind, series, of_kind.into_iter().filter_map(|one| point(one, of)));
            Trace { panel, legend: panel == 0, apart: series > 0, hollow: series == 2, ..trace }
        })
    };
    let message: Vec<Trace> = marks(0, |one| one.ns_per_message).collect();
    let byte: Vec<Trace> = marks(1, |one| one.ns_per_byte).collect();
    let panel = |title| Panel { share: 0.5, ..Panel::of(title, "s").on(Scale::Log) };
    let panels = vec![panel("a message"), panel("a byte")];
    let today = years.iter().map(|one| one.year).filter(|year| *year > 2007).max();
    let at: Vec<f64> = [1984, 1988, 1993, 1997, 2007].into_iter().chain(today).map(f64::from).collect();
    let text = at.iter().map(|year| format!("{year:.0}")).collect();
    let ticks = Ticks { at, text };
    let axis = SizeAxis { title: Some("year"), log: false, log_ticks: Ticks::default(), linear_ticks: ticks, landmarks: Vec::new() };
    Figure {
        id: "years".into(),
        title: "Cost of a message and of a byte by year".into(),
        caption: "The line joins one stack of each year. Hollow: an upper bound, all time of one size put on the message or on its bytes. 1993 has shares only.".to_owned(),
        alt: "Cost of a message and of a byte by year. The figures are in the table below.".to_owned(),
        sizes: Some(axis),
        panels,
        traces: message.into_iter().chain(byte).filter(|trace| !trace.is_empty()).collect(),
    }
}

fn table(years: &[Year]) -> Table {
    Rows::of(years)
        .words("Year", |one| one.year.to_string())
        .words("Stack", |one| one.stack.as_str())
        .words("Machine", |one| one.machine.as_str())
        .words("Link", |one| one.link.as_str())
        .words("What is timed", |one| one.what.as_str())
        .figures("A message", |one| one.ns_per_message.map(number::time))
        .figures("A byte", |one| one.ns_per_byte.map(number::time))
        .words("Sizes, B", |one| one.sizes.as_str())
        .words("From", |one| one.source.as_str())
        .table()
}
