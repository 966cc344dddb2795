//! An end of a trial that is a user's own program: this process is its harness, which speaks the
//! contract of docs/endpoint.md with it, keeps the time, and measures it from outside.

pub mod lines;
mod page;
mod program;
mod tree;
mod turns;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::control::{FromEndpoint, SentTotals, Task, ToEndpoint};
use model::end::{Counts, CpuTime, EndReport, ExternalEnd, OptionValue, SocketOption, Window};
use model::plan::TrialEnd;
use model::{Bytes, Nanos, Program as Words, Protocol, Role, Test};
use nix::sched::CpuSet;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

use crate::channel::{Output, Receiver, tell};
use crate::deadline::Deadline;
use crate::edge::{self, Edge, EdgeReader};
use crate::error::{EndpointError, ProgramError};
use crate::scheduling;
use crate::stage::Part;
use crate::timekeeper;
use crate::wake;
use crate::woven::Seat;
use sys::clock;

use page::{MOST_COUNTERS, Page, ProgramCounts};
use program::{Group, Program, WaitEnd};
use tree::Look;
use turns::{Readings, Turns};

/// The version of the contract that is spoken, the one of docs/endpoint.md.
pub const CONTRACT: u32 = 1;

/// Time that a program may take to start, or to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Time that a sender may take to stop after it was told to, and that a receiver of a stream may
/// take none of what was sent.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// Interval at which a receiver's counts are looked at once its sender has ended.
const LOOK: Duration = Duration::from_millis(2);
/// Interval at which a limit on bytes is looked after.
const GUARD: Duration = Duration::from_millis(20);

/// An edge of the measured part, from outside.
struct Reading {
    edge: Edge,
    look: Look,
    said: ProgramCounts,
    irq: Option<Nanos>,
}

/// The harness of one program in one trial.
struct Harness<'a> {
    task: &'a Task,
    program: Program,
    command: Words,
    page: Arc<Page>,
    /// Its turns in a woven trial.
    turns: Option<Turns>,
    /// Names of the counters that the program keeps of its own.
    counters: Vec<String>,
    spare: Option<u32>,
    reader: EdgeReader,
    control: &'a mut Receiver<ToEndpoint>,
    output: &'a Output,
    deadline: &'a Deadline,
}

/// What the host lets an end use: the CPUs that this thread had before it was bound.
pub struct Place {
    /// Those CPUs.
    pub free: Option<CpuSet>,
    /// The reason why it could not be bound, if so.
    pub not_bound: Option<String>,
}

/// Serves a trial whose end is `command`.
///
/// # Errors
/// A breach of the contract by the program, a refusal of the system, the loss of the host.
pub fn serve(
    command: Words,
    task: &Task,
    place: Place,
    control: &mut Receiver<ToEndpoint>,
    output: &Output,
    deadline: &Deadline,
) -> Result<EndReport, EndpointError> {
    let TrialEnd::Length(length) = task.end else {
        return Err(EndpointError::Task("a number of messages, with an external endpoint, which is measured for some time".to_owned()));
    };
    // The kernel would end this process with its host, and nothing would end what the program
    // started: the end of the pipe to the host does both.
    let _ = set_pdeathsig(None::<Signal>);
    let page = Arc::new(Page::new()?);
    // Before the program, which is not to have the board.
    let seat = task.woven.map(Seat::open).transpose()?;
    if seat.is_some() {
        wake::prepare().map_err(io::Error::from)?;
    }
    let program = Program::start(command, &environment(task, &page), if seat.is_some() { Group::Own } else { Group::Host })?;
    // After that: the program is to have its own priority, and one that spins is to be ended all the same.
    scheduling::come_first();
    let bound = task.cpus.first().copied();
    let spare = tree::spare(place.free.as_ref(), bound);
    scheduling::free_main_thread(place.free);
    let reader = EdgeReader::of_this_thread(&task.ksoftirqd);
    let turns = seat.map(|seat| Turns::new(seat, task, [program.pid(), std::process::id()], spare, Arc::clone(&page)));
    let mut harness = Harness { task, program, command, page, turns, counters: Vec::new(), spare, reader, control, output, deadline };
    harness.join(place.not_bound)?;
    harness.run(length.into())
}

