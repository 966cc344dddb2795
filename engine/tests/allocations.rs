//! From its start to its end the traffic allocates nothing: 100,000 messages
//! cost as many allocations as 1,000, and as none.

// Clippy's exception for tests does not reach what they share.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell as Counter;
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::stage::{Part, Stage};
use engine::traffic;
use model::control::Task;
use model::plan::{Level, TrialEnd};
use model::{Api, Family, Nanos, Receive, Role, Test};

#[path = "support/mod.rs"]
mod support;

use support::{cell, loopback, task};

/// The system's allocator, which counts the calls of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Counter<u64> = const { Counter::new(0) };
}

fn count() {
    // A thread that ends has no counter any more, and is none of those watched.
    let _ = ALLOCATIONS.try_with(|counter| counter.set(counter.get() + 1));
}

fn allocations() -> u64 {
    ALLOCATIONS.with(Counter::get)
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: as the caller promises.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as the caller promises.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    // SAFETY: as the caller promises.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZE: usize = 64;
const FEW: u64 = 1_000;
const MANY: u64 = 100_000;
const NO_WARMUP: Nanos = Nanos::from_millis(0);

/// What one run of the traffic cost, and what it moved.
#[derive(Debug)]
struct Run {
    /// Allocations and frees from its start to the end of its last message.
    until_sent: u64,
    /// To its return, with what makes its report.
    until_back: u64,
    messages: u64,
}

/// Runs the traffic of one end on this thread.
fn run(task: &Task, socket: impl Into<OwnedFd>, stage: &Stage) -> Run {
    run_flow(task, socket.into().into(), stage)
}

fn run_flow(task: &Task, flow: traffic::FlowEnd, stage: &Stage) -> Run {
    let begun = allocations();
    let sent = Counter::new(0);
    let traffic = traffic::run(task, flow, stage, &|_| sent.set(allocations() - begun)).unwrap();
    let until_back = allocations() - begun;
    Run { until_sent: sent.get(), until_back, messages: traffic.total.messages }
}

fn measuring() -> Stage {
    let stage = Stage::default();
    stage.enter(Part::Measure);
    stage
}

fn the_task(role: Role, test: Test, end: TrialEnd) -> Task {
    task(role, &cell(test, Family::V4, SIZE as u64), end, NO_WARMUP)
}

fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((loopback(Family::V4), 0)).unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    ours.set_nodelay(true).unwrap();
    (ours, listener.accept().unwrap().0)
}

fn udp() -> (UdpSocket, UdpSocket) {
    let bound = || UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let (ours, theirs) = (bound(), bound());
    ours.connect(theirs.local_addr().unwrap()).unwrap();
    theirs.connect(ours.local_addr().unwrap()).unwrap();
    ours.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    (ours, theirs)
}

/// The same task with many messages a call.
fn batched(task: Task) -> Task {
    over(Api::Sendmmsg, task)
}

/// The same task over an api.
fn over(api: Api, mut task: Task) -> Task {
    task.cell = task.cell.with(&[Level::Api(api.into())]).expect("the api carries it");
    task
}

/// A stream sender that ends by its number of messages.
fn send_messages(test: Test, messages: u64) -> Run {
    send_task(&the_task(Role::Sender, test, TrialEnd::Messages(messages)), messages)
}

fn send_task(task: &Task, messages: u64) -> Run {
    let test = task.cell.test;
    if test == Test::UdpStream {
        // Nobody reads; the kernel drops what does not fit.
        let (ours, _theirs) = udp();
        return run(task, ours, &measuring());
    }
    let (ours, mut theirs) = tcp();
    let sink = thread::spawn(move || std::io::copy(&mut theirs, &mut std::io::sink()).unwrap());
    let run = run(task, ours, &measuring());
    assert_eq!(sink.join().unwrap(), messages * SIZE as u64);
    run
}

/// A stream sender that ends by time.
fn send_for(millis: u64) -> Run {
    let (ours, _theirs) = udp();
    let stage = Arc::new(measuring());
    let keeper = thread::spawn({
        let stage = Arc::clone(&stage);
        move || {
            thread::sleep(Duration::from_millis(millis));
            stage.enter(Part::Drain);
        }
    });
    let run = run(&the_task(Role::Sender, Test::UdpStream, TrialEnd::Length(Nanos::from_millis(millis))), ours, &stage);
    keeper.join().unwrap();
    run
}

fn receive_stream(messages: u64) -> Run {
    receive_stream_task(&the_task(Role::Receiver, Test::TcpStream, TrialEnd::Length(Nanos::from_millis(1))), messages)
}

fn receive_stream_task(task: &Task, messages: u64) -> Run {
    let (ours, mut theirs) = tcp();
    let source = thread::spawn(move || (0..messages).for_each(|_| theirs.write_all(&[7; SIZE]).unwrap()));
    let run = run(task, ours, &measuring());
    source.join().unwrap();
    run
}

