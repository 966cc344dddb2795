//! Sentences and words that several sections share.

pub mod metric;

/// `1 trial`, `2 trials`.
pub fn plural(count: u64, one: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {one}{s}", crate::number::whole(count))
}

/// Verb for what a sender does until a message's time has come.
pub const fn pacing(pacing: model::Pacing) -> &'static str {
    match pacing {
        model::Pacing::Sleep => "sleeps",
        model::Pacing::Spin => "spins",
    }
}

/// `1 series`, `2 series`.
pub fn series(count: u64) -> String {
    format!("{} series", crate::number::whole(count))
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
