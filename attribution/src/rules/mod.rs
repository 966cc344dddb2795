//! The rules that tell what a sample is about: data, in a plain text file.
//!
//! `rules/kernel.rules` is compiled in; its head and `docs/rules.md` say how
//! it is written.

mod classify;
mod error;
mod parse;
mod pattern;

pub use classify::Classifier;
pub use error::{Problem, RuleError};
pub use pattern::Pattern;

use pattern::Index;

use crate::attributes::{Category, Context, Crossing, Direction, Layer};

/// The rules that come with nettoll.
pub const BUILTIN: &str = include_str!("../../../rules/kernel.rules");

/// Said outright, or taken from the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting<T> {
    /// This.
    Said(T),
    /// That of the nearest caller that has a layer; of the category, whatever the
    /// caller is.
    Caller,
}

/// A rule about the function that was sampled, or about every function of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Its subject, in words.
    pub name: String,
    /// Any of these names; empty where the module tells.
    pub matches: Vec<Pattern>,
    /// The caller has to be one of these; empty for any.
    pub callers: Vec<Pattern>,
    /// The module has to be one of these; empty for any and none.
    pub modules: Vec<Pattern>,
    /// Of a chain: only where the direction so far is one of these; `None` always.
    pub after: Option<Vec<Option<Direction>>>,
    /// The layer it sets, if any.
    pub layer: Option<Setting<Layer>>,
    /// The category it sets, if any.
    pub category: Option<Setting<Category>>,
    /// The context: of a chain from here inwards, else where the chain would mislead.
    pub context: Option<Context>,
    /// The direction, likewise.
    pub direction: Option<Direction>,
    /// Part of entry or exit.
    pub crossing: Option<Crossing>,
}

/// Ordered rules, ready to classify.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<Rule>,
    chains: Vec<Rule>,
    rule_index: Index,
    chain_index: Index,
}

impl Rule {
    const fn decides_nothing(&self) -> bool {
        self.layer.is_none() && self.category.is_none() && self.context.is_none() && self.direction.is_none() && self.crossing.is_none()
    }

    /// Returns whether it is about a function with this caller.
    fn allows(&self, caller: Option<&str>) -> bool {
        self.callers.is_empty() || caller.is_some_and(|caller| self.callers.iter().any(|pattern| pattern.matches(caller)))
    }
}

impl Rules {
    /// Reads a rule file.
    ///
    /// # Errors
    /// The line and what is wrong with it, with the remedy. No rule that would
    /// match every function is accepted.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let (rules, chains) = parse::parse(text)?;
        let rule_index = Index::from_patterns(rules.iter().map(|rule| rule.matches.as_slice()));
        let chain_index = Index::from_patterns(chains.iter().map(|chain| chain.matches.as_slice()));
        Ok(Self { rules, chains, rule_index, chain_index })
    }

    /// The rules that come with nettoll.
    ///
    /// # Errors
    /// Never, as a test shows; the type keeps a rule file from ever stopping
    /// the program.
    pub fn builtin() -> Result<Self, RuleError> {
        Self::parse(BUILTIN)
    }

    /// The name of a rule by its place, as [`crate::Decided`] has it.
    pub fn name(&self, place: u16) -> Option<&str> {
        self.rules.get(usize::from(place)).map(|rule| rule.name.as_str())
    }

    /// Number of rules, those of chains not counted.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// True without any rule; never so of rules that were parsed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
