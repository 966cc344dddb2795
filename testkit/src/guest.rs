//! Programs as a guest has them, which has no libraries of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of a guest, by path without the first slash: programs under their names, and the shared
/// libraries that they need, where they are on this host. The loader is among them.
pub fn with_libraries(programs: &[(&str, &Path)]) -> BTreeMap<String, Vec<u8>> {
    let named = programs.iter().map(|(name, path)| ((*name).to_owned(), path.to_path_buf()));
    let libraries =
        programs.iter().flat_map(|(_, path)| libraries(path)).map(|path| (path.trim_start_matches('/').to_owned(), path.into()));
    let places: BTreeMap<String, PathBuf> = libraries.chain(named).collect();
    let read = |path: PathBuf| fs::read(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    places.into_iter().map(|(name, path)| (name, read(path))).collect()
}

/// Paths of the libraries that a program needs, as `ldd` names them.
fn libraries(program: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let words = String::from_utf8(output.stdout).unwrap();
    words.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect()
}
