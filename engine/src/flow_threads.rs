//! The traffic threads of an endpoint, one a flow.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use model::Role;
use model::control::{FromEndpoint, SentTotals, Task};
use model::end::Counts;
use nix::poll::{PollFd, PollFlags};
use nix::sched::{CloneFlags, unshare};
use nix::sys::pthread::pthread_kill;

use crate::api::Carrier;
use crate::channel::{Output, tell};
use crate::injection;
use crate::scheduling;
use crate::socket::{self, FlowEnd};
use crate::stage::{Part, SoFar, Stage};
use crate::traffic::{self, Extent, Step, Traffic};
use crate::wake::{self, WAKE_UP};
use crate::woven::Seat;

/// Enough for a loop and what it calls; the buffers are on the heap.
const STACK: usize = 256 << 10;

/// Ownership of the process's table of open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// The endpoint alone has it: its traffic threads take tables of their own.
    Own,
    /// Others use it as well: the table stays as it is.
    Shared,
}

/// All traffic threads.
#[derive(Debug)]
pub struct FlowThreads {
    flows: Vec<FlowThread>,
}

/// Hears of the steps of a flow.
type StepReport = Box<dyn Fn(Step) + Send>;

/// One traffic thread.
#[derive(Debug)]
struct FlowThread {
    /// The flow's part, which on the way back is the other one.
    role: Role,
    stage: Arc<Stage>,
    /// The part that it begins with.
    begin: Part,
    /// Ends when the thread does, however it does.
    over: PipeReader,
    thread: Option<JoinHandle<io::Result<Traffic>>>,
    traffic: Option<Traffic>,
}

/// Task of the thread of flow `number`: on the way back its role is the
/// other one.
fn task_of(task: &Task, number: usize) -> Task {
    let role = if number < task.cell.flows as usize { task.role } else { task.role.other() };
    let cpu = task.cpus.get(number % task.cpus.len().max(1)).copied();
    let woven = task.woven.map(|first| model::woven::Seat { number: first.number + number as u32, ..first });
    // Each flow has a seed of its own, and none of one role those of the other.
    Task { role, cpus: cpu.into_iter().collect(), seed: task.seed ^ number as u64, woven, ..task.clone() }
}

impl FlowThreads {
    /// Starts one thread for each flow; they wait for [`Self::release`]. The host hears when
    /// every flow has moved a message, and when all that send have sent their last.
    ///
    /// # Errors
    /// A refusal of the system, with its flow and a remedy. Those that have
    /// started then end.
    pub fn start(task: &Task, flows: Vec<FlowEnd>, output: &Output, files: Files) -> io::Result<Self> {
        wake::prepare().map_err(|answer| io::Error::other(format!("set the signal that wakes traffic threads (sigaction): {answer}")))?;
        let announcer = Arc::new(Announcer::for_task(task, output));
        let mut threads = Self { flows: Vec::with_capacity(flows.len()) };
        let mut flows = flows.into_iter();
        let mut number = 0;
        while let Some(flow) = flows.next() {
            let later: Vec<RawFd> = flows.as_slice().iter().flat_map(numbers).collect();
            let announcer = Arc::clone(&announcer);
            let place = number % task.cell.flows.max(1) as usize;
            let said = Box::new(move |step: Step| announcer.hear(place, step));
            match FlowThread::start(task_of(task, number), flow, later, said, files) {
                Ok(flow) => threads.flows.push(flow),
                Err(refused) => {
                    threads.announce(&SentTotals::default(), task.cell.flows);
                    threads.enter(|_| Part::Drain);
                    threads.wake();
                    return Err(refused.of_flow(number, socket::flows_of(task)));
                }
            }
            number += 1;
        }
        Ok(threads)
    }

    /// Puts every flow into the part that is its role's.
    pub fn enter(&self, part_of: impl Fn(Role) -> Part) {
        for flow in &self.flows {
            flow.stage.enter(part_of(flow.role));
        }
    }

    /// Lets messages flow, in all of them at once.
    pub fn release(&self) {
        for flow in &self.flows {
            flow.stage.enter(flow.begin);
        }
        self.wake();
    }

    /// Begins the warm-up of the flows that have not begun it.
    pub fn warm_up(&self) {
        self.flows.iter().for_each(|flow| flow.stage.warm_up());
    }

