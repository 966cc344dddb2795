//! What an agent itself has to say in the talk between a controller and its
//! host process: whose turn it is, and what is allowed. All else is passed on.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::Nanos;
use model::control::{FromHost, ToEndpoint, ToHost};
use model::frame::encode;
use serde::Serialize;

use super::limit::{Allowance, Refused};
use super::queue::{Bell, Seat};
use crate::wire::pump::{End, Middle, Way};

/// How much longer than one trial may take a controller may keep the host.
const TURN_SLACK: Duration = Duration::from_secs(60);
/// The mark of the agent's own command to end an endpoint. No controller counts
/// that far.
const OWN_MARK: u64 = u64::MAX;

/// Stands between one controller and its host process.
#[derive(Debug)]
pub struct Desk<'a> {
    /// Its place in line.
    pub seat: &'a Seat,
    /// Rung when that may have changed, and when the agent ends.
    pub bell: Arc<Bell>,
    /// Whether the agent ends.
    pub ending: Arc<AtomicBool>,
    /// Whether trials may run beside others.
    pub share: bool,
    /// What each trial may take.
    pub allowance: &'a Allowance,
    /// How far it is with its turn.
    pub turn: Turn,
}

/// How far a controller is with its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It has not asked.
    Away,
    /// It was told this place.
    Waiting(u32),
    /// The host is its own.
    Has {
        /// Since when.
        since: Instant,
        /// Whether it has started an endpoint.
        started: bool,
    },
    /// Its endpoint is being ended, in case that it is still there.
    Leaving {
        /// Whether it has asked for its next turn already.
        again: bool,
    },
}

