//! A command of the user's, run on a host before or after a trial.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Time that a command may take: less than a controller waits for its host.
pub const LIMIT: Duration = Duration::from_secs(15);
/// Bytes kept of what it says of its failure.
const KEPT: usize = 2_000;
/// Interval at which it is looked after. Nothing is measured meanwhile.
const STEP: Duration = Duration::from_millis(2);

/// A command that failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("running `{command}` (sh -c): {answer}")]
    Start {
        /// The command.
        command: String,
        /// Answer of the system.
        answer: io::Error,
    },
    /// It ended with a failure.
    #[error("the command `{command}` failed ({status}){said}")]
    Failed {
        /// The command.
        command: String,
        /// Its end.
        status: String,
        /// Its standard error.
        said: String,
    },
    /// It did not end in time and was killed, with what it started.
    #[error("the command `{command}` was not over after {limit:?} and was killed{said}")]
    OverTime {
        /// The command.
        command: String,
        /// Time waited.
        limit: Duration,
        /// Its standard error.
        said: String,
    },
}

/// Runs a command to its end, as this process's user and in its namespaces.
/// What it starts in the background is not waited for.
///
/// # Errors
/// See [`CommandError`].
pub fn run(command: &str, environment: &[(String, String)], limit: Duration) -> Result<(), CommandError> {
    let failed = |answer| CommandError::Start { command: command.to_owned(), answer };
    let mut process = Command::new("sh")
        .args(["-c", command])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut said = process.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    if let Some(pipe) = &said {
        // Something in the background may hold it open for ever.
        fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(|errno| failed(errno.into()))?;
    }
    let mut kept = Vec::new();
    let deadline = Instant::now() + limit;
    loop {
        let status = process.try_wait().map_err(failed)?;
        let words = hear(&mut said, &mut kept);
        match status {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(CommandError::Failed { command: command.to_owned(), status: describe(status), said: words }),
            None if Instant::now() >= deadline => {
                end(&mut process);
                return Err(CommandError::OverTime { command: command.to_owned(), limit, said: words });
            }
            None => std::thread::sleep(STEP),
        }
    }
}

/// Reads what is there, and keeps the first of it.
fn hear(pipe: &mut Option<File>, kept: &mut Vec<u8>) -> String {
    let mut buffer = [0; 4_096];
    while let Some(Ok(read @ 1..)) = pipe.as_mut().map(|pipe| pipe.read(&mut buffer)) {
        let room = KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
    let words = String::from_utf8_lossy(kept).trim().to_owned();
    if words.is_empty() { words } else { format!(": {words}") }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => status.to_string(),
    }
}

/// Ends the command and what it started in its group.
fn end(process: &mut Child) {
    if let Ok(group) = i32::try_from(process.id()) {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let _ = process.wait();
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LIMIT, run};

    #[test]
    fn a_command_sees_its_environment_and_what_it_says_of_its_failure_is_kept() {
        let environment = [("NETTOLL_HOST".to_owned(), "a".to_owned())];
        run("test $NETTOLL_HOST = a && echo not heard", &environment, LIMIT).unwrap();
        let error = run("echo so $NETTOLL_HOST >&2; exit 3", &environment, LIMIT).unwrap_err().to_string();
        assert_eq!(error, "the command `echo so $NETTOLL_HOST >&2; exit 3` failed (exit code 3): so a");
        assert!(run("kill -9 $$", &[], LIMIT).unwrap_err().to_string().contains("signal 9"));
        let long = run("yes | head -c 1000000 >&2; exit 1", &[], LIMIT).unwrap_err().to_string();
        assert!(long.len() < 2_200);
    }

    #[test]
    fn what_hangs_is_killed_and_what_runs_in_the_background_is_not_waited_for() {
        let begun = Instant::now();
        let error = run("sleep 60", &[], Duration::from_millis(50)).unwrap_err().to_string();
        assert!(error.contains("was not over after 50ms"), "{error}");
        run("sleep 2 &", &[], LIMIT).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
