//! `nettoll agent` as a process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::processes::{self, Process};

use super::tool::Tool;
use super::within;

/// A listening agent. Dropped, it is killed.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Agent {
    /// Starts it with these arguments.
    pub fn start(tool: &Tool, wrapper: &[&str], arguments: &[&str]) -> anyhow::Result<Self> {
        let arguments = [&["agent"], arguments].concat();
        let mut command = tool.command(wrapper, &arguments);
        command.stdout(Stdio::piped()).stderr(File::options().create(true).append(true).open(tool.file("agent.err"))?);
        let mut child = command.spawn().context("start nettoll agent")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no pipe")?).read_line(&mut line)?;
        let address = line.split_whitespace().find_map(|word| word.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                anyhow::bail!("nettoll agent did not say where it listens: '{line}'; see {}", tool.file("agent.err").display())
            }
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The host processes that it has started.
    pub fn hosts(&self, tool: &Tool) -> Vec<Process> {
        processes::marked(tool.mark()).into_iter().filter(|process| process.kind == "__host" && process.parent == self.pid()).collect()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends it as a user does; false when it did not obey.
    pub fn end(mut self) -> bool {
        let told = kill(Pid::from_raw(self.pid().cast_signed()), Signal::SIGTERM).is_ok();
        told && within(Duration::from_secs(5), || !matches!(self.child.try_wait(), Ok(None))).is_some()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}
