//! What a requester's stop looks like in its times.

use std::thread;
use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;
use model::control::{Sent, Task, ToEndpoint};
use model::end::EndReport;
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, OfferedRate, Pacing, Role, Test};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Skip;
use crate::child;
use crate::support::{cell, task};

const STOP: Duration = Duration::from_millis(100);
/// Requests a second.
const RATE: u64 = 1_000;
/// Far more than an answer takes, and less than most of what is due in the stop waits.
const LONG: u64 = 60_000_000;

fn times(text: Option<&str>) -> Histogram<u64> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.unwrap()).unwrap();
    hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

/// A trial whose requester is stopped in the middle.
fn stopped(cell: &Cell) -> EndReport {
    let ((mut sender, mut sending), (mut receiver, mut receiving)) = (child::endpoint(), child::endpoint());
    let task = |role| {
        let task = task(role, cell, TrialEnd::Length(Nanos::from_millis(600)), Nanos::from_millis(50));
        Task { answer_limit: Nanos::from_millis(2_000), ..task }
    };
    let (from, to) = (sender.prepare(task(Role::Sender)), receiver.prepare(task(Role::Receiver)));
    receiver.tell(&ToEndpoint::Connect { peers: vec![from] });
    sender.tell(&ToEndpoint::Connect { peers: vec![to] });
    let _ = (receiver.hear(), sender.hear());
    receiver.tell(&ToEndpoint::Go);
    sender.tell(&ToEndpoint::Go);
    thread::sleep(Duration::from_millis(300));
    let process = Pid::from_raw(sending.id() as i32);
    kill(process, Signal::SIGSTOP).unwrap();
    thread::sleep(STOP);
    kill(process, Signal::SIGCONT).unwrap();
    let (messages, bytes) = sender.hear_sent();
    for endpoint in [&mut sender, &mut receiver] {
        endpoint.tell(&ToEndpoint::Drain(Sent::one(messages, bytes)));
    }
    let _ = receiver.hear_done();
    let report = sender.hear_done();
    assert!(sending.wait().unwrap().success() && receiving.wait().unwrap().success());
    report
}

/// In full in the times from when each request was due, and not in those from
/// when it was sent.
pub fn shows_in_full() -> Result<(), Skip> {
    for (test, pacing) in [(Test::TcpRr, Pacing::Sleep), (Test::UdpRr, Pacing::Sleep), (Test::UdpRr, Pacing::Spin)] {
        let cell = Cell { rate: Some(OfferedRate::Messages(RATE)), pacing, ..cell(test, Family::V4, 64) };
        let report = stopped(&cell);
        let schedule = report.schedule.as_ref().unwrap();
        let (corrected, uncorrected) = (times(report.latency.as_deref()), times(schedule.uncorrected.as_deref()));
        let long = |times: &Histogram<u64>| {
            times.iter_recorded().filter(|at| at.value_iterated_to() >= LONG).map(|at| at.count_since_last_iteration()).sum::<u64>()
        };
        let (shown, hidden) = (long(&corrected), long(&uncorrected));
        println!(
            "{test}, {pacing}: {shown} of {} times are over 60 ms, the longest {} ms; from the actual send {hidden}, and {} ms",
            corrected.len(),
            corrected.max() / 1_000_000,
            uncorrected.max() / 1_000_000
        );
        assert_eq!(corrected.len(), uncorrected.len(), "{test}: of the same requests");
        assert!(corrected.max() >= 95_000_000, "{test}: {} ns", corrected.max());
        // 40 were due in the first 40 ms of the stop.
        assert!(shown >= 35, "{test}: {shown}");
        assert!(hidden * 8 <= shown, "{test}: {hidden}, of which the stop itself makes the one that was outstanding");
        assert!(schedule.intended.abs_diff(report.window.length().get() / 1_000_000) <= 1, "{schedule:?}");
        assert_eq!(report.total.sent, report.total.messages + report.total.lost);
    }
    Ok(())
}
