//! Agents and controllers as processes.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::roles::{AgentSpec, ControllerSpec};
use super::within;

/// A process of this program in another role. Dropped, it is killed.
pub struct Process {
    child: Child,
}

impl Process {
    fn start(role: &str, spec: String) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([role, &spec]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: command.spawn().unwrap() }
    }

    fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A controller that has its turn.
pub fn controller(agent: SocketAddr, start: bool) -> Process {
    let mut process = Process::start("__controller", serde_json::to_string(&ControllerSpec { agent, start }).unwrap());
    assert_eq!(process.first_line(), "mine\n");
    process
}

/// A listening agent.
pub struct Agent {
    process: Process,
    addresses: Vec<SocketAddr>,
    log: Arc<Mutex<String>>,
}

impl Agent {
    pub fn start(spec: &AgentSpec) -> Self {
        let mut process = Process::start("__agent", serde_json::to_string(spec).unwrap());
        let log = Arc::default();
        let mut stderr = BufReader::new(process.child.stderr.take().unwrap());
        thread::spawn({
            let log: Arc<Mutex<String>> = Arc::clone(&log);
            move || {
                let mut line = String::new();
                while stderr.read_line(&mut line).is_ok_and(|length| length > 0) {
                    log.lock().unwrap().push_str(&std::mem::take(&mut line));
                }
            }
        });
        let line = process.first_line();
        let addresses = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {}", log.lock().unwrap()));
        Self { process, addresses, log }
    }

    /// At one address without anything else.
    pub fn at(listen: SocketAddr) -> Self {
        Self::start(&AgentSpec { listen: vec![listen], ..AgentSpec::default() })
    }

    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// It says these words on standard error, if not yet.
    #[track_caller]
    pub fn logs(&self, words: &str) {
        let log = || self.log.lock().unwrap().clone();
        within(Duration::from_secs(8), &format!("the log says '{words}': {}", log()), || log().contains(words));
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// A number of a line of its status, such as `VmHWM`.
    pub fn status(&self, key: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Its children and theirs.
    pub fn descendants(&self) -> Vec<u32> {
        descendants(self.id())
    }

    /// Ends it as a user does, and waits.
    pub fn end(mut self) -> i32 {
        drop(self.process.child.stdin.take());
        let status = self.process.child.wait().unwrap();
        let mut rest = String::new();
        if let Some(stdout) = &mut self.process.child.stdout {
            let _ = stdout.read_to_string(&mut rest);
        }
        status.code().unwrap()
    }
}

fn descendants(pid: u32) -> Vec<u32> {
    let mut all = Vec::new();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    for task in tasks.filter_map(Result::ok) {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|word| word.parse().ok()) {
            all.push(child);
            all.extend(descendants(child));
        }
    }
    all
}
