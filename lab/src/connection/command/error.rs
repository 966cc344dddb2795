//! Reasons why a command gave no host.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use model::Nanos;
use sys::process::ending;

use super::super::AttemptError;

/// A command that gave no host.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// This program cannot be read.
    #[error("read this program, to bring it there: {0}")]
    Program(io::Error),
    /// The path of the program there cannot be passed on.
    #[error("--remote-program '{0}': a path has letters, digits, '/', '.', '_', '+' and '-', and does not begin with '-'")]
    ProgramPath(String),
    /// It could not be started.
    #[error("start it: {0}; raise the limits on processes and open files (ulimit -u, -n)")]
    Start(io::Error),
    /// It ended before nettoll answered.
    #[error("it ended{} before nettoll answered{}{}", ended(*status), quoted(said), advice(*status, said))]
    Ended {
        /// How, if that is known.
        status: Option<ExitStatus>,
        /// Its last lines on standard error.
        said: Vec<String>,
    },
    /// Neither a shell nor a nettoll said anything.
    #[error(
        "neither a shell nor nettoll answered there for {}{}; does it ask a question, or wait to be started? Try the command by hand: it must give a shell without asking anything",
        Nanos::from(*limit),
        quoted(said)
    )]
    Silent {
        /// Time waited.
        limit: Duration,
        /// Its last lines on standard error.
        said: Vec<String>,
    },
    /// The host stopped taking the program.
    #[error("it took nothing of the program for {}{}; the path there is down or too slow", Nanos::from(*limit), quoted(said))]
    Stuck {
        /// Time waited.
        limit: Duration,
        /// Its last lines on standard error.
        said: Vec<String>,
    },
    /// The host is of another kind.
    #[error(
        "it is a machine of another kind ({os} {arch}; this program is for Linux {}): install a nettoll for it there, and name it with \
         --remote-program PATH",
        std::env::consts::ARCH
    )]
    Machine {
        /// Its system.
        os: String,
        /// Its architecture.
        arch: String,
    },
    /// The script could not go on.
    #[error("{}{}", fault.words(detail), quoted(said))]
    There {
        /// The fault.
        fault: Fault,
        /// Where, or of what; may be empty.
        detail: String,
        /// Its last lines on standard error.
        said: Vec<String>,
    },
    /// It prints and prints.
    #[error("{}; does the command start something other than a shell?", crate::reach::TooMuchNoise)]
    Noise,
    /// It says what it was not asked.
    #[error("its answer came out of turn: {0}")]
    OutOfTurn(String),
    /// The greeting failed.
    #[error("{answer}{}", quoted(said))]
    Greeting {
        /// The failure.
        answer: AttemptError,
        /// Its last lines on standard error.
        said: Vec<String>,
    },
    /// This machine lacks something that the connection needs.
    #[error("{what}: {answer}; raise the limits on open files and processes (ulimit -n, -u)")]
    Local {
        /// The attempt.
        what: &'static str,
        /// Answer of the system.
        answer: io::Error,
    },
    /// The pipes broke.
    #[error("the connection broke: {0}")]
    Broken(String),
}

impl CommandError {
    /// Returns whether another attempt may fare better, where one fared well before.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Ended { .. } | Self::Silent { .. } | Self::Stuck { .. } | Self::Broken(_) | Self::Start(_) | Self::Local { .. } => true,
            Self::Greeting { answer, .. } => answer.may_pass(),
            Self::Program(_) | Self::ProgramPath(_) | Self::Machine { .. } | Self::There { .. } | Self::Noise | Self::OutOfTurn(_) => false,
        }
    }
}

/// Fault that the script met on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    name: String,
    /// A copy was to stay there.
    deploy: bool,
}

impl Fault {
    pub(super) fn new(name: &str, deploy: bool) -> Self {
        Self { name: name.to_owned(), deploy }
    }