fn receive_datagrams(messages: u64) -> Run {
    receive_task(&the_task(Role::Receiver, Test::UdpStream, TrialEnd::Length(Nanos::from_millis(1))), messages)
}

fn receive_task(task: &Task, messages: u64) -> Run {
    let (ours, theirs) = udp();
    let stage = Arc::new(measuring());
    let source = thread::spawn({
        let stage = Arc::clone(&stage);
        move || {
            (0..messages).for_each(|_| assert_eq!(theirs.send(&[7; SIZE]).unwrap(), SIZE));
            stage.announce(messages);
            stage.enter(Part::Drain);
            theirs
        }
    });
    let run = run(task, ours, &stage);
    source.join().unwrap();
    run
}

/// A requester and its answerer, each on a thread of its own.
fn ask_and_answer(test: Test, messages: u64) -> (Run, Run) {
    let (asks, answers): (OwnedFd, OwnedFd) = match test {
        Test::TcpRr => {
            let (asks, answers) = tcp();
            answers.set_nodelay(true).unwrap();
            (asks.into(), answers.into())
        }
        _ => {
            let (asks, answers) = udp();
            answers.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            (asks.into(), answers.into())
        }
    };
    let stage = Arc::new(measuring());
    let answering = thread::spawn({
        let stage = Arc::clone(&stage);
        move || run(&the_task(Role::Receiver, test, TrialEnd::Messages(messages)), answers, &stage)
    });
    let asked = run(&the_task(Role::Sender, test, TrialEnd::Messages(messages)), asks, &measuring());
    stage.announce(messages);
    stage.enter(Part::Drain);
    (asked, answering.join().unwrap())
}

/// Prints what was measured, and holds it to the claim.
fn assert_same(what: &str, of: impl Fn(&Run) -> u64, runs: [Run; 2]) {
    let [few, many] = &runs;
    println!("{what}: {} allocations and frees with {} messages, {} with {}", of(few), few.messages, of(many), many.messages);
    assert!(many.messages > few.messages, "{what}: {runs:?}");
    assert_eq!(of(few), of(many), "{what}: {runs:?}");
}

#[test]
fn the_counter_counts() {
    let begun = allocations();
    drop(vec![0_u8; 100]);
    assert_eq!(allocations() - begun, 2);
}

#[test]
fn a_sender_allocates_nothing_per_message() {
    // To the end of its traffic, and as many where there was none.
    for test in [Test::UdpStream, Test::TcpStream] {
        let [few, many] = [send_messages(test, FEW), send_messages(test, MANY)];
        assert_eq!(send_messages(test, 0).until_sent, few.until_sent, "{test}: the rest is set-up");
        assert_same(test.name(), |run| run.until_sent, [few, many]);
    }
}

#[test]
fn neither_end_of_batches_allocates_per_message() {
    for test in [Test::UdpStream, Test::TcpStream] {
        let send = |messages| send_task(&batched(the_task(Role::Sender, test, TrialEnd::Messages(messages))), messages);
        assert_same(&format!("{test} in batches"), |run| run.until_sent, [send(FEW), send(MANY)]);
    }
    let offer = |messages| send_task(&batched(offered(Role::Sender, Test::UdpStream, messages)), messages);
    assert_same("UDP_STREAM, offered and stamped, in batches", |run| run.until_sent, [offer(FEW), offer(MANY)]);
    let task = batched(the_task(Role::Receiver, Test::UdpStream, TrialEnd::Length(Nanos::from_millis(1))));
    assert_same("UDP_STREAM receiver in batches", |run| run.until_back, [receive_task(&task, FEW), receive_task(&task, MANY)]);
}

/// Both ends of a stream over what no network carries, each on a thread of its own.
fn past_the_link(api: Api, test: Test, messages: u64) -> (Run, Run) {
    let (sends, mut receives) = engine::pair(api.over(), 1 << 16).unwrap();
    let socket = UnixDatagram::from(receives.socket);
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    receives.socket = socket.into();
    let stage = Arc::new(measuring());
    let receiving = thread::spawn({
        let stage = Arc::clone(&stage);
        let task = over(api, the_task(Role::Receiver, test, TrialEnd::Length(Nanos::from_millis(1))));
        move || run_flow(&task, receives.into(), &stage)
    });
    let task = over(api, the_task(Role::Sender, test, TrialEnd::Messages(messages)));
    let sent = {
        // The end of a stream is seen once its receiver has taken it.
        let (task, sending) = (task, sends);
        let announced = Arc::clone(&stage);
        let begun = allocations();
        let until_sent = Counter::new(0);
        let traffic = traffic::run(&task, sending.into(), &measuring(), &|_| {
            until_sent.set(allocations() - begun);
            announced.announce(messages);
            announced.enter(Part::Drain);
        });
        Run { until_sent: until_sent.get(), until_back: allocations() - begun, messages: traffic.unwrap().total.messages }
    };
    (sent, receiving.join().unwrap())
}

