//! The main thread of an endpoint while messages flow: it keeps the time and
//! listens to the host, and does nothing else.

use std::time::{Duration, Instant};

use model::condition::{Conditions, Placement};
use model::control::{FromEndpoint, Task, ToEndpoint};
use model::plan::TrialEnd;
use model::{Nanos, Role};

use crate::channel::{Output, Receiver, Woken, tell};
use crate::deadline::Deadline;
use crate::edge::{self, Edge, EdgeReader};
use crate::error::EndpointError;
use crate::flow_threads::FlowThreads;
use crate::progress::{self, Intervals};
use crate::stage::Part;
use sys::clock;

/// Time that a sender goes on after its window has closed: more than the two
/// ends' main threads usually wake apart.
const TAIL: Duration = Duration::from_millis(4);
/// And how much longer for each unit of load that an end shares its CPU with: a
/// turn of the unit for each of two threads (4 ms where the tick is 250 Hz).
const TURNS: Duration = Duration::from_millis(8);
/// For no more units than that.
const MOST_UNITS: u32 = 16;
/// Time that threads may take to say how far they have come. One that cannot
/// (its first message has not come yet) is counted in a later interval.
const ANSWER_LIMIT: Duration = Duration::from_millis(100);
/// And a turn for each that shares their CPU (`base_slice_ns` of the scheduler), which one may have to wait for.
const TURN: Duration = Duration::from_millis(4);
/// Interval at which that is looked for.
const LOOK: Duration = Duration::from_millis(1);
/// Longer than any loop takes to end once it has been told to.
const END_LIMIT: Duration = Duration::from_secs(60);

/// Figures that the main thread has of a trial.
#[derive(Debug)]
pub struct TimekeeperReport {
    /// The interrupt time that the process clock leaves out.
    pub irq: Option<Nanos>,
    /// Edges of the measured part of all flows; `None` where
    /// each of them counts to its own end.
    pub edges: Option<(Edge, Edge)>,
    /// Progress that was reported on the way.
    pub progress: Intervals,
}

/// Leads a trial.
#[derive(Debug)]
pub struct Timekeeper<'a> {
    /// The task that is carried out.
    pub task: &'a Task,
    /// Those who do it.
    pub threads: &'a mut FlowThreads,
    /// The host's word.
    pub control: &'a mut Receiver<ToEndpoint>,
    /// The host's ear.
    pub output: &'a Output,
    /// The host's patience.
    pub deadline: &'a Deadline,
}

