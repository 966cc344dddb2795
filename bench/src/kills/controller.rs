//! Kills of the controller: everything of it vanishes, and the run is gone on
//! with to its end.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Account, plan};
use crate::endure::tool::Tool;
use crate::endure::traces::Traces;

/// From the making of hosts to the middle of a block.
const MOMENTS_MS: std::ops::Range<u64> = 0..1_200;
const BLOCKS: u32 = 2;

/// One run, whose controller is killed until it has come to its end.
pub fn one_run(nettoll: &Path, count: usize, random: &mut ChaCha8Rng, account: &mut Account) -> anyhow::Result<()> {
    let tool = Tool::new(nettoll)?;
    let plan = plan(random.random_range(0..1 << 40), BLOCKS);
    let mut traces = Traces::now();
    let mut study = tool.start(&[], &plan, &[])?;
    let mut seen = Vec::new();
    while account.kills < count {
        thread::sleep(Duration::from_millis(random.random_range(MOMENTS_MS)));
        traces.see(&tool);
        if study.is_over() {
            break;
        }
        study.kill();
        account.kills += 1;
        account.leftovers.extend(traces.leftovers(&tool, |_| false));
        seen.push(tool.stored().map_or_else(Vec::new, |stored| stored.bytes()));
        study = match tool.stored() {
            Some(stored) => tool.resume(&stored)?,
            // Killed before it had begun, it has nothing to go on with.
            None => tool.start(&[], &plan, &[])?,
        };
    }
    account.check(&mut study, &tool, &seen, 0);
    account.leftovers.extend(traces.leftovers(&tool, |_| false));
    Ok(())
}
