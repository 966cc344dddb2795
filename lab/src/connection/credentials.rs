//! Credentials of a controller or an agent: a shared secret, certificates, or both.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

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

/// A file that cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// It cannot be read.
    #[error("read {what} {}: {answer}; check the path and who may read it", file.display())]
    Unreadable {
        /// Content that it should have.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// Answer of the system.
        answer: io::Error,
    },
    /// Others can read what only its owner may know.
    #[error("{what} {} can be read by others (mode {mode:04o}); run: chmod 600 {}", file.display(), file.display())]
    Exposed {
        /// Its content.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is too short or too long.
    #[error(
        "the secret in {} has {length} bytes, where {SHORTEST_SECRET} to {LONGEST_SECRET} are needed; \
         make one with: (umask 077; head -c 32 /dev/urandom | base64 > {})",
        file.display(), file.display()
    )]
    Length {
        /// The file.
        file: PathBuf,
        /// Bytes without the end of the line.
        length: usize,
    },
    /// It holds something else.
    #[error("{what} {}: {reason}; `nettoll certificates DIR NAME` makes a set that fits", file.display())]
    Content {
        /// Content that it should have.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// The fault.
        reason: String,
    },
}

impl Secret {
    /// Reads a secret; the end of its line does not belong to it.
    ///
    /// # Errors
    /// See [`CredentialError`]; among them a file that others can read.
    pub fn load(path: &Path) -> Result<Self, CredentialError> {
        let bytes = read_private("the secret", path, LONGEST_SECRET as u64 + 2)?;
        let text = bytes.strip_suffix(b"\n").map_or(&bytes[..], |line| line.strip_suffix(b"\r").unwrap_or(line));
        if !(SHORTEST_SECRET..=LONGEST_SECRET).contains(&text.len()) {
            return Err(CredentialError::Length { file: path.to_owned(), length: text.len() });
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
pub(super) fn read_private(what: &'static str, path: &Path, longest: u64) -> Result<Zeroizing<Vec<u8>>, CredentialError> {
    let failed = |answer| CredentialError::Unreadable { what, file: path.to_owned(), answer };
    let file = File::open(path).map_err(failed)?;
    // Of the opened file, which nobody can exchange any more.
    let data = file.metadata().map_err(failed)?;
    // What systemd hands over belongs to root and lets the service in by a list
    // of its own, whose mask shows as read permission of the group.
    let handed_over = data.uid() == 0 && data.gid() == 0 && data.mode() & 0o037 == 0;
    if data.mode() & 0o077 != 0 && !handed_over {
        return Err(CredentialError::Exposed { what, file: path.to_owned(), mode: data.mode() & 0o7777 });
    }
    if data.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    // With room beforehand: growth would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(longest as usize + 1));
    file.take(longest).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
