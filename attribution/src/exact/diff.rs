//! What changed between two kernels, or two settings of one.
//!
//! Each side is measured with several seeds of the guest's random numbers. A change
//! counts where the ranges of both sides lie apart: what a seed moves is no change.

use std::collections::{BTreeMap, BTreeSet};

use model::sorting::{Gather, Order};
use serde::{Deserialize, Serialize};

use super::{CallTree, Counts, Measured, Region, Spread, spread};
use crate::attributes::Layer;
use crate::symbol::Symbol;

/// A row on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change<K> {
    /// The subject of the row.
    pub key: K,
    /// Instructions per message of the first side, over its seeds.
    pub before: Spread,
    /// Those of the second.
    pub after: Spread,
}

impl<K> Change<K> {
    /// Difference of the medians.
    pub fn difference(&self) -> i64 {
        self.after.median as i64 - self.before.median as i64
    }

    /// True where the ranges lie apart.
    pub fn counts(&self) -> bool {
        self.before.most < self.after.least || self.after.most < self.before.least
    }
}

/// A function's change, with the path on which it changed most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// The function.
    pub function: Change<String>,
    /// The path, its outermost function first: of the second side, or of the first
    /// where the function is gone.
    pub path: Vec<String>,
    /// Difference of the function's own instructions on that path.
    pub on_path: i64,
}

/// One region on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionDiff {
    /// The region.
    pub name: String,
    /// All of it.
    pub total: Change<()>,
    /// By layer, the largest difference first; only changes that count.
    pub layers: Vec<Change<Layer>>,
    /// By function likewise.
    pub functions: Vec<PathChange>,
    /// By path that only one side has, with everything that it called: the outermost
    /// function of which the other side has nothing there; the largest first.
    pub paths: Vec<Change<Vec<String>>>,
}

/// Every region that both sides have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactDiff {
    /// Name of the first side.
    pub before: String,
    /// Name of the second.
    pub after: String,
    /// Seeds of each side.
    pub seeds: [usize; 2],
    /// The regions.
    pub regions: Vec<RegionDiff>,
}

/// Compares two sides, each measured with several seeds.
pub fn diff(before: &[Measured], after: &[Measured]) -> ExactDiff {
    let name = |side: &[Measured]| side.first().map_or_else(String::new, |one| one.provenance.kernel.clone());
    let names = before.first().into_iter().flat_map(|one| &one.regions).map(|region| region.name.as_str());
    let regions = names.filter_map(|name| {
        let of = |side: &'_ [Measured]| -> Option<Vec<Region>> { side.iter().map(|one| one.region(name).cloned()).collect() };
        let (before, after) = (of(before)?, of(after)?);
        (!after.is_empty()).then(|| region(name, &before, &after))
    });
    ExactDiff { before: name(before), after: name(after), seeds: [before.len(), after.len()], regions: regions.collect() }
}

fn region(name: &str, before: &[Region], after: &[Region]) -> RegionDiff {
    let both = [before, after];
    let layers = changes(both.map(|side| side.iter().map(layers).collect()));
    let paths = both.map(|side| side.iter().map(|one| own_by_path(&one.tree)).collect::<Vec<_>>());
    let functions = changes(both.map(|side| side.iter().map(functions).collect()));
    let functions = functions.into_iter().map(|function| explained(function, &paths)).collect();
    let total = |side: &[Region]| spread(side.iter().map(|one| one.total.instructions));
    RegionDiff {
        name: name.to_owned(),
        total: Change { key: (), before: total(before), after: total(after) },
        layers,
        functions,
        paths: one_sided(both.map(|side| side.iter().map(|one| inclusive_by_path(&one.tree)).collect())),
    }
}

fn layers(region: &Region) -> BTreeMap<Layer, u64> {
    region.rows.layers.iter().map(|row| (row.key, row.counts.instructions)).into_map()
}

fn functions(region: &Region) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for row in &region.rows.functions {
        *all.entry(row.name.clone()).or_default() += row.counts.instructions;
    }
    all
}

