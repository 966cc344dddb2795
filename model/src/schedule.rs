//! The order of the trials: randomised blocks, and which of them swap the hosts.

use std::ops::Range;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::pass::Pass;
use crate::sorting::Order;

/// The block counts after which the intervals are looked at. Sparse, because
/// each further look costs coverage.
pub const LOOKS: [u32; 7] = [9, 14, 20, 30, 50, 75, 100];

/// Ends of the first groups of blocks. Half of a group is swapped, so the
/// halves are equal, or differ by one, after each of [`LOOKS`]:
/// 9 blocks are a group of 10 without its last.
const ENDS: [u32; 7] = [10, 14, 20, 30, 50, 75, 100];

/// Blocks in each group beyond those.
const BEYOND: u32 = 10;

/// One block: every cell once in every arm and pass, in a fresh random order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its place in the run, from 0.
    pub index: u32,
    /// True where the hosts' roles are exchanged.
    pub swapped: bool,
    /// Its trials. Those of one cell are neighbours, and among them those of one
    /// pass: the arms of a comparison stand side by side. A cell's first pass of all is a clean one.
    pub order: Vec<Slot>,
}

/// The place of one trial in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Index into the plan's cells.
    pub cell: usize,
    /// Index into the plan's arms; 0 where it has none.
    pub arm: usize,
    /// The pass.
    pub pass: Pass,
}

/// Hosts that send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// Host `a` in one half of the blocks, host `b` in the other.
    #[default]
    Balanced,
    /// The same host in every block.
    Fixed {
        /// True where it is host `b`.
        swapped: bool,
    },
}

/// Contents of every block of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape<'a> {
    /// Number of cells.
    pub cells: usize,
    /// Number of arms; at least 1.
    pub arms: usize,
    /// The passes; at least one.
    pub passes: &'a [Pass],
    /// The most blocks of the run.
    pub most: u32,
    /// Hosts that send.
    pub roles: Roles,
}

impl Shape<'_> {
    /// Clean trials of so many cells, without arms.
    pub const fn plain(cells: usize, most: u32) -> Self {
        Self { cells, arms: 1, passes: &[Pass::Clean], most, roles: Roles::Balanced }
    }

    /// Trials in each block.
    pub const fn trials(&self) -> usize {
        self.cells * self.arms * self.passes.len()
    }
}

/// The `index`-th block of a run.
///
/// The same seed gives the same block, whatever was run before it, so that a
/// run can be resumed. Which blocks are swapped is drawn in groups ([`group`])
/// of which half are: permuted blocks (Hill 1951, "The clinical trial"; Matts
/// and Lachin 1988, "Properties of permuted-block randomization in clinical
/// trials"). Every choice of so many of a group is as likely as any other.
pub fn block(seed: u64, index: u32, shape: Shape) -> Block {
    let mut generator = generator(seed, u64::from(index), 0);
    let mut cells: Vec<usize> = (0..shape.cells).collect();
    cells.shuffle(&mut generator);
    let mut order = Vec::with_capacity(shape.trials());
    let (mut passes, mut arms) = (shape.passes.to_vec(), (0..shape.arms).collect::<Vec<_>>());
    for cell in cells {
        passes.shuffle(&mut generator);
        if index == 0 {
            // It shows how an end is to be watched.
            passes.order_by_key(|pass| !pass.is_clean());
        }
        for &pass in &passes {
            arms.shuffle(&mut generator);
            order.extend(arms.iter().map(|&arm| Slot { cell, arm, pass }));
        }
    }
    let swapped = match shape.roles {
        Roles::Balanced => swapped(seed, index, shape.most),
        Roles::Fixed { swapped } => swapped,
    };
    Block { index, swapped, order }
}

/// The seed of what a trial leaves to chance: of one cell in one block.
///
/// The trials of all arms and passes share it, so that what differs between them is not
/// the luck of their arrivals (common random numbers: Law and Kelton).
pub fn trial_seed(seed: u64, index: u32, cell: usize) -> u64 {
    // The streams of blocks and swaps are below 2^33.
    let mut generator = generator(seed, 1 << 62 | u64::from(index), 0);
    generator.set_word_pos(2 * cell as u128);
    generator.random()
}