    /// Gets the threads out of the calls that they may be blocked in.
    pub fn wake(&self) {
        self.flows.iter().filter_map(|flow| flow.thread.as_ref()).for_each(wake_up);
    }

    /// The same for those that are asked and have not answered.
    pub fn wake_asked(&self) {
        self.flows.iter().filter(|flow| flow.stage.asked()).filter_map(|flow| flow.thread.as_ref()).for_each(wake_up);
    }

    /// Threads that run on each of as many CPUs.
    pub fn running_on_each_cpu(&self, cpus: usize) -> u32 {
        u32::try_from(self.running().count().div_ceil(cpus.max(1))).unwrap_or(u32::MAX)
    }

    /// Tells each flow how many messages the other end has sent on it.
    pub fn announce(&self, sent: &SentTotals, flows: u32) {
        for (number, flow) in self.flows.iter().enumerate() {
            let place = number % flows.max(1) as usize;
            flow.stage.announce(sent.messages.get(place).copied().unwrap_or(0));
        }
    }

    /// Number of messages that the other end says it sent to the flows of
    /// `role`; `None` before it did.
    pub fn announced(&self, role: Role) -> Option<u64> {
        self.flows.iter().filter(|flow| flow.role == role).map(|flow| flow.stage.announced()).sum()
    }

    /// Asks all that are in their measured part how far they have come.
    pub fn ask(&self) {
        for flow in &self.flows {
            flow.stage.ask();
        }
    }

    /// Returns whether one that still runs has not answered.
    pub fn asked(&self) -> bool {
        self.flows.iter().any(|flow| flow.thread.is_some() && flow.stage.asked())
    }

    /// Progress of each, with its role.
    pub fn so_far(&self) -> impl Iterator<Item = (Role, SoFar)> {
        self.flows.iter().map(|flow| (flow.role, flow.stage.so_far()))
    }

    /// Descriptors that are ready when a thread has ended; see [`Self::take_ended`].
    pub fn ends(&self) -> Vec<PollFd<'_>> {
        self.running().map(|flow| PollFd::new(flow.over.as_fd(), PollFlags::POLLIN)).collect()
    }

    /// Takes what those threads bring home whose [`Self::ends`] are `ready`.
    ///
    /// # Errors
    /// That of a thread.
    pub fn take_ended(&mut self, ready: &[usize]) -> io::Result<()> {
        let running = self.flows.iter_mut().filter(|flow| flow.thread.is_some());
        for (_, flow) in running.enumerate().filter(|(at, _)| ready.contains(at)) {
            if let Some(thread) = flow.thread.take() {
                flow.traffic = Some(thread.join().map_err(|_| io::Error::other("a traffic thread panicked"))??);
            }
        }
        Ok(())
    }

    /// Returns whether none runs any more.
    pub fn is_over(&self) -> bool {
        self.running().next().is_none()
    }

    /// Results of the threads, in the order of their flows.
    pub fn into_traffic(self) -> Vec<Traffic> {
        self.flows.into_iter().filter_map(|flow| flow.traffic).collect()
    }

    fn running(&self) -> impl Iterator<Item = &FlowThread> {
        self.flows.iter().filter(|flow| flow.thread.is_some())
    }
}

/// A resource that a flow could not be given.
#[derive(Debug)]
enum MissingResource {
    Pipe(io::Error),
    Thread(io::Error),
    Seat(io::Error),
}

impl MissingResource {
    fn of_flow(self, number: usize, flows: u32) -> io::Error {
        let (tried, answer, remedy) = match self {
            Self::Pipe(answer) => ("open the pipe that tells of the end", answer, "raise the limit on open files (ulimit -n)"),
            Self::Thread(answer) => (
                "start the thread",
                answer,
                "raise the limits on threads (ulimit -u, TasksMax= of the systemd unit) and memory (ulimit -v)",
            ),
            Self::Seat(answer) => ("open the board of the woven trial", answer, "measure arms in turn (a fault of the controller)"),
        };
        let number = number + 1;
        io::Error::new(answer.kind(), format!("{tried} of flow {number} of {flows}: {answer}; {remedy}, or run fewer flows"))
    }
}

