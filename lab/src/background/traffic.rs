//! Other traffic: TCP flows that use a link next to a trial.
//!
//! They run in threads of the host's process, so that no endpoint's CPU time
//! holds theirs, away from the ends' CPUs where there are others. Each flow
//! writes messages of one size, flat out or by a schedule, with Nagle's
//! algorithm on. When it is asked to end it is cut off: what it had not handed to
//! the link by then would stand in the way of the next trial.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::condition::{MOST_BULK, Traffic, TrafficTotals};
use model::kernel::LinkCounters;
use model::{BitRate, Bytes, Nanos};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use socket2::{Domain, Protocol, Socket, Type};

use crate::host::counters;
use crate::refusal::{Refusal, refused};

/// Time that a sink may take to answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// A sink that has heard nothing for so long after its senders' end hears no more.
const SILENCE: Duration = Duration::from_millis(500);
/// No sink waits longer than this, however slow the link: its host answers in time.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// Interval at which more is looked for.
const STEP: Duration = Duration::from_millis(1);
/// Largest delay of a schedule that is made up for.
const CATCH_UP: Duration = Duration::from_millis(100);
/// Bytes that a sink reads at once.
const READ: usize = 64 << 10;
/// The most bytes of a message: each thread has one.
const LARGEST: u64 = 1 << 20;
/// A thread that only reads or writes needs little.
const STACK: usize = 256 << 10;

/// Keeps this thread away from the CPUs of a trial's ends, where there are others.
fn stand_aside(avoid: &[u32]) {
    let this = Pid::from_raw(0);
    let Ok(allowed) = sched_getaffinity(this) else { return };
    let mut left = CpuSet::new();
    let mut any = false;
    for cpu in (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)) {
        if !avoid.iter().any(|avoided| *avoided as usize == cpu) {
            any |= left.set(cpu).is_ok();
        }
    }
    if any {
        // Refused, it stays where the kernel has it.
        let _ = sched_setaffinity(this, &left);
    }
}

fn spawn<T: Send + 'static>(avoid: &[u32], work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, Refusal> {
    let avoid = avoid.to_vec();
    let aside = move || {
        stand_aside(&avoid);
        work()
    };
    thread::Builder::new()
        .name("background".to_owned())
        .stack_size(STACK)
        .spawn(aside)
        .map_err(refused("start a thread for other traffic", "raise the limit on processes (ulimit -u)"))
}

/// The receiving end of other traffic. Dropped, it takes no more.
#[derive(Debug)]
pub struct Sink {
    listener: Arc<Socket>,
    received: Arc<AtomicU64>,
    device: Option<String>,
    before: LinkCounters,
    acceptor: Option<JoinHandle<Vec<Reader>>>,
}

#[derive(Debug)]
struct Reader {
    stream: Arc<TcpStream>,
    thread: JoinHandle<()>,
}

