//! The parts of a summary that only some trials have.

use analysis::result::Metric;
use analysis::single::{Spread, TrialFigures};
use model::end::{EndReport, FlowReport, OneWay, OptionValue, SocketOption};
use model::sorting::Order;
use model::trial::Measured;
use model::{Cell, TrialRecord, Warning};

use super::TrialFacts;
use crate::document::{Block, Finding, Kind, Rows};
use crate::words::plural;
use crate::{interval, number};

/// Returns whether the sender kept a schedule.
pub const fn is_paced(cell: &Cell) -> bool {
    cell.rate.is_some()
}

/// An amount within the measured part of an end by its length; `None` where the end has no rates.
pub fn per_second(end: &EndReport, figures: &TrialFigures, amount: u64) -> Option<f64> {
    figures.has_rates(end.role).then(|| amount as f64 / end.window.length().as_secs_f64())
}

/// A line for each flow, where there are several.
pub fn flows(measured: &Measured, figures: &TrialFigures) -> Option<Block> {
    let (sent, received) = (&measured.sender.flows, &measured.receiver.flows);
    let places: Vec<usize> = (0..sent.len().max(received.len())).collect();
    let rate = |end: &EndReport, at: usize| {
        let bytes = end.flows.get(at).map(|flow| flow.counts.in_window().bytes)?;
        per_second(end, figures, bytes).map(|bytes| number::bits(bytes * 8.0))
    };
    let cpu = |flows: &[FlowReport], at: usize| flows.get(at).and_then(|flow| flow.cpu).map(|cpu| cpu.to_string());
    let resent = |at: &usize| {
        let flow = sent.get(*at)?;
        flow.tcp.map(|tcp| number::whole(u64::from(tcp.resent_since(flow.tcp_at_start))))
    };
    let table = Rows::of(&places)
        .figures("flow", |at| (at + 1).to_string())
        .figures("sender's CPU", |at| cpu(sent, *at))
        .figures("sent/s", |at| rate(&measured.sender, *at))
        .figures("received/s", |at| rate(&measured.receiver, *at))
        .figures("receiver's CPU", |at| cpu(received, *at))
        .figures("resent", resent)
        .table();
    (places.len() > 1).then(|| table.into())
}

/// Round trips, from the intended and from the actual time of each request.
pub fn times(record: &TrialRecord, figures: &TrialFigures) -> Vec<Block> {
    let Some(trips) = &figures.latency else { return Vec::new() };
    let mut blocks = match figures.uncorrected.as_ref().filter(|_| is_paced(&record.cell)) {
        Some(uncorrected) => spreads(&[("from the intended time", trips), ("from the actual time", uncorrected)]),
        None => spreads(&[("round trip", trips)]),
    };
    let note =
        "From the intended time is what a client on this schedule waits; from the actual time is what a closed loop would have seen.";
    blocks.extend(figures.uncorrected.is_some().then(|| Block::Aside(note.into())));
    blocks
}

/// How late the sender's schedule was kept.
pub fn lateness(record: &TrialRecord, figures: &TrialFigures) -> Vec<Block> {
    let late = figures.lateness.iter().filter(|_| is_paced(&record.cell));
    spreads(&late.map(|late| ("late by", late)).collect::<Vec<_>>())
}

/// Loss by the numbers of datagrams: those that were skipped and never came.
pub fn lost(way: &OneWay) -> String {
    let all = way.messages.saturating_add(way.missing);
    let share = if all == 0 { 0.0 } else { way.missing as f64 / all as f64 };
    format!("{} of {} datagrams lost ({})", number::whole(way.missing), number::whole(all), number::percent(share))
}

