//! The order of the trials: randomised blocks, and which of them swap the hosts.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// One block: every cell once, in a fresh random order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its place in the run, from 0.
    pub index: u32,
    /// Whether the hosts' roles are exchanged.
    pub swapped: bool,
    /// Indices into the plan's cells, each once.
    pub order: Vec<usize>,
}

/// The `index`-th block of a run over `cells` cells.
///
/// The same seed gives the same block, whatever was run before it, so that a
/// run can be resumed. Blocks are taken in pairs; which of a pair is swapped is
/// drawn, so that after an even number exactly half are.
pub fn block(seed: u64, index: u32, cells: usize) -> Block {
    let mut pair = generator(seed, u64::from(index / 2), 1);
    let mut swaps = [false, true];
    swaps.shuffle(&mut pair);
    let mut order: Vec<usize> = (0..cells).collect();
    order.shuffle(&mut generator(seed, u64::from(index), 0));
    Block { index, swapped: swaps[(index % 2) as usize], order }
}

/// A stream of random numbers of its own for each purpose and place.
fn generator(seed: u64, place: u64, purpose: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(place << 1 | purpose);
    generator
}

#[cfg(test)]
mod tests {
    use super::block;
    use proptest::prelude::{any, proptest};

    #[test]
    fn blocks_differ_in_their_order() {
        assert_ne!(block(1, 0, 20).order, block(1, 1, 20).order);
        assert_ne!(block(1, 0, 20).order, block(2, 0, 20).order);
    }

    proptest! {
        #[test]
        fn every_block_holds_every_cell_once(seed in any::<u64>(), index in 0u32..10_000, cells in 0usize..300) {
            let mut order = block(seed, index, cells).order;
            order.sort_unstable();
            assert!(order.into_iter().eq(0..cells));
        }

        #[test]
        fn one_block_of_each_pair_is_swapped(seed in any::<u64>(), pair in 0u32..10_000) {
            assert_ne!(block(seed, 2 * pair, 3).swapped, block(seed, 2 * pair + 1, 3).swapped);
        }
    }
}
