//! What every claim needs: the tool as a process, the runs it stored, and the
//! processes it has on this machine.

pub mod go;
pub mod processes;
pub mod python;
pub mod stored;
pub mod study;
pub mod tool;

use std::path::Path;

pub use testkit::claims::{NOBODY, Skip, need_programs, need_root, succeeds, within};

/// A fresh directory; with `anybodys`, everybody may write there.
pub fn directory(anybodys: bool) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    if anybodys {
        open_to_all(directory.path());
    }
    directory
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}
