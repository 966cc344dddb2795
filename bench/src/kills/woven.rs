//! Kills amid the turns of woven arms, one of them a program: nothing stays stopped, frozen or with real-time priority.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;

use super::{Account, HANG};
use crate::endure::tool::Tool;
use crate::endure::traces::Traces;
use crate::endure::within;
use testkit::processes::{self, Process, unusual_states};

/// From the first end on, over an instance of each cell and what lies between.
const MOMENTS_MS: std::ops::Range<u64> = 0..1_200;
/// Few instances, whatever they show: those of a plan are for its trials in turn.
const WOVEN: [&str; 3] = ["--woven", "--blocks", "2"];
/// Arms of the plan.
const ARMS: usize = 2;
/// Longest time that a state may outlive its process.
const GONE: Duration = Duration::from_secs(5);

/// Whom to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    Controller,
    End,
    Program,
}

/// Each kind in words.
pub const VICTIMS: [(&str, Victim); 3] = [
    ("the controller of woven arms", Victim::Controller),
    ("an end of a woven arm", Victim::End),
    ("a program of a woven arm", Victim::Program),
];

/// One study with one kill.
pub fn one_study(nettoll: &Path, victim: Victim, random: &mut ChaCha8Rng, account: &mut Account) -> anyhow::Result<()> {
    let tool = Tool::new(nettoll)?;
    let (before, mut traces) = (unusual_states(), Traces::now());
    let plan = plan(random.random_range(0..1 << 40));
    let mut study = tool.start(&[], &plan, &WOVEN)?;
    within(HANG, || find(&tool, Victim::End, random).is_some() || study.is_over());
    thread::sleep(Duration::from_millis(random.random_range(MOMENTS_MS)));
    let mut found = None;
    let is_controller = victim == Victim::Controller;
    within(HANG, || {
        found = find(&tool, victim, random);
        is_controller || found.is_some() || study.is_over()
    });
    traces.see(&tool);
    let amid = unusual_states();
    let seen = tool.stored().map_or_else(Vec::new, |stored| stored.bytes());
    if is_controller {
        study.kill();
        account.leftovers.extend(traces.leftovers(&tool, |_| false));
        account.leftovers.extend(lasting(&before));
        study = match tool.stored() {
            Some(stored) => tool.resume(&stored)?,
            // Killed before it had begun, it has nothing to go on with.
            None => tool.start(&[], &plan, &WOVEN)?,
        };
    }
    let killed = is_controller || found.is_some_and(|process| process.kill());
    account.kills += usize::from(killed);
    *account.unusual.get_or_insert(0) += usize::from(killed && !amid.is_subset(&before));
    // An instance has a trial of each arm.
    account.check(&mut study, &tool, &[seen], if is_controller { 0 } else { ARMS });
    account.leftovers.extend(traces.leftovers(&tool, |_| false));
    account.leftovers.extend(lasting(&before));
    Ok(())
}

/// States that were not there before and stay.
fn lasting(before: &BTreeSet<String>) -> BTreeSet<String> {
    let mut left = &unusual_states() - before;
    within(GONE, || {
        left = &left & &unusual_states();
        left.is_empty()
    });
    left
}

fn find(tool: &Tool, victim: Victim, random: &mut ChaCha8Rng) -> Option<Process> {
    let kind = match victim {
        Victim::Controller => return None,
        Victim::End => "__endpoint",
        Victim::Program => "endpoint",
    };
    processes::marked(tool.mark()).into_iter().filter(|process| process.kind == kind).choose(random)
}

/// A plan whose arms take turns, with a program by the contract of external endpoints among their ends.
fn plan(seed: u64) -> String {
    format!(
        r#"
        name = "killed"
        seed = {seed}
        trial = {{ length = "50ms", warmup = "1ms" }}
        blocks = {{ least = 2, most = 2 }}
        arms = ["own", "program: api=tpi-sockets"]
        [[cells]]
        test = "UDP_STREAM"
        size = [16, 1024]
        "#
    )
}
