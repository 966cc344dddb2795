//! nettoll as a program, in a directory of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use testkit::processes::MARK;

use super::stored::Stored;
use super::within;

/// The program and its directory, which vanishes with it.
#[derive(Debug)]
pub struct Tool {
    nettoll: PathBuf,
    directory: tempfile::TempDir,
    mark: String,
}

/// A study that was started. Dropped, it is killed.
#[derive(Debug)]
pub struct Study {
    child: Child,
    words: PathBuf,
}

impl Tool {
    /// The program at `nettoll`.
    pub fn new(nettoll: &Path) -> anyhow::Result<Self> {
        static TOOLS: AtomicU32 = AtomicU32::new(0);
        let nettoll = nettoll.canonicalize().with_context(|| format!("{}: build it, or name it with --nettoll", nettoll.display()))?;
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join("scratch"))?;
        let mark = format!("{}-{}", std::process::id(), TOOLS.fetch_add(1, Ordering::Relaxed));
        Ok(Self { nettoll, directory, mark })
    }

    /// The mark that its processes have in their environment, and no others have.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// A file of its directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The directory for temporary files of its processes.
    pub fn scratch(&self) -> PathBuf {
        self.file("scratch")
    }

    /// nettoll with these arguments; `wrapper` is what starts it, such as `nsenter`.
    pub fn command(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        let mut command = match wrapper.split_first() {
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest).arg(&self.nettoll);
                command
            }
            None => Command::new(&self.nettoll),
        };
        command.args(arguments).current_dir(self.directory.path()).env(MARK, &self.mark).env("TMPDIR", self.scratch());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Starts a plan, given as text.
    pub fn start(&self, wrapper: &[&str], plan: &str, arguments: &[&str]) -> anyhow::Result<Study> {
        fs::write(self.file("plan.toml"), plan)?;
        self.spawn(wrapper, &[&["study", "--plan", "plan.toml"], arguments].concat())
    }

    /// Goes on with a run.
    pub fn resume(&self, run: &Stored) -> anyhow::Result<Study> {
        self.spawn(&[], &["study", "--resume", &run.path().to_string_lossy(), "--yes"])
    }

    fn spawn(&self, wrapper: &[&str], arguments: &[&str]) -> anyhow::Result<Study> {
        let words = self.file("study.err");
        let child = self.command(wrapper, arguments).stderr(File::create(&words)?).spawn().context("start nettoll study")?;
        Ok(Study { child, words })
    }

    /// The only run in its directory.
    pub fn stored(&self) -> Option<Stored> {
        let mut entries = fs::read_dir(self.file("runs")).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        entries.find(|path| path.join("run.json").is_file()).map(Stored::at)
    }

    /// Trials that the run in its directory has so far.
    pub fn trials(&self) -> usize {
        self.stored().map_or(0, |stored| stored.lines())
    }
}

impl Study {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// True once it has ended.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Its exit status; `None` when it did not end within `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        within(limit, || self.is_over())?;
        self.child.wait().ok()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        // It may have ended by itself a moment ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The end of what it said on standard error.
    pub fn words(&self) -> String {
        let text = fs::read_to_string(&self.words).unwrap_or_default();
        text.lines().rev().take(3).collect::<Vec<_>>().join(" / ")
    }
}

impl Drop for Study {
    fn drop(&mut self) {
        self.kill();
    }
}
