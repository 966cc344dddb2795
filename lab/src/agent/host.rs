//! The process that carries out what one controller asks for: the same as a
//! controller starts on its own machine.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// How long it may take to end by itself, its endpoint included.
const END_LIMIT: Duration = Duration::from_millis(150);

/// A running host. Dropped, it is ended and waited for, and with it its
/// endpoint.
#[derive(Debug)]
pub struct HostProcess {
    process: Child,
}

impl HostProcess {
    /// Starts it; its output and its input never block.
    pub fn start() -> io::Result<(Self, File, File)> {
        // Not by its path, which an upgrade may have given to another version.
        let mut process = Command::new("/proc/self/exe")
            .args(["__host", "agent", "none"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of the terminal's reach: Ctrl-C is the agent's to answer.
            .process_group(0)
            .spawn()?;
        let pipes = process.stdout.take().zip(process.stdin.take());
        let host = Self { process };
        let (output, input): (ChildStdout, ChildStdin) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok((host, never_blocking(output.into())?, never_blocking(input.into())?))
    }

    /// Waits until it has ended, which it does when its input does.
    pub fn end(&mut self) -> String {
        let deadline = Instant::now() + END_LIMIT;
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) => break,
                Err(error) => return error.to_string(),
            }
        }
        // Its endpoint ends with it: its input does.
        let _ = self.process.kill();
        self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.end();
    }
}

fn never_blocking(pipe: OwnedFd) -> io::Result<File> {
    let flags = OFlag::from_bits_retain(fcntl(&pipe, FcntlArg::F_GETFL)?);
    fcntl(&pipe, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(File::from(pipe))
}
