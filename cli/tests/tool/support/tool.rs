//! nettoll as a process.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::processes::MARK;
use super::stored::Stored;
use super::{NOBODY, directory};

/// The copy of the program that is run.
pub fn program() -> PathBuf {
    place().join("nettoll")
}

fn place() -> PathBuf {
    std::env::temp_dir().join(format!("nettoll-tool-test-{}", std::process::id()))
}

/// Copies the program to where everybody can read it: a process of a program
/// that its user cannot read may not write the maps of a user namespace. To be
/// called before there are threads: a process that another of them starts would
/// hold the copy open for writing for a moment, and nobody could run it then.
pub fn make_copy() {
    std::fs::create_dir(place()).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_nettoll"), program()).unwrap();
}

pub fn remove_copy() {
    let _ = std::fs::remove_dir_all(place());
}

/// The tool in a directory of its own, with `runs` below it.
pub struct Tool {
    directory: tempfile::TempDir,
    /// What its processes have in their environment, and no others have.
    mark: String,
    nobody: bool,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Tool {
    pub fn new() -> Self {
        Self::of(false)
    }

    /// Run by nobody, as is everything it starts.
    pub fn of_nobody() -> Self {
        Self::of(true)
    }

    fn of(nobody: bool) -> Self {
        static TOOLS: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), TOOLS.fetch_add(1, Ordering::Relaxed));
        Self { directory: directory(nobody), mark, nobody }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Writes a file into its directory.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// nettoll with these arguments, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.other(&program());
        command.args(arguments);
        command
    }

    /// Another program in its place, such as a shell that starts it as `$NETTOLL`.
    pub fn other(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).env(MARK, &self.mark).env("NETTOLL", self::program());
        command.env_remove("COLUMNS").env_remove("LINES").env_remove("NO_COLOR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs a shell script in its directory, `$NETTOLL` being the program;
    /// `wrapper` is what starts the shell, such as `unshare -m`.
    pub fn script(&self, wrapper: &[&str], script: &str) -> Answer {
        let (program, rest) = wrapper.split_first().unwrap_or((&"sh", &[]));
        let mut command = self.other(Path::new(program));
        command.args(rest);
        if !wrapper.is_empty() {
            command.arg("sh");
        }
        command.args(["-ec", script]).output().unwrap().into()
    }

    /// Runs a plan, given as text, with further arguments.
    pub fn study(&self, plan: &str, arguments: &[&str]) -> Answer {
        self.write("plan.toml", plan);
        self.run(&[&["study", "--plan", "plan.toml"], arguments].concat())
    }

    /// Starts a plan and does not wait. It is in a process group of its own,
    /// as a command of an interactive shell is.
    pub fn start_study(&self, plan: &str, arguments: &[&str]) -> Child {
        self.write("plan.toml", plan);
        let mut command = self.command(&[&["study", "--plan", "plan.toml"], arguments].concat());
        command.process_group(0).spawn().unwrap()
    }

    /// The run stored last.
    #[track_caller]
    pub fn stored(&self) -> Stored {
        self.try_stored().expect("there is a run")
    }

    pub fn try_stored(&self) -> Option<Stored> {
        let entries = std::fs::read_dir(self.path().join("runs")).ok()?;
        let mut runs: Vec<_> = entries.map(|entry| entry.unwrap()).collect();
        runs.sort_by_key(|entry| entry.metadata().and_then(|data| data.created().or(data.modified())).unwrap());
        Some(Stored::at(runs.last()?.path()))
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("what it prints is UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Answer {
    /// It is done.
    #[track_caller]
    pub fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// It is done, whatever its verdicts are.
    #[track_caller]
    pub fn judged(self) -> Self {
        assert!(matches!(self.code, Some(0 | 3 | 4)), "{self:#?}");
        self
    }

    /// It ended with `code`, said so on standard error with each of `words`,
    /// and printed no result.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(self.stdout.is_empty(), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "'{word}' is missing: {self:#?}");
        }
    }

    /// The same in JSON: one document that holds the error and nothing else.
    #[track_caller]
    pub fn refused_in_json(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let value = self.json();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["error"], "{self:#?}");
        let error = value["error"].as_object().unwrap();
        assert_eq!(error.keys().collect::<Vec<_>>(), ["kind", "message"]);
        assert_eq!(error["kind"], if code == 2 { "misuse" } else { "failed" });
        let message = error["message"].as_str().unwrap();
        for word in words {
            assert!(message.contains(word), "'{word}' is missing: {message}");
        }
    }

    /// It printed these words, however they were wrapped.
    #[track_caller]
    pub fn says(&self, words: &str) {
        let text = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "'{words}' is missing: {}", self.stdout);
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Says what is being done on the test's own standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
