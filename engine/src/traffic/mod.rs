//! The loops that send, receive, ask and answer.

mod answer;
mod ask;
mod extent;
mod receive;
mod send;
mod trouble;
mod whole;

use std::io;
use std::os::fd::OwnedFd;

use model::control::Task;
use std::time::Duration;

use model::end::{Counts, SocketOption, TcpInfo, Window};
use model::{Protocol, Role};

use crate::api::{Api, Buffer, with_api};
use crate::edge::{Between, EdgeReader};
use crate::recorder::Recorder;
use crate::stage::Stage;
use crate::{socket, tcp_info};

pub use extent::Extent;
pub use send::send_until;

/// How long an end waits for the other's last word, once it has all of its own.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// What a traffic thread brings home.
#[derive(Debug)]
pub struct Traffic {
    /// What lies between the edges of the measured part.
    pub between: Between,
    /// From a sender's first message to its last.
    pub flow: Option<Window>,
    /// Counts within it.
    pub counts: Counts,
    /// Counts over the whole trial.
    pub total: Counts,
    /// Round-trip times.
    pub latency: Option<String>,
    /// TCP's own account at the end.
    pub tcp: Option<TcpInfo>,
    /// The socket's options at the end.
    pub options: Vec<SocketOption>,
}

/// What a loop needs to know of its trial.
struct Trial<'a> {
    task: &'a Task,
    stage: &'a Stage,
    extent: Extent,
    edges: EdgeReader,
    /// Called once by the sender, after its last message.
    sent: &'a mut dyn FnMut(&Counts),
}

/// What a loop has done.
struct Done {
    between: Between,
    flow: Option<Window>,
    counts: Counts,
    total: Counts,
}

/// Runs the loop of a task to its end, on the calling thread.
///
/// `sent` is called when a sender has sent its last message.
///
/// # Errors
/// What keeps the api from working here.
pub fn run(task: &Task, socket: OwnedFd, stage: &Stage, sent: &mut dyn FnMut(&Counts)) -> io::Result<Traffic> {
    with_api!(task.cell.api, A => run_over(A::open(socket, message(task), room(task))?, task, stage, sent))
}

fn run_over<A: Api>(mut api: A, task: &Task, stage: &Stage, sent: &mut dyn FnMut(&Counts)) -> io::Result<Traffic> {
    let edges = EdgeReader::of_this_thread(task.ksoftirqd);
    let mut trial = Trial { task, stage, extent: Extent::of(task), edges, sent };
    let mut recorder = Recorder::new();
    let Done { between, flow, mut counts, mut total } = match (task.cell.test.is_stream(), task.role) {
        (true, Role::Sender) => send::run(&mut api, &mut trial),
        (true, Role::Receiver) => receive::run(&mut api, &mut trial),
        (false, Role::Sender) => ask::run(&mut api, &mut trial, &mut recorder),
        (false, Role::Receiver) => answer::run(&mut api, &mut trial),
    };
    count_stream_messages(task, &mut counts);
    count_stream_messages(task, &mut total);
    let tcp = tcp_info::read(api.socket()).filter(|_| task.cell.protocol() == Protocol::Tcp);
    let options = socket::options(api.socket(), task);
    Ok(Traffic { between, flow, counts, total, latency: recorder.encode(), tcp, options })
}

/// A TCP stream has no messages: a receiver's are its bytes over their size.
fn count_stream_messages(task: &Task, counts: &mut Counts) {
    if task.cell.test.is_stream() && task.cell.protocol() == Protocol::Tcp && task.role == Role::Receiver {
        counts.messages = counts.bytes / task.cell.size.get();
        counts.received = counts.messages;
    }
}

/// The message. Not zeros: pages of zeros could all be one page, always cached.
fn message(task: &Task) -> Buffer {
    Buffer::filled(task.cell.size.as_len(), |place| (place % 251) as u8 | 1)
}

/// Room for what is received.
fn room(task: &Task) -> Buffer {
    Buffer::filled(task.cell.read_size.as_len(), |_| 1)
}

/// The sum of the counts of two parts of a trial.
fn sum(a: Counts, b: Counts) -> Counts {
    Counts {
        calls: a.calls + b.calls,
        messages: a.messages + b.messages,
        bytes: a.bytes + b.bytes,
        sent: a.sent + b.sent,
        received: a.received + b.received,
        short: a.short + b.short,
        errors: a.errors + b.errors,
        last_errno: b.last_errno.or(a.last_errno),
        lost: a.lost + b.lost,
        late: a.late + b.late,
    }
}
