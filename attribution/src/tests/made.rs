//! Made-up passes whose truth is known.

use model::profile::{Account, CallCounts, Profile, Stack, Waits};
use model::{Bytes, Nanos, Role};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use std::collections::BTreeMap;

use crate::{Classifier, CleanPass, CountPass, Passes, Receipt, ReceiptError, Rules, SampledSlices, Symbol, Tally, TimePass, WaitPass};
use stats::noise::normal;

pub use super::profiles::{COSTS, Cost, PERIOD, profile};

/// What the chains of [`COSTS`] cost together.
pub const CPU: f64 = 1_000.0;

/// A cell to make up.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Message size.
    pub size: u64,
    /// Blocks, each with a pass of every kind.
    pub blocks: u32,
    /// Messages of a pass.
    pub messages: f64,
    /// Runnable wait and blocked time per message.
    pub waits: [f64; 2],
    /// How much more CPU time a time pass takes.
    pub observer: f64,
    /// Relative spread of a row between trials.
    pub spread: f64,
}

impl Default for Cell {
    fn default() -> Self {
        Self { size: 1024, blocks: 9, messages: 400_000.0, waits: [50.0, 250.0], observer: 1.04, spread: 0.03 }
    }
}

/// Passes of a cell in which each chain costs what it says.
pub fn passes(cell: Cell, costs: &[Cost], random: &mut ChaCha8Rng) -> Passes {
    let whole: f64 = costs.iter().map(|cost| cost.ns).sum();
    let waits: f64 = cell.waits.iter().sum();
    let sampled = SampledSlices::Absent("they were not made".to_owned());
    let mut made =
        Passes { role: Role::Sender, size: Bytes::new(cell.size), clean: vec![], time: vec![], waits: vec![], counts: vec![], sampled };
    for block in 0..cell.blocks {
        let messages = cell.messages * (1.0 + 0.02 * normal(random));
        let nanos = |ns: f64| Nanos::new((ns * messages) as u64);
        let jitter = 1.0 + 0.01 * normal(random);
        made.clean.push(CleanPass {
            block,
            wall: nanos((whole + waits) * jitter),
            cpu: nanos(whole * jitter),
            kernel_threads: Nanos::new(0),
            messages,
        });
        let watched = cell.observer * (1.0 + 0.005 * normal(random));
        let counts: Vec<(&str, f64)> = costs.iter().map(|cost| (cost.chain, cost.ns * (1.0 + cell.spread * normal(random)))).collect();
        let sum: f64 = counts.iter().map(|(_, ns)| ns).sum();
        let on_cpu = whole * watched * messages;
        // Chance rounds each count, so that the mean is right.
        let mut drawn = |ns: f64| (ns / sum * on_cpu / PERIOD as f64 + random.random::<f64>()).floor() as u64;
        let counts: Vec<(&str, u64)> = counts.iter().map(|(chain, ns)| (*chain, drawn(*ns))).collect();
        let cpu = Nanos::new(on_cpu as u64);
        let account = Some(Account {
            on_cpu: Some(cpu),
            recorded: on_cpu as u64 / PERIOD,
            counted: Some(cpu.get()),
            others: None,
            ..Account::default()
        });
        made.time.push(TimePass { block, profile: profile(&counts), account, stolen: 0.0, cpu, messages, wakeups: None });
        let waits = Waits { runnable: nanos(cell.waits[0]), blocked: nanos(cell.waits[1]), switches: 10, ..Waits::default() };
        let wall = nanos(whole + cell.waits[0] + cell.waits[1]);
        made.waits.push(WaitPass { waits, wall, cpu: nanos(whole), kernel_threads: Nanos::new(0), stolen: 0.0, messages });
        let mut counts = CallCounts::default();
        counts.calls.insert("udp_sendmsg".to_owned(), messages as u64);
        made.counts.push(CountPass { counts, messages: messages.floor() });
    }
    made
}

/// The functions of a chain, the innermost first.
pub fn frames<'a>(profile: &'a Profile, stack: &Stack) -> Vec<&'a str> {
    stack.frames.iter().map(|place| profile.symbols[*place as usize].as_str()).collect()
}

/// The receipt of passes whose samples are counted here.
pub fn receipt(passes: &Passes, rules: &Rules) -> Result<Receipt, ReceiptError> {
    let mut classifier = Classifier::new(rules);
    let mut tally = |pass: &TimePass| {
        let mut tally = Tally::default();
        for stack in &pass.profile.stacks {
            let frames = frames(&pass.profile, stack);
            tally.add(&Symbol::parse(frames[0]).listed(), &classifier.classify(&frames, stack.user), stack.count, stack.user);
        }
        tally
    };
    let tallies: Vec<Tally> = passes.time.iter().map(&mut tally).collect();
    Receipt::from_tallies(passes, &tallies, BTreeMap::new(), rules)
}
