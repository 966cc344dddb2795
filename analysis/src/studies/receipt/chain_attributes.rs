//! Attributes of every kept chain by the rules, found out once.

use std::collections::HashMap;

use super::chains::{ChainId, Chains};
use attribution::{Attributes, Classifier, Rules, Symbol};

/// All chains with their attributes.
#[derive(Debug)]
pub struct ChainAttributes<'a> {
    chains: &'a Chains,
    rules: &'a Rules,
    classifier: Classifier<'a>,
    attributes: Vec<Option<Attributes>>,
    /// The names as they are listed, by place and by the caller that stands behind one.
    listed: HashMap<(u32, Option<u32>), String>,
}

impl<'a> ChainAttributes<'a> {
    /// Nothing is known yet.
    pub fn new(chains: &'a Chains, rules: &'a Rules) -> Self {
        let attributes = vec![None; chains.ids()];
        Self { chains, rules, classifier: Classifier::new(rules), attributes, listed: HashMap::new() }
    }

    /// The chains.
    pub const fn chains(&self) -> &'a Chains {
        self.chains
    }

    /// The rules.
    pub const fn rules(&self) -> &'a Rules {
        self.rules
    }

    /// The attributes of a chain.
    pub fn attributes(&mut self, chain: ChainId) -> Attributes {
        if let Some(known) = self.attributes[chain.place()] {
            return known;
        }
        let frames: Vec<&str> = self.chains.frames(chain).map(|name| self.chains.name_at(name)).collect();
        let found = self.classifier.classify(&frames, chain.user());
        self.attributes[chain.place()] = Some(found);
        found
    }

    /// The innermost function of a chain as it is listed: where interrupts come on again in
    /// it, with its caller behind it, whose time its samples are.
    pub fn listed(&mut self, chain: ChainId) -> &str {
        let chains = self.chains;
        let leaf = chains.leaf(chain);
        let symbol = Symbol::parse(chains.name_at(leaf));
        let caller = chains.frames(chain).nth(1).filter(|_| symbol.enables_interrupts());
        let before = |caller| symbol.listed_before(Symbol::parse(chains.name_at(caller)));
        self.listed.entry((leaf, caller)).or_insert_with(|| caller.map_or_else(|| symbol.listed(), before))
    }
}
