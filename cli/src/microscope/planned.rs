//! `nettoll microscope --dry-run`.

use microscope::cache::Cache;
use microscope::duration::{Estimate, estimate};
use microscope::kernel;
use microscope::scenario::{Session, sessions};

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
    if args.json {
        let seconds = serde_json::json!({ "least": all.start(), "most": (!each.at_least).then_some(all.end()), "timed_boots": each.boots });
        let value = serde_json::json!({ "kernels": kernels, "messages": messages, "boots": boots, "seconds": seconds });
        output::write(&report::json::pretty(&value))?;
        return Ok(Exit::Done);
    }
    let range = if each.at_least { format!("{} s or more", all.start()) } else { format!("{} to {} s", all.start(), all.end()) };
    let source = match each.boots {
        0 => "no boot was timed here yet".to_owned(),
        1 => "by the one that was timed here".to_owned(),
        boots => format!("by the last {boots} that were timed here"),
    };
    let text = format!(
        "{}\nmessages: {}, {} of each\nboots: {boots}, {range} of one core's time ({source}), and one more for the symbols of each new kernel",
        kernels.join("\n"),
        messages.join(", "),
        args.messages,
    );
    output::write(&text)?;
    Ok(Exit::Done)
}
