//! `nettoll microscope --dry-run`.

use microscope::cache::Cache;
use microscope::kernel;
use microscope::scenario::sessions;

use super::{timed, wanted};
use crate::args::{MicroscopeArgs, Task};
use crate::exit::{Exit, Failure};
use crate::output;

/// Seconds that a boot takes on one core, as measured where nettoll was made.
const BOOT_S: u64 = 12;

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
        let release = if word.contains('/') || word.ends_with(".json") { None } else { kernel::cached(cache, word) };
        match release {
            Some(release) => format!("{word}: {} from the cache", release.0),
            None if word.contains('/') || word.ends_with(".json") => format!("{word}: a file"),
            None if args.offline => format!("{word}: not in the cache, and nothing is fetched"),
            None => format!("{word}: to be fetched"),
        }
    };
    let kernels: Vec<String> = words.iter().map(of_kernel).collect();
    let messages: Vec<&str> = sessions.iter().flat_map(|session| &session.regions).map(|(name, _)| name.as_str()).collect();
    let boots = sessions.len() as u64 * words.len() as u64 * seeds;
    if args.json {
        let value = serde_json::json!({ "kernels": kernels, "messages": messages, "boots": boots });
        output::write(&format!("{value:#}"))?;
        return Ok(Exit::Done);
    }
    let text = format!(
        "{}\nmessages: {}, {} of each\nboots: {boots}, some {} s of one core's time, and one more for the symbols of each new kernel",
        kernels.join("\n"),
        messages.join(", "),
        args.messages,
        boots * BOOT_S
    );
    output::write(&text)?;
    Ok(Exit::Done)
}