/// What the program is told by its environment.
fn environment(task: &Task, page: &Page) -> Vec<(&'static str, String)> {
    let cell = &task.cell;
    let role = if task.role == Role::Sender { "send" } else { "receive" };
    let protocol = if cell.protocol() == Protocol::Tcp { "tcp" } else { "udp" };
    let mut all = vec![
        ("NT_VERSION", CONTRACT.to_string()),
        ("NT_ROLE", role.to_owned()),
        ("NT_PROTO", protocol.to_owned()),
        ("NT_TEST", if cell.test.is_stream() { "stream" } else { "rr" }.to_owned()),
        ("NT_SIZE", cell.size.get().to_string()),
        ("NT_READ", cell.read_size.get().to_string()),
        ("NT_BIND", task.local.to_string()),
        ("NT_PAGE", page.path()),
    ];
    let size = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.get().to_string());
    let nodelay = (cell.protocol() == Protocol::Tcp).then(|| u8::from(cell.nodelay).to_string());
    let options = [("NT_NODELAY", nodelay), ("NT_CC", cell.cc.clone()), ("NT_SNDBUF", size(cell.sndbuf)), ("NT_RCVBUF", size(cell.rcvbuf))];
    all.extend(options.into_iter().filter_map(|(name, value)| Some((name, value?))));
    all
}

