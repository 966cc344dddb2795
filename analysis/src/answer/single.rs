//! The answer of one trial: its figures, and that one trial has no interval.

use model::TrialRecord;

use super::notation::{message, size, time};
use super::{Answer, Direction, Grade, Part};
use crate::metric::Metric;
use crate::single::Single;

/// The answer of one trial with its figures.
pub fn single(record: &TrialRecord, figures: &Single) -> Answer {
    let cell = record.cell_as_run();
    let subject = format!("{} {}", size(cell.size), message(cell.test));
    let known = [Metric::CpuPerMessageNs, Metric::ReceiverCpuPerMessageNs, Metric::TimePerMessageNs];
    let found = known.into_iter().find_map(|metric| Some((metric, *figures.metrics.get(&metric)?)));
    let headline = match found {
        Some((Metric::CpuPerMessageNs, ns)) => format!("A {subject} cost {} of CPU, both ends.", time(ns)),
        Some((Metric::ReceiverCpuPerMessageNs, ns)) => format!("A {subject} cost the receiver {} of CPU.", time(ns)),
        Some((_, ns)) => format!("A {subject} took {}.", time(ns)),
        None => format!("No {subject} was measured."),
    };
    let part = |(metric, value): (Metric, f64)| Part {
        subject: subject.clone(),
        against: None,
        metric: Some(metric),
        size: Some(cell.size),
        value,
        interval: None,
        direction: Direction::Figure,
    };
    let parts = found.map(part).into_iter().collect();
    Answer { parts, ..Answer::new(format!("one trial, {subject}"), headline, Grade::Open, "one trial, no interval") }
}
