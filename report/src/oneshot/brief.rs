//! A trial at a glance: an end a line, then what only some trials have.

use analysis::result::Metric;
use analysis::single::TrialFigures;
use model::TrialRecord;
use model::end::EndReport;
use model::trial::Measured;

use super::summary_parts::{is_paced, lost, per_second};
use crate::number;
use crate::series::shows_billed;
use crate::studies::checks;
use crate::studies::receipt::figure::BILLED;
use crate::words::plural;

/// Names and their values: both ends, round trips, a schedule that was not kept, datagrams.
pub fn facts(record: &TrialRecord, measured: &Measured, figures: &TrialFigures) -> Vec<(&'static str, String)> {
    let metrics = [(Metric::SenderCpuPerMessageNs, Metric::SenderBusyShare), (Metric::ReceiverCpuPerMessageNs, Metric::ReceiverBusyShare)];
    let ends = [("sent", &measured.sender), ("received", &measured.receiver)];
    let mut facts: Vec<(&str, String)> =
        ends.into_iter().zip(metrics).map(|((name, end), metrics)| (name, self::end(name == "sent", end, metrics, figures))).collect();
    if let Some(trips) = &figures.latency {
        let at = |percent: f64| number::time(trips.percentile(percent).unwrap_or(trips.max_ns as f64));
        let from = if is_paced(&record.cell) { " from the intended time" } else { "" };
        let most = number::time(trips.max_ns as f64);
        facts.push(("trips", format!("p50 {}, p90 {}, p99 {}, p99.9 {}, most {most}{from}", at(50.0), at(90.0), at(99.0), at(99.9))));
    }
    if let Some(schedule) = measured.sender.schedule.as_ref().filter(|schedule| is_paced(&record.cell) && schedule.behind > 0) {
        let [behind, intended] = [schedule.behind, schedule.intended].map(number::whole);
        facts.push(("behind", format!("{behind} of {intended} messages were not sent in time")));
    }
    for (name, end) in [("way", &measured.receiver), ("way back", &measured.sender)] {
        facts.extend(end.one_way.as_ref().map(|way| (name, format!("{}, jitter {}", lost(way), number::time(way.jitter as f64)))));
    }
    facts.extend(analysis::conservation::balance(measured, &record.cell).map(|balance| ("datagrams", checks::datagrams(&balance))));
    facts
}

/// Payload, rate, messages, CPU and busy share of an end.
fn end(sent: bool, end: &EndReport, (cpu, busy): (Metric, Metric), figures: &TrialFigures) -> String {
    let figure = |metric: Metric| figures.metrics.get(&metric).copied();
    let mut parts = vec![number::bytes(end.counts.bytes as f64)];
    if end.window.is_resolved() {
        let moved = end.counts.in_window();
        parts.extend(per_second(end, figures, moved.bytes).map(|bytes| number::bits(bytes * 8.0)));
        parts.extend(per_second(end, figures, moved.messages).map(|rate| format!("{} messages/s", number::count(rate))));
        let part = |whole: f64| cpu.billed().and_then(figure).filter(|part| shows_billed(part / whole));
        let part = |whole: f64| part(whole).map_or_else(String::new, |part| format!(" ({} {BILLED})", number::time(part)));
        parts.extend(figure(cpu).map(|whole| format!("CPU {} each{}", number::time(whole), part(whole))));
        parts.extend(figure(busy).map(|busy| format!("{} busy", number::percent(busy))));
    } else {
        let length = number::time(end.window.length().get() as f64);
        parts.push(format!("{} in {length}: too short a time for a rate", plural(end.counts.messages, "message")));
    }
    let resent = end.tcp.filter(|_| sent).map_or(0, |tcp| tcp.resent_since(end.tcp_at_start));
    parts.extend((resent > 0).then(|| format!("{} resent", number::whole(u64::from(resent)))));
    parts.join(", ")
}
