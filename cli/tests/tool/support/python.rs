//! A Python with packages from PyPI.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::Skip;

/// Where a package comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A wheel, and nothing else.
    Wheel,
    /// Its sources, which pip makes a wheel of: there is no other.
    Source,
}

/// A Python with these packages, installed below the target directory once, in a place of
/// this name.
pub fn python(place: &str, form: Form, packages: &[&str]) -> Result<PathBuf, Skip> {
    // Claims that have a place in common run at the same time.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(place);
    let python = home.join("bin/python");
    let names = packages.iter().map(|package| package.split('=').next().unwrap()).collect::<Vec<_>>().join(", ");
    let works =
        |python: &Path| Command::new(python).args(["-c", &format!("import {names}")]).output().is_ok_and(|output| output.status.success());
    if works(&python) {
        return Ok(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&home).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return Err(Skip("no python3 with venv".to_owned()));
    }
    let binary = if form == Form::Wheel { "--only-binary=:all:" } else { "--no-deps" };
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", binary, "--retries=1"];
    let said = Command::new(&python).args(pip).args(packages).output().unwrap();
    match works(&python) {
        true => Ok(python),
        false => {
            Err(Skip(format!("no {names} for Python: {}", String::from_utf8_lossy(&said.stderr).trim().lines().last().unwrap_or_default())))
        }
    }
}
