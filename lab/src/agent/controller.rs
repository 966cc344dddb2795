//! The agent's own part in the talk between a controller and its
//! host process: whose turn it is, and what is allowed. All else is passed on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::Nanos;
use model::control::{FromHost, Task, ToEndpoint, ToHost};
use model::frame::{Decoder, encode};
use serde::Serialize;

use super::limit::{Allowance, LimitRefusal, Origin, TRIAL_SLACK, check_local, check_peers};
use super::machine::MachineTurn;
use super::ports::PortLease;
use super::queue::{Bell, Ticket};
use super::served::{IDLE, Presence, Served};
use crate::connection::pump::{End, Middle, Way};
use crate::host::check_name;

/// Time beyond its endpoint's that a controller may keep the host, so that
/// the endpoint's own words on a trial that took too long come first.
const TURN_SLACK: Duration = Duration::from_secs(30);
/// Time that a controller may keep the host without starting anything there:
/// meanwhile it may be in line at another agent.
const IDLE_LIMIT: Duration = Duration::from_secs(600);
/// Time that an endpoint may take to end. Then its host is ended, and the
/// connection with it.
const LEAVING_LIMIT: Duration = Duration::from_secs(5);
/// Commands that may come at once without a turn: what joins two hosts and sees
/// their clocks takes some 60.
const AT_ONCE: u32 = 400;
/// From then on one each.
const EVERY: Duration = Duration::from_millis(100);
/// Bytes of commands that may be held until a turn begins.
const MOST_HELD: usize = 256 << 10;
/// The mark of the agent's own command to end an endpoint. No controller counts
/// that far.
const OWN_MARK: u64 = u64::MAX;

/// Stands between one controller and its host process.
#[derive(Debug)]
pub struct Controller<'a> {
    /// Its place in line.
    pub ticket: &'a Ticket,
    /// Rung when that may have changed, and when the agent ends.
    pub bell: Arc<Bell>,
    /// `true` if the agent ends.
    pub ending: Arc<AtomicBool>,
    /// Limits of each trial.
    pub allowance: &'a Allowance,
    /// Ports of its trial.
    pub ports: Option<PortLease<'a>>,
    /// Where it is: from here it may aim at loopback.
    pub origin: Origin,
    /// Whether it asks for anything, for the agent to see.
    pub presence: &'a Presence,
    /// Commands that it may still send without a turn.
    pub budget: Budget,
    /// State of its turn.
    pub turn: Turn,
    /// Commands that came behind the question for its next turn while its last endpoint was being
    /// ended: they belong to that turn.
    pub held: Vec<Vec<u8>>,
    /// What it shares with hosts behind other commands on this machine, which have queues of
    /// their own; `None` of an agent.
    pub machine: Option<MachineTurn>,
}

/// Commands that a controller may send while the host is not its own, when each
/// takes CPU time from another's trial.
#[derive(Debug)]
pub struct Budget {
    left: u32,
    counted: Instant,
}

impl Budget {
    /// Full.
    pub const fn new(now: Instant) -> Self {
        Self { left: AT_ONCE, counted: now }
    }