impl Sink {
    /// Starts to listen at an address, of which the port is the kernel's choice
    /// where it is 0; says where.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn open(at: SocketAddr, device: Option<String>, avoid: &[u32]) -> Result<(Self, SocketAddr), Refusal> {
        let listen = || -> io::Result<(Socket, SocketAddr)> {
            let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
            socket.bind(&at.into())?;
            socket.listen(MOST_BULK.cast_signed())?;
            let own = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
            Ok((socket, own))
        };
        let (listener, own) = listen().map_err(refused(format!("have a sink for other traffic at {at}"), "is the address this host's?"))?;
        let (listener, received) = (Arc::new(listener), Arc::new(AtomicU64::new(0)));
        let (accepting, counting, aside) = (Arc::clone(&listener), Arc::clone(&received), avoid.to_vec());
        let before = frames(device.as_deref())?;
        let acceptor = spawn(avoid, move || accept(&accepting, &counting, &aside))?;
        Ok((Self { listener, received, device, before, acceptor: Some(acceptor) }, own))
    }

    /// Says how much it received so far, and takes what is still in flight.
    ///
    /// # Errors
    /// Where the frames could not be counted.
    pub fn close(mut self) -> Result<TrafficTotals, Refusal> {
        let after = frames(self.device.as_deref());
        let bytes = Bytes::new(self.received.load(Ordering::Relaxed));
        self.end(true);
        let meanwhile = after?.since(&self.before);
        let (frames, frame_bytes) = ([meanwhile.rx_packets, 0], [meanwhile.rx_bytes, 0]);
        Ok(TrafficTotals { bytes, elapsed: Nanos::default(), frames, frame_bytes })
    }

    fn end(&mut self, patient: bool) {
        let Some(acceptor) = self.acceptor.take() else { return };
        // Whoever waits for a connection is woken by this.
        let _ = self.listener.shutdown(Shutdown::Both);
        let readers = acceptor.join().unwrap_or_default();
        let begun = Instant::now();
        let (mut heard, mut last) = (self.received.load(Ordering::Relaxed), begun);
        let going = |last: Instant| patient && last.elapsed() < SILENCE && begun.elapsed() < DRAIN_LIMIT;
        while going(last) && readers.iter().any(|reader| !reader.thread.is_finished()) {
            thread::sleep(STEP);
            let now = self.received.load(Ordering::Relaxed);
            if now != heard {
                (heard, last) = (now, Instant::now());
            }
        }
        for reader in readers {
            let _ = reader.stream.shutdown(Shutdown::Both);
            let _ = reader.thread.join();
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Takes connections until the socket is shut down.
fn accept(listener: &Socket, received: &Arc<AtomicU64>, avoid: &[u32]) -> Vec<Reader> {
    let mut readers: Vec<Reader> = Vec::new();
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => Arc::new(TcpStream::from(stream)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return readers,
        };
        // More than any controller sends: somebody else's.
        if readers.len() >= MOST_BULK as usize {
            continue;
        }
        let (reading, counting) = (Arc::clone(&stream), Arc::clone(received));
        if let Ok(thread) = spawn(avoid, move || read(&reading, &counting)) {
            readers.push(Reader { stream, thread });
        }
    }
}

fn read(mut stream: &TcpStream, received: &AtomicU64) {
    let mut buffer = vec![0; READ];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(bytes) => _ = received.fetch_add(bytes as u64, Ordering::Relaxed),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Flows that send. Dropped, they are cut off.
#[derive(Debug)]
pub struct Source {
    flows: Vec<Flow>,
    over: Arc<AtomicBool>,
    device: Option<String>,
    begun: Instant,
    before: LinkCounters,
}

#[derive(Debug)]
struct Flow {
    stream: Arc<TcpStream>,
    thread: JoinHandle<io::Result<()>>,
}

impl Source {
    /// Connects all flows, and lets them send.
    ///
    /// # Errors
    /// See [`Refusal`]. Nothing is sent then.
    pub fn start(traffic: &Traffic) -> Result<Self, Refusal> {
        let &Traffic { to, flows, size, rate, sndbuf, .. } = traffic;
        if !(1..=MOST_BULK).contains(&flows) || !(1..=LARGEST).contains(&size.get()) {
            let limits = format!("1 to {MOST_BULK} of 1 B to 1 MiB (a fault of the controller)");
            return Err(Refusal::new(format!("{flows} flows of {size} in the background of a trial"), limits, ""));
        }
        let connected: Result<Vec<TcpStream>, io::Error> = (0..flows).map(|_| connect(to, sndbuf)).collect();
        let streams = connected.map_err(refused(format!("send other traffic to {to}"), "is the link up, and its sink there?"))?;
        let before = frames(traffic.device.as_deref())?;
        let over = Arc::new(AtomicBool::new(false));
        let mut source = Self { flows: Vec::new(), over, device: traffic.device.clone(), begun: Instant::now(), before };
        for stream in streams {
            let stream = Arc::new(stream);
            let (writing, over) = (Arc::clone(&stream), Arc::clone(&source.over));
            let message = vec![0; size.get() as usize];
            let thread = spawn(&traffic.avoid, move || write(&writing, &message, rate, &over))?;
            source.flows.push(Flow { stream, thread });
        }
        Ok(source)
    }

    /// Ends the flows, and says for how long they sent and which frames came back.
    ///
    /// # Errors
    /// A flow that had ended by itself.
    pub fn stop(mut self) -> Result<TrafficTotals, Refusal> {
        let after = frames(self.device.as_deref());
        let elapsed = Nanos::from(self.begun.elapsed());
        self.cut_off().map_err(refused("other traffic ended by itself", "did its sink end?"))?;
        let meanwhile = after?.since(&self.before);
        let (frames, frame_bytes) = ([0, meanwhile.rx_packets], [0, meanwhile.rx_bytes]);
        Ok(TrafficTotals { bytes: Bytes::default(), elapsed, frames, frame_bytes })
    }

    fn cut_off(&mut self) -> io::Result<()> {
        // One that ended before this did so by itself.
        self.over.store(true, Ordering::Relaxed);
        let mut ended = Ok(());
        for Flow { stream, thread } in self.flows.drain(..) {
            thread.thread().unpark();
            let _ = stream.shutdown(Shutdown::Write);
            ended = ended.and(thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread failed"))));
        }
        ended
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // Nobody is there any more to be told.
        let _ = self.cut_off();
    }
}

fn connect(to: SocketAddr, sndbuf: Option<Bytes>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(size) = sndbuf {
        socket.set_send_buffer_size(usize::try_from(size.get()).unwrap_or(usize::MAX))?;
    }
    // Closed, it drops what it has not sent.
    socket.set_linger(Some(Duration::ZERO))?;
    socket.connect_timeout(&to.into(), CONNECT_LIMIT)?;
    Ok(socket.into())
}

fn frames(device: Option<&str>) -> Result<LinkCounters, Refusal> {
    device.map_or_else(|| Ok(LinkCounters::default()), counters::device).map_err(refused("count the frames of other traffic", ""))
}

/// Writes whole messages until it is over.
fn write(mut stream: &TcpStream, message: &[u8], rate: Option<BitRate>, over: &AtomicBool) -> io::Result<()> {
    let interval = rate.map(|rate| interval(message.len() as u64, rate));
    let mut due = Instant::now();
    while !over.load(Ordering::Relaxed) {
        if let Some(interval) = interval {
            let now = Instant::now();
            if due > now {
                thread::park_timeout(due - now);
                continue;
            }
            due = due.max(now.checked_sub(CATCH_UP).unwrap_or(now)) + interval;
        }
        match stream.write_all(message) {
            Err(error) if !over.load(Ordering::Relaxed) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Time between messages; a day at most, which no trial lasts longer than.
fn interval(bytes: u64, rate: BitRate) -> Duration {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.get().max(1));
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)).min(Duration::from_secs(86_400))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::thread;
    use std::time::{Duration, Instant};

    use model::condition::Traffic;
    use model::{BitRate, Bytes};

    use super::{Sink, Source, interval};

    fn here() -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    }

    fn traffic(to: SocketAddr, flows: u32, rate: Option<u64>) -> Traffic {
        let (size, sndbuf) = (Bytes::new(1_024), Some(Bytes::new(32 << 10)));
        Traffic { to, flows, size, rate: rate.map(BitRate::new), sndbuf, device: Some("lo".to_owned()), avoid: vec![0, 1, 2] }
    }

    #[test]
    fn what_flows_is_counted_at_both_ends_and_ends_at_once() {
        let (sink, at) = Sink::open(here(), Some("lo".to_owned()), &[]).unwrap();
        let source = Source::start(&traffic(at, 3, None)).unwrap();
        thread::sleep(Duration::from_millis(30));
        let begun = Instant::now();
        let sent = source.stop().unwrap();
        let received = sink.close().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        // Each frame bears a part of it and headers.
        assert!(received.bytes.get() > 3 * 1_024 && received.frame_bytes[0] > received.bytes.get(), "{received:?}");
        assert!(sent.elapsed.get() >= 30_000_000 && sent.frames[1] > 0 && sent.frame_bytes[1] > 0, "{sent:?}");
    }

    #[test]
    fn a_rate_is_kept_and_a_slow_one_ends_as_soon() {
        let (sink, at) = Sink::open(here(), Some("lo".to_owned()), &[]).unwrap();
        let source = Source::start(&traffic(at, 1, Some(8_192_000))).unwrap();
        thread::sleep(Duration::from_millis(100));
        let sent = source.stop().unwrap();
        // A thousand messages a second, the first at once; what was late is made up for.
        let most = sent.elapsed.as_secs_f64() * 1_024_000.0 + 2_048.0;
        let got = sink.close().unwrap().bytes.get() as f64;
        assert!(got > 1_024.0 && got <= most, "{got} of {most}");
        let (sink, at) = Sink::open(here(), Some("lo".to_owned()), &[]).unwrap();
        let begun = Instant::now();
        let source = Source::start(&traffic(at, 1, Some(1))).unwrap();
        thread::sleep(Duration::from_millis(20));
        source.stop().unwrap();
        assert_eq!(sink.close().unwrap().bytes, Bytes::new(1_024));
        assert!(begun.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn what_is_missing_is_named() {
        let nobody = TcpListener::bind(here()).unwrap().local_addr().unwrap();
        let error = Source::start(&traffic(nobody, 1, None)).unwrap_err().to_string();
        assert!(error.contains("Connection refused") && error.contains("its sink there?"), "{error}");
        let far = SocketAddr::from(([192, 0, 2, 77], 0));
        assert!(Sink::open(far, None, &[]).unwrap_err().to_string().contains("is the address this host's?"));
        assert!(Source::start(&traffic(nobody, 0, None)).unwrap_err().to_string().starts_with("0 flows of"));
        let none =
            Traffic { device: Some("none0".to_owned()), ..traffic(Sink::open(here(), Some("lo".to_owned()), &[]).unwrap().1, 1, None) };
        assert!(Source::start(&none).is_err());
    }

    #[test]
    fn a_flow_whose_sink_ends_first_is_an_error() {
        let (sink, at) = Sink::open(here(), Some("lo".to_owned()), &[]).unwrap();
        let source = Source::start(&traffic(at, 1, None)).unwrap();
        thread::sleep(Duration::from_millis(20));
        drop(sink);
        thread::sleep(Duration::from_millis(50));
        assert!(source.stop().unwrap_err().to_string().starts_with("other traffic ended by itself"));
    }

    #[test]
    fn times_between_messages() {
        assert_eq!(interval(1_024, BitRate::new(750_000)), Duration::from_nanos(10_922_666));
        assert_eq!(interval(u64::MAX, BitRate::new(1)), Duration::from_secs(86_400));
    }
}
