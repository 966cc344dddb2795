//! The loops that send, receive, ask and answer.

mod answer;
mod ask;
mod batch;
mod crr;
mod fault;
pub mod foreign;
mod mix;
mod open;
mod receive;
mod receive_stamped;
mod schedule_stats;
mod send;
mod stamp;
mod trial;
mod trouble;
mod whole;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::control::Task;
use model::end::{Counts, SocketOption, TcpInfo, Window};
use model::{Nanos, Protocol, Role, Test};
use socket2::SockRef;

use crate::api::{self, Api, Place, Wait, With, WithApi, Work};
use crate::counts::sum;
use crate::edge::{EdgeReader, Usage};
use crate::recorder::Recorder;
use crate::socket;
pub use crate::socket::Joined;
use crate::stage::Stage;

pub use batch::{Batches, Fill, Same};
pub use fault::nothing_came;
pub use mix::{Sequence, send_mix_until};
pub use schedule_stats::ScheduleStats;
pub use send::send_until;
pub use stamp::Account;
pub use trial::Extent;
use trial::{Allowance, Trial};

/// Time that an end waits for the other's last word, once it has all of its own.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// The same, where nothing has come so far.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// Interval at which an end that spins looks whether the trial goes on.
const LOOK: Nanos = Nanos::from_millis(1);

/// Results of a traffic thread.
#[derive(Debug)]
pub struct Traffic {
    /// The thread that it ran in.
    pub thread: u32,
    /// Times and counts between the edges of the measured part.
    pub usage: Usage,
    /// From a sender's first message to its last.
    pub flow: Option<Window>,
    /// Counts within it.
    pub counts: Counts,
    /// Counts over the whole trial.
    pub total: Counts,
    /// Round-trip times.
    pub latency: Option<Recorder>,
    /// Times of a sender with a schedule.
    pub schedule: Option<ScheduleStats>,
    /// Account of a receiver whose messages bear a number and a time.
    pub one_way: Option<Account>,
    /// TCP's own account at the end; of `TCP_CRR` there is none, as no
    /// connection lasts.
    pub tcp: Option<TcpInfo>,
    /// The same when the measured part began.
    pub tcp_at_start: Option<TcpInfo>,
    /// Messages that its api dropped, by the names of the api's counters.
    pub drops: Vec<(&'static str, u64)>,
    /// The socket's options at the end.
    pub options: Vec<SocketOption>,
}

/// Results of a loop.
struct Done {
    usage: Usage,
    flow: Option<Window>,
    counts: Counts,
    total: Counts,
}

/// Runs the loop of a task to its end, on the calling thread.
///
/// `sent` is called when a sender has sent its last message.
///
/// # Errors
/// A refusal of the system that keeps the api from working here.
pub fn run(task: &Task, flow: impl Into<Joined>, stage: &Stage, sent: &mut dyn FnMut(&Counts)) -> io::Result<Traffic> {
    let Joined { socket, listener, sizes } = flow.into();
    api::open(task.cell.api, Place { task, socket, patience: socket::longest_wait(task) }, AsAsked { listener, sizes, task, stage, sent })
}

/// The loop of a task. What a cell does not ask for costs it nothing: what it
/// asks for stands around the api.
struct AsAsked<'a> {
    listener: Option<OwnedFd>,
    sizes: Option<Vec<u32>>,
    task: &'a Task,
    stage: &'a Stage,
    sent: &'a mut dyn FnMut(&Counts),
}

impl WithApi for AsAsked<'_> {
    type Output = Traffic;

    fn run<A: Api>(self, api: A) -> io::Result<Traffic> {
        let (cell, look) = (&self.task.cell, longest_look(self.task));
        let wait = Wait::new(cell.waiting, api.waits_on(), look, socket::longest_wait(self.task))?;
        match (wait, cell.work.get() > 0) {
            (None, false) => run_over(api, self),
            (None, true) => run_over(With::new(Work(cell.work), api), self),
            (Some(wait), false) => run_over(With::new(wait, api), self),
            (Some(wait), true) => run_over(With::new(Work(cell.work), With::new(wait, api)), self),
        }
    }
}

/// Time that an end that spins asks before it looks whether the trial goes on. To
/// a requester of datagrams nothing for so long means that the answer is lost.
fn longest_look(task: &Task) -> Nanos {
    match (task.cell.test, task.role) {
        (Test::UdpRr, Role::Sender) => task.answer_limit,
        _ => LOOK,
    }
}

