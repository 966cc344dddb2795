//! Sentences and words that several sections share.

pub use analysis::answer::notation::{list, plural, verb, way};
use analysis::result::{Metric, Unit};

use crate::number;

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
        Unit::Bytes => number::bytes,
        Unit::PerMessage | Unit::Index => |value| number::significant(value, 2),
    }
}

/// `1 series`, `2 series`.
pub fn series(count: u64) -> String {
    format!("{} series", number::whole(count))
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
