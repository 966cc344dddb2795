//! Processes of this program in its other roles, and the version that they are given.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

/// The program of this process. Not by its path, which an upgrade may have given
/// to another version.
pub const THIS_PROGRAM: &str = "/proc/self/exe";
/// Between two looks at whether a process has ended.
const STEP: Duration = Duration::from_millis(2);
/// Stack of the thread that hears what a process complains of.
const STACK: usize = 64 << 10;

/// Lets this process have as many files open as the system allows it: a host takes some six, a sampler up to five a CPU.
pub fn raise_open_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Where that is refused, what is beyond the limit says so.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Starts a command with a pipe to its input and one from its output.
pub fn piped(command: &mut Command) -> io::Result<(Child, File, File)> {
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let pipes = process.stdin.take().zip(process.stdout.take());
    let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
    Ok((process, File::from(OwnedFd::from(input)), File::from(OwnedFd::from(output))))
}

/// Starts this program in another role, likewise, out of the terminal's reach: Ctrl-C
/// is for this process to answer.
pub fn start(arguments: &[&str]) -> io::Result<(Child, File, File)> {
    piped(Command::new(THIS_PROGRAM).args(arguments).process_group(0))
}

/// The same with a pipe from its standard error.
pub fn start_heard(arguments: &[&str]) -> io::Result<(Child, File, File)> {
    piped(Command::new(THIS_PROGRAM).args(arguments).process_group(0).stderr(Stdio::piped()))
}

/// Has reads and writes of a pipe return at once.
pub fn never_blocking(pipe: File) -> io::Result<File> {
    let flags = OFlag::from_bits_retain(fcntl(&pipe, FcntlArg::F_GETFL)?);
    fcntl(&pipe, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(pipe)
}

/// Waits until a process whose input has ended is over, without taking its status: its number, and
/// that of its group, stay its own.
pub fn await_end(process: &Child, limit: Duration) {
    let pid = Pid::from_raw(process.id().cast_signed());
    let look = || waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT);
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline && matches!(look(), Ok(WaitStatus::StillAlive)) {
        thread::sleep(STEP);
    }
}

/// Waits for a process for at most so long; returns its status if it has ended by then.
pub fn wait_within(process: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        match process.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(STEP),
            _ => return None,
        }
    }
}

/// Waits for the end of a process whose input has ended, and kills one that hangs.
pub fn end(process: &mut Child, limit: Duration) {
    if wait_within(process, limit).is_none() {
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Reads the standard error of a process in a thread of its own, and gives each line on.
///
/// # Errors
/// There is no thread to be had.
pub fn read_errors(process: &mut Child, longest: u64, hear: impl FnMut(&str) + Send + 'static) -> io::Result<()> {
    let Some(errors) = process.stderr.take() else { return Ok(()) };
    let thread = thread::Builder::new().name("nettoll-errors".to_owned()).stack_size(STACK);
    thread.spawn(move || read_lines(errors, longest, hear)).map(drop)
}

/// Reads line by line; one that is longer than `longest` bytes counts as several.
pub fn read_lines(errors: impl Read, longest: u64, mut hear: impl FnMut(&str)) {
    let (mut errors, mut line) = (BufReader::new(errors), Vec::new());
    while matches!(errors.by_ref().take(longest).read_until(b'\n', &mut line), Ok(1..)) {
        hear(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
}

static NAME: OnceLock<&'static str> = OnceLock::new();

/// Sets what [`tool`] says, once, before it is asked for: version and commit,
/// which only the program knows and by which two builds of one version differ.
pub fn set_tool(name: &'static str) {
    // A second name would make two tools of one process.
    let _ = NAME.set(name);
}

/// Version and commit, such as `0.1.0 (0123456789ab)`; the version alone where
/// the program did not say more.
pub fn tool() -> &'static str {
    NAME.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}
