//! What a stop of either end looks like in a requester's times.

use std::thread;
use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;
use model::control::{SentTotals, Task, ToEndpoint};
use model::end::EndReport;
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, OfferedRate, Pacing, Role, Test};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Skip;
use crate::child;
use crate::support::{cell, let_flow, task};

const STOP: Duration = Duration::from_millis(100);
/// Requests a second.
const RATE: u64 = 1_000;
/// Far more than an answer takes, and less than most of what is due in the stop waits.
const LONG: u64 = 60_000_000;

/// 40 are due in the first 40 ms of the stop; a busy machine delivers signals late.
const ENOUGH: u64 = 30;
/// At most one in so many may be long from when it was sent: what was outstanding
/// as the stop began, of which a busy machine has more.
const FEW: u64 = 3;

fn times(text: Option<&str>) -> Histogram<u64> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.unwrap()).unwrap();
    hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

/// A trial one of whose ends is stopped in the middle: what the requester reports.
fn stopped(cell: &Cell, role: Role) -> EndReport {
    let ((mut sender, mut sending), (mut receiver, mut receiving)) = (child::endpoint(), child::endpoint());
    let task = |role| {
        let task = task(role, cell, TrialEnd::Length(Nanos::from_millis(600)), Nanos::from_millis(50));
        Task { answer_limit: Nanos::from_millis(2_000), ..task }
    };
    let (from, to) = (sender.prepare(task(Role::Sender)), receiver.prepare(task(Role::Receiver)));
    receiver.tell(&ToEndpoint::Connect { peers: vec![from] });
    sender.tell(&ToEndpoint::Connect { peers: vec![to] });
    let _ = (receiver.hear(), sender.hear());
    let_flow(&mut sender, &mut receiver, TrialEnd::Length(Nanos::default()));
    thread::sleep(Duration::from_millis(300));
    let process = Pid::from_raw(if role == Role::Sender { sending.id() } else { receiving.id() } as i32);
    kill(process, Signal::SIGSTOP).unwrap();
    thread::sleep(STOP);
    kill(process, Signal::SIGCONT).unwrap();
    let (messages, bytes) = sender.hear_sent();
    for endpoint in [&mut sender, &mut receiver] {
        endpoint.tell(&ToEndpoint::Drain(SentTotals::one(messages, bytes)));
    }
    let _ = receiver.hear_done();
    let report = sender.hear_done();
    assert_eq!(report.total.sent, report.total.messages + report.total.lost);
    assert!(sending.wait().unwrap().success() && receiving.wait().unwrap().success());
    report
}

/// A stop of the requester: in full in the times from when each request was due, and not in those from
/// when it was sent.
pub fn shows_in_full() -> Result<(), Skip> {
    for (test, pacing) in [(Test::TcpRr, Pacing::Sleep), (Test::UdpRr, Pacing::Sleep), (Test::UdpRr, Pacing::Spin)] {
        let cell = Cell { rate: Some(OfferedRate::Messages(RATE)), pacing, ..cell(test, Family::V4, 64) };
        let report = stopped(&cell, Role::Sender);
        let schedule = report.schedule.as_ref().unwrap();
        let (shown, hidden) = long_times(&cell, &report);
        assert!(shown >= ENOUGH, "{test}: {shown}");
        assert!(hidden * FEW <= shown, "{test}: {hidden}, of which the stop itself makes those that were outstanding");
        assert!(schedule.intended.abs_diff(report.window.length().get() / 1_000_000) <= 1, "{schedule:?}");
    }
    // One after the other: what spins next to a trial holds its answers up.
    of_the_answerer();
    Ok(())
}

/// How many times are over 60 ms, from when each request was due and from when it
/// was sent; the longest of the former is the stop.
fn long_times(cell: &Cell, report: &EndReport) -> (u64, u64) {
    let schedule = report.schedule.as_ref().unwrap();
    let (corrected, uncorrected) = (times(report.latency.as_deref()), times(schedule.uncorrected.as_deref()));
    let long = |times: &Histogram<u64>| {
        times.iter_recorded().filter(|at| at.value_iterated_to() >= LONG).map(|at| at.count_since_last_iteration()).sum::<u64>()
    };
    let (shown, hidden) = (long(&corrected), long(&uncorrected));
    println!(
        "{cell}: {shown} of {} times are over 60 ms, the longest {} ms; from the actual send {hidden}, and {} ms",
        corrected.len(),
        corrected.max() / 1_000_000,
        uncorrected.max() / 1_000_000
    );
    assert_eq!(corrected.len(), uncorrected.len(), "{cell}: of the same requests");
    assert!(corrected.max() >= 85_000_000, "{cell}: {} ns", corrected.max());
    (shown, hidden)
}

/// Over TCP a stop of the answerer that fills the buffers holds requests back, so
/// that only the few in the buffers show it from when they were sent; over UDP
/// all of them are sent, and wait in its buffer.
fn of_the_answerer() {
    let rate = Some(OfferedRate::Messages(RATE));
    // Two requests fill what the kernel grants for so little.
    let small = Some(Bytes::new(4_608));
    let filled = Cell { rate, sndbuf: small, rcvbuf: small, ..cell(Test::TcpRr, Family::V4, 4_096) };
    let (shown, hidden) = long_times(&filled, &stopped(&filled, Role::Receiver));
    assert!(shown >= ENOUGH && hidden * FEW <= shown, "TCP: {shown} from when they were due, {hidden} from when they were sent");
    let open = Cell { rate, ..cell(Test::UdpRr, Family::V4, 64) };
    let report = stopped(&open, Role::Receiver);
    let (shown, as_sent) = long_times(&open, &report);
    assert!(shown >= ENOUGH && as_sent >= ENOUGH, "UDP: {shown} from when they were due, {as_sent} from when they were sent");
    assert_eq!(report.total.lost, 0, "they wait in the buffer");
}