#[test]
fn what_goes_past_the_link_allocates_nothing_per_message() {
    for api in Api::ALL.iter().copied().filter(|api| api.over().is_local()) {
        if api == Api::Vsock && !allowed(api) {
            continue;
        }
        for test in [Test::UdpStream, Test::TcpStream].into_iter().filter(|test| api.carries(*test)) {
            let [few, many] = [past_the_link(api, test, FEW), past_the_link(api, test, MANY)];
            assert_same(&format!("{test} over {api}"), |run| run.until_sent, [few.0, many.0]);
            assert_same(&format!("{test} receiver over {api}"), |run| run.until_back, [few.1, many.1]);
        }
    }
}

/// Returns whether an api can be used on loopback here: frames cannot, and packets with
/// heads of their own take a privilege.
fn allowed(api: Api) -> bool {
    let refused = engine::ways::try_sending(api).err().filter(|_| {
        use model::Over;
        matches!(api.over(), Over::Packets | Over::Sctp | Over::Ktls | Over::Vsock)
    });
    if let Some(refused) = &refused {
        println!("SKIPPED: {api}: {refused}");
    }
    !matches!(api, Api::Packet | Api::PacketRing | Api::Xdp | Api::XdpZerocopy | Api::Tun) && refused.is_none()
}

#[test]
fn no_api_allocates_per_message() {
    for api in Api::ALL.iter().copied().filter(|api| !api.over().is_local() && allowed(*api)) {
        for test in [Test::UdpStream, Test::TcpStream].into_iter().filter(|test| api.carries(*test)) {
            let send = |messages| send_task(&over(api, the_task(Role::Sender, test, TrialEnd::Messages(messages))), messages);
            assert_same(&format!("{test} over {api}"), |run| run.until_sent, [send(FEW), send(MANY)]);
        }
        if api.carries(Test::UdpStream) {
            let task = over(api, the_task(Role::Receiver, Test::UdpStream, TrialEnd::Length(Nanos::from_millis(1))));
            assert_same(
                &format!("UDP_STREAM receiver over {api}"),
                |run| run.until_back,
                [receive_task(&task, FEW), receive_task(&task, MANY)],
            );
        }
    }
}

/// In the environment of this program once more, in a network namespace with a device of Ethernet.
const INSIDE: &str = "NETTOLL_TEST_INSIDE";

/// A device of Ethernet that leads to a peer who throws away what comes, and then the test.
const DEVICE: &str = "ip link add nettoll0 type veth peer name nettoll1 && ip link set nettoll1 up && \
                      ip addr add 192.0.2.1/24 dev nettoll0 && ip link set nettoll0 up && \
                      ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev nettoll0 || exit 77; exec \"$0\" \"$@\"";

#[test]
fn no_way_of_frames_allocates_per_message() {
    if std::env::var_os(INSIDE).is_some() {
        // By the same loop as those of xdp go the frames that a card reads itself.
        println!("SKIPPED: {}: no virtual Ethernet takes frames without a copy", Api::XdpZerocopy);
        return [Api::Packet, Api::PacketRing, Api::Xdp, Api::Tun].into_iter().for_each(frames_allocate_nothing);
    }
    let mut inside = std::process::Command::new("unshare");
    inside.args(["-rn", "sh", "-c", DEVICE]).arg(std::env::current_exe().unwrap());
    inside.args(["--exact", "--nocapture", "no_way_of_frames_allocates_per_message"]).env(INSIDE, "1").env("NT_NAMESPACE", "own");
    let refused = match inside.output() {
        Ok(answer) => {
            print!("{}", String::from_utf8_lossy(&answer.stdout));
            let words = String::from_utf8_lossy(&answer.stderr).into_owned();
            // 101: the test itself has failed, and has said why.
            (!answer.status.success()).then(|| (answer.status.code() == Some(101), words))
        }
        Err(answer) => Some((false, format!("unshare: {answer}"))),
    };
    match refused {
        Some((true, words)) => panic!("{words}"),
        Some((false, words)) => println!("SKIPPED: ways of frames: no network namespace with a virtual Ethernet here: {}", words.trim()),
        None => {}
    }
}

fn frames_allocate_nothing(api: Api) {
    if let Err(refused) = engine::ways::try_sending(api) {
        println!("SKIPPED: {api}: {refused}");
        return;
    }
    let send = |messages| {
        let socket = UdpSocket::bind("192.0.2.1:0").unwrap();
        socket.connect("192.0.2.2:9").unwrap();
        run(&over(api, the_task(Role::Sender, Test::UdpStream, TrialEnd::Messages(messages))), socket, &measuring())
    };
    assert_same(&format!("UDP_STREAM over {api}"), |run| run.until_sent, [send(FEW), send(MANY)]);
}

