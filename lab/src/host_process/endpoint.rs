//! The process of an endpoint, as its host sees it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::channel::{self, ChannelError, Receiver};
use model::control::{FromEndpoint, FromHost, ToEndpoint};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::tell;
use crate::process;

/// Time in which the harness of a user's program ends it.
const HARNESS_LIMIT: Duration = Duration::from_secs(3);

/// A running endpoint. Dropped, it is ended and waited for.
#[derive(Debug)]
pub struct EndpointProcess {
    commands: Option<File>,
    process: Arc<Mutex<Child>>,
    /// The user's program that is this end, once it is known; 0: none.
    program: Arc<AtomicU32>,
    relay: Option<JoinHandle<()>>,
}

impl EndpointProcess {
    /// Starts a fresh endpoint in this process's namespaces; `program` is a nettoll. `own` says that
    /// nettoll made the network namespace: a program that is an end may change it then, and hears so
    /// through its environment, which is the endpoint's.
    ///
    /// # Errors
    /// What the system answered.
    pub fn start(program: &str, own: bool) -> io::Result<Self> {
        // In the group of its host: a signal to that group ends a user's program too, unless it takes turns in a woven
        // trial, in a group of its own.
        let (process, commands, answers) =
            process::piped(Command::new(program).arg("__endpoint").env("NT_NAMESPACE", if own { "own" } else { "machine" }))?;
        let process = Arc::new(Mutex::new(process));
        let program = Arc::<AtomicU32>::default();
        let relay = thread::Builder::new().stack_size(256 << 10).spawn({
            let (process, program) = (Arc::clone(&process), Arc::clone(&program));
            move || pass_on(answers, &process, &program)
        })?;
        Ok(Self { commands: Some(commands), process, program, relay: Some(relay) })
    }

    /// The process that sends or receives: itself, or the user's program.
    pub fn pid(&self) -> u32 {
        match self.program.load(Ordering::Acquire) {
            0 => lock(&self.process).id(),
            program => program,
        }
    }

    /// Sends it a message. A failure shows in what the relay passes on.
    pub fn tell(&mut self, message: &ToEndpoint) {
        if let Some(commands) = &mut self.commands
            && channel::send(commands, message).and_then(|()| Ok(commands.flush()?)).is_err()
        {
            self.commands = None;
        }
    }
}

impl Drop for EndpointProcess {
    fn drop(&mut self) {
        self.commands = None;
        if self.program.load(Ordering::Acquire) != 0 {
            // Its harness ends it, and what it started, when it is told no more.
            process::await_end(&lock(&self.process), HARNESS_LIMIT);
        }
        // Of one that has ended already there is nothing left to kill.
        let _ = lock(&self.process).kill();
        if let Some(relay) = self.relay.take() {
            let _ = relay.join();
        }
    }
}

/// Passes the endpoint's messages on to the controller, then says how it ended.
fn pass_on(answers: File, child: &Mutex<Child>, program: &AtomicU32) {
    let mut answers = Receiver::<FromEndpoint>::new(answers);
    let ended = loop {
        match answers.receive() {
            Ok(message) => {
                if let FromEndpoint::Ready { program: Some(pid), .. } = &message {
                    program.store(*pid, Ordering::Release);
                }
                if tell(&FromHost::Endpoint(message)).is_err() {
                    return;
                }
            }
            Err(error) => break error,
        }
    };
    if !matches!(ended, ChannelError::Closed) {
        // It cannot be understood, but lives: it must not keep its lock for long.
        let _ = lock(child).kill();
    }
    let status = lock(child).wait();
    let program = program.load(Ordering::Acquire);
    if program != 0 && status.as_ref().is_ok_and(|status| status.signal().is_some()) {
        // Its harness was killed. What a program of a woven trial started is in a group of its own, and may be stopped.
        let _ = killpg(Pid::from_raw(program.cast_signed()), Signal::SIGKILL);
    }
    // If the controller is gone there is nobody to tell.
    let _ = tell(&FromHost::Gone { status: describe(&ended, status) });
}

fn describe(ended: &ChannelError, status: io::Result<ExitStatus>) -> String {
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    match ended {
        ChannelError::Closed => status,
        broken => format!("{status}; {broken}"),
    }
}

fn lock(process: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}
