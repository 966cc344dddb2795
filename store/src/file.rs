//! Files that are replaced in one step, and the lock of a run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::StoreError;

/// Puts `content` at `path`. Whoever looks sees the old file or the new one,
/// also after a power cut; on an error the old one stays.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let new = next_to(path);
    let written = write_new(&new, content).and_then(|()| fs::rename(&new, path)).and_then(|()| sync_parent(path));
    written.map_err(|answer| {
        // Half a file under a name that nobody reads; on a full disk its room is wanted.
        let _ = fs::remove_file(&new);
        StoreError::refused("write", path)(answer)
    })
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Number of names that this process has made up.
static MADE_UP: AtomicU64 = AtomicU64::new(0);

/// A name in the same directory, so that the rename stays on one file system,
/// and of this call alone: two may write the report of one run at a time.
fn next_to(path: &Path) -> PathBuf {
    let count = MADE_UP.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
    path.with_file_name(format!(".{name}.{}.{count}.new", std::process::id()))
}

/// Makes a name in `path`'s directory last through a power cut.
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

/// Makes the names in `directory` last through a power cut.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    // The empty path is the current directory, which `open` does not know.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    File::open(directory)?.sync_all()
}

/// Held by the writer of a run, on its `trials.jsonl`. The kernel lets go of it
/// when the writer ends, however it ends.
pub type Lock = Flock<File>;

/// Locks the run in `path` by its open file of trials; `None` where the file
/// system has no locks: then nothing keeps a second writer out.
pub fn lock(trials: &File, path: &Path) -> Result<Option<Lock>, StoreError> {
    let file = trials.try_clone().map_err(StoreError::refused("open once more the trials of", path))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Err(StoreError::InUse { path: path.to_owned() }),
        Err((_, Errno::ENOLCK | Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL)) => Ok(None),
        Err((_, errno)) => Err(StoreError::refused("lock the trials of", path)(errno.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::replace;
    use std::fs;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.json");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn many_may_replace_a_file_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        let content = |writer: u8| vec![writer; 100_000];
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| replace(path, &content(writer)).unwrap()));
            }
        });
        let last = fs::read(&path).unwrap();
        assert_eq!(last, content(last[0]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = replace(&path, b"x").unwrap_err().to_string();
        assert!(error.contains("taken"), "{error}");
        assert!(path.is_dir());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
