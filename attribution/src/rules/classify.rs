//! From a call chain to its attributes.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Rule, Rules, Setting};
use crate::attributes::{Attributes, Category, Context, Decided, Direction, Layer, Phase};
use crate::symbol::Symbol;

/// A chain longer than this is cut at its outer end: the kernel's own limit is
/// 127 frames (`PERF_MAX_STACK_DEPTH`, include/uapi/linux/perf_event.h).
const MOST_FRAMES: usize = 512;

/// Classifies chains by rules; what it finds out about a name it remembers.
#[derive(Debug)]
pub struct Classifier<'r> {
    rules: &'r Rules,
    known: HashMap<String, Rc<Decisions>>,
}

/// A name and the rules that its patterns and module let through.
#[derive(Debug)]
pub(crate) struct Decisions {
    /// Without suffix and module: what callers' patterns are compared with.
    name: String,
    rules: Vec<u16>,
    chains: Vec<u16>,
}

impl<'r> Classifier<'r> {
    /// A classifier that knows no name yet.
    pub fn new(rules: &'r Rules) -> Self {
        Self { rules, known: HashMap::new() }
    }

    /// Classifies one chain, the innermost function first. `user` says that the
    /// sample fell into user code: then the chain does not matter unless its
    /// innermost frame is `[syscall exit]`.
    pub fn classify(&mut self, frames: &[&str], user: bool) -> Attributes {
        let frames: Vec<Rc<Decisions>> = frames.iter().take(MOST_FRAMES).map(|frame| self.known(frame)).collect();
        self.judge(&frames, user)
    }

    /// The layer that the rules name for each function of a chain, the innermost first; `None` where they name none, or
    /// leave it to the caller.
    pub fn named_layers(&mut self, frames: &[&str]) -> Vec<Option<Layer>> {
        let frames: Vec<Rc<Decisions>> = frames.iter().take(MOST_FRAMES).map(|frame| self.known(frame)).collect();
        let named = |place: usize| match self.matching(&frames, place).find_map(|(_, rule)| rule.layer) {
            Some(Setting::Said(layer)) => Some(layer),
            Some(Setting::Caller) | None => None,
        };
        (0..frames.len()).map(named).collect()
    }

    pub(crate) fn known(&mut self, text: &str) -> Rc<Decisions> {
        if let Some(known) = self.known.get(text) {
            return Rc::clone(known);
        }
        let symbol = Symbol::parse(text);
        let mut rules = self.rules.rule_index.find(symbol.name);
        rules.retain(|place| {
            let modules = &self.rules.rules[usize::from(*place)].modules;
            modules.is_empty() || symbol.module.is_some_and(|module| modules.iter().any(|pattern| pattern.matches(module)))
        });
        let chains = self.rules.chain_index.find(symbol.name);
        let known = Rc::new(Decisions { name: symbol.name.to_owned(), rules, chains });
        self.known.insert(text.to_owned(), Rc::clone(&known));
        known
    }

    fn judge(&self, frames: &[Rc<Decisions>], user: bool) -> Attributes {
        let exit = frames.first().is_some_and(|leaf| leaf.name == "[syscall_exit]");
        if user && !exit {
            let rule = Decided { layer: None, category: None };
            let (layer, category) = (Layer::User, Category::User);
            return Attributes { context: Context::Process, direction: None, phase: None, layer, category, crossing: None, rule };
        }
        let (context, direction) = self.chain(frames);
        let (layer, by_layer) = self.layer(frames);
        let (category, by_category) = self.category(frames);
        let direction = self.matching(frames, 0).find_map(|(_, rule)| rule.direction).or(direction);
        Attributes {
            context: self.matching(frames, 0).find_map(|(_, rule)| rule.context).unwrap_or(context),
            direction,
            phase: Phase::of(direction, frames.iter().map(|frame| frame.name.as_str())),
            layer,
            category,
            crossing: self.matching(frames, 0).find_map(|(_, rule)| rule.crossing),
            rule: Decided { layer: by_layer, category: by_category },
        }
    }

    /// The rules that match the function at `place` of a chain, in their order.
    pub(crate) fn matching<'a>(&'a self, frames: &'a [Rc<Decisions>], place: usize) -> impl Iterator<Item = (u16, &'a Rule)> {
        let candidates = frames.get(place).map_or(&[][..], |frame| &frame.rules);
        let caller = frames.get(place + 1).map(|caller| caller.name.as_str());
        candidates.iter().map(|number| (*number, &self.rules.rules[usize::from(*number)])).filter(move |(_, rule)| rule.allows(caller))
    }

    /// The first layer that a rule names, from the innermost function outwards.
    ///
    /// Beyond the innermost one, functions of which no rule says anything are
    /// passed over: they are callers without a layer.
    fn layer(&self, frames: &[Rc<Decisions>]) -> (Layer, Option<u16>) {
        for place in 0..frames.len() {
            let said = self.matching(frames, place).find_map(|(number, rule)| rule.layer.map(|layer| (layer, number)));
            match said {
                Some((Setting::Said(layer), number)) => return (layer, Some(number)),
                None if place == 0 => break,
                Some((Setting::Caller, _)) | None => {}
            }
        }
        (Layer::Other, None)
    }

    /// The category of the innermost function that is not taken from its caller.
    fn category(&self, frames: &[Rc<Decisions>]) -> (Category, Option<u16>) {
        for place in 0..frames.len() {
            let said = self.matching(frames, place).find_map(|(number, rule)| rule.category.map(|category| (category, number)));
            match said {
                Some((Setting::Said(category), number)) => return (category, Some(number)),
                Some((Setting::Caller, _)) => {}
                None => break,
            }
        }
        (Category::Other, None)
    }

    /// Context and direction, from the outermost function inwards.
    fn chain(&self, frames: &[Rc<Decisions>]) -> (Context, Option<Direction>) {
        let (mut context, mut direction) = (Context::Process, None);
        for place in (0..frames.len()).rev() {
            let caller = frames.get(place + 1).map(|caller| caller.name.as_str());
            let chains = || frames[place].chains.iter().map(|number| &self.rules.chains[usize::from(*number)]);
            let matching = || chains().filter(|chain| chain.allows(caller));
            context = matching().find_map(|chain| chain.context).unwrap_or(context);
            let applies = |chain: &&Rule| chain.after.as_ref().is_none_or(|after| after.contains(&direction));
            direction = matching().filter(applies).find_map(|chain| chain.direction).or(direction);
        }
        (context, direction)
    }
}
