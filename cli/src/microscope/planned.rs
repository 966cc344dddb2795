//! `nettoll microscope --dry-run`.

use microscope::cache::Cache;
use microscope::duration::{Estimate, estimate};
use microscope::kernel;
use microscope::scenario::{Session, sessions};
use report::preview::{Boots, Seconds};

use super::{timed, wanted};
use crate::args::{MicroscopeArgs, Task};
use crate::exit::{Exit, Failure};
use crate::output;

/// Time of one boot.
fn each(cache: Option<&Cache>, sessions: &[Session], args: &MicroscopeArgs) -> Estimate {
    estimate(cache, sessions.iter().map(|session| session.regions.len() as u64 * u64::from(args.messages)).max().unwrap_or(0))
}

/// The most seconds that counting is expected to take, one boot after the other.
///
/// # Errors
/// Misuse, or a cache that another can have written.
pub fn seconds(args: &MicroscopeArgs) -> Result<u64, Failure> {
    let (scenarios, sizes) = wanted(args)?;
    let sessions = sessions(&scenarios, &sizes);
    let boots = sessions.len() as u64 * args.kernels().len() as u64;
    Ok(each(Cache::look()?.as_ref(), &sessions, args).seconds.end() * boots)
}

/// Says what would be fetched and run.
///
/// # Errors
/// Misuse.
pub fn run(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let (scenarios, sizes, words) = match &args.run {
        Some(_) => timed::Messages::of(args)?.wanted(args)?,
        None => {
            let (scenarios, sizes) = wanted(args)?;
            (scenarios, sizes, if args.task == Task::Diff { args.sides.clone() } else { args.kernels() })
        }
    };
    let sessions = sessions(&scenarios, &sizes);
    let seeds = if args.task == Task::Diff { args.seeds } else { 1 };
    let of_kernel = |word: &String| {
        let release = if word.contains('/') { None } else { kernel::cached(cache, word) };
        match release {
            Some(release) => format!("{word}: {} from the cache", release.0),
            None if word.contains('/') => format!("{word}: a file"),
            None if args.offline => format!("{word}: not in the cache, and nothing is fetched"),
            None => format!("{word}: to be fetched"),
        }
    };
    let kernels: Vec<String> = words.iter().map(of_kernel).collect();
    let messages: Vec<&str> = sessions.iter().flat_map(|session| &session.regions).map(|(name, _)| name.as_str()).collect();
    let boots = sessions.len() as u64 * words.len() as u64 * seeds;
    let each = each(Some(cache), &sessions, args);
    let all = each.seconds.start() * boots..=each.seconds.end() * boots;
    let seconds = Seconds { range: all, at_least: each.at_least, timed_boots: each.boots };
    let planned = Boots { kernels, messages, boots, seconds };
    output::write(&if args.json { planned.json() } else { planned.text(args.messages) })?;
    Ok(Exit::Done)
}
