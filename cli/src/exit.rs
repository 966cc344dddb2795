//! Exit codes, and the one place that maps failures to them.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use analysis::verdict::Conclusion;
use model::plan::PlanError;
use model::printable::{Keep, printable};

/// Ways in which the tool ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The task is done.
    Done = Conclusion::Done.exit_code(),
    /// It could not be done, or was interrupted.
    Failed = 1,
    /// It was not asked in a way that can be understood.
    Misuse = 2,
    /// It is done, and a comparison speaks against the candidate.
    Against = Conclusion::Against.exit_code(),
    /// It is done, and a comparison shows neither a difference nor equivalence.
    Inconclusive = Conclusion::Inconclusive.exit_code(),
    /// A kernel cannot be judged: what `git bisect run` takes for "skip this commit".
    Skip = 125,
    /// A kernel was not looked at, for a reason that lies elsewhere: what makes `git bisect run` stop.
    Abort = 128,
}

impl Exit {
    /// For the system.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }

    /// The exit for what a comparison concludes.
    pub const fn of(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Done => Self::Done,
            Conclusion::Against => Self::Against,
            Conclusion::Inconclusive => Self::Inconclusive,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Misuse => "misuse",
            Self::Against => "against",
            Self::Inconclusive => "inconclusive",
            Self::Skip => "skip",
            Self::Abort => "abort",
        }
    }
}

/// A command that failed: how, why, and in which form to say so.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    form: Form,
}

/// The form of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line on standard error.
    Text,
    /// JSON on standard output.
    Json,
    /// JSON on standard output as iperf3 has it.
    Iperf,
    /// Lines of JSON on standard output as iperf3 has them, with the whole after them or not.
    IperfStream {
        /// Whether the whole comes after the last line.
        whole: bool,
    },
}

impl Failure {
    /// The user asked for something that cannot be understood or cannot be.
    pub fn misuse(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Misuse, message: worded(&message.to_string()), form: Form::Text }
    }

    /// How the tool ends with it.
    pub const fn exit(&self) -> Exit {
        self.exit
    }

    /// To be printed in this form, unless one was chosen before.
    pub fn in_form(mut self, form: Form) -> Self {
        if self.form == Form::Text {
            self.form = form;
        }
        self
    }

    /// Tells the user.
    pub fn tell(self) -> Exit {
        // Whoever closed our output does not want to hear of it.
        let _ = match self.form {
            Form::Json => writeln!(io::stdout(), "{}", ::report::json::error(self.exit.name(), &self.message)),
            Form::Iperf => {
                let text = ::report::oneshot::json::failure(crate::version::SHORT, self.exit.name(), &self.message);
                write!(io::stdout(), "{text}")
            }
            Form::IperfStream { whole } => {
                let text = ::report::oneshot::json::stream::failure(&self.message);
                let whole = whole.then(|| ::report::oneshot::json::failure(crate::version::SHORT, self.exit.name(), &self.message));
                write!(io::stdout(), "{text}{}", whole.unwrap_or_default())
            }
            Form::Text => writeln!(io::stderr(), "nettoll: {}", printable(&self.message, Keep::Lines)),
        };
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let exit = if error.is::<PlanError>() { Exit::Misuse } else { Exit::Failed };
        Self { exit, message: worded(&describe(error.as_ref())), form: Form::Text }
    }
}

/// An error with its causes, each said once.
fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// A message without the numbers of the system's answers: their words stand before them.
fn worded(message: &str) -> String {
    let mut text = String::new();
    let mut parts = message.split(" (os error ");
    text += parts.next().unwrap_or_default();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text += rest,
            _ => text += &format!(" (os error {part}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Exit, worded};
    use crate::args::EXIT_CODES;

    #[test]
    fn every_code_is_documented() {
        let all = [Exit::Done, Exit::Failed, Exit::Misuse, Exit::Against, Exit::Inconclusive, Exit::Skip, Exit::Abort];
        // A new exit does not compile here before it is in the list.
        let codes = all.map(|exit| match exit {
            Exit::Done | Exit::Failed | Exit::Misuse | Exit::Against | Exit::Inconclusive | Exit::Skip | Exit::Abort => exit as u8,
        });
        let page = include_str!("../../docs/format.md").split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
        let help = EXIT_CODES.trim_start_matches("Exit codes: ").split(", ").map(|code| code.split_once(' ').unwrap().0.to_owned());
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()).filter(|cell| cell.parse::<u8>().is_ok());
        let codes = codes.map(|code| code.to_string());
        assert!(help.eq(codes.iter().cloned()), "{EXIT_CODES}");
        assert!(rows.eq(codes.iter()), "{page}");
    }

    #[test]
    fn the_systems_answers_are_words() {
        let answer = io::Error::from_raw_os_error(2);
        assert_eq!(worded(&format!("read x: {answer}; check the path")), "read x: No such file or directory; check the path");
        assert_eq!(worded(" (os error x) (os error 2"), " (os error x) (os error 2");
        assert_eq!(worded("a: b"), "a: b");
    }
}
