//! Socket options, and what the system refuses.

use std::net::{SocketAddr, TcpListener, UdpSocket};

use model::control::{SentTotals, Task, ToEndpoint};
use model::end::{EndReport, OptionValue, SocketOption};
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, Receive, Role, Test};

use crate::support::{Endpoint, cell, loopback, task, trial};

const FEW: TrialEnd = TrialEnd::Messages(5);
const NO_WARMUP: Nanos = Nanos::from_millis(0);

fn option<'a>(report: &'a EndReport, name: &str) -> &'a SocketOption {
    report.options.iter().find(|option| option.name == name).unwrap()
}

/// What an endpoint says of a task that cannot be done.
fn refused(task: Task) -> String {
    let (mut endpoint, served) = Endpoint::start();
    endpoint.tell(&ToEndpoint::Prepare(Box::new(task)));
    let error = endpoint.hear_failure();
    served.join().unwrap().unwrap();
    error
}

#[test]
fn an_option_is_told_as_asked_as_set_and_as_it_ended() {
    let plain = cell(Test::TcpStream, Family::V4, 100);
    let asked = Cell { sndbuf: Some(Bytes::new(20_000)), rcvbuf: Some(Bytes::new(30_000)), cc: Some("reno".into()), ..plain };
    let reports = trial(&asked, FEW, NO_WARMUP);
    for report in [&reports.sender, &reports.receiver] {
        for (name, size) in [("SO_SNDBUF", 20_000), ("SO_RCVBUF", 30_000)] {
            let option = option(report, name);
            // The kernel doubles what it is asked for (socket(7)).
            let doubled = OptionValue::Number(2 * size);
            assert_eq!((option.asked.as_ref(), &option.set), (Some(&OptionValue::Number(size)), &doubled), "{name}");
            assert_eq!(option.got, doubled, "{name}: a size that was asked for does not grow by itself");
        }
        assert_eq!(option(report, "TCP_NODELAY").set, OptionValue::Number(1));
        let cc = option(report, "TCP_CONGESTION");
        assert_eq!((cc.asked.as_ref(), &cc.got), (Some(&OptionValue::Text("reno".into())), &OptionValue::Text("reno".into())));
    }
}

#[test]
fn the_bytes_that_wake_a_receiver_are_told_as_asked_and_as_set() {
    let plain = cell(Test::TcpStream, Family::V4, 100);
    let asked = Cell { receive: Some(Receive::Lowat), read_size: Bytes::new(20_000), ..plain };
    let reports = trial(&asked, FEW, NO_WARMUP);
    let lowat = option(&reports.receiver, "SO_RCVLOWAT");
    let number = OptionValue::Number(20_000);
    assert_eq!((lowat.asked.as_ref(), &lowat.set, &lowat.got), (Some(&number), &number, &number));
    assert!(reports.sender.options.iter().all(|option| option.name != "SO_RCVLOWAT"), "a sender is woken by its first byte");
}

#[test]
fn what_was_not_asked_for_is_left_to_the_kernel_and_told() {
    let report = trial(&cell(Test::UdpStream, Family::V4, 100), FEW, NO_WARMUP).sender;
    let names: Vec<&str> = report.options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["SO_SNDBUF", "SO_RCVBUF"], "UDP has none of TCP's");
    assert!(report.options.iter().all(|option| option.asked.is_none() && matches!(option.set, OptionValue::Number(1..))));
}

#[test]
fn a_congestion_control_that_this_kernel_lacks_is_refused_with_where_to_look() {
    let cell = Cell { cc: Some("nosuch".into()), ..cell(Test::TcpStream, Family::V4, 100) };
    let error = refused(task(Role::Sender, &cell, FEW, NO_WARMUP));
    assert!(error.contains("TCP_CONGESTION = nosuch") && error.contains("tcp_available_congestion_control"), "{error}");
}

#[test]
fn an_address_that_is_not_ours_is_refused_with_what_to_check() {
    // TEST-NET-1 (RFC 5737).
    let local: SocketAddr = "192.0.2.1:0".parse().unwrap();
    for test in [Test::TcpStream, Test::UdpStream] {
        let error = refused(Task { local, ..task(Role::Receiver, &cell(test, Family::V4, 100), FEW, NO_WARMUP) });
        assert!(error.starts_with("bind 192.0.2.1:0: ") && error.contains("check the link"), "{error}");
    }
}

