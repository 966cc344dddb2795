//! Values that are written as words: named choices, and types that print and parse
//! themselves.

/// A word that names none of the choices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is not {kind}{hint} There are: {all}")]
pub struct UnknownChoice {
    word: String,
    kind: &'static str,
    hint: String,
    all: String,
}

impl UnknownChoice {
    /// `word` is none of `names`, which are the choices of `kind`.
    pub fn new<'a>(word: &str, kind: &'static str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let hint = suggestion(word, names.clone());
        Self { word: word.to_owned(), kind, hint, all: names.collect::<Vec<_>>().join(", ") }
    }
}

/// An enum whose variants are written as the names given here, in files, on the
/// command line and in results alike.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $type:ident, $kind:literal { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// Every choice, in the order in which they are listed for people.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The choice as it is written in plans, files and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownChoice;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().copied().find(|choice| choice.name().eq_ignore_ascii_case(word));
                found.ok_or_else(|| {
                    $crate::UnknownChoice::new(word, $kind, Self::ALL.iter().map(|choice| choice.name()))
                })
            }
        }
    };
}
pub(crate) use choice;

/// Stores a type as the text that it prints and parses.
macro_rules! stored_as_text {
    ($type:ty $(, $parameter:ident: $bound:path)?) => {
        impl$(<$parameter: $bound>)? serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de $(, $parameter: $bound)?> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use stored_as_text;

/// The end of a sentence that refuses a word: the nearest of the right ones, or a full stop.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(|| ".".to_owned(), |near| format!("; did you mean '{near}'?"))
}

/// Returns the candidate closest to `word`, when it is close enough to be a likely slip:
/// "did you mean". The first that begins with the word, if any does: `udp` is a beginning of
/// `UDP_STREAM`.
///
/// Otherwise Jaro-Winkler similarity of at least 0.75, the threshold at which command-line
/// tools usually start to suggest.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (word, candidates) = (word.to_lowercase(), Vec::from_iter(candidates));
    let begins = |candidate: &&&str| word.len() > 1 && candidate.to_lowercase().starts_with(&word);
    if let Some(candidate) = candidates.iter().find(begins) {
        return Some(candidate);
    }
    let similar = candidates.iter().map(|candidate| (strsim::jaro_winkler(&word, &candidate.to_lowercase()), *candidate));
    similar.filter(|(similarity, _)| *similarity >= 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_corrected_and_nonsense_is_not() {
        assert_eq!(nearest("sise", ["size", "test", "nodelay"]), Some("size"));
        assert_eq!(nearest("TCP_STREEM", ["TCP_STREAM", "UDP_STREAM"]), Some("TCP_STREAM"));
        assert_eq!(nearest("zzz", ["size", "test"]), None);
        assert_eq!(nearest("udp", ["TCP_STREAM", "UDP_STREAM", "UDP_RR"]), Some("UDP_STREAM"));
    }
}
