//! Replays of what programs exchange, block by block.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::replay::Ends;
use model::replay::{Replay, Replayed};
use model::{Nanos, Refusal};

use super::Shuffle;
use crate::session::Bare;

/// Time before the measured part.
const WARM_UP: Duration = Duration::from_millis(30);
/// The same where delayed acknowledgements count: the first ones of a connection are quick.
const LONG_WARM_UP: Duration = Duration::from_millis(150);

/// All of them in each block, in random order; fewer blocks when `stop` is set.
///
/// # Errors
/// What the system refused.
pub fn blocks(all: &[Replay], blocks: u32, length: Nanos, seed: u64, stop: &AtomicBool) -> Result<Vec<Vec<Replayed>>, Refusal> {
    let mut random = Shuffle(seed | 1);
    let warm_up = if all.iter().all(|one| one.nodelay) { WARM_UP } else { LONG_WARM_UP };
    let mut found = Vec::new();
    let hosts = all.iter().map(|one| one.link.as_ref().map(Bare::make).transpose()).collect::<Result<Vec<_>, _>>();
    let hosts = hosts.map_err(|error| Refusal::new("a replay over a link", error.to_string(), "Read the evidence alone"))?;
    for _ in 0..blocks {
        let mut order: Vec<usize> = (0..all.len()).collect();
        random.shuffle(&mut order);
        let mut block = vec![Replayed::default(); all.len()];
        for place in order {
            if stop.load(Ordering::Relaxed) {
                return Ok(found);
            }
            block[place] = match &hosts[place] {
                Some(hosts) => {
                    let ends = Ends { address: hosts.address, enter: [&|| hosts.enter(0), &|| hosts.enter(1)] };
                    engine::replay::run(&all[place], &ends, warm_up, length.into())?
                }
                None => engine::replay::run(&all[place], &Ends::LOOPBACK, warm_up, length.into())?,
            };
        }
        found.push(block);
    }
    Ok(found)
}
