//! Enums of named choices: how each is written, printed and found again.

use crate::nearest;

/// A word that names none of the choices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is not {kind}{hint}; there are: {all}")]
pub struct UnknownChoice {
    word: String,
    kind: &'static str,
    hint: String,
    all: String,
}

impl UnknownChoice {
    /// `word` is none of `names`, which are the choices of `kind`.
    pub fn new<'a>(word: &str, kind: &'static str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let hint = nearest(word, names.clone()).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        Self { word: word.to_owned(), kind, hint, all: names.collect::<Vec<_>>().join(", ") }
    }
}

/// An enum whose variants are written as the names given here.
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
            type Err = $crate::choice::UnknownChoice;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().copied().find(|choice| choice.name().eq_ignore_ascii_case(word));
                found.ok_or_else(|| {
                    $crate::choice::UnknownChoice::new(word, $kind, Self::ALL.iter().map(|choice| choice.name()))
                })
            }
        }
    };
}
pub(crate) use choice;
