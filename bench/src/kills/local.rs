//! Kills of what runs on this machine next to the controller: endpoints and
//! keepers. Each costs its trial at most; the study goes on.

use std::path::Path;
use std::thread;
use std::time::Duration;

use model::schedule::{self, Shape};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use testkit::processes::{self, Process};

use super::{Account, CELLS, HANG, plan};
use crate::endure::tool::Tool;
use crate::endure::traces::Traces;
use crate::endure::within;

/// From one trial to the third after it.
const MOMENTS_MS: std::ops::Range<u64> = 0..60;
/// Longest time that a victim may be away: hosts are made again in less.
const AWAY: Duration = Duration::from_secs(5);

/// Whom to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    Sender,
    Receiver,
    HostProcess,
}

/// Each kind in words.
pub const VICTIMS: [(&str, Victim); 3] =
    [("the sender's endpoint", Victim::Sender), ("the receiver's endpoint", Victim::Receiver), ("a local keeper", Victim::HostProcess)];

/// One study with several kills of a kind.
pub fn one_study(nettoll: &Path, victim: Victim, count: usize, random: &mut ChaCha8Rng, account: &mut Account) -> anyhow::Result<()> {
    let tool = Tool::new(nettoll)?;
    let seed = random.random_range(0..1 << 40);
    // One block, so that it is known which host sends.
    let swapped = schedule::block(seed, 0, Shape::plain(CELLS, 1)).swapped;
    let mut traces = Traces::now();
    let mut study = tool.start(&[], &plan(seed, 1), &[])?;
    let mut seen = Vec::new();
    let mut had = 0;
    while account.kills < count {
        // Hosts that are lost in a row are a reason to give up; these are not in a row.
        let going = within(HANG, || tool.trials() >= had + 3 || study.is_over());
        thread::sleep(Duration::from_millis(random.random_range(MOMENTS_MS)));
        let host = match victim {
            Victim::Sender if swapped => "b",
            Victim::Receiver if !swapped => "b",
            Victim::HostProcess if random.random() => "b",
            _ => "a",
        };
        let mut found = None;
        within(AWAY, || {
            found = find(&tool, victim, host);
            found.is_some() || study.is_over()
        });
        traces.see(&tool);
        let (Some(_), Some(process)) = (going, found) else { break };
        seen.push(tool.stored().map_or_else(Vec::new, |stored| stored.bytes()));
        had = tool.trials();
        account.kills += usize::from(process.kill());
    }
    account.check(&mut study, &tool, &seen, seen.len());
    account.leftovers.extend(traces.leftovers(&tool, |_| false));
    Ok(())
}

fn find(tool: &Tool, victim: Victim, host: &str) -> Option<Process> {
    let all = processes::marked(tool.mark());
    let host_process = all.iter().find(|process| process.kind == "__host" && process.name == host)?;
    match victim {
        Victim::HostProcess => Some(host_process.clone()),
        Victim::Sender | Victim::Receiver => {
            all.iter().find(|process| process.kind == "__endpoint" && process.parent == host_process.pid).cloned()
        }
    }
}
