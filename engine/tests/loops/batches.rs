//! Apis that hand over and fetch many messages with one call, over real sockets.

use std::io::Read;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use engine::stage::Part;
use model::plan::TrialEnd;
use model::{Api, Bytes, Cell, Family, Mix, OfferedRate, Pacing, Role, Test};

use crate::flow::{BY_TIME, Flow, paced, task, tcp, times, udp};
use crate::support::{PATIENCE, cell};

const BATCH: u32 = 32;

fn batched(cell: Cell) -> Cell {
    Cell { api: Api::Sendmmsg, batch: BATCH, ..cell }
}

fn stream(test: Test, size: u64) -> Cell {
    batched(cell(test, Family::V4, size))
}

/// Room for all that a test sends, and the time limit of calls that an endpoint sets.
fn roomy(socket: &UdpSocket) {
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    socket2::SockRef::from(socket).set_recv_buffer_size(8 << 20).unwrap();
}

#[test]
fn datagrams_of_every_size_arrive_in_fewer_calls_than_there_are() {
    for size in [1, 64, 1_024, 1_460, 8_192] {
        let (theirs, ours) = udp();
        roomy(&ours);
        let cell = stream(Test::UdpStream, size);
        let sender = Flow::start(task(Role::Sender, &cell, TrialEnd::Messages(100)), OwnedFd::from(theirs));
        let sent = sender.sent();
        let receiver = Flow::start(task(Role::Receiver, &cell, BY_TIME), OwnedFd::from(ours));
        receiver.announce(sent.messages);
        let (sent, came) = (sender.finish().unwrap().total, receiver.finish().unwrap().total);
        assert_eq!((sent.messages, sent.sent, sent.bytes, sent.errors), (100, 100, 100 * size, 0), "{size} B");
        assert_eq!((came.messages, came.received, came.bytes, came.errors), (100, 100, 100 * size, 0), "{size} B");
        assert_eq!(sent.calls, 4 + sent.short, "{size} B: 32, 32, 32 and 4, and one more for each that ended early");
        assert!(came.calls <= 5, "{size} B: {came:?}, all of them were there");
    }
}

#[test]
fn bytes_of_a_connection_are_those_that_were_sent() {
    for size in [1, 1_460, 300_000] {
        let (ours, theirs) = tcp();
        theirs.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let cell = stream(Test::TcpStream, size);
        let receiver = Flow::start(task(Role::Receiver, &cell, BY_TIME), OwnedFd::from(theirs));
        let sender = Flow::start(task(Role::Sender, &cell, BY_TIME), OwnedFd::from(ours));
        sender.end_after(Duration::from_millis(30));
        let sent = sender.sent();
        receiver.announce(sent.messages);
        let (sender, receiver) = (sender.finish().unwrap(), receiver.finish().unwrap());
        assert_eq!((sender.total.bytes, sender.total.errors), (sent.messages * size, 0), "{size} B");
        assert_eq!(receiver.total.bytes, sender.total.bytes, "{size} B");
        assert_eq!(receiver.total.messages, sent.messages);
        assert!(sender.total.calls <= sent.messages + sender.total.short, "{size} B: {:?}", sender.total);
    }
}

#[test]
fn a_reader_that_stalls_cuts_batches_short_and_no_byte_is_lost() {
    let (ours, mut theirs) = tcp();
    let sender = Flow::start(task(Role::Sender, &stream(Test::TcpStream, 10_000), BY_TIME), OwnedFd::from(ours));
    // The buffers fill up, and calls end for lack of room.
    thread::sleep(Duration::from_millis(200));
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        theirs.read_to_end(&mut all).unwrap();
        all.len() as u64
    });
    sender.end_after(Duration::from_millis(50));
    let sent = sender.sent();
    assert_eq!(reader.join().unwrap(), sent.bytes);
    let total = sender.finish().unwrap().total;
    assert_eq!((total.bytes, total.errors), (total.messages * 10_000, 0));
    assert!(total.short > 0, "{total:?}");
}

#[test]
fn a_peer_that_goes_away_ends_a_stream_and_is_an_error() {
    let (ours, theirs) = tcp();
    let sender = Flow::start(task(Role::Sender, &stream(Test::TcpStream, 1_000), BY_TIME), OwnedFd::from(ours));
    thread::sleep(Duration::from_millis(20));
    drop(theirs);
    let sent = sender.sent();
    assert!(sent.errors > 0 && [libc::EPIPE, libc::ECONNRESET].contains(&sent.last_errno.unwrap()), "{sent:?}");
    sender.stage.enter(Part::Drain);
    drop(sender.finish());
}

