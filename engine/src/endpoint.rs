//! The process that sends or receives in one trial.

use std::fs;
use std::io::{self, PipeReader, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::control::{CONTROL_VERSION, FromEndpoint, Task, ToEndpoint};
use model::end::{CpuTime, EndReport, SocketOption};
use model::{Bytes, Nanos};
use nix::poll::{PollFd, PollFlags};
use nix::sched::{CloneFlags, CpuSet, sched_getaffinity, sched_setaffinity, unshare};
use nix::unistd::Pid;

use crate::channel::{self, ChannelError, Receiver};
use crate::socket::{self, SocketError};
use crate::stage::Stage;
use crate::timekeeper;
use crate::traffic::{self, Extent, Traffic};
use crate::wake;

/// A trial that failed at this end.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The host cannot be heard or told any more.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A step with the socket failed.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The traffic thread could not do its work.
    #[error("traffic: {0}")]
    Traffic(#[from] io::Error),
    /// The host asked for something out of turn.
    #[error("expected {expected}, got another message")]
    OutOfTurn {
        /// What should have come.
        expected: &'static str,
    },
}

/// Longer than any loop takes to end once it has been told to.
const TRAFFIC_END_LIMIT: Duration = Duration::from_secs(60);

/// Whose the open files of the process are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// The endpoint's alone: its traffic thread takes a table of its own.
    Own,
    /// Others use them, too: the table stays as it is.
    Shared,
}

type Output<W> = Arc<Mutex<W>>;

/// Serves one trial over a pair of streams.
///
/// # Errors
/// The loss of the host. Failures of the trial itself are reported to it.
pub fn run<R, W>(input: R, output: W, files: Files) -> Result<(), ChannelError>
where
    R: Read + AsFd,
    W: Write + Send + 'static,
{
    let output = Arc::new(Mutex::new(output));
    let mut control = Receiver::new(input);
    tell(&output, &FromEndpoint::Hello { version: CONTROL_VERSION })?;
    match serve(&mut control, &output, files) {
        Ok(report) => tell(&output, &FromEndpoint::Done(Box::new(report))),
        Err(EndpointError::Channel(error)) => Err(error),
        Err(error) => tell(&output, &FromEndpoint::Failed { error: error.to_string() }),
    }
}

fn serve<R, W>(control: &mut Receiver<ToEndpoint, R>, output: &Output<W>, files: Files) -> Result<EndReport, EndpointError>
where
    R: Read + AsFd,
    W: Write + Send + 'static,
{
    let mut task = receive_task(control)?;
    let (free, not_bound) = bind_to_cpu(task.cpu);
    if not_bound.is_some() {
        // It may run anywhere: no CPU's kernel thread or interrupts are its own.
        (task.cpu, task.ksoftirqd) = (None, None);
    }
    let task = Arc::new(task);
    let opened = socket::open(&task)?;
    tell(output, &FromEndpoint::Ready { address: socket::address(&opened)?, not_bound })?;
    let peer = receive_peer(control)?;
    let joined = socket::join(opened, &task, peer, control)?;
    let options = socket::options(&joined, &task);
    tell(output, &FromEndpoint::Connected)?;
    receive_go(control)?;
    let stage = Arc::new(Stage::starting_in(Extent::of(&task).warmup_part));
    let (thread, over) = start_traffic(&task, joined, &stage, output, files)?;
    free_main_thread(free);
    let irq = timekeeper::keep(&task, &stage, &thread, control)?;
    control.wait_for(PollFd::new(over.as_fd(), PollFlags::POLLIN), TRAFFIC_END_LIMIT)?;
    let traffic = thread.join().map_err(|_| io::Error::other("the traffic thread panicked"))??;
    Ok(report(&task, traffic, irq, options))
}

