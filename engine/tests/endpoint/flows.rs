//! Several flows in one endpoint, and both ways at once.

use model::control::Task;
use model::end::{Counts, EndReport};
use model::plan::TrialEnd;
use model::trial::Windows;
use model::{Cell, Family, Nanos, Test};

use crate::support::cell;
use crate::support::several::{EndOutcome, several, tasks};

const LENGTH: TrialEnd = TrialEnd::Length(Nanos::from_millis(40));
const COUNT: TrialEnd = TrialEnd::Messages(60);
const WARMUP: Nanos = Nanos::from_millis(10);
const FLOWS: u32 = 3;
const SIZE: u64 = 500;
/// Trials of a length until one has measured all its flows.
const ATTEMPTS: u32 = 20;

fn flows(test: Test, family: Family) -> Cell {
    Cell { flows: FLOWS, ..cell(test, family, SIZE) }
}

fn sum_of(all: impl Iterator<Item = Counts>) -> (u64, u64, u64, u64) {
    all.fold((0, 0, 0, 0), |sum, one| (sum.0 + one.messages, sum.1 + one.bytes, sum.2 + one.sent, sum.3 + one.received))
}

/// The whole is the sum of its flows.
fn assert_adds_up(report: &EndReport) {
    assert_eq!(report.flows.len(), FLOWS as usize);
    for (whole, of) in [
        (report.counts, Box::new(|flow: &model::end::FlowReport| flow.counts) as Box<dyn Fn(&_) -> _>),
        (report.total, Box::new(|flow: &model::end::FlowReport| flow.total)),
    ] {
        assert_eq!(sum_of(std::iter::once(whole)), sum_of(report.flows.iter().map(of)), "{report:?}");
    }
    // A window without a CPU may be empty; messages in it take time.
    assert!(report.counts.bytes == 0 || report.cpu_time.process > Nanos::default(), "{report:?}");
    assert!(report.window.start <= report.window.end, "{report:?}");
}

/// The bytes that each flow sent are those that came of it, apart from datagrams that
/// were lost. Holds whatever CPU time the flows had.
fn assert_flows_agree(test: Test, [sender, receiver]: &[EndOutcome; 2]) {
    assert_adds_up(&sender.report);
    assert_adds_up(&receiver.report);
    let (announced, total) = (sender.sent.as_ref().unwrap(), sender.report.total);
    assert_eq!(announced.messages, sender.report.flows.iter().map(|flow| flow.total.messages).collect::<Vec<_>>(), "{test}: flow by flow");
    // Answers of requests that were given up may come after the announcement.
    let late = announced.bytes..=announced.bytes + SIZE * total.late;
    assert!(late.contains(&total.bytes), "{test}: {announced:?} announced of {total:?}");
    for (number, (sent, received)) in sender.report.flows.iter().zip(&receiver.report.flows).enumerate() {
        match test {
            Test::UdpStream => assert!(received.total.received <= sent.total.sent, "{test}: flow {number}"),
            Test::UdpRr => assert_requests_agree(sent.total, received.total),
            _ => assert_eq!(received.total.bytes, sent.total.bytes, "{test}: flow {number}"),
        }
    }
}

/// A request of a datagram is answered once, or it is lost: on a busy machine an end may
/// wait for its CPU for longer than an answer is waited for.
fn assert_requests_agree(asked: Counts, answered: Counts) {
    assert_eq!((asked.sent, asked.received), (asked.messages + asked.lost, asked.messages + asked.late), "{asked:?}");
    assert_eq!((answered.sent, answered.messages), (answered.received, answered.received), "{answered:?}");
    assert!(asked.late <= asked.lost && asked.received <= answered.sent && answered.received <= asked.sent, "{asked:?} {answered:?}");
    if asked.lost == 0 {
        assert_eq!(answered.received, asked.sent, "{asked:?} {answered:?}");
    }
}

#[test]
fn flows_are_counted_each_by_itself_and_together() {
    for family in [Family::V4, Family::V6] {
        for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream, Test::TcpRr, Test::UdpRr] {
            // A flow may have no CPU for as long as a trial lasts.
            let runs = (0..ATTEMPTS).any(|_| {
                let said = several(tasks(&flows(test, family), LENGTH, WARMUP));
                assert_flows_agree(test, &said);
                let [sender, receiver] = &said;
                let measured = sender.report.counts.messages > 0 && receiver.report.counts.bytes > 0;
                measured && sender.report.flows.iter().all(|flow| flow.total.messages > 0)
            });
            assert!(runs, "{test} {family}: in no trial every flow runs");
        }
    }
}

