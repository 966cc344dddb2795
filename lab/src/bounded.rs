//! Commands of the user's, bounded in time and in what they say.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use sys::process::without_files;

use crate::process::never_blocking;

/// Bytes kept of what a command says on its standard error.
const KEPT: usize = 2_000;
/// Interval at which it is looked after. Nothing is measured meanwhile.
const STEP: Duration = Duration::from_millis(2);

/// What a command may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// Time to its end.
    pub time: Duration,
    /// Bytes on its standard output; `None` throws its output away.
    pub bytes: Option<usize>,
    /// It is ended early where this is set.
    pub stop: Option<&'a AtomicBool>,
}

/// A command that is over.
#[derive(Debug)]
pub struct CommandOutput {
    /// Its status.
    pub status: ExitStatus,
    /// What it wrote to its standard output.
    pub out: Vec<u8>,
    /// The first of what it wrote to its standard error.
    pub said: String,
}

/// A command that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Cut {
    /// It could not be started or watched.
    #[error("{0}")]
    System(#[from] io::Error),
    /// It took too long.
    #[error("was not over after {} and was killed", Nanos::from(*limit))]
    Time {
        /// The limit.
        limit: Duration,
        /// The first of what it wrote to its standard error.
        said: String,
    },
    /// It wrote too much.
    #[error("wrote more than {0} bytes and was killed")]
    Bytes(usize),
    /// The user wants no more of it.
    #[error("was killed: the user wants an end")]
    Stopped,
}

/// Runs a command to its end, in a group of its own, without input and without the files of this process, which may be those of a
/// trial. What it leaves in the background is not waited for; where a limit ends it, its group ends with it.
///
/// # Errors
/// See [`Cut`].
pub fn run(command: &mut Command, limits: &Limits) -> Result<CommandOutput, Cut> {
    let out = if limits.bytes.is_some() { Stdio::piped() } else { Stdio::null() };
    let command = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).process_group(0);
    let mut process = without_files(command).spawn()?;
    let ran = watch(&mut process, limits);
    if ran.is_err() {
        if let Ok(group) = i32::try_from(process.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = process.wait();
    }
    ran
}

fn watch(process: &mut Child, limits: &Limits) -> Result<CommandOutput, Cut> {
    // Something in the background may hold them open for ever.
    let pipe = |pipe: Option<OwnedFd>| pipe.map(|pipe| never_blocking(File::from(pipe))).transpose();
    let mut output = pipe(process.stdout.take().map(OwnedFd::from))?;
    let mut errors = pipe(process.stderr.take().map(OwnedFd::from))?;
    let (mut out, mut said) = (Vec::new(), Vec::new());
    let deadline = Instant::now() + limits.time;
    loop {
        let status = process.try_wait()?;
        let most = limits.bytes.unwrap_or(0);
        hear(&mut output, &mut out, most.saturating_add(1));
        hear(&mut errors, &mut said, KEPT);
        let words = || String::from_utf8_lossy(&said).trim().to_owned();
        if out.len() > most {
            return Err(Cut::Bytes(most));
        }
        match status {
            Some(status) => return Ok(CommandOutput { status, said: words(), out }),
            None if limits.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) => return Err(Cut::Stopped),
            None if Instant::now() >= deadline => return Err(Cut::Time { limit: limits.time, said: words() }),
            None => thread::sleep(STEP),
        }
    }
}

/// Reads what is there, at most as much as a pipe holds, and keeps the first of it.
fn hear(pipe: &mut Option<File>, kept: &mut Vec<u8>, most: usize) {
    const READS: usize = 32;
    let mut room = [0; 4_096];
    for _ in 0..READS {
        let Some(Ok(read @ 1..)) = pipe.as_mut().map(|pipe| pipe.read(&mut room)) else { return };
        kept.extend_from_slice(&room[..read.min(most.saturating_sub(kept.len()))]);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::{Cut, Limits, run};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_is_ended_at_each_bound_and_its_group_with_it() {
        let limits = Limits { time: Duration::from_millis(300), bytes: Some(10), stop: None };
        let begun = Instant::now();
        assert_eq!(run(&mut shell("printf 1234567890"), &limits).unwrap().out, b"1234567890");
        assert!(matches!(run(&mut shell("printf 12345678901"), &limits), Err(Cut::Bytes(10))));
        assert!(matches!(run(&mut Command::new("yes"), &limits), Err(Cut::Bytes(10))));
        let cut = run(&mut shell("echo slow >&2; sleep 50 & echo $! ; wait"), &limits);
        assert!(matches!(cut, Err(Cut::Time { said, .. }) if said == "slow"));
        let stop = AtomicBool::new(true);
        assert!(matches!(run(&mut shell("sleep 50"), &Limits { stop: Some(&stop), ..limits }), Err(Cut::Stopped)));
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_command_has_no_file_of_this_process() {
        let (read, _write) = nix::unistd::pipe().unwrap();
        let limits = Limits { time: Duration::from_secs(60), bytes: Some(1_000), stop: None };
        let script = format!("test -e /proc/$$/fd/2 && ! test -e /proc/$$/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&read));
        assert!(run(&mut shell(&script), &limits).unwrap().status.success());
    }

    #[test]
    fn a_flood_of_errors_is_heard_and_not_kept() {
        let limits = Limits { time: Duration::from_secs(60), bytes: None, stop: None };
        let ran = run(&mut shell("echo not heard; yes | head -c 10000000 >&2; exit 3"), &limits).unwrap();
        assert_eq!((ran.status.code(), ran.said.len() <= 2_000, ran.out.len()), (Some(3), true, 0));
    }
}