/// The group, counted from 0, within which it was drawn whether the `index`-th
/// block is swapped.
pub fn group(index: u32) -> u32 {
    group_of(index).0
}

/// The last block of the group of the `index`-th.
pub fn end_of_group(index: u32) -> u32 {
    group_of(index).1.end.saturating_sub(1)
}

/// The group of a block, and all of its blocks.
fn group_of(index: u32) -> (u32, Range<u32>) {
    let before = ENDS.iter().take_while(|end| **end <= index).count();
    let start = before.checked_sub(1).map_or(0, |last| ENDS[last]);
    if let Some(end) = ENDS.get(before) {
        return (before as u32, start..*end);
    }
    let further = (index - start) / BEYOND;
    let start = start + further * BEYOND;
    (before as u32 + further, start..start.saturating_add(BEYOND))
}

/// Returns whether a block is swapped. A group that would reach beyond the run's last
/// block ends with it, so that the halves of the whole run are even.
///
/// All even places of the run hold one kind and all odd ones the other, before
/// those of each group are shuffled: where a group has one more of one kind, the
/// next such group has one more of the other.
fn swapped(seed: u64, index: u32, most: u32) -> bool {
    let (group, mut blocks) = group_of(index);
    if blocks.contains(&most) && index < most {
        blocks.end = most;
    }
    let even: bool = generator(seed, 0, 1).random();
    let mut swaps: Vec<bool> = blocks.clone().map(|place| (place % 2 == 0) == even).collect();
    swaps.shuffle(&mut generator(seed, 1 + u64::from(group), 1));
    swaps[(index - blocks.start) as usize]
}

/// A stream of random numbers of its own for each purpose and place.
fn generator(seed: u64, place: u64, purpose: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(place << 1 | purpose);
    generator
}

#[cfg(test)]
mod tests {
    use super::{Block, LOOKS, Roles, Shape, Slot, group, group_of};
    use crate::pass::Pass;
    use proptest::prelude::{any, proptest};

    /// The block of a run without a limit.
    fn block(seed: u64, index: u32, cells: usize) -> Block {
        super::block(seed, index, Shape::plain(cells, u32::MAX))
    }

    #[test]
    fn a_cell_begins_with_its_clean_trials_and_later_blocks_do_not() {
        let shape = Shape { arms: 2, passes: &[Pass::Time, Pass::Clean, Pass::Wait], ..Shape::plain(9, 40) };
        let of = |index| super::block(7, index, shape).order;
        assert!(of(0).chunks(6).all(|cell| cell[..2].iter().all(|slot| slot.pass.is_clean())));
        assert!(of(0).chunks(6).any(|cell| cell[2].pass == Pass::Time) && of(0).chunks(6).any(|cell| cell[2].pass == Pass::Wait));
        assert!(of(1).chunks(6).any(|cell| !cell[0].pass.is_clean()));
    }

    #[test]
    fn blocks_differ_in_their_order() {
        assert_ne!(block(1, 0, 20).order, block(1, 1, 20).order);
        assert_ne!(block(1, 0, 20).order, block(2, 0, 20).order);
    }

    #[test]
    fn roles_stay_where_they_are_fixed() {
        for swapped in [false, true] {
            let shape = Shape { roles: Roles::Fixed { swapped }, ..Shape::plain(1, u32::MAX) };
            assert!((0..40).all(|index| super::block(7, index, shape).swapped == swapped));
        }
    }

