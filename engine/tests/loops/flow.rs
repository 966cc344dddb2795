//! Runs one flow's loop, its main thread played by the test.

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::stage::{Part, Stage};
use engine::traffic::{self, Extent, FlowEnd, Traffic};
use model::control::Task;
use model::end::Counts;
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, OfferedRate, Pacing, Role, Test};

use crate::support::{self, loopback};

pub const NO_WARMUP: Nanos = Nanos::from_millis(0);
/// As long as the test says.
pub const BY_TIME: TrialEnd = TrialEnd::Length(Nanos::from_millis(1));

/// Tries a claim up to three times: spinning threads of other tests may keep its threads
/// from a CPU for all of an attempt. A defect fails every one.
pub fn in_three_attempts(name: &str, claim: impl Fn()) {
    for _ in 0..2 {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(&claim)).is_ok() {
            return;
        }
        eprintln!("REPEATED: {name}");
    }
    claim();
}

/// A loop that runs.
#[derive(Debug)]
pub struct Flow {
    pub stage: Arc<Stage>,
    thread: JoinHandle<io::Result<Traffic>>,
    sent: mpsc::Receiver<Counts>,
}

impl Flow {
    /// Without a warm-up: it is measured from its start.
    pub fn start(task: Task, joined: impl Into<FlowEnd>) -> Self {
        let joined = joined.into();
        let stage = Arc::new(Stage::starting_in(Extent::for_task(&task).warmup_part));
        stage.enter(Part::Measure);
        let (tell, sent) = mpsc::channel();
        let thread = thread::spawn({
            let stage = Arc::clone(&stage);
            move || {
                traffic::run(&task, joined, &stage, &|step| {
                    if let traffic::Step::Sent(total) = step {
                        tell.send(*total).unwrap()
                    }
                })
            }
        });
        Self { stage, thread, sent }
    }

    /// Ends its measured part after `length`, and its tail a little later.
    pub fn end_after(&self, length: Duration) {
        thread::sleep(length);
        self.stage.enter(Part::Tail);
        thread::sleep(Duration::from_millis(4));
        self.stage.enter(Part::Drain);
    }

    /// What a sender announced.
    pub fn sent(&self) -> Counts {
        self.sent.recv_timeout(support::PATIENCE).unwrap()
    }

    /// Its end is announced to a receiver.
    pub fn announce(&self, messages: u64) {
        self.stage.announce(messages);
        self.stage.enter(Part::Drain);
    }

    pub fn finish(self) -> io::Result<Traffic> {
        self.thread.join().unwrap()
    }
}

/// A task over IPv4.
pub fn task(role: Role, cell: &Cell, end: TrialEnd) -> Task {
    support::task(role, cell, end, NO_WARMUP)
}

/// A cell that offers messages a second.
pub fn paced(test: Test, size: u64, rate: u64, pacing: Pacing) -> Cell {
    Cell { rate: Some(OfferedRate::Messages(rate)), pacing, ..support::cell(test, Family::V4, size) }
}

/// A connection, its near end as an endpoint sets it.
pub fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((loopback(Family::V4), 0)).unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    for end in [&ours, &theirs] {
        end.set_nodelay(true).unwrap();
    }
    ours.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    ours.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    (ours, theirs)
}

/// Two sockets that are joined.
pub fn udp() -> (UdpSocket, UdpSocket) {
    let bound = || UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let (ours, theirs) = (bound(), bound());
    ours.connect(theirs.local_addr().unwrap()).unwrap();
    theirs.connect(ours.local_addr().unwrap()).unwrap();
    ours.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    (ours, theirs)
}

/// How many times an HdrHistogram holds, and a reader of them.
pub fn times(text: &str) -> hdrhistogram::Histogram<u64> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}
