//! What every claim needs: the tool as a process, the runs it stored, and the
//! processes it has on this machine.

pub mod processes;
pub mod stored;
pub mod tool;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Why a claim cannot be tested here.
#[derive(Debug)]
pub struct Skip(pub String);

/// The user nobody, on every Linux.
pub const NOBODY: u32 = 65_534;

/// For what only root may do, such as becoming somebody else.
pub fn need_root() -> Result<(), Skip> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    match uid.split_whitespace().nth(1) {
        Some("0") => Ok(()),
        _ => Err(Skip("only root can set this up".to_owned())),
    }
}

/// For what is done with other programs.
pub fn need_programs(names: &[&str]) -> Result<(), Skip> {
    for name in names {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|directory| directory.join(name).is_file()) {
            return Err(Skip(format!("there is no `{name}` here")));
        }
    }
    Ok(())
}

/// Whether a shell command succeeds; what it says is not shown.
pub fn succeeds(script: &str) -> bool {
    let status = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Waits for a claim to come true.
#[track_caller]
pub fn within(limit: Duration, what: &str, mut claim: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !claim() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

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