impl Harness<'_> {
    /// Has the program bind itself and join the other end.
    fn join(&mut self, not_bound: Option<String>) -> Result<(), EndpointError> {
        let answer = self.program.answer("ready", ANSWER_LIMIT, self.control, self.deadline)?;
        let cell = &self.task.cell;
        let connects = cell.protocol() == Protocol::Tcp && self.task.role != cell.test.listener();
        let wrong = |program: &mut Program| program.fault(format!("said `ready {answer}`, where its port was due: `ready PORT`"));
        let port = lines::port(&answer, connects).ok_or_else(|| wrong(&mut self.program))?;
        let addresses = vec![SocketAddr::new(self.task.local.ip(), port)];
        tell(self.output, &FromEndpoint::Ready { addresses, not_bound, program: Some(self.program.pid()) })?;
        let ToEndpoint::Connect { peers } = self.host("connect")? else { return Err(EndpointError::OutOfTurn { expected: "connect" }) };
        let peer = peers.first().ok_or(EndpointError::OutOfTurn { expected: "an address to connect to" })?;
        self.program.say(&format!("connect {peer}"));
        let answer = self.program.answer("connected", ANSWER_LIMIT, self.control, self.deadline)?;
        self.counters = lines::counters(&answer, MOST_COUNTERS).ok_or_else(|| {
            let due = format!("`connected`, followed by at most {MOST_COUNTERS} names of counters (a-z, 0-9, -)");
            self.program.fault(format!("said {}, where {due}, was due", program::quoted(&format!("connected {answer}"))))
        })?;
        tell(self.output, &FromEndpoint::Connected { addresses: Vec::new() })?;
        match self.host("go")? {
            ToEndpoint::Go => Ok(()),
            _ => Err(EndpointError::OutOfTurn { expected: "go" }),
        }
    }

    /// The host's next message. Whatever the program says meanwhile is out of place.
    fn host(&mut self, awaited: &str) -> Result<ToEndpoint, EndpointError> {
        match self.wait(Instant::now() + Duration::from_secs(3_600), awaited)? {
            true => Ok(self.control.receive()?),
            false => Err(EndpointError::OutOfTurn { expected: "a message of the host" }),
        }
    }

    /// Waits until `until`; true when the host has said something before.
    fn wait(&mut self, until: Instant, meanwhile: &str) -> Result<bool, EndpointError> {
        loop {
            let step = if self.task.limits.bytes.is_some() { until.min(Instant::now() + GUARD) } else { until };
            match self.program.hear(step, self.control, self.deadline, true)? {
                WaitEnd::Host => return Ok(true),
                WaitEnd::Line(line) => {
                    let said = program::quoted(&line);
                    return Err(self.program.fault(format!("said {said} while {meanwhile} was awaited and nothing was due of it")).into());
                }
                WaitEnd::Time => self.check_limit()?,
            }
            if Instant::now() >= until {
                return Ok(false);
            }
        }
    }

    /// # Errors
    /// That it has sent more than its host allows.
    fn check_limit(&mut self) -> Result<(), EndpointError> {
        let sent = Bytes::new(self.page.said().bytes);
        match self.task.limits.bytes.filter(|limit| self.task.role == Role::Sender && sent > *limit) {
            Some(limit) => {
                Err(EndpointError::Task(format!("it has sent {sent}, and its host lets one trial send {limit}; raise the limit there")))
            }
            None => Ok(()),
        }
    }

    fn run(mut self, length: Duration) -> Result<EndReport, EndpointError> {
        let begun = clock::monotonic();
        self.program.say("go");
        let opens = self.hear_the_opening()?;
        self.wait(opens, "the measured part")?;
        self.page.enter(Part::Measure);
        let start = self.read();
        if let Some(turns) = &mut self.turns {
            turns.begin()?;
        }
        let waited = self.wait(opens + length, "the end of the measured part");
        let end = self.read();
        let threads = tree::threads(self.program.pid());
        self.page.enter(Part::Tail);
        // A program whose edges cannot be read was killed for that.
        let readings = self.end_turns()?;
        waited?;
        let resident = resident(self.program.pid());
        let (total, over) = match self.task.role {
            Role::Sender => self.stop_sending()?,
            Role::Receiver => self.receive_the_rest()?,
        };
        self.page.enter(Part::Drain);
        let faults = self.program.end(self.task.role == Role::Sender);
        let flow = (self.task.role == Role::Sender).then_some(Window { start: begun, end: over });
        let counters = self.counters.iter().cloned().zip(self.page.counters(MOST_COUNTERS)).collect();
        let seen = Observation { start, end, readings, total, flow, threads, resident, faults, counters };
        seen.report(self.task, self.command)
    }

    /// Tells the host once the program has counted a message, and waits for the time at which the
    /// measured part begins.
    fn hear_the_opening(&mut self) -> Result<Instant, EndpointError> {
        let mut flows = false;
        loop {
            let step = if flows { Duration::from_secs(3_600) } else { LOOK };
            if self.wait(Instant::now() + step, "the measured part")? {
                break;
            }
            if !flows && self.page.said().messages > 0 {
                flows = true;
                if self.task.role == Role::Sender {
                    self.halt()?;
                }
                tell(self.output, &FromEndpoint::Flowing)?;
            }
        }
        match self.control.receive()? {
            ToEndpoint::Measure { at } => Ok(timekeeper::instant(at)),
            _ => Err(EndpointError::OutOfTurn { expected: "measure" }),
        }
    }

    /// Has a sender of a woven trial wait for its first turn.
    fn halt(&mut self) -> Result<(), EndpointError> {
        let halted = self.turns.as_mut().map_or(Ok(()), Turns::halt);
        halted.map_err(|did| self.program.fault(did).into())
    }

    /// Ends the turns of a woven trial; returns what there is to say of its edges.
    fn end_turns(&mut self) -> Result<Option<Readings>, EndpointError> {
        let ended = self.turns.as_mut().map(|turns| {
            if self.task.role == Role::Sender {
                // It is stopped, and goes on to send its last message.
                self.page.enter(Part::Drain);
            }
            turns.end()
        });
        ended.transpose().map_err(|did| self.program.fault(did).into())
    }

    /// Reads the clocks, the counts and the time at an edge, one right after the other.
    fn read(&self) -> Reading {
        let (look, (said, edge)) = tree::look(&self.program.family(), self.spare, || (self.page.said(), self.reader.end()));
        Reading { edge, look, said, irq: edge::irq(self.task) }
    }

    /// Has a sender stop and tells the host what it sent; returns its last counts and when it had
    /// stopped.
    fn stop_sending(&mut self) -> Result<(ProgramCounts, Nanos), EndpointError> {
        // In a woven trial no other end still measures.
        if self.turns.is_none() {
            self.wait(Instant::now() + timekeeper::tail(&self.task.cell.conditions), "the end of the measured part")?;
        }
        self.page.enter(Part::Drain);
        self.program.answer("done", STOP_LIMIT, self.control, self.deadline)?;
        let over = clock::monotonic();
        let total = self.page.said();
        let sent = SentTotals { messages: vec![total.messages], bytes: total.bytes };
        tell(self.output, &FromEndpoint::Sent(sent))?;
        match self.host("drain")? {
            ToEndpoint::Drain(_) => Ok((total, over)),
            _ => Err(EndpointError::OutOfTurn { expected: "drain" }),
        }
    }

    /// Waits until a receiver has taken all that was sent, or its counts stand still.
    fn receive_the_rest(&mut self) -> Result<(ProgramCounts, Nanos), EndpointError> {
        if self.task.cell.protocol() == Protocol::Tcp {
            self.program.let_end();
        }
        let ToEndpoint::Drain(sent) = self.host("drain")? else { return Err(EndpointError::OutOfTurn { expected: "drain" }) };
        let announced = sent.messages.first().copied().unwrap_or(0);
        let is_all = |said: ProgramCounts| match self.task.cell.protocol() {
            Protocol::Tcp => said.bytes >= sent.bytes,
            Protocol::Udp => said.messages >= announced,
        };
        // What was sent of a stream comes, as long as the program takes it.
        let silence = if self.task.cell.protocol() == Protocol::Tcp { STOP_LIMIT } else { self.task.silence.into() };
        let mut last = self.page.said();
        let mut since = Instant::now();
        // One that waits for a CPU has not fallen silent, and what it has not taken yet would be lost with it.
        let silent = |since: Instant, pid| since.elapsed() >= silence && (since.elapsed() >= STOP_LIMIT || !tree::is_runnable(pid));
        while !is_all(last) && !self.program.is_over() && !silent(since, self.program.pid()) {
            self.program.hear(Instant::now() + LOOK, self.control, self.deadline, false)?;
            let now = self.page.said();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        // One that was sent twice, or that is counted twice, still comes.
        Ok((self.page.said(), clock::monotonic()))
    }
}

