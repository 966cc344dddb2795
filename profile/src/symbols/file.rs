//! Files that a foreign process chose: opened without waiting, read up to a bound.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The bytes of a name that are looked at, before anything is made of them.
pub const WRITTEN: u64 = 4096;

/// What tells a file from another one that took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its number on its device.
    pub inode: u64,
    /// Its length in bytes.
    pub length: u64,
    device: u64,
    changed: [i64; 2],
}

impl Identity {
    fn of(data: &Metadata) -> Self {
        Self { inode: data.ino(), length: data.len(), device: data.dev(), changed: [data.mtime(), data.mtime_nsec()] }
    }
}

/// Opens a plain file that is the one wanted.
pub fn open(path: &Path, wanted: impl Fn(&Metadata) -> bool) -> Option<(File, Identity)> {
    // Neither a link leads elsewhere nor does a pipe without a writer hold this up.
    let file = sys::file::open_no_link(OpenOptions::new().read(true), path).ok()?;
    let data = file.metadata().ok()?;
    wanted(&data).then(|| (file, Identity::of(&data)))
}

/// The bytes of a plain file, up to a length.
pub fn start(path: &Path, longest: u64) -> Option<Vec<u8>> {
    let (file, _) = open(path, |_| true)?;
    let mut bytes = Vec::new();
    file.take(longest).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The name that begins at a place of a file and ends before `end`, without what would break a line.
/// Of a longer one than [`WRITTEN`] bytes the rest is cut before anything is made of it.
pub fn name(file: &mut (impl Read + Seek), place: u64, end: u8) -> Option<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(place)).ok()?;
    file.take(WRITTEN).read_to_end(&mut bytes).ok()?;
    let written = bytes.split(|byte| *byte == end).next()?;
    let name: String = String::from_utf8_lossy(written).chars().filter(|letter| !letter.is_control() && *letter != ';').collect();
    (!name.trim().is_empty()).then_some(name)
}
