//! Samples of one pass, counted by everything that rows are of.

use std::collections::BTreeMap;

use model::profile::Profile;

use super::attributes::{Attributes, Category, Context, Crossing, Direction, Layer};
use super::merge::name;
use super::row::Path;
use super::symbol::Symbol;

/// Counts of one time pass.
#[derive(Debug, Default)]
pub struct Tally {
    /// All samples.
    pub samples: u64,
    /// Of these, in the kernel.
    pub kernel: u64,
    /// Samples by category.
    pub categories: BTreeMap<Category, u64>,
    /// By layer.
    pub layers: BTreeMap<Layer, u64>,
    /// By context.
    pub contexts: BTreeMap<Context, u64>,
    /// By layer, context and direction.
    pub paths: BTreeMap<Path, u64>,
    /// By function.
    pub functions: BTreeMap<String, u64>,
    /// By direction.
    pub directions: BTreeMap<Option<Direction>, u64>,
    /// By crossing into the kernel.
    pub crossings: BTreeMap<Crossing, u64>,
    /// By whether payload was touched.
    pub touching: BTreeMap<bool, u64>,
    /// By whether it was the acknowledgement's work.
    pub acknowledging: BTreeMap<bool, u64>,
    /// By the rule that decided the layer.
    pub by_layer_rule: BTreeMap<u16, u64>,
    /// By the rule that decided the category.
    pub by_category_rule: BTreeMap<u16, u64>,
    /// Kernel samples in layer other and in category other.
    pub undecided: [u64; 2],
}

impl Tally {
    /// Counts a profile whose stacks have these attributes.
    pub fn of(profile: &Profile, attributes: &[Attributes]) -> Self {
        let listed: Vec<String> = profile.symbols.iter().map(|symbol| Symbol::of(symbol).listed()).collect();
        let mut tally = Self::default();
        for (stack, attributes) in profile.stacks.iter().zip(attributes) {
            let leaf = stack.frames.first().and_then(|place| listed.get(*place as usize));
            tally.add(leaf.map_or_else(|| name(profile, u32::MAX), String::as_str), attributes, stack.count, stack.user);
        }
        tally
    }

    /// Counts samples of one chain, whose innermost function is listed as `leaf`.
    pub fn add(&mut self, leaf: &str, of: &Attributes, count: u64, user: bool) {
        self.samples += count;
        match self.functions.get_mut(leaf) {
            Some(known) => *known += count,
            None => drop(self.functions.insert(leaf.to_owned(), count)),
        }
        *self.categories.entry(of.category).or_default() += count;
        *self.layers.entry(of.layer).or_default() += count;
        *self.contexts.entry(of.context).or_default() += count;
        *self.paths.entry(Path { layer: of.layer, context: of.context, direction: of.direction }).or_default() += count;
        *self.directions.entry(of.direction).or_default() += count;
        *self.touching.entry(of.category.touches_data()).or_default() += count;
        *self.acknowledging.entry(of.direction == Some(Direction::Acknowledgement)).or_default() += count;
        if let Some(crossing) = of.crossing {
            *self.crossings.entry(crossing).or_default() += count;
        }
        for (rule, rules) in [(of.rule.layer, &mut self.by_layer_rule), (of.rule.category, &mut self.by_category_rule)] {
            if let Some(rule) = rule {
                *rules.entry(rule).or_default() += count;
            }
        }
        if !user {
            self.kernel += count;
            self.undecided[0] += if of.layer == Layer::Other { count } else { 0 };
            self.undecided[1] += if of.category == Category::Other { count } else { 0 };
        }
    }
}