/// Starts the traffic thread. The pipe ends when it does, however it does.
///
/// The thread takes a table of open files of its own, where the system allows
/// it: in a table that threads share, the kernel counts references to the
/// socket at each call, which a program of one thread does not pay (a receiver
/// of small datagrams: 3 %).
fn start_traffic<W: Write + Send + 'static>(
    task: &Arc<Task>,
    socket: OwnedFd,
    stage: &Arc<Stage>,
    output: &Output<W>,
    files: Files,
) -> io::Result<(JoinHandle<io::Result<Traffic>>, PipeReader)> {
    let (over, held) = io::pipe()?;
    let (task, stage, output) = (Arc::clone(task), Arc::clone(stage), Arc::clone(output));
    wake::prepare()?;
    let (own_table, has_own_table) = mpsc::channel();
    let moved = [socket.as_raw_fd(), held.as_raw_fd()];
    let thread = thread::Builder::new().name("traffic".to_owned()).stack_size(256 << 10).spawn(move || {
        let _held = held;
        let _ = own_table.send(files == Files::Own && unshare(CloneFlags::CLONE_FILES).is_ok());
        traffic::run(&task, socket, &stage, &mut |total| {
            let sent = FromEndpoint::Sent { messages: total.messages, bytes: total.bytes };
            // A host that cannot be told is noticed by the main thread.
            let _ = tell(&output, &sent);
        })
    })?;
    if has_own_table.recv() == Ok(true) {
        for number in moved {
            // SAFETY: the thread owns these files in its own table; in this one nothing
            // owns their numbers any more, and nothing was opened since they were moved.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
    Ok((thread, over))
}

fn report(task: &Task, traffic: Traffic, irq: Option<Nanos>, options: Vec<SocketOption>) -> EndReport {
    EndReport {
        role: task.role,
        cpu: task.cpu,
        window: traffic.between.window,
        flow: traffic.flow,
        counts: traffic.counts,
        total: traffic.total,
        cpu_time: CpuTime { process: traffic.between.process_cpu, irq, kernel_threads: traffic.between.ksoftirqd },
        switches: traffic.between.switches,
        run_delay: traffic.between.run_delay,
        options: socket::with_end(options, traffic.options),
        tcp: traffic.tcp,
        latency: traffic.latency,
        max_resident: max_resident(),
    }
}

fn tell<W: Write>(output: &Output<W>, message: &FromEndpoint) -> Result<(), ChannelError> {
    channel::send(&mut *output.lock().unwrap_or_else(PoisonError::into_inner), message)
}

fn receive_task<R: Read + AsFd>(control: &mut Receiver<ToEndpoint, R>) -> Result<Task, EndpointError> {
    match control.receive()? {
        ToEndpoint::Prepare(task) => Ok(*task),
        _ => Err(EndpointError::OutOfTurn { expected: "prepare" }),
    }
}

fn receive_peer<R: Read + AsFd>(control: &mut Receiver<ToEndpoint, R>) -> Result<SocketAddr, EndpointError> {
    match control.receive()? {
        ToEndpoint::Connect { peer } => Ok(peer),
        _ => Err(EndpointError::OutOfTurn { expected: "connect" }),
    }
}

fn receive_go<R: Read + AsFd>(control: &mut Receiver<ToEndpoint, R>) -> Result<(), EndpointError> {
    match control.receive()? {
        ToEndpoint::Go => Ok(()),
        _ => Err(EndpointError::OutOfTurn { expected: "go" }),
    }
}

/// Binds this thread, and the traffic thread that it will start, to a CPU.
/// Returns the CPUs it had, and why it could not be bound.
fn bind_to_cpu(cpu: Option<u32>) -> (Option<CpuSet>, Option<String>) {
    let this = Pid::from_raw(0);
    let free = sched_getaffinity(this).ok();
    let Some(cpu) = cpu else { return (free, None) };
    let mut only = CpuSet::new();
    let bound = only.set(cpu as usize).and_then(|()| sched_setaffinity(this, &only));
    (free, bound.err().map(|errno| format!("sched_setaffinity to CPU {cpu}: {errno}")))
}

/// Lets the main thread run anywhere again, out of the traffic thread's way.
fn free_main_thread(free: Option<CpuSet>) {
    if let Some(free) = free {
        let _ = sched_setaffinity(Pid::from_raw(0), &free);
    }
}

/// Largest resident size of this process. `getrusage` would also count the
/// process that started it.
fn max_resident() -> Bytes {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    Bytes::new(kib.unwrap_or(0) << 10)
}