#[test]
fn each_flow_counts_to_the_number_of_messages() {
    for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream, Test::TcpRr, Test::UdpRr] {
        let said = several(tasks(&flows(test, Family::V4), COUNT, Nanos::from_millis(0)));
        assert_flows_agree(test, &said);
        for flow in &said[0].report.flows {
            assert_eq!(flow.counts.messages + flow.counts.lost, 60, "{test}: {flow:?}");
        }
        assert_eq!(said[0].report.counts.messages + said[0].report.counts.lost, 60 * u64::from(FLOWS), "{test}");
    }
}

/// The times of all flows are in one histogram, and TCP's account of all in one.
#[test]
fn times_and_accounts_of_flows_are_put_together() {
    let [sender, _] = several(tasks(&flows(Test::TcpRr, Family::V4), COUNT, WARMUP));
    assert_eq!(super::counts::times_recorded(sender.report.latency.as_deref().unwrap()), sender.report.counts.messages);
    let each: u32 = sender.report.flows.iter().map(|flow| flow.tcp.unwrap().data_segs_out).sum();
    assert_eq!(sender.report.tcp.unwrap().data_segs_out, each);
}

/// What came before the measured part can be taken off.
#[test]
fn the_account_at_the_start_of_the_measured_part_is_told() {
    for (test, flows) in [(Test::TcpStream, 1), (Test::TcpRr, 1), (Test::TcpRr, FLOWS), (Test::UdpRr, 1), (Test::TcpCrr, 1)] {
        let cell = Cell { flows, ..cell(test, Family::V4, 500) };
        for said in several(tasks(&cell, COUNT, Nanos::from_millis(10))) {
            let report = said.report;
            assert_eq!(report.tcp_at_start.is_some(), report.tcp.is_some(), "{test}");
            let (Some(before), Some(after)) = (report.tcp_at_start, report.tcp) else { continue };
            assert!(before.segs_out <= after.segs_out && before.data_segs_in <= after.data_segs_in, "{test}: {before:?} {after:?}");
            if test == Test::TcpRr {
                // Each message and what joined is a segment; one may be on its way at the edge.
                let (sent, warmup) = (u64::from(before.data_segs_out), u64::from(flows) * TrialEnd::warmup_messages(60, WARMUP));
                assert!((warmup..=warmup + 2 * u64::from(flows)).contains(&sent), "{test}: {sent} segments in a warm-up of {warmup}");
                assert_eq!(u64::from(after.data_segs_out) - sent, report.total.sent + u64::from(flows) - sent, "{test}");
            }
            let each = |of: fn(&model::end::FlowReport) -> u32| report.flows.iter().map(of).sum::<u32>();
            if flows > 1 {
                assert_eq!(before.data_segs_out, each(|flow| flow.tcp_at_start.unwrap().data_segs_out), "{test}");
            }
        }
    }
}

/// Without a warm-up a number of messages is all of them, the first as well.
#[test]
fn a_number_of_messages_is_measured_from_its_first_at_both_ends() {
    for test in [Test::TcpStream, Test::UdpStream, Test::TcpRr, Test::UdpRr, Test::TcpCrr] {
        for (messages, flows) in [(1, 1), (1, 2), (100, 1)] {
            let cell = Cell { flows, ..cell(test, Family::V4, SIZE) };
            let said = several(tasks(&cell, TrialEnd::Messages(messages), Nanos::from_millis(0)));
            for EndOutcome { report, .. } in said {
                let (counts, all) = (report.counts, messages * u64::from(flows));
                assert_eq!((counts.messages, report.total.messages), (all, all), "{test} {messages} {flows}: {} {counts:?}", report.role);
                let ways = if test.is_stream() { 1 } else { 2 };
                assert_eq!(counts.bytes, all * SIZE * ways, "{test} {messages} {flows}: {}", report.role);
            }
        }
    }
}