fn run_over<A: Api>(mut api: A, asked: AsAsked) -> io::Result<Traffic> {
    let AsAsked { listener, sizes, task, stage, sent } = asked;
    if let Some(largest) = api.largest().filter(|largest| *largest < task.cell.largest().as_len()) {
        let (size, api) = (task.cell.largest(), task.cell.api);
        return Err(io::Error::other(format!("{api} carries messages of at most {largest} B here, and these have {size}")));
    }
    let mut trial = Trial::new(task, listener, stage, EdgeReader::of_this_thread(&task.ksoftirqd), sent);
    trial.sizes = sizes;
    // What the other end has not taken when this trial fails, or its process is
    // killed, is not to be sent again for minutes by a socket that nobody has.
    linger(&api, Some(Duration::ZERO));
    let mut recorder = Recorder::new();
    let done = run_loop(&mut api, &mut trial, &mut recorder);
    if done.is_err() && task.role == Role::Sender {
        // The other end is not to wait for more.
        (trial.sent)(&Counts::default());
    }
    let done = done.and_then(|done| failure_of(&mut trial, &done.total).map_or(Ok(done), Err));
    let Done { usage, flow, mut counts, mut total } = done?;
    count_stream_messages(task, &mut counts);
    count_stream_messages(task, &mut total);
    let (tcp, tcp_at_start) = (trial.tcp_account(&api), trial.tcp_at_start.get());
    let (schedule, one_way) = (trial.schedule, trial.one_way);
    let options = socket::options(api.socket(), task);
    let drops = api.drops();
    linger(&api, None);
    let thread = nix::unistd::gettid().as_raw().cast_unsigned();
    Ok(Traffic { thread, usage, flow, counts, total, latency: Some(recorder), schedule, one_way, tcp, tcp_at_start, drops, options })
}

/// Sets the time that the kernel keeps what is unsent when the socket is closed; zero
/// resets the connection. A socket that refuses it keeps the usual way.
fn linger<A: Api>(api: &A, time: Option<Duration>) {
    let _ = SockRef::from(api.socket()).set_linger(time);
}

/// Reason for which the counts are no figure.
fn failure_of(trial: &mut Trial, total: &Counts) -> Option<io::Error> {
    if trial.was_limited() {
        return Some(limit_reached(trial.task));
    }
    trial.failure.take().or_else(|| nothing_came(trial.task, trial.stage.announced(), total, total))
}

/// The loop of a task. What a cell does not ask for costs it nothing: it has
/// loops of its own.
fn run_loop<A: Api>(api: &mut A, trial: &mut Trial, recorder: &mut Recorder) -> io::Result<Done> {
    let cell = &trial.task.cell;
    if cell.stamp {
        stamp::has_room(cell)?;
    }
    Ok(match (cell.test, trial.task.role) {
        (Test::TcpCrr, Role::Sender) => crr::ask::run(api, trial, recorder)?,
        (Test::TcpCrr, Role::Receiver) => crr::serve::run(api, trial)?,
        (Test::TcpRr | Test::UdpRr, Role::Sender) => match cell.rate {
            Some(_) => open::ask::run(api, trial, recorder)?,
            None => ask::run(api, trial, recorder),
        },
        (Test::TcpRr | Test::UdpRr, Role::Receiver) => answer::run(api, trial),
        (_, Role::Sender) if api.batch().is_some() => batch::run(api, trial)?,
        (_, Role::Sender) if cell.rate.is_some() || cell.stamp => open::send::run(api, trial)?,
        (_, Role::Receiver) if cell.stamp => receive_stamped::run(api, trial),
        (_, Role::Sender) => match &cell.mix {
            Some(mix) => mix::run(api, trial, mix),
            None => send::run(api, trial),
        },
        (_, Role::Receiver) => receive::run(api, trial),
    })
}

fn limit_reached(task: &Task) -> io::Error {
    let limit = task.limits.bytes.unwrap_or_default();
    let remedy = "shorten the trial, offer a rate, or raise the limit there";
    io::Error::other(format!("this end reached the limit of {limit} that its host lets one trial send; {remedy}"))
}

/// A TCP stream has no messages: a receiver's are its bytes over their size, of
/// a mix over the mean one. What a sender of a mix counted says it better: see
/// `model::trial::Measured::count_by_sender`.
fn count_stream_messages(task: &Task, counts: &mut Counts) {
    if task.cell.test.is_stream() && task.cell.protocol() == Protocol::Tcp && task.role == Role::Receiver {
        counts.messages = counts.bytes / task.cell.size.get();
        counts.received = counts.messages;
    }
}
