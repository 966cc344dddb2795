//! Programs of others that are written in Go.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Skip;

/// A program that `go` makes of a package, at a version, below the target directory once.
pub fn program(name: &str, package: &str) -> Result<PathBuf, Skip> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let program = folder.join(name);
    if !program.is_file() {
        let made = Command::new("go").args(["install", package]).env("GOBIN", &folder).output();
        let made = made.map_err(|error| Skip(format!("no go to make {name} with: {error}")))?;
        if !made.status.success() {
            return Err(Skip(format!("no {name}: {}", String::from_utf8_lossy(&made.stderr).trim())));
        }
    }
    Ok(program)
}
