//! One unit of load: an endless cycle of jobs.

use std::io::{self, Read};
use std::path::Path;

use model::Nanos;
use nix::time::{ClockId, clock_gettime};

use super::job::{Chosen, JOBS, places};
use super::{say, scratch};

/// Runs jobs in `directory`, whose files it makes, until it is killed. Says
/// `ready` with the CPU time that took, waits for a byte, and says a dot after
/// each job.
///
/// # Errors
/// A job that cannot be started, or files that cannot be made.
pub fn run(directory: &Path) -> io::Result<()> {
    scratch::fill(directory)?;
    let places = places();
    let jobs: Vec<Chosen> = JOBS.into_iter().map(|job| Chosen::of(job, &places)).collect();
    say(&format!("ready {}", so_far().get()))?;
    if io::stdin().lock().read(&mut [0])? == 0 {
        // The load is ended before it began.
        return Ok(());
    }
    loop {
        for job in &jobs {
            job.run(directory)?;
            say(".")?;
        }
    }
}

/// CPU time of this process, which has started no other yet.
fn so_far() -> Nanos {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Nanos::default(), |time| Nanos::from(std::time::Duration::from(time)))
}
