//! Folded call chains as a tree, whatever their text holds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A longer chain is cut at its inner end: the kernel's own limit is 127 frames
/// (`PERF_MAX_STACK_DEPTH`, include/uapi/linux/perf_event.h).
const MOST_FRAMES: usize = 128;
/// Name of chains that begin with too small a share.
const REST: &str = "[rest]";

/// A function where it stands.
pub struct Node<'t> {
    /// Name; empty for the whole.
    pub name: &'t str,
    /// Samples in it and in what it called, in each profile.
    pub samples: Vec<u64>,
    /// Places of what it called, in the order of letters.
    called: BTreeMap<&'t str, usize>,
}

/// Call chains of several profiles. The first node is the whole.
pub struct Tree<'t> {
    nodes: Vec<Node<'t>>,
}

impl<'t> Tree<'t> {
    /// Reads profiles in the folded format, `outermost;...;innermost count` a line. Other lines are left out.
    pub fn of(profiles: &[&'t str]) -> Self {
        let node = |name| Node { name, samples: vec![0; profiles.len()], called: BTreeMap::new() };
        let mut nodes = vec![node("")];
        for (place, folded) in profiles.iter().enumerate() {
            for (chain, count) in folded.lines().filter_map(line) {
                let mut at = 0;
                nodes[at].samples[place] = nodes[at].samples[place].saturating_add(count);
                for name in chain.split(';').take(MOST_FRAMES) {
                    let next = nodes.len();
                    at = *nodes[at].called.entry(name).or_insert(next);
                    if at == next {
                        nodes.push(node(name));
                    }
                    nodes[at].samples[place] = nodes[at].samples[place].saturating_add(count);
                }
            }
        }
        Self { nodes }
    }

    /// Shows each function to `visit`, a caller before what it calls, with the names from its outermost
    /// caller to itself; without those that have less than a share of the samples in every profile.
    pub fn walk(&self, least_share: f64, mut visit: impl FnMut(&Node<'t>, &[&'t str])) {
        let mut path: Vec<&str> = Vec::new();
        let mut ahead = vec![(0, 0_usize)];
        while let Some((place, depth)) = ahead.pop() {
            let node = &self.nodes[place];
            path.truncate(depth.saturating_sub(1));
            if depth > 0 {
                path.push(node.name);
            }
            visit(node, &path);
            ahead.extend(self.called(node, least_share).rev().map(|place| (place, depth + 1)));
        }
    }

    /// Places of what a function called that have the share.
    fn called<'s>(&'s self, node: &'s Node<'t>, least_share: f64) -> impl DoubleEndedIterator<Item = usize> + 's {
        let wide = move |place: &usize| {
            let pairs = self.nodes[*place].samples.iter().zip(&self.nodes[0].samples);
            pairs.into_iter().any(|(samples, all)| *samples > 0 && *samples as f64 >= *all as f64 * least_share)
        };
        node.called.values().copied().filter(wide)
    }
}

fn line(line: &str) -> Option<(&str, u64)> {
    let (chain, count) = line.rsplit_once(' ')?;
    Some((chain, count.parse().ok()?))
}

/// The same chains without functions below a share of the samples, which stay with their caller.
pub fn pruned(folded: &str, least_share: f64) -> String {
    let tree = Tree::of(&[folded]);
    let mut text = String::new();
    tree.walk(least_share, |node, path| {
        let below = tree.called(node, least_share).fold(0_u64, |sum, place| sum.saturating_add(tree.nodes[place].samples[0]));
        let own = node.samples[0].saturating_sub(below);
        if own > 0 {
            let chain = if path.is_empty() { REST.to_owned() } else { path.join(";") };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{chain} {own}");
        }
    });
    text
}

#[cfg(test)]
mod tests {
    use super::{MOST_FRAMES, Tree, pruned};
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    fn walked(profiles: &[&str], least_share: f64) -> Vec<(String, Vec<u64>)> {
        let mut all = Vec::new();
        Tree::of(profiles).walk(least_share, |node, path| all.push((path.join(";"), node.samples.clone())));
        all
    }

    #[test]
    fn callers_come_first_and_have_the_samples_of_what_they_call() {
        let found = walked(&["a;b;c 60\na;b 10\na;d 30\n", "a;d 5\ne 1\n"], 0.0);
        let found: Vec<(&str, &[u64])> = found.iter().map(|(path, samples)| (path.as_str(), samples.as_slice())).collect();
        let expected: [(&str, &[u64]); 6] =
            [("", &[100, 6]), ("a", &[100, 5]), ("a;b", &[70, 0]), ("a;b;c", &[60, 0]), ("a;d", &[30, 5]), ("e", &[0, 1])];
        assert_eq!(found, expected);
    }

    #[test]
    fn narrow_functions_stay_with_their_caller() {
        assert_eq!(pruned("a;b;c 5000\na;b;d 4998\na;b;e;f 2\n", 1e-3), "a;b 2\na;b;c 5000\na;b;d 4998\n");
        assert_eq!(pruned("a 5000\nb 2\n", 1e-3), "[rest] 2\na 5000\n");
    }

    #[test]
    fn an_endless_chain_is_cut() {
        let endless = format!("{} 7\n", vec!["f"; 100_000].join(";"));
        let found = walked(&[&endless], 0.0);
        assert_eq!((found.len(), found.last().map(|(_, samples)| samples[0])), (MOST_FRAMES + 1, Some(7)));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_and_no_sample_is_lost(text in "([a-c;]{0,9} [0-9]{0,3}\n|\\PC{0,20}\n| 18446744073709551615\n){0,20}", share in 0.0..0.5) {
            let whole = |text: &str| walked(&[text], share)[0].1[0];
            prop_assert_eq!(whole(&text), whole(&pruned(&text, share)));
            for pair in walked(&[&text], share).windows(2) {
                prop_assert!(pair[1].0.matches(';').count() <= pair[0].0.matches(';').count() + 1);
            }
        }
    }
}
