//! The loops that send, receive, ask and answer.

mod answer;
mod ask;
mod batch;
mod crr;
mod fault;
pub mod foreign;
mod late;
mod mix;
mod open;
mod receive;
mod receive_stamped;
mod schedule_stats;
mod send;
mod stamp;
mod trial;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::control::Task;
use model::end::{Counts, Opening, SocketOption, TcpInfo, Window, ZeroCopy};
use model::{Nanos, Protocol, Role, Test, Waiting};
use socket2::SockRef;

pub use crate::api::send_until;
use crate::api::{self, Api, DRAIN_LIMIT, Halves, Place, Wait};
use crate::edge::{EdgeReader, Usage};
use crate::injection::{self, Copier};
use crate::recorder::Recorder;
use crate::socket;
pub use crate::socket::FlowEnd;
use crate::stage::Stage;
use model::counts::sum;

pub use batch::{Batches, Fill, Same};
pub use fault::nothing_came;
pub use mix::{Sequence, send_mix_until};
pub use schedule_stats::ScheduleStats;
pub use stamp::Account;
pub use trial::Extent;
use trial::{Allowance, Trial};

/// As [`DRAIN_LIMIT`], where nothing has come so far.
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
    /// Its sends from the program's own pages.
    pub zero_copy: Option<ZeroCopy>,
    /// The socket's options at the end.
    pub options: Vec<SocketOption>,
}

/// A step of a flow that others wait for.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// It has moved its first message, in a trial that ends after some time.
    Flowing,
    /// It sends, and has sent its last message: counts over the whole trial.
    Sent(&'a Counts),
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
/// `said` hears of its steps, each once.
///
/// # Errors
/// A refusal of the system that keeps the api from working here.
pub fn run(task: &Task, flow: FlowEnd, stage: &Stage, said: &dyn Fn(Step)) -> io::Result<Traffic> {
    let FlowEnd { socket, listener, passed, sizes } = flow;
    let place = Place::new(&task.cell, socket, socket::longest_wait(task)).with_passed(passed, task.role);
    let asked = AsAsked { listener, sizes, task, stage, said };
    let (cell, streams) = (&task.cell, task.cell.test.is_stream());
    if !streams && is_plain(task) && api::is_usual_pair(cell) {
        return run_over(api::open_usual_pair(place)?, asked, exchange);
    }
    let mut api = api::open(place, task.role)?;
    let wait = Wait::new(cell, api.waits_on(), longest_look(task), socket::longest_wait(task))?;
    api.set_habits(cell.work, Copier::of(task)?, wait);
    match (streams, task.role) {
        (true, Role::Sender) => run_over(api, asked, |api, trial, _| send_as_asked(api, trial)),
        (true, Role::Receiver) => run_over(api, asked, |api, trial, _| Ok(receive_as_asked(api, trial))),
        (false, _) => run_over(api, asked, exchange),
    }
}

/// Returns whether the calls of a task have nothing around them.
fn is_plain(task: &Task) -> bool {
    let waits_in_call = matches!(task.cell.waiting, Waiting::Block | Waiting::BusyPoll);
    waits_in_call && task.cell.work == Nanos::default() && !injection::copies(task)
}

/// A task and what its flow found.
struct AsAsked<'a> {
    listener: Option<OwnedFd>,
    sizes: Option<Vec<u32>>,
    task: &'a Task,
    stage: &'a Stage,
    said: &'a dyn Fn(Step),
}

fn send_as_asked(api: &mut Halves, trial: &mut Trial) -> io::Result<Done> {
    let cell = &trial.task.cell;
    Ok(match &cell.mix {
        _ if api.batch().is_some() => batch::run(api, trial)?,
        _ if cell.rate.is_some() || cell.stamp => open::send::run(api, trial)?,
        Some(mix) => mix::run(api, trial, mix),
        None => send::run(api, trial),
    })
}

fn receive_as_asked(api: &mut Halves, trial: &mut Trial) -> Done {
    if trial.task.cell.stamp { receive_stamped::run(api, trial) } else { receive::run(api, trial) }
}