    /// Takes one command off; `false` if none is left.
    fn take(&mut self, now: Instant) -> bool {
        let earned = (now.duration_since(self.counted).as_nanos() / EVERY.as_nanos()).min(u128::from(AT_ONCE)) as u32;
        if earned > 0 {
            (self.left, self.counted) = ((self.left + earned).min(AT_ONCE), now);
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

/// State of a controller's turn.
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
        /// When it started its first endpoint.
        started: Option<Instant>,
    },
    /// Its endpoint is being ended, in case that it is still there.
    Leaving {
        /// `true` if it has asked for its next turn already.
        again: bool,
        /// Since when.
        since: Instant,
    },
}

impl Controller<'_> {
    fn ask(&mut self, way: &mut Way) -> Result<(), String> {
        match self.turn {
            Turn::Leaving { since, .. } => self.turn = Turn::Leaving { again: true, since },
            Turn::Waiting(place) => tell(way, &FromHost::Waiting { place })?,
            Turn::Has { .. } => tell(way, &FromHost::Yours { shared: self.ticket.is_shared() })?,
            Turn::Away => {
                self.ticket.ask();
                self.move_up(way)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, way: &mut Way) -> Result<(), String> {
        self.turn = Turn::Has { since: Instant::now(), started: None };
        tell(way, &FromHost::Yours { shared: self.ticket.is_shared() })
    }

    /// Tells the controller its place if it has not been told.
    fn move_up(&mut self, way: &mut Way) -> Result<(), String> {
        let told = match self.turn {
            Turn::Away => None,
            Turn::Waiting(place) => Some(place),
            Turn::Has { .. } | Turn::Leaving { .. } => return Ok(()),
        };
        let place = match self.ticket.place().map(|place| u32::try_from(place).unwrap_or(u32::MAX)) {
            // Somebody who came by a command of his own has the machine.
            Some(0) if self.machine.as_mut().is_some_and(|machine| !machine.take(Instant::now())) => Some(1),
            place => place,
        };
        match place {
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
            Turn::Has { started: Some(_), .. } => {
                // Whatever the controller left behind must not run on into another's trial.
                self.turn = Turn::Leaving { again: false, since: Instant::now() };
                way.near.extend(frame(&ToHost::Stop { mark: OWN_MARK })?);
            }
            Turn::Has { .. } | Turn::Waiting(_) => self.leave(),
            Turn::Away | Turn::Leaving { .. } => {}
        }
        Ok(())
    }

    /// Returns how long a turn may last from the start of its first endpoint.
    fn longest(&self) -> Option<Duration> {
        let limit = Duration::from(self.allowance.limits.time?);
        Some(limit.saturating_add(TRIAL_SLACK + TURN_SLACK))
    }

    /// Returns what to say when its time is over.
    fn overdue(&self) -> String {
        match self.turn {
            Turn::Leaving { .. } => format!("the endpoint of its trial did not end within {}, and is killed", Nanos::from(LEAVING_LIMIT)),
            Turn::Has { started: Some(_), .. } => {
                let longest = Nanos::from(self.longest().unwrap_or_default());
                format!("it kept the host for {longest}, longer than one trial may take; see --limit-time of the agent")
            }
            _ => format!("it kept the host for {} without starting a trial, and others may wait for it", Nanos::from(IDLE_LIMIT)),
        }
    }

    fn check_task(&mut self, task: &mut Task) -> Result<(), LimitRefusal> {
        check_local(task.local, self.origin)?;
        for address in task.cell.xbind.iter().flat_map(|addresses| addresses.all()) {
            check_local(SocketAddr::new(*address, task.local.port()), self.origin)?;
        }
        let lease = self.allowance.apply(task)?;
        // An endpoint that was started takes one task: another one, or a task without an endpoint, keeps no ports.
        if matches!(self.turn, Turn::Has { started: Some(_), .. }) && self.ports.is_none() {
            self.ports = lease;
        }
        Ok(())
    }

    /// Notes whether it is busy.
    fn note_presence(&self) {
        let (busy, works) = match self.turn {
            Turn::Away => (false, false),
            Turn::Has { started: None, .. } | Turn::Waiting(_) => (true, false),
            Turn::Has { .. } | Turn::Leaving { .. } => (true, true),
        };
        self.presence.asks(busy, works);
    }

    fn leave(&mut self) {
        if let Some(machine) = &mut self.machine {
            machine.give_back();
        }
        self.ticket.leave();
        self.ports = None;
        self.turn = Turn::Away;
    }

    fn start(&mut self, frame: &[u8], way: &mut Way) -> Result<(), String> {
        let Turn::Has { started, .. } = &mut self.turn else {
            return refuse(way, "start an endpoint: it is not this controller's turn; ask for it first (a fault of the controller)");
        };
        if started.replace(started.unwrap_or_else(Instant::now)).is_none() {
            self.ticket.begin();
        }
        self.ports = None;
        way.near.extend_from_slice(frame);
        Ok(())
    }

    /// Carries out one command, or passes it on; `bytes` is its frame.
    fn carry_out(&mut self, command: ToHost, bytes: &[u8], way: &mut Way) -> Result<(), String> {
        let has_turn = matches!(self.turn, Turn::Has { .. });
        if !has_turn && !self.budget.take(Instant::now()) {
            return Err(format!(
                "it sent more than {AT_ONCE} commands without having the turn, which disturbs the controller that has it: ask for the turn first"
            ));
        }
        match command {
            ToHost::Turn => self.ask(way),
            ToHost::Release => self.release(way),
            ToHost::Company => tell(way, &FromHost::Company { others: self.ticket.others() }),
            ToHost::Start => self.start(bytes, way),
            ToHost::Endpoint(ToEndpoint::Prepare(mut task)) => match self.check_task(&mut task) {
                Ok(()) => {
                    way.near.extend(frame(&ToHost::Endpoint(ToEndpoint::Prepare(task)))?);
                    Ok(())
                }
                Err(LimitRefusal(why)) => refuse(way, &why),
            },
            ToHost::Endpoint(ToEndpoint::Connect { ref peers }) => match check_peers(peers, self.origin) {
                Ok(()) => {
                    way.near.extend_from_slice(bytes);
                    Ok(())
                }
                Err(LimitRefusal(why)) => refuse(way, &why),
            },
            ToHost::Arm(_) => refuse(
                way,
                "change a setting of the machine or run something of the controller's choosing: an agent does not; do it there by hand, and \
                 leave it out of the arms",
            ),
            ToHost::Background(_) => refuse(
                way,
                "load the machine, send other traffic, change priorities or steer softirqs: an agent does not; leave load, link_load, bulk, \
                 priority and softirq-at-... out of the plan",
            ),
            ToHost::MakeLink { .. } | ToHost::MakeWire(_) | ToHost::WireCounters | ToHost::Configure(_) => refuse(
                way,
                "change the machine's network: an agent does not; set devices up beforehand, and leave settings of the link out of the plan",
            ),
            ToHost::Counters { ref device, .. } | ToHost::Facts { ref device, .. } if !check_name(device) => {
                refuse(way, "read a device's counters or facts: that is no name of a device; see `ip link` on the agent's machine")
            }
            ToHost::Inject { .. } | ToHost::Calibrate { .. } => {
                refuse(way, "put known costs into trials: an agent does not; prove receipts on its machine")
            }
            // They read a lot, or measure what this machine's own loop or a sample costs.
            ToHost::Counters { .. } | ToHost::Facts { .. } | ToHost::SampleCost { .. } if !has_turn => refuse(
                way,
                "read counters or facts, or measure a sample: that would disturb the trial of another controller; ask for the turn first (a fault of the controller)",
            ),
            ToHost::Stop { mark: OWN_MARK } => Err("it used a mark that is the agent's own".to_owned()),
            ToHost::Hello { .. }
            | ToHost::Counters { .. }
            | ToHost::Facts { .. }
            | ToHost::Route { .. }
            | ToHost::Cpus
            | ToHost::Clock
            | ToHost::Endpoint(_)
            | ToHost::SampleCost { .. }
            | ToHost::Observe(_)
            | ToHost::Sampling { .. }
            | ToHost::Observed { .. }
            | ToHost::Stop { .. } => {
                way.near.extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

impl Middle for Controller<'_> {
    fn far_said(&mut self, bytes: &[u8], way: &mut Way) -> Result<(), String> {
        let body = bytes.get(4..).unwrap_or_default();
        let command = serde_json::from_slice(body).map_err(|error| format!("it sent what is no command: {error}"))?;
        if matches!(self.turn, Turn::Leaving { again: true, .. }) && !matches!(command, ToHost::Turn | ToHost::Release) {
            if self.held.iter().map(Vec::len).sum::<usize>() + bytes.len() > MOST_HELD {
                return Err(format!("it sent more than {MOST_HELD} B of commands before its turn began"));
            }
            self.held.push(bytes.to_vec());
            return Ok(());
        }
        let carried_out = self.carry_out(command, bytes, way);
        self.note_presence();
        carried_out
    }

    fn near_said(&mut self, bytes: &[u8], way: &mut Way) {
        if let Turn::Leaving { again, .. } = self.turn
            && frame(&FromHost::Stopped { mark: OWN_MARK }).is_ok_and(|own| own == bytes)
        {
            self.leave();
            if again {
                // Of this size, a message can always be written.
                let _ = self.ask(way);
            }
            for held in std::mem::take(&mut self.held) {
                // A fault ends the connection when the controller says more.
                let _ = self.far_said(&held, way);
            }
            self.note_presence();
            return;
        }
        way.far.extend_from_slice(bytes);
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }

    fn deadline(&self) -> Option<Instant> {
        match self.turn {
            Turn::Has { started: Some(at), .. } => at.checked_add(self.longest()?),
            Turn::Has { since, started: None } => Some(since + IDLE_LIMIT),
            Turn::Leaving { since, .. } => Some(since + LEAVING_LIMIT),
            Turn::Waiting(_) => self.machine.as_ref().and_then(MachineTurn::next_try),
            Turn::Away => None,
        }
    }

    fn woken(&mut self, way: &mut Way) -> Result<(), String> {
        self.bell.clear();
        if self.ending.load(Ordering::Acquire) {
            return Err("the agent was ended".to_owned());
        }
        if self.presence.is_evicted() && matches!(self.turn, Turn::Away | Turn::Has { started: None, .. }) {
            return Err(format!("it ran nothing for {} or longer, and others wait to be let in", Nanos::from(IDLE)));
        }
        // Whoever waits looks again.
        let waits = matches!(self.turn, Turn::Waiting(_));
        if !waits && self.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(self.overdue());
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

/// Returns the commands that an agent passes on to its host process of what a
/// controller that has the turn sends: its policy alone, for tests and fuzzing.
/// `near` is a controller on this machine.
pub fn passed_on(commands: &[ToHost], near: bool) -> Vec<ToHost> {
    let Ok(bell) = Bell::new().map(Arc::new) else { return Vec::new() };
    let ticket = Ticket::new(Arc::default(), Arc::clone(&bell));
    let place = Arc::<Served>::default().add(IpAddr::V4(Ipv4Addr::LOCALHOST), &bell);
    let mut controller = Controller {
        ticket: &ticket,
        bell,
        ending: Arc::default(),
        allowance: &Allowance::new(model::control::Limits::default(), None),
        ports: None,
        origin: if near { Origin::Here } else { Origin::Elsewhere },
        presence: place.presence(),
        budget: Budget::new(Instant::now()),
        turn: Turn::Has { since: Instant::now(), started: None },
        machine: None,
        held: Vec::new(),
    };
    let mut way = Way::default();
    for command in commands {
        let Ok(frame) = frame(command) else { continue };
        if controller.far_said(&frame, &mut way).is_err() {
            break;
        }
    }
    let mut passed = Decoder::<ToHost>::default();
    passed.push(&way.near);
    std::iter::from_fn(|| passed.take().ok().flatten()).collect()
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

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use model::Nanos;
    use model::control::{FromHost, Limits, ToHost};
    use model::end::Window;

    use super::super::limit::{Allowance, Origin, TRIAL_SLACK};
    use super::super::queue::{Bell, Queue, Ticket};
    use super::super::served::Served;
    use super::{AT_ONCE, Budget, Controller, EVERY, IDLE_LIMIT, LEAVING_LIMIT, MOST_HELD, Middle, OWN_MARK, TURN_SLACK, Turn, Way, frame};

    #[test]
    fn commands_behind_the_question_for_the_next_turn_belong_to_it() {
        let bell = Arc::new(Bell::new().unwrap());
        let ticket = Ticket::new(Arc::new(Queue::default()), Arc::clone(&bell));
        let allowance = Allowance::new(Limits::default(), None);
        let place = Arc::new(Served::default()).add(IpAddr::V4(Ipv4Addr::LOCALHOST), &bell);
        let turn = Turn::Leaving { again: false, since: Instant::now() };
        let mut controller = Controller {
            ticket: &ticket,
            bell,
            ending: Arc::default(),
            allowance: &allowance,
            ports: None,
            origin: Origin::Here,
            presence: place.presence(),
            budget: Budget::new(Instant::now()),
            turn,
            held: Vec::new(),
            machine: None,
        };
        let mut way = Way::default();
        for command in [ToHost::Turn, ToHost::Start, ToHost::Clock] {
            controller.far_said(&frame(&command).unwrap(), &mut way).unwrap();
        }
        assert_eq!((way.near.len(), way.far.len()), (0, 0), "its last endpoint is being ended");
        controller.near_said(&frame(&FromHost::Stopped { mark: OWN_MARK }).unwrap(), &mut way);
        assert_eq!(way.far, frame(&FromHost::Yours { shared: false }).unwrap());
        assert_eq!(way.near, [frame(&ToHost::Start).unwrap(), frame(&ToHost::Clock).unwrap()].concat());
        let flood = frame(&ToHost::Observed { window: Window::default(), threads: vec![1; MOST_HELD] }).unwrap();
        controller.turn = Turn::Leaving { again: true, since: Instant::now() };
        assert!(controller.far_said(&flood, &mut way).is_err_and(|why| why.contains("before its turn began")));
    }

    /// Returns how long each step of a turn may last, where a trial may last as given.
    fn limits(time: Option<Duration>) -> [Option<Duration>; 4] {
        let bell = Arc::new(Bell::new().unwrap());
        let ticket = Ticket::new(Arc::new(Queue::default()), Arc::clone(&bell));
        let allowance = Allowance::new(Limits { time: time.map(Nanos::from), bytes: None }, None);
        let place = Arc::new(Served::default()).add(IpAddr::V4(Ipv4Addr::LOCALHOST), &bell);
        let mut controller = Controller {
            ticket: &ticket,
            bell,
            ending: Arc::default(),
            allowance: &allowance,
            ports: None,
            origin: Origin::Here,
            presence: place.presence(),
            budget: Budget::new(Instant::now()),
            turn: Turn::Away,
            machine: None,
            held: Vec::new(),
        };
        let mut way = Way::default();
        // In whole seconds: the steps themselves take a moment.
        let limit = |controller: &Controller<'_>| {
            let left = controller.deadline()?.saturating_duration_since(Instant::now());
            Some(Duration::from_secs(left.as_secs_f64().ceil() as u64))
        };
        [None, Some(ToHost::Turn), Some(ToHost::Start), Some(ToHost::Release)].map(|command| {
            if let Some(command) = command {
                controller.far_said(&frame(&command).unwrap(), &mut way).unwrap();
            }
            limit(&controller)
        })
    }

    #[test]
    fn a_trial_counts_from_its_start_and_a_turn_without_one_has_a_limit_of_its_own() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(limits(Some(hour)), [None, Some(IDLE_LIMIT), Some(hour + TRIAL_SLACK + TURN_SLACK), Some(LEAVING_LIMIT)]);
        assert_eq!(limits(None), [None, Some(IDLE_LIMIT), None, Some(LEAVING_LIMIT)]);
    }

    #[test]
    fn commands_without_a_turn_are_few() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        assert_eq!((0..10_000).filter(|_| budget.take(start)).count(), AT_ONCE as usize);
        assert!(budget.take(start + EVERY) && !budget.take(start + EVERY));
        assert_eq!((0..10_000).filter(|_| budget.take(start + EVERY * 10_000)).count(), AT_ONCE as usize);
    }
}