/// What was seen of a program from its start to its end.
struct Observation {
    start: Reading,
    end: Reading,
    /// Of a woven trial.
    readings: Option<Readings>,
    total: ProgramCounts,
    flow: Option<Window>,
    threads: Vec<u32>,
    resident: Bytes,
    faults: Vec<String>,
    counters: std::collections::BTreeMap<String, u64>,
}

impl Observation {
    fn report(mut self, task: &Task, command: Words) -> Result<EndReport, EndpointError> {
        let [before, after] = [self.start.said, self.end.said];
        check(command, task, &[before, after, self.total])?;
        let usage = self.start.edge.until(&self.end.edge);
        let between = self.start.look.until(&self.end.look);
        if between.changed || self.readings.is_some_and(|readings| readings.changed) {
            self.faults.push("started or ended processes while it was measured: their CPU time may be missing".to_owned());
        }
        // Its own account is of the whole, and that of a woven trial is of its slices.
        let has_own_cpu = self.readings.is_none() && before.own_cpu > 0 && after.own_cpu > before.own_cpu;
        let own_cpu = has_own_cpu.then(|| Nanos::new(after.own_cpu - before.own_cpu));
        let (cpu_error, processes) = (self.readings.map_or(between.error, |readings| readings.error), between.processes);
        // Its word is taken for what it lost only where its code is nettoll's.
        let lost = self.counters.get("dropped").copied().filter(|lost| *lost > 0 && command.shipped().is_some());
        let drops = lost.map(|lost| (format!("dropped by {}", command.name()), lost)).into_iter().collect();
        let irq = self.end.irq.zip(self.start.irq).map(|(end, start)| end.since(start));
        Ok(EndReport {
            role: task.role,
            cpu: task.cpus.first().copied(),
            threads: self.threads,
            window: usage.window,
            flow: self.flow,
            counts: counts(task, before, after),
            total: counts(task, ProgramCounts::default(), self.total),
            cpu_time: CpuTime { process: between.cpu, irq, kernel_threads: usage.ksoftirqd },
            user_cpu: None,
            switches: between.switches,
            run_delay: between.run_delay,
            options: options(task),
            tcp: None,
            tcp_at_start: None,
            in_flight: None,
            latency: None,
            max_resident: self.resident,
            flows: Vec::new(),
            back: None,
            schedule: None,
            one_way: None,
            addresses: Vec::new(),
            drops,
            zero_copy: None,
            external: Some(Box::new(ExternalEnd {
                command: command.name().to_owned(),
                cpu_error,
                own_cpu,
                processes,
                counters: self.counters,
                faults: self.faults,
            })),
            progress: Vec::new(),
        })
    }
}