fn exchange<A: Api>(api: &mut A, trial: &mut Trial, recorder: &mut Recorder) -> io::Result<Done> {
    let cell = &trial.task.cell;
    Ok(match (cell.test, trial.task.role) {
        (Test::TcpCrr, Role::Sender) => crr::ask::run(api, trial, recorder)?,
        (Test::TcpCrr, Role::Receiver) => crr::serve::run(api, trial)?,
        (_, Role::Sender) if cell.rate.is_some() => open::ask::run(api, trial, recorder)?,
        (_, Role::Sender) => ask::run(api, trial, recorder),
        (_, Role::Receiver) => answer::run(api, trial),
    })
}

/// Time that an end that spins asks before it looks whether the trial goes on. To
/// a requester of datagrams nothing for so long means that the answer is lost.
fn longest_look(task: &Task) -> Nanos {
    match (task.cell.test, task.role) {
        (Test::UdpRr, Role::Sender) => task.answer_limit,
        _ => LOOK,
    }
}

/// Runs a loop between what comes before and after all of them.
fn run_over<A: Api>(
    mut api: A,
    asked: AsAsked,
    run: impl FnOnce(&mut A, &mut Trial, &mut Recorder) -> io::Result<Done>,
) -> io::Result<Traffic> {
    let (mut trial, mut recorder) = begin(&api, asked)?;
    let done = run(&mut api, &mut trial, &mut recorder);
    end(&api, trial, recorder, done)
}

fn begin<'a>(api: &dyn Api, asked: AsAsked<'a>) -> io::Result<(Trial<'a>, Recorder)> {
    let AsAsked { listener, sizes, task, stage, said } = asked;
    if task.cell.stamp {
        stamp::has_room(&task.cell)?;
    }
    let mut trial = Trial::new(task, listener, stage, EdgeReader::of_this_thread(&task.ksoftirqd), said);
    trial.sizes = sizes;
    // What the other end has not taken when this trial fails, or its process is
    // killed, is not to be sent again for minutes by a socket that nobody has.
    linger(api, Some(Duration::ZERO));
    let recorder = Recorder::new();
    stage.wait_while_held();
    Ok((trial, recorder))
}

fn end(api: &dyn Api, mut trial: Trial, recorder: Recorder, done: io::Result<Done>) -> io::Result<Traffic> {
    let task = trial.task;
    if done.is_err() && task.role == Role::Sender {
        // The other end is not to wait for more.
        (trial.said)(Step::Sent(&Counts::default()));
    }
    let done = done.and_then(|done| failure_of(&mut trial, &done.total).map_or(Ok(done), Err));
    let Done { usage, flow, mut counts, mut total } = done?;
    let mut opening = trial.opening();
    [&mut counts, &mut total, &mut opening].into_iter().for_each(|counts| count_stream_messages(task, counts));
    counts.first = Opening { messages: opening.messages, bytes: opening.bytes };
    let (tcp, tcp_at_start) = (trial.tcp_account(api.socket()), trial.tcp_at_start.get());
    let (schedule, one_way) = (trial.schedule, trial.one_way);
    let options = socket::options(api.socket(), task);
    let (drops, zero_copy) = (api.drops(), api.zero_copy());
    if task.role == Role::Sender {
        let system_calls = api.system_calls();
        [&mut counts, &mut total].into_iter().for_each(|counts| counts.calls *= system_calls);
    }
    linger(api, None);
    let thread = nix::unistd::gettid().as_raw().cast_unsigned();
    Ok(Traffic {
        thread,
        usage,
        flow,
        counts,
        total,
        latency: Some(recorder),
        schedule,
        one_way,
        tcp,
        tcp_at_start,
        drops,
        zero_copy,
        options,
    })
}

/// Sets the time that the kernel keeps what is unsent when the socket is closed; zero
/// resets the connection. A socket that refuses it keeps the usual way.
fn linger(api: &dyn Api, time: Option<Duration>) {
    let _ = SockRef::from(api.socket()).set_linger(time);
}

/// Reason for which the counts are no figure.
fn failure_of(trial: &mut Trial, total: &Counts) -> Option<io::Error> {
    if trial.was_limited() {
        return Some(limit_reached(trial.task));
    }
    trial.failure.take().or_else(|| nothing_came(trial.task, trial.stage.announced(), total, total))
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