/// The window of several flows is the main thread's, and both ends' are one time: about as long as
/// was asked for. Not to the microsecond: it may lose its CPU before it reads the clock.
#[test]
fn both_ends_of_many_flows_measure_one_time() {
    for (test, flows) in [(Test::TcpStream, 32), (Test::UdpStream, 32), (Test::TcpRr, 16)] {
        let cell = Cell { flows, ..cell(test, Family::V4, 1_000) };
        let length = Nanos::from_millis(200);
        let attempt = || {
            let said = several(tasks(&cell, TrialEnd::Length(length), WARMUP));
            let [sender, receiver] = said.map(|said| said.report.window);
            (Windows::new(length, sender, receiver, None).overlap_ns >= 180_000_000, [sender, receiver])
        };
        // Other tests spin on the same CPUs; ends that do not wait for each other fail each attempt.
        let attempts: Vec<_> = (0..3).map(|_| attempt()).take_while(|(one, _)| !one).collect();
        assert!(attempts.len() < 3, "{test} {flows}: {attempts:?}");
    }
}

/// What one end sent is what came at the other, each way by itself.
fn assert_both_ways_agree(test: Test, [one, other]: &[EndOutcome; 2]) {
    for (from, to) in [(one, other), (other, one)] {
        let sent = from.sent.as_ref().unwrap();
        let (out, back) = (from.report.total, from.report.back.unwrap().total);
        // The sender's own role sends, the receiver's comes back.
        let out = if from.report.role == model::Role::Sender { out } else { back };
        let came = if to.report.role == model::Role::Receiver { to.report.total } else { to.report.back.unwrap().total };
        assert_eq!((sent.all(), sent.bytes), (out.messages, out.bytes), "{test}: announced as counted");
        assert!(out.messages > 0, "{test}: both send");
        match test {
            Test::UdpStream => assert!(came.received > 0 && came.received <= out.sent, "{test}"),
            _ => assert_eq!(came.bytes, out.bytes, "{test}"),
        }
    }
}

#[test]
fn both_ways_at_once_are_counted_apart() {
    for flows in [1, 2] {
        for test in [Test::TcpStream, Test::TcpMaerts, Test::UdpStream] {
            for end in [LENGTH, COUNT] {
                let cell = Cell { flows, bidirectional: true, ..cell(test, Family::V4, 500) };
                let said = several(tasks(&cell, end, WARMUP));
                assert_both_ways_agree(test, &said);
                for said in &said {
                    let back = said.report.back.unwrap();
                    assert!(back.counts.bytes <= back.total.bytes && said.report.flow.is_some(), "{test}: {said:?}");
                    assert_eq!(said.report.flows.len(), if flows == 1 { 0 } else { 2 });
                }
                if end == COUNT {
                    let [sender, receiver] = &said;
                    let all = 60 * u64::from(flows);
                    assert_eq!((sender.report.counts.messages, receiver.report.back.unwrap().counts.messages), (all, all), "{test}");
                }
            }
        }
    }
}

/// What is wrong with a task.
type Change = fn(&mut Task);

#[test]
fn what_no_endpoint_can_do_is_refused() {
    let refusals: [(&str, Change); 9] = [
        ("0 flows", |task| task.cell.flows = 0),
        ("1025 flows", |task| task.cell.flows = 1_025),
        ("other hosts than those that were named", |task| (task.cell.flows, task.cell.conditions.senders) = (4, 4)),
        ("other hosts than those that were named", |task| task.cell.conditions.receivers = 0),
        ("other hosts than those that were named", |task| {
            task.hosts = vec![model::control::FlowHost { pid: 1, local: std::net::Ipv4Addr::LOCALHOST.into() }];
        }),
        ("only streams", |task| (task.cell.test, task.cell.bidirectional) = (Test::TcpRr, true)),
        ("messages of", |task| task.cell.size = model::Bytes::new(u64::MAX)),
        ("take fewer flows, or smaller messages", |task| {
            (task.cell.flows, task.cell.size, task.cell.read_size) = (8, model::Bytes::new(511 << 20), model::Bytes::new((1 << 20) + 1));
        }),
        ("would take 4096G of memory, and an endpoint takes at most 4G", |task| {
            let largest = model::Bytes::new(1 << 30);
            (task.cell.flows, task.cell.bidirectional, task.cell.size, task.cell.read_size) = (1_024, true, largest, largest);
        }),
    ];
    for (what, change) in refusals {
        let [mut task, _] = tasks(&flows(Test::TcpStream, Family::V4), COUNT, WARMUP);
        change(&mut task);
        let (mut endpoint, served) = crate::support::Endpoint::start();
        endpoint.tell(&model::control::ToEndpoint::Prepare(Box::new(task)));
        let error = endpoint.hear_failure();
        served.join().unwrap().unwrap();
        assert!(error.contains(what), "{error}");
    }
}