/// Rows whose ranges lie apart, the largest difference first.
fn changes<K: Ord + Clone>([before, after]: [Vec<BTreeMap<K, u64>>; 2]) -> Vec<Change<K>> {
    let keys: BTreeSet<&K> = before.iter().chain(&after).flat_map(BTreeMap::keys).into_set();
    let range = |side: &[BTreeMap<K, u64>], key: &K| spread(side.iter().map(|one| one.get(key).copied().unwrap_or(0)));
    let mut found: Vec<Change<K>> = keys
        .into_iter()
        .map(|key| Change { key: key.clone(), before: range(&before, key), after: range(&after, key) })
        .filter(Change::counts)
        .collect();
    found.order_by_key(|change| std::cmp::Reverse(change.difference().unsigned_abs()));
    found
}

/// A path, its outermost function first, without what compilers add to names.
type Path = Vec<String>;

fn named(tree: &CallTree, place: usize) -> Path {
    let mut chain = tree.chain(place);
    chain.reverse();
    let mut path: Path = Vec::with_capacity(chain.len());
    for (place, symbol) in chain.iter().enumerate() {
        let caller = place.checked_sub(1).and_then(|caller| chain.get(caller));
        if !caller.is_some_and(|caller| is_part(symbol, caller)) {
            path.push(Symbol::parse(symbol).listed());
        }
    }
    path
}

/// Returns whether a function is a part of its caller that a compiler put elsewhere (`f.cold` of `f`), and no
/// call of its own: one that calls itself has one name.
fn is_part(symbol: &str, caller: &str) -> bool {
    symbol != caller && Symbol::parse(symbol) == Symbol::parse(caller)
}

fn by_path(tree: &CallTree, counts: impl Fn(usize) -> Counts) -> BTreeMap<Path, u64> {
    let mut all = BTreeMap::new();
    for place in 0..tree.nodes().len() {
        *all.entry(named(tree, place)).or_default() += counts(place).instructions;
    }
    all
}

fn own_by_path(tree: &CallTree) -> BTreeMap<Path, u64> {
    by_path(tree, |place| tree.nodes()[place].own)
}

fn inclusive_by_path(tree: &CallTree) -> BTreeMap<Path, u64> {
    let (inclusive, nodes) = (tree.inclusive(), tree.nodes());
    // What a part of its caller executed is in the caller's count already.
    let counted = |place: usize| nodes[place].parent.is_some_and(|caller| is_part(&nodes[place].function, &nodes[caller].function));
    by_path(tree, |place| if counted(place) { Counts::default() } else { inclusive[place] })
}

/// The path on which a function changed most.
fn explained(function: Change<String>, [before, after]: &[Vec<BTreeMap<Path, u64>>; 2]) -> PathChange {
    let ends_here = |path: &&Path| path.last() == Some(&function.key);
    let paths: BTreeSet<&Path> = before.iter().chain(after).flat_map(BTreeMap::keys).filter(ends_here).into_set();
    let median =
        |side: &[BTreeMap<Path, u64>], path: &Path| spread(side.iter().map(|one| one.get(path).copied().unwrap_or(0))).median as i64;
    let differences = paths.into_iter().map(|path| (path, median(after, path) - median(before, path)));
    // Of the same sign as the change, so that a moved call is explained by where it went.
    let sign = function.difference().signum();
    let largest = differences.max_by_key(|(_, difference)| difference * sign);
    let (path, on_path) = largest.map_or((Vec::new(), 0), |(path, difference)| (path.clone(), difference));
    PathChange { function, path, on_path }
}

