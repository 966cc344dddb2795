//! Files that another user may have put there: stored runs, tables, plans, rules.
//!
//! Each is opened here and nowhere else, so that none makes nettoll wait: a named pipe has no end
//! before a writer opens it, and a device has none at all.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file for reading, through links, without waiting.
///
/// # Errors
/// The system's answer; the kind of the file, where it is no regular one.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file as these options say, without waiting. Flags of their own are replaced.
///
/// # Errors
/// As [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    regular(options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?)
}

/// The same, and a link in the place of the file is refused.
///
/// # Errors
/// As [`open`].
pub fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    regular(options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW).open(path)?)
}

/// Returns an open file, if it is a regular one.
fn regular(file: File) -> io::Result<File> {
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {}, and no regular file", name(found.file_type()))))
}

fn name(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    }
}

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and a file that is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open(&open(path)?, most)
}

/// The same of a file that is open.
///
/// # Errors
/// A file that is longer, and what the system answered.
pub fn read_open(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more says that there are more; the length that the system gives may be out of date.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::new(ErrorKind::InvalidInput, format!("it is longer than {}", size(most)))),
        false => Ok(bytes),
    }
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`read`], and a file that is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidInput, "it is not UTF-8"))
}

/// Bytes that a user may still write to the disk of a directory.
///
/// # Errors
/// What the system answered.
pub fn room(directory: &Path) -> io::Result<u64> {
    let found = nix::sys::statvfs::statvfs(directory)?;
    Ok(found.blocks_available().saturating_mul(found.fragment_size()))
}

/// In the largest unit that divides it.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use nix::sys::stat::Mode;

    use super::{open, open_no_link, read, read_text};

    fn why(path: &Path) -> String {
        read(path, 8).unwrap_err().to_string()
    }

    #[test]
    fn only_a_regular_file_is_read_and_nothing_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        let _held = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        std::os::unix::fs::symlink(at("pipe"), at("to-pipe")).unwrap();
        for (name, words) in [("pipe", "it is a pipe, and no regular file"), ("to-pipe", "it is a pipe"), ("zero", "it is a device")] {
            assert!(why(&at(name)).starts_with(words), "{}", why(&at(name)));
            assert!(open(&at(name)).is_err());
        }
        assert!(read(&at("socket"), 8).is_err() && read(directory.path(), 8).is_err() && read(&at("none"), 8).is_err());
    }

    #[test]
    fn a_file_has_a_limit_and_a_link_may_be_refused() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("eight"), "12345678").unwrap();
        fs::write(at("nine"), "123456789").unwrap();
        fs::write(at("latin"), b"\xff").unwrap();
        std::os::unix::fs::symlink(at("eight"), at("link")).unwrap();
        assert_eq!(read_text(&at("eight"), 8).unwrap(), "12345678");
        assert_eq!(read_text(&at("link"), 8).unwrap(), "12345678");
        assert_eq!(why(&at("nine")), "it is longer than 8 B");
        assert_eq!(read_text(&at("latin"), 8).unwrap_err().to_string(), "it is not UTF-8");
        assert!(open_no_link(fs::OpenOptions::new().read(true), &at("link")).is_err());
    }
}
