//! A pattern on a name (the name itself, or how it begins), and the index that
//! finds the rules whose patterns match a name without trying them all.

use std::collections::HashMap;

use model::sorting::Order;

use super::error::{LEAST_LETTERS, LONGEST_NAME, Problem};

/// A name, or the beginning of names. There is no pattern that any name matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// This name.
    Exact(String),
    /// Every name that begins so.
    Prefix(String),
}

impl Pattern {
    /// Reads `name` or `begin*`.
    ///
    /// # Errors
    /// A star anywhere but at the end, too few letters before it, a character
    /// that no name has, or a name that is too long.
    pub fn parse(word: &str) -> Result<Self, Problem> {
        if word.len() > LONGEST_NAME {
            return Err(Problem::PatternTooLong);
        }
        let (text, prefix) = match word.strip_suffix('*') {
            Some(text) => (text, true),
            None => (word, false),
        };
        if text.contains('*') {
            return Err(Problem::StarInside(word.to_owned()));
        }
        let letters = text.chars().filter(char::is_ascii_alphanumeric).count();
        if prefix && letters < LEAST_LETTERS {
            return Err(Problem::MatchesTooMuch(word.to_owned()));
        }
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-[]$".contains(c)) {
            return Err(Problem::NotAName(word.to_owned()));
        }
        Ok(if prefix { Self::Prefix(text.to_owned()) } else { Self::Exact(text.to_owned()) })
    }

    /// True where `name` matches.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(text) => text == name,
            Self::Prefix(text) => name.starts_with(text.as_str()),
        }
    }
}

/// Rules by the names and beginnings that their patterns spell.
#[derive(Debug, Clone, Default)]
pub struct Index {
    exact: HashMap<String, Vec<u16>>,
    prefix: HashMap<String, Vec<u16>>,
    /// The lengths in bytes that prefixes have, rising.
    lengths: Vec<usize>,
    /// Rules without patterns, which only their module restricts.
    any: Vec<u16>,
}

impl Index {
    /// Indexes the patterns of rules, given in the rules' order.
    pub fn from_patterns<'a>(rules: impl Iterator<Item = &'a [Pattern]>) -> Self {
        let mut index = Self::default();
        for (place, patterns) in rules.enumerate() {
            // The parser lets no more rules in than this holds.
            let Ok(place) = u16::try_from(place) else { break };
            if patterns.is_empty() {
                index.any.push(place);
            }
            for pattern in patterns {
                match pattern {
                    Pattern::Exact(text) => index.exact.entry(text.clone()).or_default().push(place),
                    Pattern::Prefix(text) => index.prefix.entry(text.clone()).or_default().push(place),
                }
            }
        }
        index.lengths = index.prefix.keys().map(String::len).collect();
        index.lengths.order();
        index.lengths.dedup();
        index
    }

    /// The rules that match a name, in their order, each once.
    pub fn find(&self, name: &str) -> Vec<u16> {
        let mut found = self.any.clone();
        found.extend(self.exact.get(name).into_iter().flatten());
        for length in self.lengths.iter().take_while(|length| **length <= name.len()) {
            // Patterns are ASCII: a cut within a character matches none.
            if let Some(beginning) = name.get(..*length) {
                found.extend(self.prefix.get(beginning).into_iter().flatten());
            }
        }
        found.order();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn names_and_beginnings() {
        let matches = |pattern: &str, name: &str| Pattern::parse(pattern).unwrap().matches(name);
        assert!(matches("tcp_ack", "tcp_ack") && !matches("tcp_ack", "tcp_ack_tstamp"));
        assert!(matches("tcp_*", "tcp_ack") && !matches("tcp_*", "__tcp_ack"));
        assert!(matches("__rb_*", "__rb_insert_augmented"));
        assert!(matches("ip*", "ip") && matches("[user]", "[user]"));
    }

    #[test]
    fn what_would_match_everything_is_refused() {
        for pattern in ["*", "_*", "__*", "t*", "_t*", "___*", "**", "*tcp", "tcp*_ack", ".*", "[*", "$*", ""] {
            let refused = Pattern::parse(pattern).unwrap_err().to_string();
            assert!(!refused.is_empty());
        }
    }

    proptest! {
        /// Whatever is accepted leaves out names of every first letter.
        #[test]
        fn no_pattern_matches_everything(word in "[a-z_.*\\[\\]0-9]{1,6}") {
            if let Ok(pattern) = Pattern::parse(&word) {
                prop_assert!(!pattern.matches("qxzzyqx") || !pattern.matches("wvvyjkw"));
                let exact = matches!(pattern, Pattern::Exact(_));
                prop_assert!(exact || !["", "_", "__", "t", "_t"].iter().any(|name| pattern.matches(name)), "{word}");
            }
        }
    }
}
