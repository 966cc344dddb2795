//! Call chains of all trials, each kept once: what makes the profiles of a long
//! study fit into memory.

use std::collections::HashMap;

use attribution::folded_chains;
use model::profile::Profile;

/// A chain longer than this is cut at its outer end: four times the kernel's
/// own limit (`PERF_MAX_STACK_DEPTH`, include/uapi/linux/perf_event.h).
const MOST_FRAMES: usize = 512;

/// The most functions on different ways in that are kept: some 100 MB. A study
/// of all studies has some 100,000.
const MOST_NODES: usize = 4_000_000;

/// The most names, and bytes of a name: kernels have some 200,000.
const MOST_NAMES: usize = 1_000_000;
const LONGEST_NAME: usize = 1_024;

/// No function: what the outermost one is called from.
const NONE: u32 = u32::MAX;

/// A kept chain: its place, and whether the sample fell into user code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(u32);

impl ChainId {
    /// Returns whether the sample fell into user code.
    pub const fn user(self) -> bool {
        self.0 & 1 == 1
    }

    /// A number below [`Chains::ids`].
    pub const fn place(self) -> usize {
        self.0 as usize
    }

    const fn node(self) -> usize {
        (self.0 >> 1) as usize
    }
}

/// A profile that cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// More chains than there is room for.
    #[error("there is no room for more than {MOST_NODES} functions in call chains")]
    TooMany,
    /// A name that no function has.
    #[error("it has a name of more than {LONGEST_NAME} bytes")]
    LongName,
    /// Samples of years.
    #[error("it has a chain with more samples than a trial can take")]
    TooOften,
}

/// A function with the way that leads to it.
#[derive(Debug, Clone, Copy)]
struct Node {
    caller: u32,
    name: u32,
}

/// All names and chains.
#[derive(Debug, Default)]
pub struct Chains {
    names: Vec<String>,
    places: HashMap<String, u32>,
    nodes: Vec<Node>,
    found: HashMap<(u32, u32), u32>,
}

impl Chains {
    /// Numbers that a [`ChainId`] may have.
    pub fn ids(&self) -> usize {
        self.nodes.len() * 2
    }

