//! Finds the rules whose patterns match a name without trying them all.

use std::collections::HashMap;

use super::pattern::Pattern;

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
    pub fn of<'a>(rules: impl Iterator<Item = &'a [Pattern]>) -> Self {
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
        index.lengths.sort_unstable();
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
        found.sort_unstable();
        found.dedup();
        found
    }
}
