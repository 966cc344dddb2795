//! A pattern on a name: the name itself, or how it begins.

use super::error::Problem;

/// A prefix pattern names at least so many letters and digits: `_*` or `t*`
/// would take in half the kernel.
pub const LEAST_LETTERS: usize = 2;

/// The longest symbol of the kernel (`KSYM_NAME_LEN`, include/linux/kallsyms.h).
pub const LONGEST_NAME: usize = 512;

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

    /// Whether `name` matches.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(text) => text == name,
            Self::Prefix(text) => name.starts_with(text.as_str()),
        }
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
