//! The guard: a process that makes host-wide changes for a controller, and
//! undoes them when the controller is gone, however it went.
//!
//! It is started for the first such change. Its standard input ends with the
//! controller, and then it sets back what it set. If it is killed itself, its
//! journal is still there: the controller, or the next nettoll command, does so.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use engine::channel::{self, ChannelError, Receiver};
use model::adjust::{AppliedSetting, ArmReply, ArmRequest, Wanted};
use model::control::{FromHost, ToHost};

use super::adjust::{AdjustError, Adjuster, ChangePermit};
use super::item::Item;
use super::journal::{self, Journal};

/// Time that the guard may take for one state.
const LIMIT: Duration = Duration::from_secs(20);
/// Time that it may take to undo everything at the end.
const LAST: Duration = Duration::from_secs(20);

/// Serves a controller over standard input and output until it is gone, then
/// undoes what was changed.
///
/// # Errors
/// What could not be undone; the journal is still there then.
pub fn run() -> Result<(), AdjustError> {
    let mut guarding = Guarding { adjuster: Adjuster::default(), journal: UndoJournal(None) };
    let served = io::stdin().as_fd().try_clone_to_owned().map(|input| guarding.serve(&mut Receiver::new(File::from(input))));
    // Whatever ended it, the controller is gone for this process.
    drop(served);
    guarding.end()
}

/// The journal, once there is something to write into it.
struct UndoJournal(Option<Journal>);

impl ChangePermit for UndoJournal {
    fn note(&mut self, item: &Item, before: &str, to: &str) -> Result<(), AdjustError> {
        if self.0.is_none() {
            self.0 = Some(Journal::create(&journal::directory()?)?);
        }
        Ok(self.0.as_mut().map_or(Ok(()), |journal| journal.note(item, before, to))?)
    }
}

struct Guarding {
    adjuster: Adjuster,
    journal: UndoJournal,
}

impl Guarding {
    fn serve(&mut self, input: &mut Receiver<ToHost, File>) -> Result<(), ChannelError> {
        loop {
            let answer = match input.receive()? {
                ToHost::Arm(ArmRequest::Adjust(wanted)) => match self.adjuster.adjust(&wanted, &mut self.journal) {
                    Ok(taken) => FromHost::Arm(ArmReply::Adjusted(taken)),
                    Err(error) => FromHost::Failed { error: error.to_string() },
                },
                _ => FromHost::Failed { error: "a guard only adjusts".to_owned() },
            };
            channel::send(&mut io::stdout().lock(), &answer)?;
        }
    }

    fn end(mut self) -> Result<(), AdjustError> {
        self.adjuster.adjust(&Wanted::default(), &mut self.journal)?;
        self.journal.0.map_or(Ok(()), |journal| Ok(journal.finish()?))
    }
}

/// The controller's side of a guard. Dropped, it lets the guard undo everything
/// and waits for that.
#[derive(Debug)]
pub struct Guard {
    process: Child,
    commands: Option<File>,
    answers: Receiver<FromHost, File>,
}

/// A guard that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// It could not be started.
    #[error(
        "start the guard of host-wide changes (/proc/self/exe __guard): {0}; raise the limits on processes and open files (ulimit -u, -n)"
    )]
    Start(io::Error),
    /// It is gone.
    #[error("the guard of host-wide changes is gone ({0}): was it killed? {1}")]
    Lost(ChannelError, String),
    /// A change was not made.
    #[error("{0}")]
    Refused(String),
}

impl Guard {
    /// Starts one.
    ///
    /// # Errors
    /// What the system answered.
    pub fn start() -> Result<Self, GuardError> {
        let mut process = Command::new("/proc/self/exe")
            .arg("__guard")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of the terminal's reach: Ctrl-C must not end it before its work.
            .process_group(0)
            .spawn()
            .map_err(GuardError::Start)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (commands, answers) = pipes.ok_or_else(|| GuardError::Start(io::Error::other("no pipes")))?;
        let (commands, answers) = (File::from(OwnedFd::from(commands)), File::from(OwnedFd::from(answers)));
        Ok(Self { process, commands: Some(commands), answers: Receiver::new(answers) })
    }

    /// Brings this machine to a state.
    ///
    /// # Errors
    /// See [`GuardError`]. Where the guard is lost, everything was undone here.
    pub fn adjust(&mut self, wanted: &Wanted) -> Result<Vec<AppliedSetting>, GuardError> {
        let told = self.commands.as_mut().map_or(Err(ChannelError::Closed), |commands| {
            channel::send(commands, &ToHost::Arm(ArmRequest::Adjust(wanted.clone()))).and_then(|()| Ok(commands.flush()?))
        });
        match told.and_then(|()| self.answers.receive_within(LIMIT)) {
            Ok(FromHost::Arm(ArmReply::Adjusted(taken))) => Ok(taken),
            Ok(FromHost::Failed { error }) => Err(GuardError::Refused(error)),
            Ok(_) => Err(self.lost(ChannelError::Closed)),
            Err(answer) => Err(self.lost(answer)),
        }
    }

    /// Makes sure that it is gone and undoes what it cannot any more.
    fn lost(&mut self, answer: ChannelError) -> GuardError {
        self.end();
        let recovered = journal::directory().map(|directory| journal::recover(&directory)).unwrap_or_default();
        let undone = match recovered.undone.is_empty() {
            true => String::new(),
            false => format!("undone in its place: {}", recovered.undone.join(", ")),
        };
        GuardError::Lost(answer, [vec![undone], recovered.left].concat().join("; "))
    }

    fn end(&mut self) {
        self.commands = None;
        let deadline = Instant::now() + LAST;
        while Instant::now() < deadline {
            if matches!(self.process.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // It hangs: its journal tells whoever comes next.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}
