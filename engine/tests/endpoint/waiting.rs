//! Ends that ask again and again instead of waiting, and work of their own.

use model::plan::{Level, TrialEnd};
use model::{Api, Cell, Family, Nanos, Over, Test, Waiting};

use crate::apis::is_here;
use crate::support::{Reports, cell, trial};

const LENGTH: TrialEnd = TrialEnd::Length(Nanos::from_millis(40));
const WARMUP: Nanos = Nanos::from_millis(10);

const TESTS: [Test; 5] = [Test::TcpStream, Test::UdpStream, Test::TcpMaerts, Test::TcpRr, Test::UdpRr];

#[test]
fn ends_that_spin_count_as_others_do_and_do_not_wait_in_the_kernel() {
    for test in TESTS {
        let spinning = Cell { waiting: Waiting::Spin, ..cell(test, Family::V4, 100) };
        // By count: on a busy machine an end may not have the CPU in a time, however long.
        let Reports { sender, receiver, .. } = trial(&spinning, TrialEnd::Messages(200), WARMUP);
        assert_eq!((sender.counts.errors, receiver.counts.errors), (0, 0), "{test}");
        assert!(receiver.counts.messages > 0 && receiver.total.bytes <= sender.total.bytes, "{test}");
        if test != Test::UdpStream {
            assert_eq!(receiver.total.bytes, sender.total.bytes, "{test}");
        }
        // Of its own accord it gives its CPU to nobody: what it waits for once is the end of a part.
        let waits = receiver.switches.voluntary;
        assert!(waits <= 3 + receiver.counts.messages / 1_000, "{test}: {waits} waits for {} messages", receiver.counts.messages);
    }
}

#[test]
fn ends_that_poll_take_every_message() {
    for waiting in [Waiting::BusyPoll, Waiting::Poll, Waiting::Select, Waiting::Epoll, Waiting::EpollEdge] {
        for test in TESTS {
            for api in Api::ALL.iter().copied().filter(|api| api.carries(test) && api.over() != Over::Packets && is_here(*api)) {
                let what = format!("{test} over {api}, {waiting}");
                let cell = match cell(test, Family::V4, 100).with(&[Level::Waiting(waiting), Level::Api(api.into())]) {
                    Ok(cell) => cell,
                    // Not everything past the link can be waited for in every way.
                    Err(refused) if api.over().is_local() => {
                        assert!(refused.to_string().contains("cannot be waited for"), "{what}: {refused}");
                        continue;
                    }
                    Err(refused) => panic!("{what}: {refused}"),
                };
                let Reports { sender, receiver, .. } = trial(&cell, LENGTH, WARMUP);
                assert_eq!((sender.counts.errors, receiver.counts.errors), (0, 0), "{what}");
                // On a busy machine the measured part alone can be over before the ends have their CPUs.
                let arrived = receiver.total.bytes;
                assert!(arrived > 0, "{what}");
                if test != Test::UdpStream {
                    assert_eq!(receiver.total.bytes, sender.total.bytes, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_requester_that_spins_counts_each_request_as_answered_or_lost() {
    let spinning = Cell { waiting: Waiting::Spin, ..cell(Test::UdpRr, Family::V4, 100) };
    let Reports { sender, .. } = trial(&spinning, TrialEnd::Messages(200), WARMUP);
    assert_eq!(sender.counts.messages + sender.counts.lost, 200);
}

#[test]
fn work_is_done_before_each_message() {
    const WORK: Nanos = Nanos::from_millis(1);
    for test in TESTS {
        let working = Cell { work: WORK, ..cell(test, Family::V4, 100) };
        let Reports { sender, .. } = trial(&working, LENGTH, WARMUP);
        let (sent, length) = (sender.counts.messages, sender.window.length());
        assert!(sent > 0, "{test}");
        // The first may have begun before the measured part.
        assert!((sent - 1) * WORK.get() <= length.get(), "{test}: {sent} messages in {length}");
    }
}
