//! A process that is watched: what it does is [`crate::child`]'s.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use model::Nanos;
use model::end::Window;

use crate::Skip;
use crate::child::KIND;

/// A process that waits for the word to begin. Dropped, it is ended.
pub struct Observed {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// What it says of itself when it has done its work.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// When it worked.
    pub window: Window,
    /// CPU time of the thread that worked.
    pub cpu: Nanos,
    /// Its wait for a CPU, as the scheduler counts it.
    pub run_delay: Nanos,
    /// Its id.
    pub tid: u32,
    /// How often it left a CPU (`getrusage`).
    pub switches: u64,
    /// Calls that it made.
    pub calls: u64,
}

impl Observed {
    /// Starts a process that will do `what`, and waits until it is ready.
    pub fn start(what: &str) -> Result<Self, Skip> {
        Self::start_program("/proc/self/exe".as_ref(), what)
    }

    /// The same of another file of this program.
    pub fn start_program(program: &Path, what: &str) -> Result<Self, Skip> {
        let mut process = Command::new(program).env(KIND, what).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let mut observed = Self { process, input, output };
        match observed.line().as_str() {
            "ready" => Ok(observed),
            other => Err(Skip(other.to_owned())),
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Tells it to begin, and waits for its report.
    pub fn work(&mut self) -> Report {
        self.begin();
        let line = self.line();
        let numbers: Vec<u64> = line.split_ascii_whitespace().map(|number| number.parse().unwrap()).collect();
        let [start, end, cpu, run_delay, tid, switches, calls] = numbers[..] else { panic!("{line}") };
        let window = Window { start: Nanos::new(start), end: Nanos::new(end) };
        Report { window, cpu: Nanos::new(cpu), run_delay: Nanos::new(run_delay), tid: tid as u32, switches, calls }
    }

    /// Tells it to begin.
    pub fn begin(&mut self) {
        self.tell("");
    }

    /// Gives it a line.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends it now, whatever it does.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// The next line that it says, without its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        // It ends with its input.
        self.input = None;
        let _ = self.process.wait();
    }
}