#[test]
fn a_port_in_use_is_refused_with_the_remedy() {
    let here = (loopback(Family::V4), 0);
    let (tcp, udp) = (TcpListener::bind(here).unwrap(), UdpSocket::bind(here).unwrap());
    for (test, local) in [(Test::TcpStream, tcp.local_addr().unwrap()), (Test::UdpStream, udp.local_addr().unwrap())] {
        let error = refused(Task { local, ..task(Role::Receiver, &cell(test, Family::V4, 100), FEW, NO_WARMUP) });
        assert!(error.starts_with(&format!("bind {local}: ")), "{error}");
        assert!(error.contains("in use") && error.ends_with("end what uses this port, or choose another"), "{error}");
    }
}

#[test]
fn a_connection_that_is_refused_says_that_nobody_listens() {
    // Bound and not listening: nobody else can take the port meanwhile.
    let taken = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    taken.bind(&SocketAddr::new(loopback(Family::V4), 0).into()).unwrap();
    let peer = taken.local_addr().unwrap().as_socket().unwrap();
    let (mut sender, served) = Endpoint::start();
    sender.prepare(task(Role::Sender, &cell(Test::TcpStream, Family::V4, 100), FEW, NO_WARMUP));
    sender.tell(&ToEndpoint::Connect { peers: vec![peer] });
    let error = sender.hear_failure();
    served.join().unwrap().unwrap();
    assert!(error.starts_with(&format!("connect to {peer}: ")) && error.contains("nothing listens there"), "{error}");
}

#[test]
fn a_datagram_that_is_too_long_ends_the_trial_and_leaves_its_errno() {
    let socket = UdpSocket::bind((loopback(Family::V4), 0)).unwrap();
    let (mut sender, _) = Endpoint::start();
    let cell = cell(Test::UdpStream, Family::V4, Family::V4.largest_datagram() + 1);
    let address = sender.prepare(task(Role::Sender, &cell, FEW, NO_WARMUP));
    sender.join(Role::Sender, address, &socket);
    sender.tell(&ToEndpoint::Go);
    assert_eq!(sender.hear_sent(), (0, 0));
    sender.tell(&ToEndpoint::Drain(SentTotals::one(0, 0)));
    let total = sender.hear_done().total;
    assert_eq!((total.messages, total.last_errno), (0, Some(nix::errno::Errno::EMSGSIZE as i32)));
}

/// What a buffer lets through is looked at next to the traffic, and only where one
/// is given; the greeting and the end of the stream are no part of it.
#[test]
fn what_is_under_way_is_looked_at_where_a_buffer_is_given() {
    let plain = cell(Test::TcpStream, Family::V4, 1_000);
    let length = TrialEnd::Length(Nanos::from_millis(60));
    let narrow = Cell { rcvbuf: Some(Bytes::new(4_000)), ..plain.clone() };
    let reports = trial(&narrow, length, NO_WARMUP);
    let seen = reports.sender.in_flight.unwrap();
    assert!(seen.looks >= 5, "every 2 ms, however busy this machine is: {seen:?}");
    assert!((1..=16).contains(&seen.most), "a window of 4,000 B holds few segments: {seen:?}");
    assert_eq!(reports.receiver.in_flight, None, "a receiver has nothing under way");
    for cell in [plain.clone(), Cell { sndbuf: Some(Bytes::new(9_000)), ..cell(Test::UdpStream, Family::V4, 1_000) }] {
        assert_eq!(trial(&cell, FEW, NO_WARMUP).sender.in_flight, None, "{cell}");
    }
}

/// A sender's buffer holds all of a short transfer: its end is announced before
/// anything has come.
#[test]
fn a_counted_stream_is_measured_to_its_last_byte() {
    let wide = Cell { sndbuf: Some(Bytes::new(400_000)), rcvbuf: Some(Bytes::new(3_000)), ..cell(Test::TcpStream, Family::V4, 1_000) };
    let reports = trial(&wide, TrialEnd::Messages(100), Nanos::from_millis(1));
    assert_eq!((reports.sender.counts.bytes, reports.receiver.counts.bytes), (100_000, 100_000));
    assert_eq!(reports.receiver.total.bytes, 110_000, "the warm-up is a tenth, and is not measured");
}
