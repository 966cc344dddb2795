//! Trials of several flows, of both ways, and with progress.

use model::control::{FromEndpoint, SentTotals, Task, ToEndpoint};
use model::end::{EndReport, Progress};
use model::{Cell, Nanos, Role, plan::TrialEnd};

use super::{Endpoint, let_flow, task};

/// What one end said.
#[derive(Debug)]
pub struct EndOutcome {
    pub report: EndReport,
    /// What it announced, if it sends.
    pub sent: Option<SentTotals>,
    /// What it told on the way.
    pub progress: Vec<Progress>,
}

/// The tasks of both ends, the sender's first.
pub fn tasks(cell: &Cell, end: TrialEnd, warmup: Nanos) -> [Task; 2] {
    [Role::Sender, Role::Receiver].map(|role| task(role, cell, end, warmup))
}

/// Runs a trial between two endpoints of this process.
pub fn several(tasks: [Task; 2]) -> [EndOutcome; 2] {
    let ((mut sender, sending), (mut receiver, receiving)) = (Endpoint::start(), Endpoint::start());
    let said = several_between(&mut sender, &mut receiver, tasks);
    for served in [sending, receiving] {
        served.join().unwrap().unwrap();
    }
    said
}

/// Runs a trial between two endpoints.
pub fn several_between(sender: &mut Endpoint, receiver: &mut Endpoint, tasks: [Task; 2]) -> [EndOutcome; 2] {
    let (both_send, end) = (tasks[0].cell.bidirectional, tasks[0].end);
    join(sender, receiver, tasks);
    let_flow(sender, receiver, end);
    let (mut told, mut told_back) = (Vec::new(), Vec::new());
    let there = hear_sent(sender, &mut told);
    let back = both_send.then(|| hear_sent(receiver, &mut told_back));
    receiver.tell(&ToEndpoint::Drain(there.clone()));
    sender.tell(&ToEndpoint::Drain(back.clone().unwrap_or_else(|| there.clone())));
    let report = hear_report(receiver, &mut told_back);
    let received = EndOutcome { report, sent: back, progress: told_back };
    let report = hear_report(sender, &mut told);
    [EndOutcome { report, sent: Some(there), progress: told }, received]
}

/// Prepares and joins two endpoints.
pub fn join(sender: &mut Endpoint, receiver: &mut Endpoint, tasks: [Task; 2]) {
    let [sends, receives] = tasks;
    let (from, to) = (ready(sender, sends), ready(receiver, receives));
    receiver.tell(&ToEndpoint::Connect { peers: from });
    sender.tell(&ToEndpoint::Connect { peers: to });
    receiver.hear_joined();
    sender.hear_joined();
}

/// Hands an endpoint its task; returns where it is bound.
pub fn ready(endpoint: &mut Endpoint, task: Task) -> Vec<std::net::SocketAddr> {
    endpoint.tell(&ToEndpoint::Prepare(Box::new(task)));
    match endpoint.hear() {
        FromEndpoint::Ready { addresses, .. } => addresses,
        other => panic!("expected to be ready, got {other:?}"),
    }
}

fn hear_sent(endpoint: &mut Endpoint, told: &mut Vec<Progress>) -> SentTotals {
    loop {
        match endpoint.hear() {
            FromEndpoint::Sent(sent) => return sent,
            FromEndpoint::Progress(progress) => told.push(*progress),
            other => panic!("expected the sender's end, got {other:?}"),
        }
    }
}

fn hear_report(endpoint: &mut Endpoint, told: &mut Vec<Progress>) -> EndReport {
    loop {
        match endpoint.hear() {
            FromEndpoint::Done(report) => return *report,
            FromEndpoint::Progress(progress) => told.push(*progress),
            other => panic!("expected a report, got {other:?}"),
        }
    }
}
