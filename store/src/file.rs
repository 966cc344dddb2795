//! Files that are replaced in one step or read whole, and the lock of a run.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Take, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::StoreError;

/// Ending of a file that is to replace another, as [`is_unfinished`] knows it.
const UNFINISHED: &str = ".new";

/// The longest file next to the trials that is read. The largest real one, the
/// plan of a study with 100,000 cells, is below.
const LONGEST_FILE: u64 = 64 << 20;

/// The longest file of trials or windows that is read: some millions of them.
const LONGEST_LINES: u64 = 16 << 30;

/// Puts `content` at `path`. A reader sees the old file or the new one,
/// also after a power cut; on an error the old one stays.
///
/// The new file has a name that cannot be foreseen and that was free, so that no
/// link laid there beforehand leads the content elsewhere.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let written = write_new(path, content, true).and_then(|()| sync_parent(path));
    written.map_err(StoreError::refused("write", path))
}

/// The same for a file that is written again soon: nothing waits for the disk, and after a power cut it may be empty.
pub fn replace_unsynced(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    write_new(path, content, false).map_err(StoreError::refused("write", path))
}

/// The text of a file, if it is no longer than any of its kind: memory must not
/// depend on what lies in a directory that another made.
pub fn read_text(path: &Path) -> Result<String, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
    sys::file::read_text(path, LONGEST_FILE).map_err(|answer| match answer.kind() {
        ErrorKind::InvalidInput => damaged(answer.to_string()),
        _ => StoreError::refused("read", path)(answer),
    })
}

/// Opens a file of lines, which are read one after another.
pub fn open_lines(path: &Path, buffer: usize) -> Result<BufReader<Take<File>>, StoreError> {
    let opened = sys::file::open(path).map_err(StoreError::refused("read", path))?;
    check_length(&opened, path)?;
    // What is appended from now on is read as well, up to the limit.
    Ok(BufReader::with_capacity(buffer, opened.take(LONGEST_LINES)))
}

/// Refuses a file of lines that is longer than any of a run.
pub fn check_length(file: &File, path: &Path) -> Result<(), StoreError> {
    let length = file.metadata().map_err(StoreError::refused("read", path))?.len();
    if length <= LONGEST_LINES {
        return Ok(());
    }
    let why = format!("it is longer than {} GiB", LONGEST_LINES >> 30);
    Err(StoreError::refused("read", path)(io::Error::new(ErrorKind::InvalidInput, why)))
}

fn write_new(path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let name = path.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
    let prefix = format!(".{name}.");
    // The mode of any file under the user's umask; made here, so that an error does not name this file.
    let make = |path: &Path| OpenOptions::new().write(true).create_new(true).mode(0o666).open(path);
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(&prefix).suffix(UNFINISHED).make_in(directory_of(path), make)?;
    file.write_all(content)?;
    if sync {
        file.as_file().sync_all()?;
    }
    file.persist(path).map(drop).map_err(|failed| failed.error)
}

/// Returns whether a file of this name is one that was to replace another. Nobody
/// reads these: a writer that was killed left it.
pub fn is_unfinished(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(UNFINISHED)
}

/// The directory of a file; of a bare name the current one, which `open` does not
/// know as an empty path.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a name in `path`'s directory last through a power cut.
fn sync_parent(path: &Path) -> io::Result<()> {
    sync_directory(directory_of(path))
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
    fn a_link_in_the_place_of_the_file_is_replaced_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (directory.path().join("report.html"), directory.path().join("elsewhere"));
        fs::write(&elsewhere, "untouched").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        // What an attacker could lay there who guessed a name.
        let known = directory.path().join(format!(".report.html.{}.0.new", std::process::id()));
        std::os::unix::fs::symlink(&elsewhere, known).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&elsewhere).unwrap(), b"untouched");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
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
