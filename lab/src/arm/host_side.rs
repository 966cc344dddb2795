//! A host's side: carries out what an arm wants of it, among it the user's commands
//! and questions to another nettoll for its version.

use std::process::Command;
use std::time::Duration;

use model::Nanos;
use model::adjust::{ArmReply, ArmRequest};
use model::control::FromHost;
use sys::process::ending;

use super::adjust::Adjuster;
use super::item::may_write;
use crate::bounded::{self, Cut, Limits};
use crate::host::namespace::Entered;
use crate::refusal::{Refusal, refused};

/// Carries a command out.
///
/// # Errors
/// What was tried, what the system answered, what to do.
pub fn carry_out(command: ArmRequest, adjuster: &mut Adjuster, entered: &mut Entered) -> Result<FromHost, Refusal> {
    Ok(match command {
        ArmRequest::Look { sysctls } => FromHost::Arm(ArmReply::NotOwn(sysctls.into_iter().filter_map(not_own).collect())),
        ArmRequest::Adjust(wanted) => FromHost::Arm(ArmReply::Adjusted(adjuster.adjust(&wanted, entered)?)),
        ArmRequest::Run { command, environment } => {
            run_command(&command, &environment, COMMAND_LIMIT)?;
            FromHost::Done
        }
        ArmRequest::Version { tool } => FromHost::Arm(ArmReply::Version(tool_version(&tool)?)),
        ArmRequest::Start { .. } => {
            return Err(Refusal::new("start an endpoint", "that is the host process's own to do (a fault of the program)", ""));
        }
    })
}

/// A sysctl that this namespace does not have, or not to be written. The kernel
/// lets a namespace write those of its network that are its own, and no others.
fn not_own(name: String) -> Option<(String, String)> {
    if !name.starts_with("net.") {
        return Some((name, "it is not one of the network's".to_owned()));
    }
    may_write(&name).err().map(|error| (name, error.to_string()))
}

/// Time that a command may take: less than a controller waits for its host.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(15);
/// Runs a command to its end, as this process's user and in its namespaces.
/// What it starts in the background is not waited for.
///
/// # Errors
/// See [`Refusal`].
pub fn run_command(command: &str, environment: &[(String, String)], limit: Duration) -> Result<(), Refusal> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).envs(environment.iter().map(|(name, value)| (name, value)));
    match bounded::run(&mut shell, &Limits { time: limit, bytes: None, stop: None }) {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(Refusal::new(format!("the command `{command}` failed ({})", ending(ran.status)), ran.said, "")),
        Err(Cut::Time { limit, said }) => {
            Err(Refusal::new(format!("the command `{command}` was not over after {} and was killed", Nanos::from(limit)), said, ""))
        }
        Err(cut) => Err(Refusal::new(format!("running `{command}` (sh -c)"), cut, "")),
    }
}

/// Bytes that it may say of its version.
const VERSION: usize = 64 << 10;
/// First word that every nettoll says of itself.
const NAME: &str = "nettoll ";

/// The version that a program says it is, such as `0.1.0 (0123456789ab)`.
///
/// # Errors
/// See [`Refusal`].
pub fn tool_version(path: &str) -> Result<String, Refusal> {
    let asked = bounded::run(Command::new(path).arg("-V"), &Limits { time: COMMAND_LIMIT, bytes: Some(VERSION), stop: None });
    let remedy = "tool= takes the path of a nettoll, as seen from where this one was started";
    let output = asked.map_err(refused(format!("running `{path} -V`"), remedy))?;
    let said = String::from_utf8_lossy(&output.out);
    let line: String = said.lines().next().unwrap_or_default().chars().take(120).collect();
    match line.strip_prefix(NAME) {
        Some(version) if output.status.success() => Ok(version.to_owned()),
        _ => {
            let answer = format!("asked for its version it ended with {} and said '{line}'", output.status);
            Err(Refusal::new(format!("{path} is no nettoll"), answer, ""))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{COMMAND_LIMIT, run_command, tool_version};

    #[test]
    fn a_command_sees_its_environment_and_what_it_says_of_its_failure_is_kept() {
        let environment = [("NETTOLL_HOST".to_owned(), "a".to_owned())];
        run_command("test $NETTOLL_HOST = a && echo not heard", &environment, COMMAND_LIMIT).unwrap();
        let error = run_command("echo so $NETTOLL_HOST >&2; exit 3", &environment, COMMAND_LIMIT).unwrap_err().to_string();
        assert_eq!(error, "the command `echo so $NETTOLL_HOST >&2; exit 3` failed (exit code 3): so a");
        assert!(run_command("kill -9 $$", &[], COMMAND_LIMIT).unwrap_err().to_string().contains("signal 9"));
        let long = run_command("yes | head -c 1000000 >&2; exit 1", &[], COMMAND_LIMIT).unwrap_err().to_string();
        assert!(long.len() < 2_200);
    }

    #[test]
    fn what_hangs_is_killed_and_what_runs_in_the_background_is_not_waited_for() {
        let begun = Instant::now();
        let error = run_command("sleep 60", &[], Duration::from_millis(50)).unwrap_err().to_string();
        assert!(error.contains("was not over after 50 ms"), "{error}");
        run_command("sleep 2 &", &[], COMMAND_LIMIT).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_is_no_nettoll_is_said() {
        let error = tool_version("/bin/true").unwrap_err().to_string();
        assert!(error.starts_with("/bin/true is no nettoll"), "{error}");
        assert!(tool_version("/none/nettoll").unwrap_err().to_string().contains("No such file"));
    }
}
