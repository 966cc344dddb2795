//! `nettoll top`: a machine's toll, live.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use analysis::top::{Machine, STRETCHES, Snapshot};
use attribution::Rules;
use lab::top::{Settings, Watcher};
use model::{Nanos, Refusal};

use crate::args::TopArgs;
use crate::exit::{Exit, Failure};
use crate::signals;

/// Length of a stretch: as often the screen changes.
const STRETCH: Duration = Duration::from_secs(1);
/// The rates that are taken: below, a window shows nothing; above, the kernel throttles.
const RATES: std::ops::RangeInclusive<u32> = 1..=10_000;

/// Watches the machine, and shows what the network stack costs it.
///
/// # Errors
/// A rate that no sampler takes, a machine that shows nothing, a terminal that goes.
pub fn run(args: &TopArgs) -> Result<Exit, Failure> {
    if let Some(rate) = args.rate.filter(|rate| !RATES.contains(rate)) {
        return Err(Failure::misuse(format!("--rate {rate}: give {} to {} samples a second", RATES.start(), RATES.end())));
    }
    if args.time.is_some_and(|time| time < Nanos::from(STRETCH)) {
        return Err(Failure::misuse("-t: a window of less than 1s shows nothing"));
    }
    let rules = Rules::builtin().map_err(anyhow::Error::from)?;
    let stop = signals::listen()?;
    let (watcher, refused) = Watcher::open(Settings { rate: args.rate, count_all: args.count_all });
    if watcher.is_blind() {
        let why: Vec<String> = refused.iter().map(Refusal::to_string).collect();
        return Err(Failure::from(anyhow::anyhow!("this machine shows nothing of the network's cost: {}", why.join("; "))));
    }
    lines(watcher, &rules, refused, args, &stop)
}

/// A line of JSON for each window.
fn lines(mut watcher: Watcher, rules: &Rules, refused: Vec<Refusal>, args: &TopArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let whole = args.time.map(|time| (time.get() / Nanos::from(STRETCH).get()) as usize);
    let window = if args.once { whole.unwrap_or(STRETCHES) } else { STRETCHES };
    let mut machine = Machine::new(rules, refused, window);
    let mut notes = Vec::new();
    let mut taken = 0;
    while !stop.load(Ordering::Relaxed) {
        let bucket = watcher.next(STRETCH, stop, &mut notes);
        machine.add(&bucket, std::mem::take(&mut notes));
        taken += 1;
        if taken % window == 0 || stop.load(Ordering::Relaxed) {
            if let Some(snapshot) = machine.snapshot() {
                print(&snapshot)?;
            }
            if args.once {
                break;
            }
        }
        if whole.is_some_and(|whole| taken >= whole) {
            break;
        }
    }
    Ok(Exit::Done)
}

fn print(snapshot: &Snapshot) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let line = serde_json::to_string(snapshot).map_err(anyhow::Error::from)?;
    writeln!(out, "{line}").map_err(anyhow::Error::from)?;
    Ok(())
}
