//! Secrets and certificates in files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lab::connection::{Credentials, TlsFiles};
use tempfile::TempDir;

/// A secret as it stands in its file.
pub const SECRET: &str = "correct horse battery staple";

/// A directory of files that vanishes with it.
pub struct Files(TempDir);

impl Files {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file that only its owner can read.
    pub fn secret(&self, name: &str, text: &str) -> PathBuf {
        self.file(name, &format!("{text}\n"), 0o600)
    }

    pub fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    /// The files of a certificate made by `make_certificates` in `set`.
    pub fn tls(&self, set: &str, who: &str) -> TlsFiles {
        tls_files(&self.path().join(set), who)
    }
}

pub fn tls_files(directory: &Path, who: &str) -> TlsFiles {
    TlsFiles { cert: directory.join(format!("{who}.pem")), key: directory.join(format!("{who}.key")), ca: directory.join("ca.pem") }
}

/// What knows the secret of a file.
pub fn knows(secret: &Path) -> Credentials {
    Credentials::load(Some(secret), None).unwrap()
}

/// What holds a certificate.
pub fn holds(files: &TlsFiles) -> Credentials {
    Credentials::load(None, Some(files)).unwrap()
}
