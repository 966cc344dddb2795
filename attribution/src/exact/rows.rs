//! A message's counts by layer, category, direction and function.

use std::collections::BTreeMap;

use model::sorting::Order;
use serde::{Deserialize, Serialize};

use super::{CallTree, Counts};
use crate::attributes::{Category, Context, Direction, Layer};
use crate::rules::{Classifier, Rules};
use crate::symbol::Symbol;

/// The name of user code in a tree.
const USER: &str = "[user]";

/// What one message executed under one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactRow<K> {
    /// The attribute.
    pub key: K,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What one message executed in one function, on all paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactFunction {
    /// The function, without what compilers add to its name.
    pub name: String,
    /// The layer of most of its instructions.
    pub layer: Layer,
    /// Their category.
    pub category: Category,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The rows of one message; those of one attribute sum to the message's total.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactRows {
    /// By layer, in the layers' order.
    pub layers: Vec<ExactRow<Layer>>,
    /// By category, in the categories' order.
    pub categories: Vec<ExactRow<Category>>,
    /// By context.
    pub contexts: Vec<ExactRow<Context>>,
    /// By direction of the message; `null`: none shows.
    pub directions: Vec<ExactRow<Option<Direction>>>,
    /// By function, most instructions first.
    pub functions: Vec<ExactFunction>,
}

impl ExactRows {
    /// Classifies every path of a tree.
    pub fn of(tree: &CallTree, rules: &Rules) -> Self {
        let mut classifier = Classifier::new(rules);
        let (mut layers, mut categories) = (BTreeMap::<Layer, Counts>::new(), BTreeMap::<Category, Counts>::new());
        let (mut contexts, mut directions) = (BTreeMap::<Context, Counts>::new(), BTreeMap::<Option<Direction>, Counts>::new());
        let mut functions = BTreeMap::<String, BTreeMap<(Layer, Category), Counts>>::new();
        for (place, node) in tree.nodes().iter().enumerate().filter(|(_, node)| !node.own.is_zero()) {
            let chain = tree.chain(place);
            let found = classifier.classify(&chain, node.function == USER);
            *layers.entry(found.layer).or_default() += node.own;
            *categories.entry(found.category).or_default() += node.own;
            *contexts.entry(found.context).or_default() += node.own;
            *directions.entry(found.direction).or_default() += node.own;
            let name = Symbol::parse(&node.function).listed();
            *functions.entry(name).or_default().entry((found.layer, found.category)).or_default() += node.own;
        }
        let mut functions: Vec<ExactFunction> = functions.into_iter().filter_map(|(name, kinds)| function(name, &kinds)).collect();
        functions.order_by(|a, b| b.counts.instructions.cmp(&a.counts.instructions).then_with(|| a.name.cmp(&b.name)));
        Self { layers: rows(layers), categories: rows(categories), contexts: rows(contexts), directions: rows(directions), functions }
    }

    /// Counts of a layer; zeros where there is nothing.
    pub fn layer(&self, layer: Layer) -> Counts {
        self.layers.iter().find(|row| row.key == layer).map(|row| row.counts).unwrap_or_default()
    }

    /// Shares of instructions without a layer and without a category, 0 to 1.
    pub fn undecided(&self) -> [f64; 2] {
        let all: Counts = self.layers.iter().map(|row| row.counts).sum();
        let category = self.categories.iter().find(|row| row.key == Category::Other).map_or(0, |row| row.counts.instructions);
        [self.layer(Layer::Other).instructions, category].map(|other| other as f64 / all.instructions.max(1) as f64)
    }
}

fn rows<K>(all: BTreeMap<K, Counts>) -> Vec<ExactRow<K>> {
    all.into_iter().map(|(key, counts)| ExactRow { key, counts }).collect()
}

fn function(name: String, kinds: &BTreeMap<(Layer, Category), Counts>) -> Option<ExactFunction> {
    let ((layer, category), _) = kinds.iter().max_by_key(|(_, counts)| counts.instructions)?;
    Some(ExactFunction { name, layer: *layer, category: *category, counts: kinds.values().copied().sum() })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::ExactRows;
    use crate::exact::Counts;
    use crate::{Category, Context, Direction, Layer, Rules};

    #[test]
    fn every_attribute_sums_to_the_message() {
        let chains = tree(&[
            (None, "[user]", 5),
            (None, "entry_SYSCALL_64", 10),
            (Some(1), "__x64_sys_sendto", 20),
            (Some(2), "udp_sendmsg", 100),
            (Some(3), "ip_output", 50),
            (Some(4), "net_rx_action", 7),
            (Some(5), "__udp4_lib_rcv.isra.0", 40),
            (Some(3), "no_such_function_", 3),
        ]);
        let rows = ExactRows::of(&chains, &Rules::builtin().unwrap());
        let total = chains.total();
        assert_eq!(rows.layers.iter().map(|row| row.counts).sum::<Counts>(), total);
        assert_eq!(rows.categories.iter().map(|row| row.counts).sum::<Counts>(), total);
        assert_eq!(rows.contexts.iter().map(|row| row.counts).sum::<Counts>(), total);
        assert_eq!(rows.directions.iter().map(|row| row.counts).sum::<Counts>(), total);
        assert_eq!(rows.functions.iter().map(|row| row.counts).sum::<Counts>(), total);
        assert_eq!(rows.layer(Layer::Udp).instructions, 140);
        assert_eq!(rows.layer(Layer::User).instructions, 5);
        assert_eq!(rows.contexts.iter().find(|row| row.key == Context::Softirq).unwrap().counts.instructions, 47);
        assert!(rows.directions.iter().any(|row| row.key == Some(Direction::Receive)));
        assert_eq!((rows.functions[0].name.as_str(), rows.functions[0].category), ("udp_sendmsg", Category::Protocol));
        assert!(rows.functions.iter().any(|row| row.name == "__udp4_lib_rcv"));
        assert!((rows.undecided()[0] - 3.0 / total.instructions as f64).abs() < 1e-12);
    }
}
