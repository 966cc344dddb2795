//! The parts of a summary that only some trials have.

use analysis::result::Metric;
use analysis::single::{Single, Spread};
use model::end::{EndReport, FlowReport, OneWay, OptionValue, SocketOption};
use model::order::Order;
use model::trial::Measured;
use model::{Cell, TrialRecord, Warning};

use super::TrialFacts;
use crate::interval;
use crate::number::{self, NOTHING};
use crate::sinks::terminal::Page;
use crate::sinks::terminal::table::Column;
use crate::words::{capital, plural};

/// Returns whether the sender kept a schedule.
pub const fn is_paced(cell: &Cell) -> bool {
    cell.rate.is_some()
}

/// An amount within the measured part of an end by its length; `None` where the end has no rates.
pub fn per_second(end: &EndReport, figures: &Single, amount: u64) -> Option<f64> {
    figures.has_rates(end.role).then(|| amount as f64 / end.window.length().as_secs_f64())
}

/// A line for each flow, where there are several.
pub fn flows(page: &mut Page, measured: &Measured, figures: &Single) {
    let (sent, received) = (&measured.sender.flows, &measured.receiver.flows);
    let number = sent.len().max(received.len());
    if number < 2 {
        return;
    }
    let rate = |end: &EndReport, at: usize| {
        let bytes = end.flows.get(at).map(|flow| flow.counts.in_window().bytes);
        bytes.and_then(|bytes| per_second(end, figures, bytes)).map_or(NOTHING.to_owned(), |bytes| number::bits(bytes * 8.0))
    };
    let cpu = |flows: &[FlowReport], at: usize| flows.get(at).and_then(|flow| flow.cpu).map_or(NOTHING.to_owned(), |cpu| cpu.to_string());
    let resent = |at: usize| {
        let flow = sent.get(at)?;
        flow.tcp.map(|tcp| number::whole(u64::from(tcp.resent_since(flow.tcp_at_start))))
    };
    let column = |head, write: &dyn Fn(usize) -> String| Column::figures(9, ["", head], (0..number).map(write).collect());
    page.table(vec![
        column("flow", &|at| (at + 1).to_string()),
        column("sender's CPU", &|at| cpu(sent, at)),
        column("sent/s", &|at| rate(&measured.sender, at)),
        column("received/s", &|at| rate(&measured.receiver, at)),
        column("receiver's CPU", &|at| cpu(received, at)),
        column("resent", &|at| resent(at).unwrap_or(NOTHING.to_owned())),
    ]);
}

/// Round trips, from the intended and from the actual time of each request.
pub fn times(page: &mut Page, record: &TrialRecord, figures: &Single) {
    let Some(trips) = &figures.latency else { return };
    let mut rows = vec![("round trip".to_owned(), trips)];
    if let Some(uncorrected) = figures.uncorrected.as_ref().filter(|_| is_paced(&record.cell)) {
        rows = vec![("from the intended time".to_owned(), trips), ("from the actual time".to_owned(), uncorrected)];
    }
    spreads(page, rows);
    if figures.uncorrected.is_some() {
        page.faint(
            "From the intended time is what a client on this schedule waits; from the actual time is what a closed loop would have seen.",
            0,
        );
    }
}

/// The sender's schedule, and how it was kept.
pub fn schedule(page: &mut Page, record: &TrialRecord, measured: &Measured, figures: &Single) {
    let Some(schedule) = measured.sender.schedule.as_ref().filter(|_| is_paced(&record.cell)) else { return };
    page.gap();
    page.text(&format!("Schedule: {} messages, not sent in time: {}.", number::whole(schedule.intended), number::whole(schedule.behind)));
    spreads(page, figures.lateness.iter().map(|late| ("late by".to_owned(), late)).collect());
}

/// Loss by the numbers of datagrams: those that were skipped and never came.
pub fn lost(way: &OneWay) -> String {
    let all = way.messages.saturating_add(way.missing);
    let share = if all == 0 { 0.0 } else { way.missing as f64 / all as f64 };
    format!("{} of {} datagrams lost ({})", number::whole(way.missing), number::whole(all), number::percent(share))
}