#[test]
fn refused_datagrams_are_errors_and_the_others_are_sent() {
    let (ours, theirs) = udp();
    drop(theirs);
    let sender = Flow::start(task(Role::Sender, &stream(Test::UdpStream, 64), TrialEnd::Messages(100)), OwnedFd::from(ours));
    let sent = sender.sent();
    assert_eq!((sent.messages, sent.bytes), (100, 6_400));
    assert!(sent.errors > 0 && sent.last_errno == Some(libc::ECONNREFUSED), "{sent:?}");
    drop(sender.finish());
}

#[test]
fn a_datagram_that_is_too_large_ends_the_stream() {
    let (ours, _theirs) = udp();
    let cell = Cell { size: Bytes::new(70_000), read_size: Bytes::new(1), ..stream(Test::UdpStream, 1) };
    let sender = Flow::start(task(Role::Sender, &cell, BY_TIME), OwnedFd::from(ours));
    let sent = sender.sent();
    assert_eq!((sent.messages, sent.errors, sent.last_errno), (0, 1, Some(libc::EMSGSIZE)));
    drop(sender.finish());
}

#[test]
fn a_schedule_is_kept_and_every_message_is_stamped() {
    let (theirs, ours) = udp();
    roomy(&ours);
    let cell = batched(Cell { stamp: true, ..paced(Test::UdpStream, 64, 2_000, Pacing::Sleep) });
    let receiver = Flow::start(task(Role::Receiver, &cell, BY_TIME), OwnedFd::from(ours));
    let sender = Flow::start(task(Role::Sender, &cell, BY_TIME), OwnedFd::from(theirs));
    thread::sleep(Duration::from_millis(200));
    receiver.stage.enter(Part::Drain);
    sender.end_after(Duration::from_millis(1));
    let sent = sender.sent();
    receiver.announce(sent.messages);
    let (sender, receiver) = (sender.finish().unwrap(), receiver.finish().unwrap());
    assert_eq!((sender.total.messages, receiver.total.messages), (sent.messages, sent.messages), "so few are not lost");
    let schedule = sender.schedule.unwrap().schedule();
    assert!(schedule.intended.abs_diff(sender.counts.messages + schedule.behind) <= 1, "{schedule:?}, {:?}", sender.counts);
    assert_eq!(times(schedule.lateness.as_deref().unwrap()).len(), sender.counts.messages);
    let one_way = receiver.one_way.unwrap().one_way();
    assert_eq!((one_way.messages, one_way.missing, one_way.out_of_order), (receiver.counts.messages, 0, 0));
}

#[test]
fn a_sender_that_is_behind_catches_up_in_batches() {
    let (ours, theirs) = udp();
    roomy(&theirs);
    let cell = batched(Cell { rate: Some(OfferedRate::Messages(u64::MAX)), ..cell(Test::UdpStream, Family::V4, 64) });
    let sender = Flow::start(task(Role::Sender, &cell, TrialEnd::Messages(320)), OwnedFd::from(ours));
    let total = sender.finish().unwrap().total;
    assert_eq!((total.messages, total.calls), (320, 10 + total.short));
}

#[test]
fn a_mix_keeps_the_sizes_of_its_sequence() {
    let mix = Mix::new("x", 3, &[(8, 0.5), (1_000, 0.25), (9_000, 0.25)]).unwrap();
    let (ours, theirs) = udp();
    roomy(&theirs);
    theirs.set_read_timeout(Some(PATIENCE)).unwrap();
    let cell = batched(cell(Test::UdpStream, Family::V4, 1).of_mix(mix.clone()));
    let sender = Flow::start(task(Role::Sender, &cell, TrialEnd::Messages(100)), OwnedFd::from(ours));
    let mut room = vec![0; 10_000];
    for (number, size) in mix.sequence().into_iter().cycle().take(100).enumerate() {
        assert_eq!(theirs.recv(&mut room).unwrap(), size as usize, "message {number}");
    }
    assert_eq!(sender.finish().unwrap().total.messages, 100);
}

#[test]
fn a_request_and_its_answer_are_a_call_each() {
    for test in [Test::TcpRr, Test::UdpRr] {
        let cell = Cell { api: Api::Sendmmsg, ..cell(test, Family::V4, 100) };
        let (asks, answers): (OwnedFd, OwnedFd) = match test {
            Test::TcpRr => {
                let (ours, theirs) = tcp();
                (ours.into(), theirs.into())
            }
            _ => {
                let (ours, theirs) = udp();
                theirs.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                (ours.into(), theirs.into())
            }
        };
        let answerer = Flow::start(task(Role::Receiver, &cell, TrialEnd::Messages(50)), answers);
        let asker = Flow::start(task(Role::Sender, &cell, TrialEnd::Messages(50)), asks);
        let asked = asker.sent();
        answerer.announce(asked.messages);
        let (asked, answered) = (asker.finish().unwrap().total, answerer.finish().unwrap().total);
        assert_eq!((asked.messages, asked.calls, answered.messages), (50, 100, 50), "{test}");
        assert_eq!(asked.bytes, 100 * 100, "{test}: requests and answers");
    }
}
