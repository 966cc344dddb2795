//! One unit of load: an endless cycle of jobs.

use std::io;
use std::path::Path;

use super::job::{Chosen, JOBS, places};
use super::{say, scratch};

/// Runs jobs in `directory`, whose files it makes, until it is killed. Says
/// `ready` when the first cycle begins, and a dot after each job.
///
/// # Errors
/// A job that cannot be started, or files that cannot be made.
pub fn run(directory: &Path) -> io::Result<()> {
    scratch::fill(directory)?;
    let places = places();
    let jobs: Vec<Chosen> = JOBS.into_iter().map(|job| Chosen::of(job, &places)).collect();
    say("ready")?;
    loop {
        for job in &jobs {
            job.run(directory)?;
            say(".")?;
        }
    }
}