/// Order and one-way times by the stamps of datagrams.
pub fn stamped(measured: &Measured, figures: &TrialFigures) -> Vec<Block> {
    if measured.receiver.one_way.is_none() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    for (name, end) in [("Way", &measured.receiver), ("Way back", &measured.sender)] {
        blocks.extend(end.one_way.as_ref().map(|way| {
            let [late, twice] = [way.out_of_order, way.duplicates].map(number::whole);
            Block::Paragraph(format!("{name}: {late} out of order, {twice} twice; jitter is that of RFC 3550.").into())
        }));
    }
    blocks.extend(spreads(&figures.beyond_least.iter().map(|beyond| ("way beyond the shortest", beyond)).collect::<Vec<_>>()));
    blocks.extend(figures.metrics.get(&Metric::LeastWayNs).map(|least| {
        let of_clocks = match measured.clock {
            Some(clock) => format!("± {} by which the clocks' difference may be wrong", number::time(clock.error_ns as f64)),
            None => "by the one clock that both ends read".to_owned(),
        };
        Block::Aside(format!("Shortest way {}, {of_clocks}.", number::time(*least)).into())
    }));
    blocks
}

/// The longest that was seen, as a lower bound where some did not end.
fn longest(row: &Spread) -> String {
    let longest = number::time(row.max_ns as f64);
    number::tight(&if row.missing > 0 { interval::at_least(&longest) } else { longest })
}

fn spreads(rows: &[(&str, &Spread)]) -> Vec<Block> {
    if rows.is_empty() {
        return Vec::new();
    }
    let missing = rows.iter().any(|(_, row)| row.missing > 0);
    let time = |ns: f64| number::tight(&number::time(ns));
    let mut table = Rows::of(rows).words("", |(name, _)| *name).figures("least", |(_, row)| time(row.min_ns as f64));
    for (head, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)] {
        table = table.figures(head, |(_, row)| row.percentile(percent).map_or_else(|| longest(row), time));
    }
    let table =
        table.figures("most", |(_, row)| longest(row)).column_if(missing, "missing", Kind::Figures, |(_, row)| number::whole(row.missing));
    let note = "Missing are those that were due and never came to an end: they count as longer than all others, so that only ≥ is known.";
    std::iter::once(table.table().into()).chain(missing.then(|| Block::Aside(note.into()))).collect()
}

/// Socket options as asked, and as the kernel set them.
pub fn options(measured: &Measured) -> Option<Block> {
    let (sender, receiver) = (&measured.sender.options, &measured.receiver.options);
    let mut names: Vec<&str> = sender.iter().chain(receiver).map(|option| option.name.as_str()).collect();
    names.order();
    names.dedup();
    let find = |options: &[SocketOption], name: &str| options.iter().find(|option| option.name == name).cloned();
    let asked = |name: &&str| {
        let option = find(sender, name).or_else(|| find(receiver, name));
        option.and_then(|option| option.asked).map(|value| words(&value))
    };
    let got = |options: &[SocketOption], name: &str| {
        find(options, name).map(|option| match option.set == option.got {
            true => words(&option.got),
            false => format!("{} → {}", words(&option.set), words(&option.got)),
        })
    };
    let table = Rows::of(&names)
        .words("option", |name| *name)
        .figures("asked", asked)
        .figures(("Sender's", 9, ["sender's, set", "→ at the end"]), |name| got(sender, name))
        .figures(("Receiver's", 9, ["receiver's, set", "→ at the end"]), |name| got(receiver, name))
        .table();
    (!names.is_empty()).then(|| table.into())
}

fn words(value: &OptionValue) -> String {
    match value {
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Text(text) => text.clone(),
    }
}

/// Every doubt about the trial and the run, with what to do: the first, then the others.
pub fn doubts(setting: &TrialFacts, record: &TrialRecord) -> Vec<Block> {
    let mut all: Vec<&Warning> = setting.warnings.iter().chain(&record.warnings).collect();
    all.dedup();
    let more = all.len().saturating_sub(1);
    let finding = |(place, warning): (usize, &&Warning)| {
        let more = if place == 0 && more > 0 { format!(" ({})", plural(more as u64, "more warning")) } else { String::new() };
        Finding { text: format!("{warning}{more}"), remedy: warning.remedy(), concerns: String::new() }
    };
    let mut findings: Vec<Finding> = all.iter().enumerate().map(finding).collect();
    let rest = findings.split_off(findings.len().min(1));
    let block = |all: Vec<Finding>| (!all.is_empty()).then_some(Block::Findings(all));
    block(findings).into_iter().chain(block(rest).map(|rest| Block::usual([rest]))).collect()
}