impl Timekeeper<'_> {
    /// Leads it from the warm-up until all threads have ended.
    ///
    /// # Errors
    /// The loss of the host, a message that has no place here, the failure of a
    /// thread, or that it took too long. Each ends the traffic.
    pub fn keep(mut self) -> Result<TimekeeperReport, EndpointError> {
        self.lead().inspect_err(|_| {
            self.threads.announce(&model::control::SentTotals::default(), 1);
            self.go_on_to(|_| Part::Drain);
        })
    }

    fn lead(&mut self) -> Result<TimekeeperReport, EndpointError> {
        let mut led = match self.task.end {
            TrialEnd::Length(length) => self.lead_by_time(length.into())?,
            // The traffic threads count; all their edges lie within these.
            TrialEnd::Messages(_) => self.lead_by_count()?,
        };
        self.see_them_end()?;
        if matches!(self.task.end, TrialEnd::Messages(_)) {
            led.irq = since(led.irq, edge::irq(self.task));
        }
        Ok(led)
    }

    fn lead_by_time(&mut self, length: Duration) -> Result<TimekeeperReport, EndpointError> {
        let reader = EdgeReader::of_this_thread(&self.task.ksoftirqd);
        let mut progress = Intervals::for_task(self.task);
        let opens = self.hear_the_opening()?;
        self.wait(opens.checked_sub(self.task.warmup.into()).unwrap_or(opens))?;
        self.threads.warm_up();
        self.wait(opens)?;
        let before = edge::irq(self.task);
        // The clocks are read right after every flow has been told, at either
        // edge, so that what lies between is as long as what they count.
        // In a woven trial its controller says who flows.
        let woven = self.task.woven.is_some();
        let measured = if woven { Part::Marked } else { Part::Measure };
        self.threads.enter(|_| measured);
        let start = reader.end();
        self.threads.wake();
        // Both ends close together, also where one of them was late to open.
        self.measure(opens, length, &mut progress)?;
        // Who had turns has stopped in the last: no other end still measures.
        self.threads.enter(|role| if role == Role::Sender && !woven { Part::Tail } else { Part::Drain });
        let end = reader.end();
        self.threads.wake();
        let irq = since(before, edge::irq(self.task));
        if !woven {
            self.wait(Instant::now() + tail(&self.task.cell.conditions))?;
            self.go_on_to(|_| Part::Drain);
        }
        self.hear_the_end()?;
        self.go_on_to(|_| Part::Drain);
        Ok(TimekeeperReport { irq, edges: Some((start, end)), progress })
    }

    /// In both ways at once an end may still be counting out its own messages
    /// when the other has sent all of its: those flows go on.
    fn lead_by_count(&mut self) -> Result<TimekeeperReport, EndpointError> {
        let irq = edge::irq(self.task);
        let mut progress = Intervals::for_task(self.task);
        let interval = progress::interval(self.task).unwrap_or(Duration::MAX);
        let mut next = Instant::now().checked_add(interval);
        while !self.wait(next.unwrap_or_else(far))? {
            if !progress.are_full() {
                self.tick(&mut progress)?;
            }
            next = next.and_then(|next| next.checked_add(interval));
        }
        self.hear_the_end()?;
        let both = self.task.cell.bidirectional;
        self.go_on_to(|role| if both && role == Role::Sender { Part::Measure } else { Part::Drain });
        Ok(TimekeeperReport { irq, edges: None, progress })
    }

    /// Waits for the time at which the measured part begins.
    fn hear_the_opening(&mut self) -> Result<Instant, EndpointError> {
        while !self.wait(far())? {}
        match self.control.receive()? {
            ToEndpoint::Measure { at } => Ok(instant(at)),
            _ => Err(EndpointError::OutOfTurn { expected: "measure" }),
        }
    }

    /// Waits through the measured part and tells how far it is.
    fn measure(&mut self, opens: Instant, length: Duration, progress: &mut Intervals) -> Result<(), EndpointError> {
        let end = opens + length;
        if let Some(interval) = progress::interval(self.task) {
            let mut next = opens + interval;
            while next <= Instant::now() && next < end {
                next += interval;
            }
            // The last interval ends with the window, and is told with it.
            while next + interval / 2 <= end && !progress.are_full() {
                if self.wait(next)? {
                    return Ok(());
                }
                self.tick(progress)?;
                next += interval;
            }
        }
        self.wait(end).map(drop)
    }

    fn tick(&mut self, progress: &mut Intervals) -> Result<(), EndpointError> {
        self.threads.ask();
        let now = clock::monotonic();
        let turns = self.threads.running_on_each_cpu(self.task.cpus.len());
        let half = progress::interval(self.task).unwrap_or_default() / 2;
        let give_up = Instant::now() + (ANSWER_LIMIT + TURN * turns).min(half.max(ANSWER_LIMIT));
        loop {
            self.threads.wake_asked();
            if self.wait(Instant::now() + LOOK)? || !self.threads.asked() || Instant::now() > give_up {
                break;
            }
        }
        if let Some(told) = progress.add(now, self.threads.so_far()) {
            tell(self.output, &FromEndpoint::Progress(Box::new(*told)))?;
        }
        Ok(())
    }

    fn go_on_to(&self, part_of: impl Fn(Role) -> Part) {
        self.threads.enter(part_of);
        self.threads.wake();
    }

    /// Waits until `until`; true when the host has said something before. What
    /// it said stays to be heard.
    fn wait(&mut self, until: Instant) -> Result<bool, EndpointError> {
        loop {
            let left = self.deadline.at_most(until.saturating_duration_since(Instant::now()));
            let woken = self.control.wait_with(&self.threads.ends(), left)?;
            self.deadline.check()?;
            match woken {
                Woken::Message => return Ok(true),
                Woken::Others(ended) => self.threads.take_ended(&ended)?,
                Woken::Time if Instant::now() >= until => return Ok(false),
                Woken::Time => {}
            }
        }
    }

    /// Waits for the end that the other side announces.
    fn hear_the_end(&mut self) -> Result<(), EndpointError> {
        while !self.wait(far())? {}
        match self.control.receive()? {
            ToEndpoint::Drain(sent) => {
                self.threads.announce(&sent, self.task.cell.flows);
                Ok(())
            }
            _ => Err(EndpointError::OutOfTurn { expected: "drain" }),
        }
    }

    /// Waits for the threads, as long as the host lives. Messages that come
    /// meanwhile have no place any more and stay unheard.
    fn see_them_end(&mut self) -> Result<(), EndpointError> {
        let give_up = Instant::now() + END_LIMIT;
        while !self.threads.is_over() {
            let left = give_up.saturating_duration_since(Instant::now());
            let ended = self.control.wait_for_any(&self.threads.ends(), self.deadline.at_most(left))?;
            self.deadline.check()?;
            if ended.is_empty() && left.is_zero() {
                return Err(EndpointError::Stuck { limit: END_LIMIT });
            }
            self.threads.take_ended(&ended)?;
        }
        Ok(())
    }
}

/// Time that a sender goes on after its window has closed.
pub fn tail(conditions: &Conditions) -> Duration {
    let other_end = u32::from(conditions.placement == Placement::SameCore);
    let units = conditions.load.sender.max(conditions.load.receiver).saturating_add(other_end);
    TAIL + TURNS * units.min(MOST_UNITS)
}

fn since(before: Option<Nanos>, after: Option<Nanos>) -> Option<Nanos> {
    after.zip(before).map(|(after, before)| after.since(before))
}

/// A time of this host's clock; one before all that can be said is now.
pub fn instant(at: Nanos) -> Instant {
    let (now, here) = (Instant::now(), clock::monotonic());
    (now + at.since(here).into()).checked_sub(here.since(at).into()).unwrap_or(now)
}

/// Later than any trial lasts.
fn far() -> Instant {
    Instant::now() + Duration::from_secs(1 << 30)
}
