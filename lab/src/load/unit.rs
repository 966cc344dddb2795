//! One unit of load: an endless cycle of jobs.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::job::{Chosen, JOBS, places};
use super::{say, scratch, taken};

/// Runs jobs in `directory`, whose files it makes, until it is killed. Says
/// `ready` with the CPU time that took and its id, waits for a byte, and says after
/// each job what the ended ones took. It begins anywhere in the cycle, so that short trials see all of it.
///
/// # Errors
/// A job that cannot be started, or files that cannot be made.
pub fn run(directory: &Path) -> io::Result<()> {
    scratch::fill(directory)?;
    let places = places();
    let jobs: Vec<Chosen> = JOBS.into_iter().map(|job| Chosen::for_job(job, &places)).collect();
    // Its id where `/proc` is of another pid namespace.
    let id = fs::read_link("/proc/self").ok().and_then(|path| path.to_str()?.parse::<u32>().ok()).unwrap_or(0);
    say(&format!("ready {} {id}", sys::clock::process_cpu().get()))?;
    if io::stdin().lock().read(&mut [0])? == 0 {
        // The load is ended before it began.
        return Ok(());
    }
    let mut first = [0];
    getrandom::fill(&mut first).map_err(io::Error::other)?;
    for job in jobs.iter().cycle().skip(usize::from(first[0]) % jobs.len()) {
        job.run(directory)?;
        say(&taken::say_ended()?)?;
    }
    Ok(())
}
