//! "Did you mean": the nearest right word to a wrong one.

/// The candidate closest to `word`, when it is close enough to be a likely slip.
///
/// Jaro-Winkler similarity of at least 0.75, the threshold at which command-line
/// tools usually start to suggest.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_corrected_and_nonsense_is_not() {
        assert_eq!(nearest("sise", ["size", "test", "nodelay"]), Some("size"));
        assert_eq!(nearest("TCP_STREEM", ["TCP_STREAM", "UDP_STREAM"]), Some("TCP_STREAM"));
        assert_eq!(nearest("zzz", ["size", "test"]), None);
    }
}
