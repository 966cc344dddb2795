//! The program's side of the contract of external endpoints, docs/endpoint.md.

mod page;
mod setup;

use std::env;
use std::io::{BufRead, StdinLock, Write, stdin, stdout};
use std::net::SocketAddr;

use crate::error::StackError;

pub use page::{MOST_COUNTERS, Page, STOP};
pub use setup::Setup;

/// The harness as the program sees it: its environment, its lines, its page.
#[derive(Debug)]
pub struct Harness {
    setup: Setup,
    page: Page,
    input: StdinLock<'static>,
}

impl Harness {
    /// The harness that started this process.
    ///
    /// # Errors
    /// An environment without it, a page that cannot be mapped.
    pub fn from_environment() -> Result<Self, StackError> {
        let setup = Setup::read(|name| env::var(name).ok())?;
        let path = env::var("NT_PAGE").map_err(|_| setup::missing("NT_PAGE"))?;
        let page = Page::open(&path).map_err(|answer| StackError::system(format!("map NT_PAGE ({path})"), answer))?;
        Ok(Self { setup, page, input: stdin().lock() })
    }

    /// What the trial asks for.
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Says that the program is bound to `port`, and hears where the other end is. `None`: it
    /// connects over TCP, and no other end needs its port.
    ///
    /// # Errors
    /// Another line, or none.
    pub fn join(&mut self, port: Option<u16>) -> Result<SocketAddr, StackError> {
        say(&port.map_or_else(|| "ready -".to_owned(), |port| format!("ready {port}")))?;
        let line = self.hear()?;
        let address = line.strip_prefix("connect ").and_then(|address| address.parse().ok());
        address.ok_or_else(|| StackError::contract(format!("heard '{line}' where `connect ADDRESS:PORT` was due")))
    }

    /// Says that it is connected and which counters of its own it keeps; returns the page once
    /// messages are to flow.
    ///
    /// # Errors
    /// Another line, or none.
    pub fn begin(mut self, counters: &[&str]) -> Result<Running, StackError> {
        say(&std::iter::once("connected").chain(counters.iter().copied()).collect::<Vec<_>>().join(" "))?;
        match self.hear()?.as_str() {
            "go" => Ok(Running { page: self.page, input: self.input }),
            line => Err(StackError::contract(format!("heard '{line}' where `go` was due"))),
        }
    }

    fn hear(&mut self) -> Result<String, StackError> {
        hear(&mut self.input)
    }
}

/// A trial whose messages flow.
#[derive(Debug)]
pub struct Running {
    /// The page that the counts go to.
    pub page: Page,
    input: StdinLock<'static>,
}

impl Running {
    /// Says that the last message is sent, and waits for the end of the trial.
    ///
    /// # Errors
    /// A harness that is gone.
    pub fn done(mut self) -> Result<(), StackError> {
        say("done")?;
        match hear(&mut self.input)?.as_str() {
            "stop" => Ok(()),
            line => Err(StackError::contract(format!("heard '{line}' where `stop` was due"))),
        }
    }
}

fn hear(input: &mut StdinLock<'static>) -> Result<String, StackError> {
    /// The longest line that a harness says has an address in it.
    const LONGEST: u64 = 256;
    let mut line = String::new();
    let read = std::io::Read::take(input, LONGEST).read_line(&mut line);
    match read.map_err(|answer| StackError::system("read standard input", answer))? {
        0 => Err(StackError::contract("the harness is gone")),
        _ => Ok(line.trim_end().to_owned()),
    }
}

fn say(line: &str) -> Result<(), StackError> {
    let mut output = stdout().lock();
    let written = output.write_all(format!("{line}\n").as_bytes()).and_then(|()| output.flush());
    written.map_err(|answer| StackError::system("write to standard output", answer))
}
