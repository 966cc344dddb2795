//! Files that are replaced in one step.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// Puts `content` at `path`. Whoever looks sees the old file or the new one,
/// also after a power cut; on an error the old one stays.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let new = beside(path);
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

/// A name in the same directory, so that the rename stays on one file system.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
    path.with_file_name(format!(".{name}.new"))
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
