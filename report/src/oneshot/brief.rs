//! The summary of a trial in a few lines: an end a line, then what only some trials have.

use analysis::result::Metric;
use analysis::single::Single;
use model::end::EndReport;
use model::trial::Measured;
use model::{TrialRecord, Warning};

use super::TrialFacts;
use super::summary_parts::{is_paced, lost, per_second, warnings};
use crate::number;
use crate::sinks::terminal::Page;
use crate::studies::checks;
use crate::words::{capital, plural};

/// Width of the labels in the margin.
const MARGIN: usize = 10;

/// An end a line: payload, rate, messages, CPU.
pub fn ends(page: &mut Page, measured: &Measured, figures: &Single) {
    let metrics = [(Metric::SenderCpuPerMessageNs, Metric::SenderBusyShare), (Metric::ReceiverCpuPerMessageNs, Metric::ReceiverBusyShare)];
    let ends = [("sent", &measured.sender), ("received", &measured.receiver)];
    for ((name, end), (cpu, busy)) in ends.into_iter().zip(metrics) {
        let figure = |metric: Metric| figures.metrics.get(&metric).copied();
        let mut parts = vec![number::bytes(end.counts.bytes as f64)];
        if end.window.is_resolved() {
            let moved = end.counts.in_window();
            parts.extend(per_second(end, figures, moved.bytes).map(|bytes| number::bits(bytes * 8.0)));
            parts.extend(per_second(end, figures, moved.messages).map(|rate| format!("{} messages/s", number::count(rate))));
            parts.extend(figure(cpu).map(|cpu| format!("CPU {} each", number::time(cpu))));
            parts.extend(figure(busy).map(|busy| format!("{} busy", number::percent(busy))));
        } else {
            let length = number::time(end.window.length().get() as f64);
            parts.push(format!("{} in {length}: too short a time for a rate", plural(end.counts.messages, "message")));
        }
        parts.extend(resent(end).filter(|_| name == "sent"));
        page.labelled(&format!("{name:<MARGIN$}"), &parts.join(", "), MARGIN);
    }
}

fn resent(end: &EndReport) -> Option<String> {
    let resent = end.tcp?.resent_since(end.tcp_at_start);
    (resent > 0).then(|| format!("{} resent", number::whole(u64::from(resent))))
}

/// Round trips, a schedule that was not kept, datagrams that did not arrive.
pub fn further(page: &mut Page, record: &TrialRecord, measured: &Measured, figures: &Single) {
    if let Some(trips) = &figures.latency {
        let at = |percent: f64| {
            let longest = || number::time(trips.max_ns as f64);
            trips.percentile(percent).map_or_else(longest, number::time)
        };
        let from = if is_paced(&record.cell) { " from the intended time" } else { "" };
        let text = format!(
            "p50 {}, p90 {}, p99 {}, p99.9 {}, most {}{from}",
            at(50.0),
            at(90.0),
            at(99.0),
            at(99.9),
            number::time(trips.max_ns as f64)
        );
        page.labelled(&format!("{:<MARGIN$}", "trips"), &text, MARGIN);
    }
    if let Some(schedule) = measured.sender.schedule.as_ref().filter(|schedule| is_paced(&record.cell) && schedule.behind > 0) {
        page.labelled(
            &format!("{:<MARGIN$}", "behind"),
            &format!("{} of {} messages were not sent in time", number::whole(schedule.behind), number::whole(schedule.intended)),
            MARGIN,
        );
    }
    for (name, end) in [("way", &measured.receiver), ("way back", &measured.sender)] {
        if let Some(way) = &end.one_way {
            page.labelled(&format!("{name:<MARGIN$}"), &format!("{}, jitter {}", lost(way), number::time(way.jitter as f64)), MARGIN);
        }
    }
    if let Some(balance) = analysis::conservation::balance(measured, &record.cell) {
        page.labelled(&format!("{:<MARGIN$}", "datagrams"), &checks::datagrams(&balance), MARGIN);
    }
}

/// The first doubt with its remedy, and how many there are.
pub fn doubts(page: &mut Page, setting: &TrialFacts, record: &TrialRecord) {
    let all: Vec<&Warning> = warnings(setting, record);
    let Some(first) = all.first() else { return };
    let more = if all.len() > 1 { format!(" ({} more: -V)", all.len() - 1) } else { String::new() };
    page.warning(&format!("{}{more}", capital(&first.to_string())));
    page.plain(&format!("→ {}", first.remedy()), 0, 2);
}

/// What a single trial cannot tell, and where the rest is.
pub fn close(page: &mut Page) {
    page.faint("One trial has no interval; -V prints all, and the study that has intervals.", 0);
}
