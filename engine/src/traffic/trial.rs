//! A trial as its loops see it: how far each part reaches, and the lead through it.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;

use model::control::Task;
use model::end::{Counts, TcpInfo};
use model::plan::TrialEnd;
use model::{Nanos, Protocol, Role, Test};

use super::Step;
use super::schedule_stats::ScheduleStats;
use super::stamp::Account;
use crate::api::{Api, flush};
use crate::edge::{Edge, EdgeReader};
use crate::stage::{Part, SoFar, Stage, WaySoFar};
use crate::tcp_info;
use model::counts::sum;

/// Limits of the warm-up and of the measured part, in messages.
///
/// A trial of a length is led by its main thread from part to part, without
/// limits here. A trial of a number of messages is in one part all the time;
/// both ends count to the same numbers, so that their windows hold the same
/// messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The part in which the warm-up takes place.
    pub warmup_part: Part,
    /// Messages of the warm-up.
    pub warmup: u64,
    /// Messages of the measured part.
    pub measured: u64,
}

impl Extent {
    /// The extent of a task.
    pub const fn for_task(task: &Task) -> Self {
        match task.end {
            TrialEnd::Length(_) => Self { warmup_part: Part::Warmup, warmup: u64::MAX, measured: u64::MAX },
            TrialEnd::Messages(messages) => {
                Self { warmup_part: Part::Measure, warmup: TrialEnd::warmup_messages(messages, task.warmup), measured: messages }
            }
        }
    }

    /// The part in which a flow of a task begins. One that nothing slows down does not begin
    /// with the warm-up: it would go at full speed until both ends are heard.
    pub fn first_part(task: &Task) -> Part {
        let floods = task.cell.test.is_stream() && task.role == Role::Sender && task.cell.rate.is_none();
        match Self::for_task(task).warmup_part {
            Part::Warmup if floods => Part::Opening,
            part => part,
        }
    }

    /// Returns whether both ends count to the same numbers.
    pub const fn is_counted(&self) -> bool {
        self.measured != u64::MAX
    }
}

/// A trial, as its loop sees it.
pub(super) struct Trial<'a> {
    pub(super) task: &'a Task,
    /// See [`super::Joined::listener`].
    pub(super) listener: Option<OwnedFd>,
    /// See [`super::Joined::sizes`].
    pub(super) sizes: Option<Vec<u32>>,
    pub(super) stage: &'a Stage,
    pub(super) extent: Extent,
    pub(super) edges: EdgeReader,
    /// Hears of the flow's steps.
    pub(super) said: &'a dyn Fn(Step),
    /// Most messages that the host lets this flow send.
    pub(super) most: u64,
    /// Times of a loop that has a schedule.
    pub(super) schedule: Option<ScheduleStats>,
    /// Account of a loop whose messages bear a number and a time.
    pub(super) one_way: Option<Account>,
    /// For [`SoFar`], left by a loop that reads numbers and times off messages.
    pub(super) way: Cell<Option<WaySoFar>>,
    /// Counts of the measured messages that came before the measured part: see [`Counts::first`].
    opening: Cell<Counts>,
    /// Reason for which the counts are no figure.
    pub(super) failure: Option<io::Error>,
    /// TCP's account when the measured part began.
    pub(super) tcp_at_start: Cell<Option<TcpInfo>>,
    /// Start of the measured part.
    began: Cell<Option<Nanos>>,
    /// True when it has ended.
    measured: Cell<bool>,
    /// Messages sent in the parts before.
    handed_over: Cell<u64>,
    /// Counts since the first message: the edges of a woven trial have them.
    moved: Cell<Counts>,
    /// True when the host's limit ended a part.
    limited: Cell<bool>,
}

/// Messages that a loop may still send when it is started again within its part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Counts of this part so far.
    pub(super) so_far: Counts,
    /// Messages that may still be sent, by the host's limit.
    pub(super) may_send: u64,
    /// Time that the thread waited for its turn in a woven trial, right before.
    pub(super) paused: Nanos,
}

impl Allowance {
    /// Messages of a part of `limit` that are left and may be sent.
    pub(super) fn at_most(&self, limit: u64) -> u64 {
        limit.saturating_sub(self.so_far.messages).min(self.may_send)
    }

    /// The same, where messages are requests whose answers may be outstanding.
    pub(super) fn requests(&self, limit: u64) -> u64 {
        limit.saturating_sub(self.so_far.sent).min(self.may_send)
    }
}

impl<'a> Trial<'a> {
    pub(super) fn new(task: &'a Task, listener: Option<OwnedFd>, stage: &'a Stage, edges: EdgeReader, said: &'a dyn Fn(Step)) -> Self {
        Self {
            task,
            listener,
            sizes: None,
            stage,
            extent: Extent::for_task(task),
            edges,
            said,
            most: most(task),
            schedule: None,
            one_way: None,
            way: Cell::new(None),
            opening: Cell::new(Counts::default()),
            failure: None,
            tcp_at_start: Cell::new(None),
            began: Cell::new(None),
            measured: Cell::new(false),
            handed_over: Cell::new(0),
            moved: Cell::new(Counts::default()),
            limited: Cell::new(false),
        }
    }

