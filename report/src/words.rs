//! Sentences and words that several sections share.

use analysis::result::{Metric, Unit};
use model::{Api, Receive};

use crate::number;

/// `1 trial`, `2 trials`.
pub fn plural(count: u64, one: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {one}{s}", number::whole(count))
}

/// Verb for what a sender does until a message's time has come.
pub const fn pacing(pacing: model::Pacing) -> &'static str {
    match pacing {
        model::Pacing::Sleep => "sleeps",
        model::Pacing::Spin => "spins",
    }
}

/// Writes a figure of the metric with its unit.
pub const fn writer(metric: Metric) -> fn(f64) -> String {
    match metric.unit() {
        Unit::Count | Unit::PerSecond => number::count,
        Unit::BitsPerSecond => number::bits,
        Unit::Nanoseconds => number::time,
        Unit::Share => number::percent,
        Unit::PerMessage => |value| number::significant(value, 2),
    }
}

/// `1 series`, `2 series`.
pub fn series(count: u64) -> String {
    format!("{} series", number::whole(count))
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

/// The sentence with a capital at its start, unless it starts with the name of
/// a file or of a variable.
pub fn capital(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default().trim_end_matches(['.', ',', ':', ';']);
    if first.contains(['.', '/', '_']) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A way's name: its api, the messages of a call where there are several, and the way of
/// receiving where it is not the api's own.
pub fn way(api: Api, receive: Option<Receive>, batch: u32) -> String {
    let batch = if batch > 1 { format!(" ×{batch}") } else { String::new() };
    let receive = receive.map(|receive| format!(" → {receive}")).unwrap_or_default();
    format!("{api}{batch}{receive}")
}

#[cfg(test)]
mod tests {
    use super::capital;

    #[test]
    fn names_keep_their_letters() {
        assert_eq!(capital("trials.jsonl line 7 cannot be read"), "trials.jsonl line 7 cannot be read");
        assert_eq!(capital("perf_event_open: EACCES"), "perf_event_open: EACCES");
        assert_eq!(capital("no. Then yes"), "No. Then yes");
        assert_eq!(capital(""), "");
    }
}
