//! Processes of this program in its other roles, and the version that they are given.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
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
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits for the end of a process whose input has ended, and kills one that hangs.
pub fn end(process: &mut Child, limit: Duration) {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if matches!(process.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    let _ = process.kill();
    let _ = process.wait();
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