    /// The place of a name, for good.
    ///
    /// # Errors
    /// When it is no function's name, or there are too many.
    pub fn name(&mut self, name: &str) -> Result<u32, KeepError> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        if name.len() > LONGEST_NAME {
            return Err(KeepError::LongName);
        }
        if self.names.len() >= MOST_NAMES {
            return Err(KeepError::TooMany);
        }
        let place = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        Ok(place)
    }

    /// The name at a place.
    pub fn name_at(&self, place: u32) -> &str {
        self.names.get(place as usize).map_or("[unknown]", String::as_str)
    }

    /// Keeps the samples of a profile.
    ///
    /// # Errors
    /// When there is no room, or it is no profile of a trial. Then none of its
    /// samples is kept.
    pub fn keep(&mut self, profile: &Profile) -> Result<Box<[(ChainId, u32)]>, KeepError> {
        let mut names = Vec::with_capacity(profile.symbols.len());
        for symbol in &profile.symbols {
            names.push(self.name(symbol)?);
        }
        let unknown = self.name("[unknown]")?;
        let mut kept = Vec::with_capacity(profile.stacks.len());
        for stack in &profile.stacks {
            let count = u32::try_from(stack.count).map_err(|_| KeepError::TooOften)?;
            let mut at = NONE;
            let frames = &stack.frames[..stack.frames.len().min(MOST_FRAMES)];
            for frame in frames.iter().rev() {
                at = self.node(at, names.get(*frame as usize).copied().unwrap_or(unknown))?;
            }
            if at == NONE {
                at = self.node(at, unknown)?;
            }
            kept.push((ChainId(at << 1 | u32::from(stack.user)), count));
        }
        Ok(kept.into())
    }

    fn node(&mut self, caller: u32, name: u32) -> Result<u32, KeepError> {
        if let Some(node) = self.found.get(&(caller, name)) {
            return Ok(*node);
        }
        if self.nodes.len() >= MOST_NODES {
            return Err(KeepError::TooMany);
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { caller, name });
        self.found.insert((caller, name), node);
        Ok(node)
    }

    /// The functions of a chain by the places of their names, innermost first.
    pub fn frames(&self, chain: ChainId) -> impl Iterator<Item = u32> + '_ {
        let first = self.nodes.get(chain.node());
        std::iter::successors(first, |node| self.nodes.get(node.caller as usize)).map(|node| node.name)
    }

    /// The innermost function of a chain.
    pub fn leaf(&self, chain: ChainId) -> u32 {
        self.nodes.get(chain.node()).map_or(NONE, |node| node.name)
    }

    /// Samples in the flame graph tools' format.
    pub fn folded(&self, samples: impl Iterator<Item = (ChainId, u64)>) -> String {
        folded_chains(samples.map(|(chain, count)| (self.frames(chain).map(|name| self.name_at(name)).collect(), count)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Chains, KeepError, MOST_FRAMES};
    use crate::studies::receipt::tests::profiles::profile;
    use attribution::folded;
    use model::profile::Stack;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    #[test]
    fn what_is_kept_is_what_was_seen() {
        let mut chains = Chains::default();
        let first = profile(&[("a<b<c", 3), ("b<c", 2), ("[user]", 4)]);
        let second = profile(&[("a<b<c", 1), ("x<b<c", 5)]);
        for profile in [&first, &second] {
            let kept = chains.keep(profile).unwrap();
            assert_eq!(chains.folded(kept.iter().map(|(chain, count)| (*chain, u64::from(*count)))), folded(profile));
            assert_eq!(kept.iter().map(|(_, count)| u64::from(*count)).sum::<u64>(), profile.samples());
        }
        // c, b, a, user and x: what chains share is kept once.
        assert_eq!(chains.ids(), 2 * 5);
    }

    /// A study of hundreds of cells must fit into memory: a chain that was met
    /// before takes 8 bytes.
    #[test]
    fn what_was_met_before_takes_little() {
        let names: Vec<String> = (0..1_000).map(|leaf| format!("leaf_{leaf}<{}", "caller<".repeat(30))).collect();
        let made = profile(&names.iter().map(|name| (name.trim_end_matches('<'), 3)).collect::<Vec<_>>());
        let mut chains = Chains::default();
        let first = chains.keep(&made).unwrap();
        let nodes = chains.ids();
        assert_eq!((size_of_val(&*first), nodes), (8 * 1_000, 2 * (30 + 1_000)));
        assert_eq!(chains.keep(&made).unwrap(), first);
        assert_eq!(chains.ids(), nodes);
    }

    #[test]
    fn damage_is_refused_or_named() {
        let mut chains = Chains::default();
        let mut damaged = profile(&[("a<b", 1)]);
        damaged.stacks[0].frames = vec![7, 0];
        let kept = chains.keep(&damaged).unwrap();
        assert_eq!(chains.name_at(chains.leaf(kept[0].0)), "[unknown]");
        damaged.stacks[0].frames = vec![0; 100_000];
        let kept = chains.keep(&damaged).unwrap();
        assert_eq!(chains.frames(kept[0].0).count(), MOST_FRAMES);
        damaged.stacks[0].frames.clear();
        assert_eq!(chains.keep(&damaged).unwrap().len(), 1);
        damaged.stacks[0].count = u64::MAX;
        assert_eq!(chains.keep(&damaged), Err(KeepError::TooOften));
        damaged.symbols[0] = "x".repeat(2_000);
        assert_eq!(chains.keep(&damaged), Err(KeepError::LongName));
    }

    proptest! {
        #[test]
        fn no_profile_makes_it_panic(frames in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..5), 0..9), user in any::<bool>()) {
            let mut made = profile(&[("a<b", 1), ("c", 2)]);
            made.stacks = frames.into_iter().map(|frames| Stack { frames, user, count: 2 }).collect();
            let mut chains = Chains::default();
            let kept = chains.keep(&made).unwrap();
            prop_assert_eq!(kept.len(), made.stacks.len());
            prop_assert_eq!(kept.iter().all(|(chain, _)| chain.user() == user), true);
            prop_assert_eq!(kept.iter().all(|(chain, _)| chain.place() < chains.ids()), true);
        }
    }
}