/// Counts of a part of the trial. What a receiver of a stream calls a message is its own affair: they
/// are counted by their bytes.
fn counts(task: &Task, before: ProgramCounts, after: ProgramCounts) -> Counts {
    let since = |of: fn(&ProgramCounts) -> u64| of(&after).saturating_sub(of(&before));
    let (said, bytes, calls) = (since(|said| said.messages), since(|said| said.bytes), since(|said| said.calls));
    let stream = task.role == Role::Receiver && task.cell.test == Test::TcpStream;
    let messages = if stream { bytes / task.cell.size.get().max(1) } else { said };
    let calls = if calls > 0 { calls } else { said };
    // Of a transaction either end sends one and receives one.
    let both = !task.cell.test.is_stream();
    let sent = if both || task.role == Role::Sender { messages } else { 0 };
    let received = if both || task.role == Role::Receiver { messages } else { 0 };
    Counts { calls, messages, bytes, sent, received, ..Counts::default() }
}

/// Holds what a program says to what can be: counts grow, and its messages have the size asked for.
///
/// # Errors
/// What cannot be.
fn check(command: Words, task: &Task, said: &[ProgramCounts]) -> Result<(), ProgramError> {
    let fault = |did: String| Err(ProgramError::new(command, did));
    for (before, after) in said.iter().zip(said.iter().skip(1)) {
        if after.messages < before.messages || after.bytes < before.bytes {
            return fault(format!(
                "counted backwards: {} messages and {} bytes, later {} and {}",
                before.messages, before.bytes, after.messages, after.bytes
            ));
        }
    }
    let (last, size) = (said.last().copied().unwrap_or_default(), task.cell.size.get());
    if last.messages == 0 {
        return fault("counted no message in the whole trial: did its peer send, and does it write to NT_PAGE?".to_owned());
    }
    let each = if task.cell.test.is_stream() { size } else { size.saturating_mul(2) };
    let whole = u128::from(last.messages) * u128::from(each);
    // Datagrams that another program sent short are its doing: the audit compares them with the link's bytes.
    let of_another = task.cell.test == Test::UdpStream && task.cell.external(Role::Sender).is_some();
    let by_messages = task.role == Role::Sender || !(task.cell.test == Test::TcpStream || of_another);
    if by_messages && whole.abs_diff(u128::from(last.bytes)) > u128::from(each) {
        let what = if task.cell.test.is_stream() { "message" } else { "transaction, request and response together," };
        return fault(format!("counted {} messages and {} bytes, though each {what} has {each} bytes", last.messages, last.bytes));
    }
    Ok(())
}