    fn words(&self, detail: &str) -> String {
        let less = if self.deploy {
            "; make room there, or leave --deploy out: nettoll is then copied each time and leaves nothing"
        } else {
            "; make room there, or set TMPDIR there to a directory that has some"
        };
        match self.name.as_str() {
            "terminal" => "the command gives its shell a terminal, which changes bytes on their way: leave -t or -tt out of it".to_owned(),
            "tool" => format!(
                "there is no {detail} there, which copying nettoll takes: install nettoll there, and name it with --remote-program PATH"
            ),
            "cache" => format!(
                "the directory {detail} cannot be used there: give the user the right to write it, or leave --deploy out: nettoll is then copied each time and leaves nothing"
            ),
            "place" => format!("no program can be written and run in any of {detail} there (full, not writable, or mounted noexec){less}"),
            "write" => format!("the program could not be written to {detail} there{less}"),
            "short" => format!("the program did not arrive whole in {detail} there{less}"),
            "damaged" => {
                format!("the program in {detail} there is not what was sent (SHA-256 differs): something on the way changes bytes")
            }
            "run" => format!(
                "this program does not run there ({detail}): it may need a newer C library than the host has; install a nettoll that was built for it, and name it with --remote-program PATH"
            ),
            other => format!("its shell cannot go on: {other} {detail}"),
        }
    }
}

fn ended(status: Option<ExitStatus>) -> String {
    status.map_or_else(String::new, |status| format!(" with {}", ending(status)))
}

/// The last lines of a command, as part of a sentence.
pub(super) fn quoted(said: &[String]) -> String {
    if said.is_empty() { String::new() } else { format!("; it said: {}", said.join(" / ")) }
}

/// Advice for the faults that users meet most.
fn advice(status: Option<ExitStatus>, said: &[String]) -> &'static str {
    let says = |words: &str| said.iter().any(|line| line.contains(words));
    // Of ssh's warning the last lines alone are kept.
    if says("REMOTE HOST IDENTIFICATION HAS CHANGED") || says("has changed and you have requested") || says("Offending ") {
        "; WARNING: the host shows another key than the one known for it. It was installed again, its address is another host's now, or \
         another machine may stand between: do not log in; compare the key with the host's own (ssh-keygen -lf on the host itself), and only then \
         remove the old one (ssh-keygen -R HOST)"
    } else if says("REVOKED HOST KEY") || says("marked as revoked") {
        "; WARNING: the host shows a key that was revoked: do not log in, and ask who runs the host"
    } else if says("Host key verification failed") || says("No ED25519 host key is known") {
        "; its key is not known here: log in once by hand, and compare the key with the host's own"
    } else if says("Permission denied") {
        "; nettoll answers no questions: make a login that asks for nothing (a key in ssh-agent)"
    } else {
        match status.and_then(|status| status.code()) {
            Some(127) => "; a program of the command is not installed, here or there",
            Some(126) => "; a program of the command cannot be run, here or there",
            Some(255) => "; ssh failed: try the same login by hand",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, advice, quoted};

    #[test]
    fn every_fault_of_the_script_has_words_of_its_own() {
        let script = super::super::script::text(&super::super::script::Task::Prune, 1, "ab");
        let mut found = 0;
        for rest in script.split("fail ").skip(1) {
            let name = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
            if !name.is_empty() {
                assert!(!Fault::new(name, false).words("x").starts_with("its shell cannot go on"), "{name}");
                found += 1;
            }
        }
        assert!(found >= 8, "{found}");
    }

    #[test]
    fn advice_follows_what_ssh_said() {
        let said = |line: &str| advice(None, &[line.to_owned()]);
        assert!(said("op@db1: Permission denied (publickey,password).").contains("asks for nothing"));
        assert!(said("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @").contains("another key than the one known"));
        // What ssh says last is all that is kept.
        let changed = "Host key for [203.0.113.1]:2222 has changed and you have requested strict checking.";
        let both = [changed, "Host key verification failed."].map(str::to_owned);
        assert!(advice(None, &both).contains("WARNING") && !advice(None, &both).contains("log in once"));
        assert!(said("@       WARNING: REVOKED HOST KEY DETECTED!               @").contains("revoked"));
        assert!(said("Host key verification failed.").contains("log in once by hand"));
        assert_eq!((said("what"), quoted(&[]).as_str()), ("", ""));
    }
}
