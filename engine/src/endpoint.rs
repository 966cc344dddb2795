//! The process that sends or receives in one trial.

use std::fs::File;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::api::MOST_BATCH;
use model::control::{CONTROL_VERSION, FromEndpoint, Task, ToEndpoint};
use model::end::EndReport;
use model::plan::TrialEnd;
use model::{Bytes, Protocol};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::channel::{ChannelError, Output, Receiver, tell};
use crate::deadline::Deadline;
use crate::error::EndpointError;
use crate::external;
use crate::flow_threads::FlowThreads;
use crate::modes::Modes;
use crate::report::report;
use crate::scheduling;
use crate::socket;
use crate::timekeeper::Timekeeper;
use crate::traffic::nothing_came;
use crate::watch::{Watch, WatchedFlows};

pub use crate::flow_threads::Files;

/// Most flows of one endpoint: each is a thread.
const MOST_FLOWS: u32 = 1_024;
/// The largest message, and the largest read: each flow has memory for both.
const LARGEST: u64 = 1 << 30;
/// Most memory for the messages and reads of all flows: it is touched before
/// they start, and an agent that asks for more than there is takes others with it.
const MOST_MEMORY: u64 = 4 << 30;

/// Serves one trial over a pair of pipes, or the two directions of a socket.
///
/// Nothing here is generic over what its caller has: the loops of every api are compiled once,
/// in this crate.
///
/// # Errors
/// The loss of the host. Failures of the trial itself are reported to it.
pub fn run(input: File, output: File, files: Files) -> Result<(), ChannelError> {
    if files == Files::Own && !die_with_host() {
        return Err(ChannelError::Closed);
    }
    let output = Arc::new(Mutex::new(output));
    let mut control = Receiver::new(input);
    tell(&output, &FromEndpoint::Hello { version: CONTROL_VERSION })?;
    match serve(&mut control, &output, files) {
        Ok(report) => tell(&output, &FromEndpoint::Done(Box::new(report))),
        Err(EndpointError::Channel(error)) => Err(error),
        Err(error) => tell(&output, &FromEndpoint::Failed { error: error.to_string() }),
    }
}

/// Has the kernel end this process when the one that started it dies: one that
/// is killed may leave the pipes open in others. False when it has died already;
/// had it before this function began, its pipes would say so.
fn die_with_host() -> bool {
    let host = getppid();
    // Without it there are still the pipes.
    let _ = set_pdeathsig(Signal::SIGKILL);
    getppid() == host
}

fn serve(control: &mut Receiver<ToEndpoint>, output: &Output, files: Files) -> Result<EndReport, EndpointError> {
    let mut task = receive_task(control)?;
    let deadline = Deadline::starting_now(task.limits.time);
    check(&task)?;
    if let Some(longest) = task.limits.time {
        scheduling::end_after(longest);
    }
    let (free, not_bound) = scheduling::bind_to_first(&task.cpus);
    if not_bound.is_some() {
        // It may run anywhere: no CPU's kernel thread or interrupts are its own.
        (task.cpus, task.ksoftirqd) = (Vec::new(), Vec::new());
    }
    if let Some(command) = task.program {
        return external::serve(command, &task, external::Place { free, not_bound }, control, output, &deadline);
    }
    let opened = socket::open(&task)?;
    tell(output, &FromEndpoint::Ready { addresses: socket::addresses(&opened, &task)?, not_bound, program: None })?;
    let peers = match receive_before(control, &deadline)? {
        ToEndpoint::Connect { peers } => peers,
        _ => return Err(EndpointError::OutOfTurn { expected: "connect" }),
    };
    let flows = socket::join(opened, &task, &peers, control, &deadline)?;
    let options = flows.first().map(|flow| socket::options(&flow.socket, &task)).unwrap_or_default();
    let addresses = socket::addresses_of_flows(&flows, &task);
    tell(output, &FromEndpoint::Connected { addresses: addresses.clone() })?;
    match socket::greet(&flows, &task, control, &deadline)? {
        ToEndpoint::Go => socket::forget_greetings(&flows, &task),
        _ => return Err(EndpointError::OutOfTurn { expected: "go" }),
    }
    let watched = WatchedFlows::for_flows(&task, &flows);
    let begun = Modes::of_process();
    let mut threads = FlowThreads::start(&task, flows, output, files)?;
    scheduling::free_main_thread(free);
    // After that: it is not to run where the traffic does.
    let watch = watched.and_then(WatchedFlows::start);
    // The last to be set: what this thread starts is not to have it.
    scheduling::come_first();
    threads.release();
    let led = Timekeeper { task: &task, threads: &mut threads, control, output, deadline: &deadline }.keep();
    let seen = watch.and_then(Watch::end);
    let announced = threads.announced(task.role);
    let modes = begun.zip(Modes::of_process());
    let mut report = report(&task, threads.into_traffic(), led?, options, seen);
    report.addresses = addresses;
    report.user_cpu = modes.and_then(|(begun, over)| over.since(begun).user_part(report.cpu_time.process));
    match nothing_came(&task, announced, &report.counts, &report.total) {
        Some(failure) => Err(failure.into()),
        None => Ok(report),
    }
}

