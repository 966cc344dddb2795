//! The main thread of an endpoint while messages flow: it keeps the time and
//! listens to the host, and does nothing else.

use std::io::Read;
use std::os::fd::AsFd;
use std::thread::JoinHandle;
use std::time::Duration;

use model::control::{Task, ToEndpoint};
use model::plan::TrialEnd;
use model::{Nanos, Role};

use crate::channel::Receiver;
use crate::endpoint::EndpointError;
use crate::host_time;
use crate::stage::{Part, Stage};
use crate::wake::wake;

/// How long a sender goes on after its window has closed: more than the two
/// ends' main threads usually wake apart.
const TAIL: Duration = Duration::from_millis(4);

/// Leads a trial from its warm-up to the announcement of its end; returns the
/// interrupt time that the process clock leaves out.
///
/// # Errors
/// The loss of the host, or a message that has no place here. Either ends the
/// traffic.
pub fn keep<T, R: Read + AsFd>(
    task: &Task,
    stage: &Stage,
    traffic: &JoinHandle<T>,
    control: &mut Receiver<ToEndpoint, R>,
) -> Result<Option<Nanos>, EndpointError> {
    lead(task, stage, traffic, control).inspect_err(|_| {
        stage.announce(0);
        go_on_to(Part::Drain, stage, traffic);
    })
}

fn lead<T, R: Read + AsFd>(
    task: &Task,
    stage: &Stage,
    traffic: &JoinHandle<T>,
    control: &mut Receiver<ToEndpoint, R>,
) -> Result<Option<Nanos>, EndpointError> {
    let (before, after) = match task.end {
        TrialEnd::Length(length) => {
            control.wait(task.warmup.into())?;
            let before = host_time::irq(task);
            go_on_to(Part::Measure, stage, traffic);
            control.wait(length.into())?;
            let after = if task.role == Role::Sender { Part::Tail } else { Part::Drain };
            go_on_to(after, stage, traffic);
            let after = host_time::irq(task);
            control.wait(TAIL)?;
            go_on_to(Part::Drain, stage, traffic);
            (before, Some(after))
        }
        // The traffic thread counts; both its edges lie within these.
        TrialEnd::Messages(_) => (host_time::irq(task), None),
    };
    stage.announce(announced(control)?);
    go_on_to(Part::Drain, stage, traffic);
    let after = after.unwrap_or_else(|| host_time::irq(task));
    Ok(after.zip(before).map(|(after, before)| after.since(before)))
}

fn go_on_to<T>(part: Part, stage: &Stage, traffic: &JoinHandle<T>) {
    stage.enter(part);
    wake(traffic);
}

/// Waits for the end that the sender announces.
fn announced<R: Read + AsFd>(control: &mut Receiver<ToEndpoint, R>) -> Result<u64, EndpointError> {
    match control.receive()? {
        ToEndpoint::Drain { messages, .. } => Ok(messages),
        _ => Err(EndpointError::OutOfTurn { expected: "drain" }),
    }
}
