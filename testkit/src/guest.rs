//! Programs for a guest, with the shared libraries that they need: a guest has none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::claims::Skip;

/// Names the program under test, which `scripts/guests.sh` builds.
const PROGRAM: &str = "NETTOLL";

/// The program under test.
///
/// # Errors
/// Nothing names it.
pub fn program() -> Result<PathBuf, Skip> {
    env::var_os(PROGRAM).map(PathBuf::from).ok_or_else(|| Skip(format!("{PROGRAM} names no program: use scripts/guests.sh")))
}

/// Files of a guest, by path without the first slash: programs under their names, and their shared libraries, the
/// loader among them, under the paths of this host.
pub fn with_libraries(programs: &[(&str, &Path)]) -> BTreeMap<String, Vec<u8>> {
    let named = programs.iter().map(|(name, path)| ((*name).to_owned(), path.to_path_buf()));
    let libraries =
        programs.iter().flat_map(|(_, path)| libraries(path)).map(|path| (path.trim_start_matches('/').to_owned(), path.into()));
    let places: BTreeMap<String, PathBuf> = libraries.chain(named).collect();
    let read = |path: PathBuf| fs::read(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    places.into_iter().map(|(name, path)| (name, read(path))).collect()
}

/// Paths of the libraries that a program needs.
fn libraries(program: &Path) -> Vec<String> {
    // Where cargo looks for libraries, a guest does not.
    let output = Command::new("ldd").env_remove("LD_LIBRARY_PATH").arg(program).output().unwrap_or_else(|error| panic!("run ldd: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !text.contains("not found"), "{output:?}");
    text.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect()
}