/// The options asked for: a program sets them itself, and nobody reads them back.
fn options(task: &Task) -> Vec<SocketOption> {
    let cell = &task.cell;
    let left = || OptionValue::Text("left to the program, and not read back".to_owned());
    let size = |bytes: Option<Bytes>| bytes.map(|bytes| OptionValue::Number(bytes.get() as i64));
    let asked = [
        ("SO_SNDBUF", size(cell.sndbuf)),
        ("SO_RCVBUF", size(cell.rcvbuf)),
        ("TCP_NODELAY", cell.nodelay.then_some(OptionValue::Number(1))),
        ("TCP_CONGESTION", cell.cc.clone().map(OptionValue::Text)),
    ];
    let given = asked.into_iter().filter(|(_, asked)| asked.is_some());
    given.map(|(name, asked)| SocketOption { name: name.into(), asked, set: left(), got: left() }).collect()
}

/// Largest resident size of a process.
fn resident(pid: u32) -> Bytes {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    crate::report::resident_in(&status)
}

#[cfg(test)]
mod tests {
    use super::Test;
    use super::{ProgramCounts, check, counts};
    use crate::testing::task;
    use model::Role;

    fn said(messages: u64, bytes: u64) -> ProgramCounts {
        ProgramCounts { messages, bytes, ..ProgramCounts::default() }
    }

    #[test]
    fn counts_that_cannot_be_are_told() {
        let program = model::Program::new("x").unwrap();
        let of = |role, test, said: &[ProgramCounts]| check(program, &task(role, test), said).map_err(|error| error.to_string());
        let size = task(Role::Sender, Test::UdpStream).cell.size.get();
        let fine = [said(1, size), said(5, 5 * size), said(9, 9 * size)];
        assert_eq!(of(Role::Sender, Test::UdpStream, &fine), Ok(()));
        let backwards = of(Role::Sender, Test::UdpStream, &[said(5, 5 * size), said(4, 4 * size)]).unwrap_err();
        assert!(backwards.contains("counted backwards"), "{backwards}");
        let bytes = of(Role::Sender, Test::TcpStream, &[said(5, 50 * size)]).unwrap_err();
        assert!(bytes.contains("each message has"), "{bytes}");
        assert_eq!(of(Role::Receiver, Test::TcpStream, &[said(5, 50 * size)]), Ok(()), "reads of a stream have any size");
        assert!(of(Role::Receiver, Test::TcpStream, &[said(0, 0)]).unwrap_err().contains("no message"));
    }

    #[test]
    fn a_receiver_is_not_blamed_for_what_another_program_sent() {
        let mut task = task(Role::Receiver, Test::UdpStream);
        let (program, size) = (model::Program::new("x").unwrap(), task.cell.size.get());
        let halves = [said(0, 0), said(10, 5 * size)];
        assert!(check(program, &task, &halves).unwrap_err().to_string().contains("each message has"), "nettoll sends whole ones");
        task.cell.api = model::Api::External(program);
        assert!(check(program, &task, &halves).is_ok());
    }

    #[test]
    fn a_transaction_is_a_message_each_way() {
        for (role, test) in
            [(Role::Sender, Test::TcpRr), (Role::Receiver, Test::TcpRr), (Role::Sender, Test::UdpRr), (Role::Receiver, Test::UdpRr)]
        {
            let task = task(role, test);
            let size = task.cell.size.get();
            let of = counts(&task, said(0, 0), said(7, 14 * size));
            assert_eq!((of.messages, of.sent, of.received, of.bytes), (7, 7, 7, 14 * size));
            let program = model::Program::new("x").unwrap();
            assert!(check(program, &task, &[said(0, 0), said(7, 14 * size)]).is_ok());
            let half = check(program, &task, &[said(0, 0), said(7, 7 * size)]).unwrap_err().to_string();
            assert!(half.contains("request and response together"), "{half}");
        }
    }

    #[test]
    fn a_stream_is_counted_by_its_bytes() {
        let task = task(Role::Receiver, Test::TcpStream);
        let size = task.cell.size.get();
        let counts = counts(&task, said(1, size), said(3, 11 * size));
        assert_eq!((counts.messages, counts.calls, counts.received), (10, 2, 10));
    }
}