    /// Runs a loop to the end of its part. Whenever it comes back because the
    /// main thread asks how far it has come, that is told, and it is run once more.
    pub(super) fn to_the_end<A: Api + ?Sized>(&self, api: &mut A, mut run: impl FnMut(&mut A, Allowance) -> Counts) -> Counts {
        let (mut so_far, mut paused) = (Counts::default(), Nanos::default());
        loop {
            let may_send = self.most.saturating_sub(self.handed_over.get());
            let mut counts = run(api, Allowance { so_far, may_send, paused: std::mem::take(&mut paused) });
            flush(api, &mut counts);
            so_far = sum(so_far, counts);
            self.handed_over.set(self.handed_over.get() + counts.sent);
            self.moved.set(sum(self.moved.get(), counts));
            if self.began.get().is_some()
                && let Some(pause) = self.stage.answer_mark(&self.edges, || self.moved.get())
            {
                paused = pause;
                continue;
            }
            if !self.stage.asked() {
                self.limited.set(self.limited.get() || (counts.sent >= may_send && self.is_early()));
                break;
            }
            match self.measured.get() {
                // What it counted last stands.
                true => self.stage.answer_as_before(),
                false => self.tell(api.socket(), &so_far),
            }
        }
        if self.task.progress.is_some() && self.began.get().is_some() && !self.measured.replace(true) {
            // A flow that has counted out its messages is not asked any more.
            self.tell(api.socket(), &so_far);
        }
        so_far
    }

    /// Messages of the warm-up after which the flow is said to move. A trial of a number of
    /// messages needs no word of it.
    pub(super) const fn least_warmup(&self) -> u64 {
        if self.extent.is_counted() { 0 } else { 1 }
    }

    /// Takes what came first, before which there is nothing to time: counts of the warm-up, and of the
    /// measured part, in which it is where there is no warm-up.
    pub(super) fn take_first(&self, came: Counts) -> (Counts, Counts) {
        self.flows(&came);
        self.moved.set(sum(self.moved.get(), came));
        if !self.extent.is_counted() || self.extent.warmup > 0 {
            return (came, Counts::default());
        }
        self.opening.set(came);
        (Counts::default(), came)
    }

    /// Counts of the measured messages that came before the measured part.
    pub(super) const fn opening(&self) -> Counts {
        self.opening.get()
    }

    /// Says that the flow moves, where these are counts of its first message: both ends measure
    /// once every flow does.
    pub(super) fn flows(&self, counts: &Counts) {
        if !self.extent.is_counted() && counts.sent + counts.received > 0 {
            (self.said)(Step::Flowing);
        }
    }

    /// Returns whether what comes first is still awaited: in a trial of a number of messages
    /// until no more can come, or else until the measured part begins.
    pub(super) fn awaits_first(&self) -> bool {
        match self.extent.is_counted() {
            true => !self.stage.is(Part::Drain),
            false => self.stage.is(Part::Warmup),
        }
    }

    /// Returns whether there is still time to send in. A trial of a number of messages
    /// that is not allowed is not begun.
    fn is_early(&self) -> bool {
        !self.extent.is_counted() && [Part::Opening, Part::Warmup, Part::Measure].into_iter().any(|part| self.stage.is(part))
    }

    fn tell(&self, socket: &OwnedFd, so_far: &Counts) {
        let began = self.began.get();
        let mut counts = if began.is_some() { *so_far } else { Counts::default() };
        super::count_stream_messages(self.task, &mut counts);
        // Before the measured part there is nothing to tell of it.
        let way = self.way.get().filter(|_| began.is_some());
        self.stage.answer(SoFar { began, counts, tcp: self.tcp_account(socket), way });
    }

    /// TCP's account of the flow; of `TCP_CRR` there is none, as no connection lasts.
    pub(super) fn tcp_account(&self, socket: &OwnedFd) -> Option<TcpInfo> {
        let lasts = self.task.cell.protocol() == Protocol::Tcp && self.task.cell.test != Test::TcpCrr;
        if lasts { tcp_info::read(socket) } else { None }
    }

    /// The edge at which the measured part begins.
    pub(super) fn start(&self, socket: &OwnedFd) -> Edge {
        self.tcp_at_start.set(self.tcp_account(socket));
        let edge = self.edges.start();
        self.began.set(Some(edge.time()));
        edge
    }

    /// Returns whether the host's limit ended the sending before its time.
    pub(super) fn was_limited(&self) -> bool {
        self.limited.get()
    }
}

/// Most messages that the host lets each flow of this end send.
fn most(task: &Task) -> u64 {
    if task.cell.test.is_stream() && task.role == Role::Receiver {
        return u64::MAX;
    }
    let a_message = task.cell.size.get().saturating_mul(u64::from(task.cell.flows)).max(1);
    task.limits.bytes.map_or(u64::MAX, |bytes| bytes.get() / a_message)
}
