//! One unit of load: an endless cycle of jobs.

use std::io::{self, Read};
use std::path::Path;

use model::Nanos;

use super::job::{Chosen, JOBS, places};
use super::{say, scratch};

/// Runs jobs in `directory`, whose files it makes, until it is killed. Says
/// `ready` with the CPU time that took, waits for a byte, and says a dot after
/// each job. It begins anywhere in the cycle, so that short trials see all of it.
///
/// # Errors
/// A job that cannot be started, or files that cannot be made.
pub fn run(directory: &Path) -> io::Result<()> {
    scratch::fill(directory)?;
    let places = places();
    let jobs: Vec<Chosen> = JOBS.into_iter().map(|job| Chosen::for_job(job, &places)).collect();
    say(&format!("ready {}", Nanos::from(scratch::cpu_time()?).get()))?;
    if io::stdin().lock().read(&mut [0])? == 0 {
        // The load is ended before it began.
        return Ok(());
    }
    let mut first = [0];
    getrandom::fill(&mut first).map_err(io::Error::other)?;
    for job in jobs.iter().cycle().skip(usize::from(first[0]) % jobs.len()) {
        job.run(directory)?;
        say(".")?;
    }
    Ok(())
}