/// Loss, order, jitter and one-way times by the stamps of datagrams.
pub fn stamped(page: &mut Page, measured: &Measured, figures: &Single) {
    for (name, end) in [("Way", &measured.receiver), ("Way back", &measured.sender)] {
        let Some(way) = &end.one_way else { continue };
        page.gap();
        page.text(&format!(
            "{name}: {}, {} out of order, {} twice. Jitter {} (RFC 3550).",
            lost(way),
            number::whole(way.out_of_order),
            number::whole(way.duplicates),
            number::time(way.jitter as f64),
        ));
    }
    if measured.receiver.one_way.is_none() {
        return;
    }
    if let Some(least) = figures.metrics.get(&Metric::LeastWayNs) {
        let of_clocks = match measured.clock {
            Some(clock) => format!("± {} by which the clocks' difference may be wrong", number::time(clock.error_ns as f64)),
            None => "by the one clock that both ends read".to_owned(),
        };
        page.text(&format!("Shortest way {}, {of_clocks}.", number::time(*least)));
    }
    spreads(page, figures.beyond_least.iter().map(|beyond| ("way beyond the shortest".to_owned(), beyond)).collect());
}

/// The longest that was seen, as a lower bound where some did not end.
fn longest(row: &Spread) -> String {
    let longest = number::time(row.max_ns as f64);
    number::tight(&if row.missing > 0 { interval::at_least(&longest) } else { longest })
}

fn spreads(page: &mut Page, rows: Vec<(String, &Spread)>) {
    if rows.is_empty() {
        return;
    }
    let column = |head, write: &dyn Fn(&Spread) -> String| Column::figures(9, ["", head], rows.iter().map(|(_, row)| write(row)).collect());
    let percent =
        |percent: f64| move |row: &Spread| row.percentile(percent).map_or_else(|| longest(row), |time| number::tight(&number::time(time)));
    let mut columns = vec![
        Column::words(9, ["", ""], rows.iter().map(|(name, _)| name.clone()).collect()),
        column("least", &|row| number::tight(&number::time(row.min_ns as f64))),
        column("p50", &percent(50.0)),
        column("p90", &percent(90.0)),
        column("p99", &percent(99.0)),
        column("p99.9", &percent(99.9)),
        column("most", &longest),
    ];
    let missing = rows.iter().any(|(_, row)| row.missing > 0);
    columns.extend(missing.then(|| column("missing", &|row| number::whole(row.missing))));
    page.table(columns);
    if missing {
        page.faint(
            "Missing are those that were due and never came to an end: they count as longer than all others, so that only ≥ is known.",
            0,
        );
    }
}

/// Socket options as asked, and as the kernel set them.
pub fn options(page: &mut Page, measured: &Measured) {
    let (sender, receiver) = (&measured.sender.options, &measured.receiver.options);
    let mut names: Vec<&str> = sender.iter().chain(receiver).map(|option| option.name.as_str()).collect();
    names.order();
    names.dedup();
    if names.is_empty() {
        return;
    }
    page.gap();
    let find = |options: &[SocketOption], name: &str| options.iter().find(|option| option.name == name).cloned();
    let asked = |name: &str| {
        let option = find(sender, name).or_else(|| find(receiver, name));
        option.and_then(|option| option.asked).map_or(NOTHING.to_owned(), |value| words(&value))
    };
    let got = |options: &[SocketOption], name: &str| {
        find(options, name).map_or(NOTHING.to_owned(), |option| match option.set == option.got {
            true => words(&option.got),
            false => format!("{} → {}", words(&option.set), words(&option.got)),
        })
    };
    page.table(vec![
        Column::words(9, ["", "option"], names.iter().map(|name| (*name).to_owned()).collect()),
        Column::figures(9, ["", "asked"], names.iter().map(|name| asked(name)).collect()),
        Column::figures(9, ["sender's, set", "→ at the end"], names.iter().map(|name| got(sender, name)).collect()),
        Column::figures(9, ["receiver's, set", "→ at the end"], names.iter().map(|name| got(receiver, name)).collect()),
    ]);
}

fn words(value: &OptionValue) -> String {
    match value {
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Text(text) => text.clone(),
    }
}

/// The warnings of the run and of the trial.
pub fn warnings<'a>(setting: &TrialFacts<'a>, record: &'a TrialRecord) -> Vec<&'a Warning> {
    let mut all: Vec<&Warning> = setting.warnings.iter().chain(&record.warnings).collect();
    all.dedup();
    all
}

/// Every doubt about the trial and the run, with what to do.
pub fn doubts(page: &mut Page, setting: &TrialFacts, record: &TrialRecord) {
    let all = warnings(setting, record);
    if all.is_empty() {
        return;
    }
    page.gap();
    page.warning(&plural(all.len() as u64, "warning"));
    for warning in all {
        page.item(&capital(&warning.to_string()));
        page.plain(&format!("→ {}", warning.remedy()), 2, 4);
    }
}