    proptest! {
        #[test]
        fn every_block_holds_every_cell_once(seed in any::<u64>(), index in 0u32..10_000, cells in 0usize..300) {
            let mut order: Vec<usize> = block(seed, index, cells).order.into_iter().map(|slot| slot.cell).collect();
            order.sort_unstable();
            assert!(order.into_iter().eq(0..cells));
        }

        #[test]
        fn arms_are_neighbours_and_passes_of_a_cell_too(
            seed in any::<u64>(), index in 0u32..100, cells in 1usize..9, arms in 1usize..5, passes in 1usize..=Pass::ALL.len(),
        ) {
            let shape = Shape { cells, arms, passes: &Pass::ALL[..passes], most: u32::MAX, roles: Roles::Balanced };
            let order = super::block(seed, index, shape).order;
            assert_eq!(order.len(), shape.trials());
            let all = |slots: &[Slot], of: fn(&Slot) -> usize| slots.iter().map(of).collect::<std::collections::BTreeSet<_>>();
            for cell in order.chunks(arms * passes) {
                assert_eq!(all(cell, |slot| slot.cell).len(), 1);
                for pass in cell.chunks(arms) {
                    assert_eq!(all(pass, |slot| slot.pass as usize).len(), 1);
                    assert_eq!(all(pass, |slot| slot.arm).len(), arms);
                }
            }
            let unique: std::collections::BTreeSet<&Slot> = order.iter().collect();
            assert_eq!(unique.len(), order.len());
        }

        #[test]
        fn half_of_each_group_is_swapped(seed in any::<u64>(), index in 0u32..10_000) {
            let (number, blocks) = group_of(index);
            assert!(blocks.contains(&index) && blocks.clone().all(|other| group(other) == number));
            assert!(blocks.start == 0 || group(blocks.start - 1) + 1 == number);
            let swapped = blocks.clone().filter(|index| block(seed, *index, 3).swapped).count();
            assert!(swapped.abs_diff(blocks.len() - swapped) == blocks.len() % 2, "{swapped} of {blocks:?}");
        }

        #[test]
        fn the_halves_of_a_whole_run_are_even(seed in any::<u64>(), most in 1u32..400) {
            let swapped = (0..most).filter(|index| super::block(seed, *index, Shape::plain(3, most)).swapped).count();
            assert!(swapped.abs_diff(most as usize - swapped) <= 1, "{swapped} of {most}");
        }

        #[test]
        fn the_halves_are_even_after_each_look(seed in any::<u64>()) {
            for look in LOOKS.into_iter().chain([150, 1_000]) {
                let swapped = (0..look).filter(|index| block(seed, *index, 3).swapped).count();
                assert!(swapped.abs_diff(look as usize - swapped) == (look % 2) as usize, "{swapped} of {look}");
            }
        }

        #[test]
        fn trials_of_one_cell_and_block_share_a_seed_and_others_do_not(
            seed in any::<u64>(), index in 0u32..1_000, cell in 0usize..300, other in 0usize..300,
        ) {
            let of = super::trial_seed;
            assert_eq!(of(seed, index, cell), of(seed, index, cell));
            assert_eq!(of(seed, index, cell) == of(seed, index, other), cell == other);
            assert_ne!(of(seed, index, cell), of(seed, index + 1, cell));
            assert_ne!(of(seed, index, cell), of(seed ^ 1, index, cell));
        }

        #[test]
        fn a_seed_gives_the_same_blocks_in_any_order(seed in any::<u64>(), last in 1u32..150) {
            let forth: Vec<_> = (0..last).map(|index| block(seed, index, 5)).collect();
            let mut back: Vec<_> = (0..last).rev().map(|index| block(seed, index, 5)).collect();
            back.reverse();
            assert_eq!(forth, back);
        }
    }

    #[test]
    fn the_last_block_of_all_has_a_group() {
        assert!(group_of(u32::MAX - 1).1.contains(&(u32::MAX - 1)));
        assert_eq!((group(0), group(9), group(10), group(99), group(100), group(110)), (0, 0, 1, 6, 7, 8));
    }

    /// Each of the ways to swap two of the four blocks of a group comes up about
    /// as often: 1,000 times of 6,000, with a standard deviation of 29.
    #[test]
    fn every_choice_is_as_likely() {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..6_000 {
            *seen.entry([10, 11, 12, 13].map(|index| block(seed, index, 0).swapped)).or_insert(0u32) += 1;
        }
        assert!(seen.len() == 6 && seen.values().all(|count| count.abs_diff(1_000) < 120), "{seen:?}");
    }
}
