//! Replays of what programs exchange, block by block.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::replay::{Replay, Replayed};
use model::{Nanos, Unavailable};

use super::Shuffle;

/// Time before the measured part.
const WARM_UP: Duration = Duration::from_millis(30);
/// The same where delayed acknowledgements count: the first ones of a connection are quick.
const LONG_WARM_UP: Duration = Duration::from_millis(150);

/// All of them in each block, in random order; fewer blocks when `stop` is set.
///
/// # Errors
/// What the system refused.
pub fn blocks(all: &[Replay], blocks: u32, length: Nanos, seed: u64, stop: &AtomicBool) -> Result<Vec<Vec<Replayed>>, Unavailable> {
    let mut random = Shuffle(seed | 1);
    let warm_up = if all.iter().all(|one| one.nodelay) { WARM_UP } else { LONG_WARM_UP };
    let mut found = Vec::new();
    for _ in 0..blocks {
        let mut order: Vec<usize> = (0..all.len()).collect();
        random.shuffle(&mut order);
        let mut block = vec![Replayed::default(); all.len()];
        for place in order {
            if stop.load(Ordering::Relaxed) {
                return Ok(found);
            }
            block[place] = engine::replay::run(&all[place], warm_up, length.into())?;
        }
        found.push(block);
    }
    Ok(found)
}