/// Holds a task to what an endpoint can do and its host allows, before anything
/// is opened for it.
fn check(task: &Task) -> Result<(), EndpointError> {
    let cell = &task.cell;
    let refuse = |reason: String| Err(EndpointError::Task(reason));
    if !(1..=MOST_FLOWS).contains(&cell.flows) {
        return refuse(format!("{} flows; an endpoint has 1 to {MOST_FLOWS}", cell.flows));
    }
    let hosts = [model::Role::Sender, model::Role::Receiver].map(|role| cell.hosts(role));
    let named = if cell.hosts(task.role) > 1 { cell.hosts(task.role) as usize } else { 0 };
    if hosts.iter().any(|hosts| !(1..=cell.flows).contains(hosts)) || task.hosts.len() != named {
        return refuse("flows over other hosts than those that were named (a fault of the controller)".to_owned());
    }
    if task.woven.is_some() && matches!(task.end, TrialEnd::Messages(_)) {
        return refuse("a woven trial of a number of messages; measure it in turn".to_owned());
    }
    if cell.bidirectional && !cell.test.is_stream() {
        return refuse(format!("{} in both ways; only streams can be bidirectional", cell.test));
    }
    if task.program.is_some() != cell.external(task.role).is_some() {
        return refuse("a program for an end that is none of a user's, or none for one that is (a fault of the controller)".to_owned());
    }
    if task.injection.is_some_and(|injection| !injection.is_bounded()) {
        return refuse("a known cost larger than a proof may put into a trial (a fault of the controller)".to_owned());
    }
    if let Some(mix) = &cell.mix {
        mix.check().map_err(|error| EndpointError::Task(error.to_string()))?;
        if !cell.test.is_stream() || cell.api.packs() || cell.rate.is_some() || cell.stamp || matches!(task.end, TrialEnd::Messages(_)) {
            return refuse("a mix of sizes, with what only messages of one size have; send it as a plain stream for some time".to_owned());
        }
    }
    if !cell.api.carries(cell.test) {
        return refuse(format!("{} over {}, which does not carry it", cell.test, cell.api));
    }
    cell.check_receive().map_err(|error| EndpointError::Task(error.to_string()))?;
    if cell.stamp && cell.api.lends() {
        return refuse(format!("messages that bear a number over {}, which lends its memory to the kernel", cell.api));
    }
    if !(1..=MOST_BATCH).contains(&cell.batch) || (cell.batch > 1 && cell.batches().is_none()) {
        return refuse(format!(
            "{} in batches of {} over {}; batches are of streams and have 1 to {MOST_BATCH} messages",
            cell.test, cell.batch, cell.api
        ));
    }
    let fits = |size: Bytes| (1..=LARGEST).contains(&size.get());
    if !fits(cell.size) || !fits(cell.read_size) {
        return refuse(format!("messages of {} and reads of {}; either has 1 B to {}", cell.size, cell.read_size, Bytes::new(LARGEST)));
    }
    // Messages of a batch that bear a number have a place each, and so have its datagrams.
    let places = |apart: bool, size: Bytes| size.get().saturating_mul(if apart { cell.batch.into() } else { 1 });
    let of_a_flow = places(cell.stamp, cell.largest()).saturating_add(places(cell.protocol() == Protocol::Udp, cell.read_size));
    let memory = of_a_flow.saturating_mul(socket::flows_of(task).into());
    if memory > MOST_MEMORY {
        let (memory, most) = (Bytes::new(memory), Bytes::new(MOST_MEMORY));
        return refuse(format!(
            "{} flows with a message of {} and a read of {} each would take {memory} of memory, and an endpoint takes at most {most}; \
             take fewer flows, or smaller messages",
            socket::flows_of(task),
            cell.size,
            cell.read_size
        ));
    }
    if let (TrialEnd::Messages(messages), Some(limit)) = (task.end, task.limits.bytes)
        && sends(task)
    {
        let all = TrialEnd::warmup_messages(messages, task.warmup).saturating_add(messages);
        let bytes = Bytes::new(all.saturating_mul(cell.size.get()).saturating_mul(cell.flows.into()));
        if bytes > limit {
            return refuse(format!("it would send {bytes}, and its host lets one trial send {limit}; raise the limit there"));
        }
    }
    Ok(())
}

/// Returns whether this end sends messages of the cell's size.
fn sends(task: &Task) -> bool {
    task.role == model::Role::Sender || task.cell.bidirectional || !task.cell.test.is_stream()
}

fn receive_task(control: &mut Receiver<ToEndpoint>) -> Result<Task, EndpointError> {
    match control.receive()? {
        ToEndpoint::Prepare(task) => Ok(*task),
        _ => Err(EndpointError::OutOfTurn { expected: "prepare" }),
    }
}

fn receive_before(control: &mut Receiver<ToEndpoint>, deadline: &Deadline) -> Result<ToEndpoint, EndpointError> {
    while !control.wait(deadline.at_most(Duration::from_secs(3_600)))? {
        deadline.check()?;
    }
    Ok(control.receive()?)
}
