//! Errors that end a study.

use std::error::Error;

use model::plan::Unfit;

use crate::arm::ArmError;
use crate::error::TrialError;
use crate::remote::HostError;

/// A study that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The hosts could not be made.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The arms cannot be brought about.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// An arm cannot be brought about, in any trial.
    #[error("arm '{arm}' cannot be brought about, and every trial of it would fail: {error}")]
    OneArm {
        /// Its name.
        arm: String,
        /// The answer.
        error: ArmError,
    },
    /// A listener, such as the recorder, cannot go on.
    #[error("{0}")]
    Listener(Box<dyn Error + Send + Sync>),
    /// Nothing works.
    #[error("every trial of a block failed; the last: {0}")]
    NothingWorks(String),
    /// Hosts do not last.
    #[error("hosts were lost {0} times in a row, each time made again; does something end nettoll's processes, or is memory short?")]
    LostAgain(u32),
    /// A host was lost, and the plan says to stop then.
    #[error("{0}; stopped as asked (on_loss = stop): go on with `nettoll study --resume` when the host is back")]
    Lost(String),
    /// A lost agent does not come back.
    #[error("a lost host was not found again in {attempts} attempts: {error}; go on with `nettoll study --resume` when it is back")]
    NotFound {
        /// Number of attempts.
        attempts: usize,
        /// The last answer.
        error: HostError,
    },
    /// The hosts were lost, and those found in their place are not like them.
    #[error("the hosts were lost and those found in their place differ: {0}; run the study again: its trials would not compare")]
    OtherHosts(String),
    /// The hosts of a run that is to go on are not what they were.
    #[error("the hosts are not what they were when the run began, so its trials would not compare: {0}; undo that, or run the study again")]
    HostsChanged(String),
    /// The facts of the hosts from the beginning of the run are missing.
    #[error("the run has trials but no facts of its hosts (hosts/*.json), so whether it may go on is unknown; run the study again")]
    NoFacts,
    /// Too few hosts of a fleet are there to begin.
    #[error("of {of} hosts {} there, and a pair takes two; the first that is not: {first}", are(*there))]
    TooFewHosts {
        /// Hosts that were reached.
        there: usize,
        /// Hosts of the fleet.
        of: usize,
        /// Answer of the first that was not.
        first: String,
    },
    /// A fleet has lost its hosts.
    #[error("of {of} hosts {} left, and they are not found again: {first}; has the allocation ended, or the network? Go on with `nettoll fleet --resume` when they are back", are(*there))]
    FleetLost {
        /// Hosts that are left.
        there: usize,
        /// Hosts of the fleet.
        of: usize,
        /// Answer of the first that is not.
        first: String,
    },
    /// Arms that cannot be woven on this machine.
    #[error("the arms cannot be woven: {0}; leave out --woven: they are then compared in turn")]
    NotWoven(Unfit),
    /// The trials of a run are not those of its plan.
    #[error(
        "the trial at position {position} of block {block} is not the one that the plan has there, or is there twice: \
         the run was changed by hand or by another version; run the study again"
    )]
    OtherTrials {
        /// Its block.
        block: u32,
        /// Its place in it.
        position: u32,
    },
}

fn are(hosts: usize) -> String {
    if hosts == 1 { "1 is".to_owned() } else { format!("{hosts} are") }
}

impl StudyError {
    /// Error for a session that was not opened; `None` where the user did not want
    /// to wait for it, who has failed at nothing.
    pub(crate) fn not_opened(error: TrialError) -> Option<Self> {
        match error {
            TrialError::Stopped => None,
            TrialError::Host(error) => Some(error.into()),
            TrialError::Listener(error) => Some(Self::Listener(error)),
            // Nothing is watched while hosts are made.
            error @ TrialError::NotObserved { .. } => Some(Self::NothingWorks(error.to_string())),
        }
    }

    /// Returns whether nothing was measured that could be shown.
    pub const fn says_nothing_of_trials(&self) -> bool {
        matches!(
            self,
            Self::Host(_)
                | Self::Arm(ArmError::HostWide { .. } | ArmError::NoSuchSysctl { .. })
                | Self::OneArm { .. }
                | Self::NothingWorks(_)
                | Self::HostsChanged(_)
                | Self::NoFacts
                | Self::TooFewHosts { .. }
                | Self::NotWoven(_)
                | Self::OtherTrials { .. }
        )
    }
}
