//! One writer for each run.

use std::fs::File;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::StoreError;

/// Held by the writer of a run, on its `trials.jsonl`. The kernel lets go of it
/// when the writer ends, however it ends.
pub type Lock = Flock<File>;

/// Locks the run in `path` by its open file of trials; `None` where the file
/// system has no locks: then nothing keeps a second writer out.
pub fn take(trials: &File, path: &Path) -> Result<Option<Lock>, StoreError> {
    let file = trials.try_clone().map_err(StoreError::refused("open once more the trials of", path))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Err(StoreError::InUse { path: path.to_owned() }),
        Err((_, Errno::ENOLCK | Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL)) => Ok(None),
        Err((_, errno)) => Err(StoreError::refused("lock the trials of", path)(errno.into())),
    }
}
