//! Files of a program's work: what it exchanges, sent again.

use std::path::Path;
use std::sync::atomic::Ordering;

use ::report::advice::{SentAgain, planned, planned_json};
use analysis::advice::sent;
use lab::attach::replay::blocks;
use model::program_workload::ProgramWorkload;
use model::{Nanos, printable};

use crate::args::WorkloadArgs;
use crate::exit::{Exit, Failure};
use crate::{output, signals};

/// True of a file that has exchanges; others have sizes.
pub fn is_of_exchanges(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
}

/// The longest file of exchanges that is read: 64 kinds of 16 pieces take a tenth.
const LONGEST_WORKLOAD: u64 = 1 << 20;

/// Reads a file of exchanges.
///
/// # Errors
/// One that cannot be read, or that has parts that cannot be sent.
pub fn read(file: &Path) -> Result<ProgramWorkload, Failure> {
    let text = sys::file::read_text(file, LONGEST_WORKLOAD)
        .map_err(|answer| Failure::misuse(format!("{} cannot be read: {answer}; check the path", file.display())))?;
    ProgramWorkload::parse(&text).map_err(|reason| {
        let reason = printable::printable(&reason, printable::Keep::Lines);
        Failure::misuse(format!("{}: {reason}; `nettoll attach --workload FILE.toml` writes such a file", file.display()))
    })
}

/// Blocks of a program's work, and the length of each kind in one.
const BLOCKS: u32 = 12;
const LENGTH: Nanos = Nanos::from_millis(200);

/// Sends a program's observed exchanges, and prints their cost.
///
/// `page`: one was asked for, which mixes alone have.
///
/// # Errors
/// A file that cannot be sent, flags of mixes, what the system refused.
pub fn send(args: &WorkloadArgs, page: bool) -> Result<Exit, Failure> {
    let [file] = &args.workloads[..] else {
        return Err(Failure::misuse("a file of exchanges is sent by itself: give one FILE.toml and nothing else"));
    };
    let extent = &args.extent;
    let of_mixes = args.measure || args.predict || args.run.is_some() || args.yes || args.allow_exec || page || extent.warmup.is_some();
    if of_mixes || !args.link.is_empty() {
        return Err(Failure::misuse(
            "--measure, --predict, --run, --yes, --html, -O and flags of links are for mixes of sizes: exchanges are sent over loopback",
        ));
    }
    let workload = read(Path::new(file))?;
    if workload.exchanges.is_empty() {
        return Err(Failure::misuse(format!("{file} has no exchange")));
    }
    if args.dry_run {
        output::write(&if args.json { planned_json(&workload) } else { planned(&workload) })?;
        return Ok(Exit::Done);
    }
    let stop = signals::listen()?;
    let replays: Vec<_> = workload.replays().into_iter().map(|(_, replay)| replay).collect();
    let blocks = blocks(&replays, extent.blocks.unwrap_or(BLOCKS), extent.length.unwrap_or(LENGTH), extent.seed.unwrap_or(1), &stop)?;
    let sent = sent(&workload, &blocks);
    let told = SentAgain { workload: &workload, sent: &sent, blocks: blocks.len() };
    output::result(args.json.then(|| told.json()), || told.document(), false)?;
    if stop.load(Ordering::Relaxed) {
        output::note("interrupted: the figures are of the blocks that were finished");
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}
