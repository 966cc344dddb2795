//! Credentials of a controller or an agent: a shared secret, certificates, or both.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::refusal::Refusal;

/// The shortest secret that is accepted, in bytes: 128 bits if it is random.
pub const SHORTEST_SECRET: usize = 16;
/// The longest.
pub const LONGEST_SECRET: usize = 4096;

/// The files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// One's own certificate, in PEM, with those between it and the authority.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates of the authority that the other's must come from.
    pub ca: PathBuf,
}

/// Bytes that both sides know. Wiped from memory when dropped.
#[derive(Clone)]
pub struct Secret {
    bytes: Zeroizing<Vec<u8>>,
    file: PathBuf,
}

impl Secret {
    /// Reads a secret; the end of its line does not belong to it.
    ///
    /// # Errors
    /// See [`Refusal`]; among them a file that others can read.
    pub fn load(path: &Path) -> Result<Self, Refusal> {
        let bytes = read_private("the secret", path, LONGEST_SECRET as u64 + 2)?;
        let text = bytes.strip_suffix(b"\n").map_or(&bytes[..], |line| line.strip_suffix(b"\r").unwrap_or(line));
        if !(SHORTEST_SECRET..=LONGEST_SECRET).contains(&text.len()) {
            let (file, length) = (path.display(), text.len());
            let needed = format!("the secret in {file} has {length} bytes, where {SHORTEST_SECRET} to {LONGEST_SECRET} are needed");
            return Err(Refusal::new(needed, "", format!("make one with: (umask 077; head -c 32 /dev/urandom | base64 > {file})")));
        }
        Ok(Self { bytes: Zeroizing::new(text.to_vec()), file: path.to_owned() })
    }

    /// The bytes, for a proof.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where it was read from.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Debug for Secret {
    /// Not its bytes.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Secret({})", self.file.display())
    }
}

/// The bytes of a file that nobody but its owner may read.
pub(super) fn read_private(what: &str, path: &Path, longest: u64) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    let failed = |answer| unreadable(what, path, answer);
    let file = sys::file::open(path).map_err(failed)?;
    // Of the opened file, which nobody can exchange any more.
    let data = file.metadata().map_err(failed)?;
    // What systemd hands over belongs to root and lets the service in by a list
    // of its own, whose mask shows as read permission of the group.
    let handed_over = data.uid() == 0 && data.gid() == 0 && data.mode() & 0o037 == 0;
    if data.mode() & 0o077 != 0 && !handed_over {
        let exposed = format!("{what} {} can be read by others (mode {:04o})", path.display(), data.mode() & 0o7777);
        return Err(Refusal::new(exposed, "", format!("run: chmod 600 {}", path.display())));
    }
    // With room beforehand: growth would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(longest as usize + 1));
    file.take(longest).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

pub(super) fn unreadable(what: &str, file: &Path, answer: io::Error) -> Refusal {
    Refusal::new(format!("read {what} {}", file.display()), answer, "check the path and who may read it")
}
