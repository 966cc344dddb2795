//! `nettoll microscope cache`.

use microscope::cache::{Cache, CacheEntry};
use model::Bytes;

use crate::args::MicroscopeArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Lists what the cache holds, after pruning it where that is asked for.
///
/// # Errors
/// Something cannot be removed.
pub fn run(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let dropped = match args.prune {
        Some(most) => cache.prune(most.get())?,
        None => Vec::new(),
    };
    let held = cache.held();
    if args.json {
        let value = serde_json::json!({ "directory": cache.root(), "held": held, "dropped": dropped });
        output::write(&format!("{value:#}"))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    dropped.iter().for_each(|one| text += &format!("dropped {}\n", line(one)));
    held.iter().for_each(|one| text += &format!("{}\n", line(one)));
    let all: u64 = held.iter().map(|one| one.bytes).sum();
    text += &format!("{} in {}", Bytes::new(all), cache.root().display());
    output::write(&text)?;
    Ok(Exit::Done)
}

fn line(one: &CacheEntry) -> String {
    format!("{:<9} {:<44} {:>8}, last used {} min ago", one.kind, one.name, Bytes::new(one.bytes).to_string(), one.idle_s / 60)
}
