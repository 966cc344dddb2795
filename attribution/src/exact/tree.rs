//! The tree of call paths of one message.

use serde::{Deserialize, Serialize};

use super::Counts;
use crate::profile::folded_chains;

/// Frames of a path beyond which it is refused: the kernel's stack holds far fewer.
const MOST_DEPTH: usize = 1 << 10;

/// A function on one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathNode {
    /// Place of its caller in the tree; `None` at the start of a path.
    pub parent: Option<usize>,
    /// The function, as the symbol table has it; `[user]` for user code.
    pub function: String,
    /// What was executed in the function itself.
    pub own: Counts,
}

/// The call paths of one message, a caller before what it calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<PathNode>", into = "Vec<PathNode>")]
pub struct CallTree {
    nodes: Vec<PathNode>,
}

/// Paths that are no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// A path before its caller, or below itself.
    #[error("path {0} comes before its caller; the file is damaged")]
    Order(usize),
    /// A path that cannot be one of a kernel.
    #[error("path {0} is more than {MOST_DEPTH} calls deep; the file is damaged")]
    Depth(usize),
}

impl TryFrom<Vec<PathNode>> for CallTree {
    type Error = TreeError;

    fn try_from(nodes: Vec<PathNode>) -> Result<Self, TreeError> {
        let mut depths = Vec::with_capacity(nodes.len());
        for (place, node) in nodes.iter().enumerate() {
            let depth = match node.parent {
                None => 0,
                Some(parent) => depths.get(parent).ok_or(TreeError::Order(place))? + 1,
            };
            if depth > MOST_DEPTH {
                return Err(TreeError::Depth(place));
            }
            depths.push(depth);
        }
        Ok(Self { nodes })
    }
}

impl From<CallTree> for Vec<PathNode> {
    fn from(tree: CallTree) -> Self {
        tree.nodes
    }
}

impl CallTree {
    /// The functions, a caller before what it calls.
    pub fn nodes(&self) -> &[PathNode] {
        &self.nodes
    }

    /// Everything that was executed.
    pub fn total(&self) -> Counts {
        self.nodes.iter().map(|node| node.own).sum()
    }

    /// What each function with everything that it called executed, by place.
    pub fn inclusive(&self) -> Vec<Counts> {
        let mut all: Vec<Counts> = self.nodes.iter().map(|node| node.own).collect();
        for (place, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                let below = all[place];
                all[parent] += below;
            }
        }
        all
    }

    /// The functions of a path, the innermost first.
    pub fn chain(&self, place: usize) -> Vec<&str> {
        let mut chain = Vec::new();
        let mut next = Some(place);
        while let Some(node) = next.and_then(|place| self.nodes.get(place)) {
            chain.push(node.function.as_str());
            next = node.parent;
        }
        chain
    }

    /// Number of callers of each path, by place.
    pub fn depths(&self) -> Vec<usize> {
        let mut depths: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            depths.push(node.parent.map_or(0, |parent| depths[parent] + 1));
        }
        depths
    }

    /// Instructions by path in the folded format of flame graph tools, a line a path in
    /// the order of letters.
    pub fn folded(&self) -> String {
        let executed = self.nodes.iter().enumerate().filter(|(_, node)| node.own.instructions > 0);
        folded_chains(executed.map(|(place, node)| (self.chain(place), node.own.instructions)))
    }
}

#[cfg(test)]
pub mod tests {
    use super::{CallTree, Counts, PathNode, TreeError};

    /// A tree of `(parent, function, instructions)`.
    pub fn tree(nodes: &[(Option<usize>, &str, u64)]) -> CallTree {
        let node = |(parent, function, instructions): &(Option<usize>, &str, u64)| PathNode {
            parent: *parent,
            function: (*function).to_owned(),
            own: Counts { instructions: *instructions, calls: 1, ..Counts::default() },
        };
        CallTree::try_from(nodes.iter().map(node).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_root_has_everything() {
        let tree = tree(&[(None, "a", 1), (Some(0), "b", 20), (Some(1), "c", 300), (Some(0), "c", 4_000)]);
        assert_eq!(tree.inclusive().iter().map(|all| all.instructions).collect::<Vec<_>>(), [4_321, 320, 300, 4_000]);
        assert_eq!(tree.total(), tree.inclusive()[0]);
        assert_eq!(tree.chain(2), ["c", "b", "a"]);
        assert_eq!(tree.depths(), [0, 1, 2, 1]);
        assert_eq!(tree.folded(), "a 1\na;b 20\na;b;c 300\na;c 4000\n");
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(serde_json::from_str::<CallTree>(&json).unwrap(), tree);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let node = |parent| PathNode { parent, function: "a".to_owned(), own: Counts::default() };
        assert_eq!(CallTree::try_from(vec![node(Some(0))]), Err(TreeError::Order(0)));
        assert_eq!(CallTree::try_from(vec![node(None), node(Some(7))]), Err(TreeError::Order(1)));
        let deep: Vec<PathNode> = (0..2_000_usize).map(|place| node(place.checked_sub(1))).collect();
        assert!(matches!(CallTree::try_from(deep), Err(TreeError::Depth(_))));
    }
}
