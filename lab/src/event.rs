//! Events of a study, told to whoever listens: the recorder, the
//! progress display, the stopping rule.

use std::error::Error;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use analysis::stopping::Look;
use model::end::{FlowAddresses, Progress};
use model::host::HostFacts;
use model::run::Status;
use model::trial::ControlPath;
use model::warning::Warning;
use model::woven::Slice;
use model::{Role, TrialRecord};

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// The hosts are up and joined.
    Opened {
        /// Their facts.
        hosts: &'a [HostFacts],
        /// Warnings about the whole run.
        warnings: &'a [Warning],
        /// Distance of other machines; `None` where this one made both hosts.
        control: Option<ControlPath>,
        /// Addresses of hosts a and b that messages take, in each family, where nettoll had
        /// to find them.
        between: &'a [[IpAddr; 2]],
    },
    /// The run goes on after these trials, which it had before.
    Resumed {
        /// Their number.
        trials: u64,
        /// Warnings about the whole run.
        warnings: &'a [Warning],
    },
    /// Hosts of a fleet are reached. Told again and again.
    Reaching {
        /// Hosts that answered, or did not.
        done: usize,
        /// Hosts that are looked for.
        of: usize,
    },
    /// Nothing happened: whoever hears it says whether to go on. Told while messages flow.
    Tick,
    /// Trials of others come first on a host. Told again and again.
    Waiting {
        /// Name of the host.
        host: &'a str,
        /// Number of trials before this one.
        place: u32,
    },
    /// Both ends of a trial are joined; messages do not flow yet.
    Connected {
        /// Addresses of the sender's flows; empty where they have none.
        sender: &'a [FlowAddresses],
        /// Addresses of the receiver's flows.
        receiver: &'a [FlowAddresses],
    },
    /// Progress of an end, where the plan asks for it. Told while messages
    /// flow: whoever hears it takes CPU time from the trial.
    Progress {
        /// The end.
        role: Role,
        /// Counts since the last report.
        progress: &'a Progress,
    },
    /// A host was lost, and is looked for again after a pause.
    Lost {
        /// The symptom.
        error: &'a str,
        /// The next attempt, from 1.
        attempt: u32,
        /// Largest number of attempts.
        of: u32,
        /// Time until then.
        pause: Duration,
    },
    /// A block begins.
    BlockStarted {
        /// Its number, from 0.
        block: u32,
    },
    /// A trial has ended. It is not told before its end.
    Trial(&'a TrialRecord),
    /// An instance of a woven group has ended; the trial of each member follows, except after a receipt's slices.
    Slices {
        /// Place of the group among those of the plan.
        group: usize,
        /// Its number, which is that of the block; of a receipt's slices see [`model::woven::sampled_in`].
        instance: u32,
        /// All slices, in the order of time.
        slices: &'a [Slice],
    },
    /// A block is complete.
    BlockDone {
        /// Blocks done so far.
        blocks: u32,
    },
    /// A look at the figures so far was taken.
    Look(&'a Look),
    /// The study has ended.
    Closed {
        /// The hosts' facts after it; empty when they were lost.
        hosts: &'a [HostFacts],
        /// Everything that is to be known of the whole run.
        warnings: &'a [Warning],
        /// Its end.
        status: &'a Status,
    },
}

/// Hears nothing and wants everything to go on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Listener for Quiet {
    fn hear(&mut self, _: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// Ends a study that would have to wait for a host.
#[derive(Debug, Default)]
pub(crate) struct QueueGuard {
    /// Name of the host that others had, and the number of those before this one.
    pub busy: Option<(String, u32)>,
}

impl QueueGuard {
    /// Returns whether it would have waited for a host.
    pub fn waits_for(&self, name: &str) -> bool {
        self.busy.as_ref().is_some_and(|(host, _)| host == name)
    }
}

impl Listener for QueueGuard {
    fn hear(&mut self, event: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        if let Event::Waiting { host, place } = event {
            self.busy = Some(((*host).to_owned(), *place));
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Hears of events: between trials, while a host is waited for, and of progress
/// where the plan asks for it.
pub trait Listener {
    /// Takes note of an event. `Break`: the user wants the study to end.
    ///
    /// # Errors
    /// What makes it pointless to go on, such as a full disk.
    fn hear(&mut self, event: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>>;

    /// Returns whether it makes use of the hosts' facts after the last trial, which cost a far host two
    /// round trips.
    fn keeps_hosts(&self) -> bool {
        true
    }
}