/// Paths that one side lacks in every seed and the other has in every seed, without those
/// below another of them.
fn one_sided([before, after]: [Vec<BTreeMap<Path, u64>>; 2]) -> Vec<Change<Path>> {
    let found = changes([before, after]);
    let gone_or_new: Vec<&Change<Path>> = found.iter().filter(|change| change.before.most == 0 || change.after.most == 0).collect();
    let known: BTreeSet<&Path> = gone_or_new.iter().map(|change| &change.key).into_set();
    let below = |path: &Path| (1..path.len()).any(|length| known.contains(&path[..length].to_vec()));
    gone_or_new.into_iter().filter(|change| !below(&change.key)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::{Measured, Region, diff};
    use crate::Rules;
    use crate::exact::{ExactRows, Provenance, Spread};

    fn measured(kernel: &str, extra: u64, noise: u64) -> Measured {
        let mut nodes = vec![
            (None, "entry_SYSCALL_64", 10),
            (Some(0), "udp_sendmsg", 100 + noise),
            (Some(0), "net_rx_action", 30),
            (Some(2), "ip_rcv", 20),
        ];
        if extra > 0 {
            nodes.extend([(Some(2), "skb_defer_free_flush", 8), (Some(4), "_find_next_bit.isra.0", extra)]);
        }
        let tree = tree(&nodes);
        let region = Region {
            name: "udp-112".to_owned(),
            messages: 200,
            usual: 196,
            courses: 3,
            total: tree.total(),
            instructions: Spread::default(),
            reads: Spread::default(),
            writes: Spread::default(),
            rows: ExactRows::of(&tree, &Rules::builtin().unwrap()),
            lines: None,
            repairs: 0,
            tree,
        };
        let provenance = Provenance { kernel: kernel.to_owned(), ..Provenance::default() };
        Measured { provenance, regions: vec![region], absent: vec![] }
    }

    #[test]
    fn a_step_is_found_and_named_by_its_path() {
        let before: Vec<Measured> = (0..3).map(|seed| measured("6.12", 0, seed)).collect();
        let after: Vec<Measured> = (0..3).map(|seed| measured("6.18", 270, seed)).collect();
        let found = diff(&before, &after);
        let region = &found.regions[0];
        assert_eq!((found.before.as_str(), found.after.as_str(), found.seeds), ("6.12", "6.18", [3, 3]));
        assert_eq!((region.total.difference(), region.total.counts()), (278, true));
        let first = &region.functions[0];
        assert_eq!((first.function.key.as_str(), first.on_path), ("_find_next_bit", 270));
        assert_eq!(first.path, ["entry_SYSCALL_64", "net_rx_action", "skb_defer_free_flush", "_find_next_bit"]);
        // The function that differs between seeds alone is no change.
        assert!(region.functions.iter().all(|change| change.function.key != "udp_sendmsg"));
        assert_eq!(region.paths.len(), 1);
        assert_eq!((region.paths[0].difference(), region.paths[0].key.last().map(String::as_str)), (278, Some("skb_defer_free_flush")));
    }

    /// The same functions under the names that two kernels and two compilers give them.
    #[test]
    fn a_new_name_is_no_change() {
        let side = |kernel: &str, nodes: &[(Option<usize>, &str, u64)]| {
            let mut side = measured(kernel, 0, 0);
            let tree = tree(nodes);
            side.regions[0].total = tree.total();
            side.regions[0].rows = ExactRows::of(&tree, &Rules::builtin().unwrap());
            side.regions[0].tree = tree;
            vec![side.clone(), side.clone(), side]
        };
        let old = side(
            "6.8",
            &[
                (None, "udp_sendmsg", 100),
                (Some(0), "kmem_cache_alloc_node", 50),
                (Some(0), "udp_send_skb.isra.0", 40),
                (Some(0), "ip_make_skb", 30),
            ],
        );
        let new = side(
            "6.12",
            &[
                (None, "udp_sendmsg", 90),
                (Some(0), "udp_sendmsg.cold", 10),
                (Some(0), "kmem_cache_alloc_node_noprof", 50),
                (Some(0), "udp_send_skb.constprop.0", 40),
                (Some(0), "ip_make_skb", 10),
                (Some(4), "ip_make_skb.part.0", 20),
            ],
        );
        let found = diff(&old, &new);
        let region = &found.regions[0];
        assert_eq!(region.total.difference(), 0);
        assert!(region.functions.is_empty() && region.paths.is_empty(), "{region:?}");
    }

    #[test]
    fn a_side_does_not_differ_from_itself() {
        let side: Vec<Measured> = (0..3).map(|seed| measured("6.12", 270, seed)).collect();
        let found = diff(&side, &side);
        let region = &found.regions[0];
        assert!(!region.total.counts() && region.layers.is_empty() && region.functions.is_empty() && region.paths.is_empty());
    }
}
