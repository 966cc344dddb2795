//! A thread that looks at what a sender of a TCP stream has in flight.
//!
//! A thread of its own asks the kernel now and then, so that the traffic thread
//! does nothing for it: it neither reads a clock more nor shares a lock. What the
//! looks cost in CPU time is known exactly, because that thread does nothing else.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::Nanos;
use model::control::Task;
use model::end::InFlight;
use model::{Protocol, Role};

use crate::socket::FlowEnd;
use crate::tcp_info;
use sys::clock;

/// Between two looks: often enough to see the most of a transfer of 20 ms. A look
/// was measured to take 28 µs of a debug build on a busy machine, 1.4 % of a CPU;
/// it is taken off what sending costs.
const BETWEEN: Duration = Duration::from_millis(2);

/// Enough for a call and what it calls.
const STACK: usize = 64 << 10;

/// A thread that looks.
#[derive(Debug)]
pub struct Watch {
    thread: JoinHandle<WatchReport>,
    over: Arc<AtomicBool>,
}

/// Result of the looks, and their cost.
#[derive(Debug, Clone, Copy)]
pub struct WatchReport {
    /// Most that any one flow had in flight.
    pub in_flight: InFlight,
    /// CPU time of the looks.
    pub cpu: Nanos,
    /// Time over which it looked.
    pub time: Nanos,
}

impl WatchReport {
    /// CPU time of the looks within a part of the time: they come evenly.
    pub fn within(&self, part: Nanos) -> Nanos {
        let share = (part.get() as f64 / self.time.get().max(1) as f64).min(1.0);
        Nanos::new((self.cpu.get() as f64 * share) as u64)
    }
}

/// Returns whether it is worth a look: where a buffer is given, the question is what it
/// lets through. Where none is, nothing runs next to the traffic.
fn wanted(task: &Task) -> bool {
    let cell = &task.cell;
    task.role == Role::Sender
        && cell.test.is_stream()
        && cell.protocol() == Protocol::Tcp
        && (cell.sndbuf.is_some() || cell.rcvbuf.is_some())
}

/// Flows that are to be looked at.
#[derive(Debug)]
pub struct WatchedFlows {
    sockets: Vec<OwnedFd>,
}

impl WatchedFlows {
    /// Takes the flows that are worth it; `None` where no report wants them, or
    /// the system has no more files. They must not have been handed to their
    /// threads yet, which close them here.
    pub fn for_flows(task: &Task, flows: &[FlowEnd]) -> Option<Self> {
        let sending = flows.iter().take(task.cell.flows as usize).filter(|_| wanted(task));
        let sockets = sending.map(|flow| flow.socket.try_clone()).collect::<io::Result<Vec<_>>>().ok()?;
        (!sockets.is_empty()).then_some(Self { sockets })
    }

    /// Begins to look, on the CPUs that the calling thread may use; `None` where
    /// the system starts no thread; the report says so.
    pub fn start(self) -> Option<Watch> {
        let over = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&over);
        let look = move || self.look_until(&heard);
        let thread = thread::Builder::new().name("watch".to_owned()).stack_size(STACK).spawn(look).ok()?;
        Some(Watch { thread, over })
    }

    fn look_until(&self, over: &AtomicBool) -> WatchReport {
        let begun = Instant::now();
        let mut seen = InFlight::default();
        // What the ends greeted each other with may still be under way: it is no
        // part of what the buffers hold, until something after it has come.
        let greeting: Vec<Option<u64>> = self.sockets.iter().map(|socket| Some(tcp_info::under_way(socket)?.acknowledged)).collect();
        while !over.load(Ordering::Relaxed) {
            for (socket, greeting) in self.sockets.iter().zip(&greeting) {
                if let Some(now) = tcp_info::under_way(socket).filter(|now| Some(now.acknowledged) != *greeting) {
                    seen.most = seen.most.max(now.segments);
                }
            }
            seen.looks += 1;
            thread::park_timeout(BETWEEN);
        }
        WatchReport { in_flight: seen, cpu: clock::thread_cpu(), time: Nanos::from(begun.elapsed()) }
    }
}

impl Watch {
    /// Ends the looks.
    pub fn end(self) -> Option<WatchReport> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use model::Nanos;

    use super::{WatchReport, WatchedFlows};

    /// A connection of which ten bytes are in flight, as far as one can tell, or not.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn looks_are_few_and_cost_little() {
        let (near, _far) = pair();
        let watch = WatchedFlows { sockets: vec![near.into()] }.start().unwrap();
        thread::sleep(Duration::from_millis(200));
        let WatchReport { in_flight, cpu, time } = watch.end().unwrap();
        eprintln!("{} looks in {time}: {} each", in_flight.looks, Nanos::new(cpu.get() / in_flight.looks.max(1)));
        assert!((5..=100).contains(&in_flight.looks), "every 2 ms at most: {in_flight:?}");
        assert_eq!(in_flight.most, 0, "nothing was sent");
        assert!(cpu.get() * 20 < time.get(), "less than 5 % of a CPU, in a debug build: {cpu} of {time}");
        let seen = WatchReport { in_flight, cpu: Nanos::new(1_000), time: Nanos::new(100_000) };
        assert_eq!([seen.within(Nanos::new(50_000)), seen.within(Nanos::new(900_000))].map(Nanos::get), [500, 1_000]);
    }
}
