//! Host load: what else keeps a host's CPUs busy while a trial runs.
//!
//! One unit is one endless cycle of the jobs that Cabrera et al. (1984, "User-
//! process communication performance in networks of computers") loaded their
//! hosts with, in a directory of its own ([`job`]). All units of an end run on that
//! end's CPUs, in one scheduling group with the endpoint, below one process
//! ([`runner`]) in a pid namespace of its own where that is allowed: with it the
//! kernel ends them all.
//!
//! ```text
//! host process -> __load runner -> __load cage (process 1) -> __load unit x n -> cc, troff, ed, cp, ps ...
//! ```

pub mod job;
pub mod runner;
mod scratch;
mod taken;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command};
use std::time::Duration;

use model::Nanos;
use model::condition::{LoadUsage, MOST_UNITS};

use crate::process::{self, THIS_PROGRAM};
use crate::refusal::{Refusal, refused};

/// A running load. Dropped, it is ended with everything that it started.
#[derive(Debug)]
pub struct Load {
    runner: Child,
    input: Option<File>,
    output: BufReader<File>,
}

impl Load {
    /// Starts `units` units bound to `cpus` (free to move where there are none),
    /// and waits until each works.
    ///
    /// # Errors
    /// See [`Refusal`]. Nothing runs then.
    pub fn start(units: u32, cpus: &[u32]) -> Result<Self, Refusal> {
        if units > MOST_UNITS {
            return Err(Refusal::new(format!("{units} units of load"), format!("at most {MOST_UNITS}"), ""));
        }
        let mut list = String::new();
        for cpu in cpus {
            let _ = write!(list, "{}{cpu}", if list.is_empty() { "" } else { "," });
        }
        let mut command = Command::new(THIS_PROGRAM);
        command.args(["__load", "runner", "--units", &units.to_string(), "--cpus", &list]);
        let remedy = "raise the limits on processes and open files (ulimit -u, -n)";
        let (runner, input, output) =
            process::piped(&mut command).map_err(refused("start a load (/proc/self/exe __load runner)", remedy))?;
        let mut load = Self { runner, input: Some(input), output: BufReader::new(output) };
        match load.line()?.as_str() {
            "ready" => Ok(load),
            other => Err(ended(other)),
        }
    }

    /// Has what it takes counted from `after` on for `length`, or to [`Self::measured`].
    /// A load that has ended says so at its end.
    pub fn measure(&mut self, after: Nanos, length: Option<Nanos>) {
        let length = length.map_or(String::new(), |length| format!(" {}", length.get()));
        self.tell(&format!("measure {}{length}", after.get()));
    }

    /// Nothing is measured any more.
    pub fn measured(&mut self) {
        self.tell("measured");
    }

    fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}");
        }
    }

    /// Ends it, and says what it took: while it was measured, or where it was not, from
    /// beginning to end.
    ///
    /// # Errors
    /// When it had ended before.
    pub fn stop(mut self) -> Result<LoadUsage, Refusal> {
        // The runner takes the end of its input for the word to stop.
        self.input = None;
        let line = self.line()?;
        serde_json::from_slice(line.as_bytes()).map_err(|error| ended(format!("{line}: {error}")))
    }

    fn line(&mut self) -> Result<String, Refusal> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(ended(self.runner.wait().map_or_else(|error| error.to_string(), |status| status.to_string()))),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(ended(error)),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.input = None;
        // What it said last is read by nobody; it must not block on it.
        let _ = io::copy(&mut self.output, &mut io::sink());
        let _ = self.runner.wait();
    }
}

/// The runner refused, or ended.
fn ended(words: impl ToString) -> Refusal {
    Refusal::new("the load ended before the trial", words, "")
}

/// Plays one of the load's own parts: what follows `__load` on the command line
/// of a process that this module started.
///
/// # Errors
/// Words that are none of its own, and what the part ran into.
pub fn play(words: &[String]) -> io::Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let units = |word: &str| word.parse().map_err(io::Error::other);
    match words[..] {
        ["runner", "--units", count, "--cpus", list] => {
            let cpus = list.split(',').filter(|cpu| !cpu.is_empty()).map(str::parse).collect::<Result<Vec<u32>, _>>();
            runner::run(units(count)?, &cpus.map_err(io::Error::other)?)
        }
        ["cage", "--units", count, "--place", place] => runner::cage(units(count)?, place.as_ref(), None),
        ["cage", "--units", count, "--place", place, "--not-caged", answer] => {
            runner::cage(units(count)?, place.as_ref(), Some(answer.to_owned()))
        }
        ["unit", directory] => job::run(directory.as_ref()),
        _ => Err(io::Error::other("__load is for nettoll's own use: load a host with the factor 'load' of a study")),
    }
}

/// Writes one line to whoever started this process.
fn say(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Interval at which an ended process is looked for.
const STEP: Duration = Duration::from_millis(2);