impl Desk<'_> {
    fn ask(&mut self, way: &mut Way) -> Result<(), String> {
        match self.turn {
            Turn::Leaving { .. } => self.turn = Turn::Leaving { again: true },
            Turn::Waiting(place) => tell(way, &FromHost::Waiting { place })?,
            Turn::Has { .. } => tell(way, &FromHost::Yours { shared: self.share })?,
            Turn::Away if self.share => self.begin(way)?,
            Turn::Away => {
                self.seat.ask();
                self.move_up(way)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, way: &mut Way) -> Result<(), String> {
        self.turn = Turn::Has { since: Instant::now(), started: false };
        tell(way, &FromHost::Yours { shared: self.share })
    }

    /// Tells the controller its place if it has not been told.
    fn move_up(&mut self, way: &mut Way) -> Result<(), String> {
        let told = match self.turn {
            Turn::Away => None,
            Turn::Waiting(place) => Some(place),
            Turn::Has { .. } | Turn::Leaving { .. } => return Ok(()),
        };
        match self.seat.place().map(|place| u32::try_from(place).unwrap_or(u32::MAX)) {
            Some(0) => self.begin(way),
            Some(place) if told != Some(place) => {
                self.turn = Turn::Waiting(place);
                tell(way, &FromHost::Waiting { place })
            }
            _ => Ok(()),
        }
    }

    fn release(&mut self, way: &mut Way) -> Result<(), String> {
        match self.turn {
            Turn::Has { started: true, .. } => {
                // Whatever the controller left behind must not run on into another's trial.
                self.turn = Turn::Leaving { again: false };
                way.near.extend(frame(&ToHost::Stop { mark: OWN_MARK })?);
            }
            Turn::Has { .. } | Turn::Waiting(_) => self.leave(),
            Turn::Away | Turn::Leaving { .. } => {}
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.seat.leave();
        self.turn = Turn::Away;
    }

    fn start(&mut self, frame: &[u8], way: &mut Way) -> Result<(), String> {
        let Turn::Has { started, .. } = &mut self.turn else {
            return refuse(way, "start an endpoint: it is not this controller's turn; ask for it first (a fault of the controller)");
        };
        *started = true;
        way.near.extend_from_slice(frame);
        Ok(())
    }
}

impl Middle for Desk<'_> {
    fn far_said(&mut self, bytes: &[u8], way: &mut Way) -> Result<(), String> {
        let body = bytes.get(4..).unwrap_or_default();
        let command = serde_json::from_slice(body).map_err(|error| format!("it sent what is no command: {error}"))?;
        match command {
            ToHost::Turn => self.ask(way),
            ToHost::Release => self.release(way),
            ToHost::Start => self.start(bytes, way),
            ToHost::Endpoint(ToEndpoint::Prepare(mut task)) => match self.allowance.apply(&mut task) {
                Ok(()) => {
                    way.near.extend(frame(&ToHost::Endpoint(ToEndpoint::Prepare(task)))?);
                    Ok(())
                }
                Err(Refused(why)) => refuse(way, &why),
            },
            ToHost::MakeLink { .. } | ToHost::Configure(_) => refuse(
                way,
                "change the machine's network: an agent does not; set devices up beforehand, and leave settings of the link out of the plan",
            ),
            ToHost::Counters { ref device, .. } | ToHost::Facts { ref device, .. } if !is_device(device) => {
                refuse(way, "read a device's counters or facts: that is no name of a device; see `ip link` on the agent's machine")
            }
            ToHost::Stop { mark: OWN_MARK } => Err("it used a mark that is the agent's own".to_owned()),
            ToHost::Hello { .. }
            | ToHost::Counters { .. }
            | ToHost::Facts { .. }
            | ToHost::Route { .. }
            | ToHost::Cpus
            | ToHost::Clock
            | ToHost::Endpoint(_)
            | ToHost::Stop { .. } => {
                way.near.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn near_said(&mut self, bytes: &[u8], way: &mut Way) {
        if let Turn::Leaving { again } = self.turn
            && frame(&FromHost::Stopped { mark: OWN_MARK }).is_ok_and(|own| own == bytes)
        {
            self.leave();
            if again {
                // Of this size, a message can always be written.
                let _ = self.ask(way);
            }
            return;
        }
        way.far.extend_from_slice(bytes);
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }

    fn deadline(&self) -> Option<Instant> {
        match (self.turn, self.allowance.limits.time) {
            (Turn::Has { since, .. }, Some(limit)) => since.checked_add(Duration::from(limit) + TURN_SLACK),
            _ => None,
        }
    }

    fn woken(&mut self, way: &mut Way) -> Result<(), String> {
        self.bell.hush();
        if self.ending.load(Ordering::Acquire) {
            return Err("the agent was ended".to_owned());
        }
        if self.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
            let limit = self.allowance.limits.time.unwrap_or(Nanos::new(0));
            return Err(format!(
                "it kept the host for longer than one trial may take ({limit} and a minute); see --limit-time of the agent"
            ));
        }
        self.move_up(way)
    }

    fn ending(&mut self, end: &End, way: &mut Way) {
        let last = match end {
            End::Because(words) => words.clone(),
            End::Near => "the host's process on the agent's machine ended; see the agent's log".to_owned(),
            End::Far | End::Silent | End::Stuck | End::Broken(_) => return,
        };
        // There is nobody else to tell.
        let _ = tell(way, &FromHost::Failed { error: format!("the agent closes the connection: {last}") });
    }
}

/// Whether a name can be that of a network device (`dev_valid_name` of the
/// kernel), and so cannot lead out of the directories that are named by devices.
fn is_device(name: &str) -> bool {
    let fits = (1..16).contains(&name.len()) && name != "." && name != "..";
    fits && !name.bytes().any(|byte| byte == b'/' || byte == b':' || byte.is_ascii_whitespace() || byte.is_ascii_control())
}

fn refuse(way: &mut Way, why: &str) -> Result<(), String> {
    tell(way, &FromHost::Failed { error: why.to_owned() })
}

fn tell(way: &mut Way, message: &FromHost) -> Result<(), String> {
    way.far.extend(frame(message)?);
    Ok(())
}

fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>, String> {
    encode(message).map_err(|error| error.to_string())
}
