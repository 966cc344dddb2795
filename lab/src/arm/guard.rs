//! The guard: a process that makes host-wide changes for a controller, and
//! undoes them when the controller is gone, however it went.
//!
//! It is started for the first such change. Its standard input ends with the
//! controller, and then it sets back what it set. If it is killed itself, its
//! journal is still there: the controller, or the next `nettoll study`, does so.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::time::Duration;

use engine::channel::{self, ChannelError, Receiver};
use model::adjust::{AppliedSetting, ArmReply, ArmRequest, HostState};
use model::control::{FromHost, ToHost};

use super::adjust::{Adjuster, ChangePermit};
use super::item::Item;
use super::journal::{self, Journal};
use super::{ArmError, refused};
use crate::process;
use crate::refusal::{self, Refusal};

/// Time that the guard may take for one state.
const LIMIT: Duration = Duration::from_secs(20);
/// Time that it may take to undo everything at the end.
const LAST: Duration = Duration::from_secs(20);

/// Serves a controller over standard input and output until it is gone, then
/// undoes what was changed.
///
/// # Errors
/// What could not be undone; the journal is still there then.
pub fn run() -> Result<(), Refusal> {
    let mut guarding = Guarding { adjuster: Adjuster::default(), journal: UndoJournal(None) };
    let served = io::stdin().as_fd().try_clone_to_owned().map(|input| guarding.serve(&mut Receiver::new(File::from(input))));
    // Whatever ended it, the controller is gone for this process.
    drop(served);
    guarding.end()
}

/// The journal, once there is something to write into it.
struct UndoJournal(Option<Journal>);

impl ChangePermit for UndoJournal {
    fn note(&mut self, item: &Item, before: &str, to: &str) -> Result<(), Refusal> {
        if self.0.is_none() {
            self.0 = Some(Journal::create(&journal::directory()?)?);
        }
        self.0.as_mut().map_or(Ok(()), |journal| journal.note(item, before, to))
    }
}

struct Guarding {
    adjuster: Adjuster,
    journal: UndoJournal,
}

impl Guarding {
    fn serve(&mut self, input: &mut Receiver<ToHost>) -> Result<(), ChannelError> {
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

    fn end(mut self) -> Result<(), Refusal> {
        self.adjuster.adjust(&HostState::default(), &mut self.journal)?;
        self.journal.0.map_or(Ok(()), Journal::finish)
    }
}

/// The controller's side of a guard. Dropped, it lets the guard undo everything
/// and waits for that.
#[derive(Debug)]
pub struct Guard {
    process: Child,
    commands: Option<File>,
    answers: Receiver<FromHost>,
}

impl Guard {
    /// Starts one.
    ///
    /// # Errors
    /// What the system answered.
    pub fn start() -> Result<Self, Refusal> {
        let tried = "start the guard of host-wide changes (/proc/self/exe __guard)";
        let remedy = "raise the limits on processes and open files (ulimit -u, -n)";
        let (process, commands, answers) = process::start(&["__guard"]).map_err(refusal::refused(tried, remedy))?;
        Ok(Self { process, commands: Some(commands), answers: Receiver::new(answers) })
    }

    /// Brings this machine to a state.
    ///
    /// # Errors
    /// See [`ArmError`]. Where the guard is lost, everything was undone here.
    pub fn adjust(&mut self, wanted: &HostState) -> Result<Vec<AppliedSetting>, ArmError> {
        let told = self.commands.as_mut().map_or(Err(ChannelError::Closed), |commands| {
            channel::send(commands, &ToHost::Arm(ArmRequest::Adjust(wanted.clone()))).and_then(|()| Ok(commands.flush()?))
        });
        match told.and_then(|()| self.answers.receive_within(LIMIT)) {
            Ok(FromHost::Arm(ArmReply::Adjusted(taken))) => Ok(taken),
            Ok(FromHost::Failed { error }) => Err(refused("this machine", error).into()),
            Ok(_) => Err(self.lost(ChannelError::Closed)),
            Err(answer) => Err(self.lost(answer)),
        }
    }

    /// Makes sure that it is gone and undoes what it cannot any more.
    fn lost(&mut self, answer: ChannelError) -> ArmError {
        self.end();
        let recovered = journal::directory().map(|directory| journal::recover(&directory)).unwrap_or_default();
        let undone = match recovered.undone.is_empty() {
            true => String::new(),
            false => format!("undone in its place: {}", recovered.undone.join(", ")),
        };
        let left = [vec![undone], recovered.left].concat().join("; ");
        ArmError::Guard(Refusal::new(format!("the guard of host-wide changes is gone ({answer})"), format!("was it killed? {left}"), ""))
    }

    fn end(&mut self) {
        self.commands = None;
        // If it hangs, the next nettoll finds its changes in the journal.
        process::end(&mut self.process, LAST);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}
