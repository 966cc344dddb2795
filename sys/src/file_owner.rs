//! Files and directories whose content nettoll obeys, as a journal of changes, a run that is
//! resumed, and a cache whose programs are started: only the user or root may have written them.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// Returns who but the user and root can have written what has this metadata; `None` where no one else
/// can. The group may write where it is the owner's own, which has his number.
pub fn other_writer(found: &Metadata) -> Option<String> {
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if owner != 0 && owner != geteuid().as_raw() {
        return Some(format!("it belongs to user {owner}"));
    }
    let group = mode & 0o020 != 0 && found.gid() != owner;
    // A link has a mode that means nothing: who owns it made it.
    (!found.is_symlink() && (mode & 0o002 != 0 || group)).then(|| format!("others can write it (mode {mode:o})"))
}

/// The same of a file or directory; of a link, of the link and of where it leads.
///
/// # Errors
/// What the system answered.
pub fn other_writer_of(path: &Path) -> io::Result<Option<String>> {
    let of_link = other_writer(&fs::symlink_metadata(path)?);
    if of_link.is_some() { Ok(of_link) } else { Ok(other_writer(&fs::metadata(path)?)) }
}

/// The first in a tree that another can have written, with the reason: the directory itself, and
/// where it lets others in, what is below. What vanishes meanwhile is passed over.
///
/// # Errors
/// What the system answered.
pub fn other_writer_below(path: &Path) -> io::Result<Option<(PathBuf, String)>> {
    if fs::symlink_metadata(path)?.mode() & 0o011 == 0 {
        return Ok(other_writer_of(path)?.map(|why| (path.to_owned(), why)));
    }
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let found = match fs::symlink_metadata(&path) {
            Err(answer) if answer.kind() == ErrorKind::NotFound => continue,
            found => found?,
        };
        if let Some(why) = other_writer(&found) {
            return Ok(Some((path, why)));
        }
        if found.is_dir() {
            match fs::read_dir(&path) {
                Err(answer) if answer.kind() == ErrorKind::NotFound => {}
                entries => left.extend(entries?.collect::<io::Result<Vec<_>>>()?.iter().map(fs::DirEntry::path)),
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::path::Path;

    use super::{other_writer_below, other_writer_of};

    fn why(path: &Path) -> String {
        other_writer_of(path).unwrap().unwrap_or_default()
    }

    #[test]
    fn who_else_can_have_written_it_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let mode = |mode| fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        mode(0o644);
        assert_eq!(why(&file), "");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(why(&link), "");
        mode(0o646);
        assert_eq!(why(&file), "others can write it (mode 646)");
        assert_eq!(why(&link), why(&file));
        if nix::unistd::geteuid().is_root() {
            mode(0o664);
            assert_eq!(why(&file), "", "root's own group");
            chown(&file, Some(0), Some(65_534)).unwrap();
            assert_eq!(why(&file), "others can write it (mode 664)");
            chown(&file, Some(65_534), Some(65_534)).unwrap();
            assert_eq!(why(&file), "it belongs to user 65534");
        }
    }

    #[test]
    fn a_tree_is_as_safe_as_its_least_safe_file() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("usr/bin");
        fs::create_dir_all(&inner).unwrap();
        std::os::unix::fs::symlink("elsewhere", inner.join("link")).unwrap();
        fs::write(inner.join("program"), "").unwrap();
        let mode = |mode| fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        mode(0o755);
        assert_eq!(other_writer_below(directory.path()).unwrap(), None);
        fs::set_permissions(inner.join("program"), Permissions::from_mode(0o777)).unwrap();
        let (path, why) = other_writer_below(directory.path()).unwrap().unwrap();
        assert_eq!((path, why.as_str()), (inner.join("program"), "others can write it (mode 777)"));
        // Who is not let in writes nothing there.
        mode(0o700);
        assert_eq!(other_writer_below(directory.path()).unwrap(), None);
        mode(0o1777);
        assert_eq!(other_writer_below(directory.path()).unwrap().unwrap().0, directory.path());
    }
}