impl FlowThread {
    /// The thread takes a table of open files of its own, where the system allows
    /// it: in a table that threads share, the kernel counts references to the
    /// socket at each call, which a program of one thread does not pay (a receiver
    /// of small datagrams: 3 %). `later` are files of flows whose threads come
    /// after this one: its table would keep their connections open.
    fn start(task: Task, flow: FlowEnd, later: Vec<RawFd>, said: StepReport, files: Files) -> Result<Self, MissingResource> {
        let (over, held) = io::pipe().map_err(MissingResource::Pipe)?;
        let seat = task.woven.map(Seat::open).transpose().map_err(MissingResource::Seat)?;
        let stage = Arc::new(seat.map_or_else(|| Stage::starting_in(Part::Held), Stage::at));
        let begin = Extent::first_part(&task);
        let (role, its_stage) = (task.role, Arc::clone(&stage));
        let (own_table, has_own_table) = mpsc::channel();
        let moved: Vec<RawFd> = numbers(&flow).into_iter().chain([held.as_raw_fd()]).collect();
        let start = move || {
            let _held = held;
            let own = files == Files::Own && unshare(CloneFlags::CLONE_FILES).is_ok();
            if own {
                close_all(&later);
            }
            let _ = own_table.send(own);
            its_stage.take();
            scheduling::bind_to_cpu(task.cpus.first().copied());
            injection::filter_calls(&task)?;
            traffic::run(&task, flow, &its_stage, &*said)
        };
        let thread = thread::Builder::new().name("traffic".to_owned()).stack_size(STACK).spawn(start).map_err(MissingResource::Thread)?;
        if has_own_table.recv() == Ok(true) {
            close_all(&moved);
        }
        Ok(Self { role, stage, begin, over, thread: Some(thread), traffic: None })
    }
}

/// The files that a flow consists of.
fn numbers(flow: &FlowEnd) -> Vec<RawFd> {
    let passed = match &flow.passed {
        Some(Carrier::Descriptor(descriptor)) => Some(descriptor),
        // Those of frames go with the process: nobody waits for their end.
        _ => None,
    };
    std::iter::once(&flow.socket).chain(&flow.listener).chain(passed).map(AsRawFd::as_raw_fd).collect()
}

/// Closes files that another table has taken over.
fn close_all(numbers: &[RawFd]) {
    for number in numbers {
        // SAFETY: the owner of this file lives in another thread, which has a table of
        // files of its own; in this one nothing owns the number, and nothing was opened
        // since the tables parted.
        drop(unsafe { OwnedFd::from_raw_fd(*number) });
    }
}

/// Tells the host what holds of all flows: that each has moved a message, and that each that
/// sends has sent its last.
struct Announcer {
    output: Output,
    /// Flows that have moved nothing yet.
    idle: AtomicU32,
    so_far: Mutex<(u32, SentTotals)>,
}

impl Announcer {
    fn for_task(task: &Task, output: &Output) -> Self {
        let sent = SentTotals { messages: vec![0; task.cell.flows as usize], bytes: 0 };
        let idle = AtomicU32::new(socket::flows_of(task));
        Self { output: Arc::clone(output), idle, so_far: Mutex::new((task.cell.flows, sent)) }
    }

    fn hear(&self, place: usize, step: Step) {
        match step {
            Step::Flowing if self.idle.fetch_sub(1, Ordering::Relaxed) == 1 => _ = tell(&self.output, &FromEndpoint::Flowing),
            Step::Flowing => {}
            Step::Sent(total) => self.count(place, total),
        }
    }

    fn count(&self, place: usize, total: &Counts) {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, sent) = &mut *so_far;
        if let Some(messages) = sent.messages.get_mut(place) {
            *messages = total.messages;
        }
        sent.bytes += total.bytes;
        *left = left.saturating_sub(1);
        if *left == 0 {
            // A host that cannot be told is noticed by the main thread.
            let _ = tell(&self.output, &FromEndpoint::Sent(sent.clone()));
        }
    }
}

/// Interrupts the call that `thread` may be blocked in, or its sleep before anything flows.
///
/// A signal that comes just before the thread blocks is lost; the socket's time
/// limit ends that wait.
fn wake_up<T>(thread: &JoinHandle<T>) {
    // A thread that has already ended answers ESRCH, which is as good.
    let _ = pthread_kill(thread.as_pthread_t(), WAKE_UP);
    thread.thread().unpark();
}