#[test]
fn no_way_of_receiving_allocates_per_message() {
    let on_loopback = |receive: &Receive| receive.takes_from(model::Over::Link) && !receive.is_below_udp();
    for receive in Receive::ALL.iter().copied().filter(on_loopback) {
        let of = |test| over(Api::Send, the_task(Role::Receiver, test, TrialEnd::Length(Nanos::from_millis(1))));
        let received_by = |mut task: Task| {
            task.cell = task.cell.with(&[Level::Receive(receive)]).expect("it receives it");
            task
        };
        if receive.carries(Test::UdpStream) {
            let task = received_by(of(Test::UdpStream));
            let what = format!("UDP_STREAM received by {receive}");
            assert_same(&what, |run| run.until_back, [receive_task(&task, FEW), receive_task(&task, MANY)]);
        }
        if receive.carries(Test::TcpStream) {
            let task = received_by(of(Test::TcpStream));
            let what = format!("TCP_STREAM received by {receive}");
            assert_same(&what, |run| run.until_back, [receive_stream_task(&task, FEW), receive_stream_task(&task, MANY)]);
        }
    }
}

#[test]
fn a_sender_that_ends_by_time_allocates_nothing_per_message() {
    assert_same("UDP_STREAM by time", |run| run.until_sent, [send_for(5), send_for(100)]);
}

#[test]
fn a_receiver_allocates_nothing_per_message() {
    assert_same("TCP_STREAM receiver", |run| run.until_back, [receive_stream(FEW), receive_stream(MANY)]);
    assert_same("UDP_STREAM receiver", |run| run.until_back, [receive_datagrams(FEW), receive_datagrams(MANY)]);
}

#[test]
fn neither_end_of_request_and_response_allocates_per_message() {
    for test in [Test::TcpRr, Test::UdpRr] {
        let [few, many] = [ask_and_answer(test, FEW), ask_and_answer(test, 10 * FEW)];
        // A requester's report grows with how much its times differ.
        assert_same(&format!("{test} requester"), |run| run.until_sent, [few.0, many.0]);
        assert_same(&format!("{test} answerer"), |run| run.until_back, [few.1, many.1]);
    }
}

/// Messages that are all due at once, so that the loop never waits.
fn offered(role: Role, test: Test, messages: u64) -> Task {
    let mut task = the_task(role, test, TrialEnd::Messages(messages));
    task.cell.rate = Some(model::OfferedRate::Messages(u64::MAX));
    task.cell.stamp = test == Test::UdpStream;
    task
}

#[test]
fn a_schedule_and_a_stamp_allocate_nothing_per_message() {
    let send = |messages| {
        let (ours, _theirs) = udp();
        run(&offered(Role::Sender, Test::UdpStream, messages), ours, &measuring())
    };
    assert_same("UDP_STREAM, offered and stamped", |run| run.until_sent, [send(FEW), send(MANY)]);
}

#[test]
fn outstanding_requests_allocate_nothing_each() {
    let ask = |messages: u64| {
        let (ours, mut theirs) = tcp();
        let answering = thread::spawn(move || {
            let mut room = [0; SIZE];
            while std::io::Read::read_exact(&mut theirs, &mut room).is_ok() {
                theirs.write_all(&room).unwrap();
            }
        });
        let run = run(&offered(Role::Sender, Test::TcpRr, messages), ours, &measuring());
        answering.join().unwrap();
        run
    };
    assert_same("TCP_RR, offered", |run| run.until_sent, [ask(FEW), ask(10 * FEW)]);
}

#[test]
fn reading_stamps_allocates_nothing_per_message() {
    let receive = |messages: u64| {
        let (ours, theirs) = udp();
        let stage = Arc::new(measuring());
        let source = thread::spawn({
            let stage = Arc::clone(&stage);
            move || {
                for number in 0..messages {
                    let mut message = [7; SIZE];
                    message[..8].copy_from_slice(&number.to_be_bytes());
                    // The times differ from message to message by the same.
                    message[8..16].copy_from_slice(&number.to_be_bytes());
                    assert_eq!(theirs.send(&message).unwrap(), SIZE);
                }
                stage.announce(messages);
                stage.enter(Part::Drain);
                theirs
            }
        });
        let run = run(&offered(Role::Receiver, Test::UdpStream, messages), ours, &stage);
        source.join().unwrap();
        run
    };
    assert_same("UDP_STREAM receiver, stamped", |run| run.until_back, [receive(FEW), receive(MANY)]);
}
