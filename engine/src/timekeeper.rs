//! The main thread of an endpoint while messages flow: it keeps the time and
//! listens to the host, and does nothing else.

use std::io::Read;
use std::os::fd::AsFd;
use std::thread::JoinHandle;

use model::Nanos;
use model::control::{Task, ToEndpoint};
use model::plan::TrialEnd;

use crate::channel::{ChannelError, Receiver};
use crate::host_time::HostTime;
use crate::stage::{Part, Stage};
use crate::wake::wake;

/// CPU time that the host spent for the endpoint in the measured part.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostShare {
    /// Interrupt time left out of the process clock.
    pub irq: Option<Nanos>,
    /// Kernel threads.
    pub kernel_threads: Option<Nanos>,
}

/// Leads a trial from its warm-up to the announcement of its end.
///
/// # Errors
/// The loss of the host, which ends the trial.
pub fn keep<T, R: Read + AsFd>(
    task: &Task,
    stage: &Stage,
    traffic: &JoinHandle<T>,
    control: &mut Receiver<ToEndpoint, R>,
) -> Result<HostShare, ChannelError> {
    let host = HostTime::of(task);
    control.wait(task.warmup.into())?;
    let before = host.read();
    go_on_to(Part::Measure, stage, traffic);
    let after = match task.end {
        TrialEnd::Length(length) => {
            control.wait(length.into())?;
            go_on_to(Part::Drain, stage, traffic);
            Some(host.read())
        }
        TrialEnd::Messages(_) => None,
    };
    stage.announce(announced(control)?);
    go_on_to(Part::Drain, stage, traffic);
    let after = after.unwrap_or_else(|| host.read());
    Ok(HostShare { irq: after.irq_since(&before), kernel_threads: after.kernel_threads_since(&before) })
}

fn go_on_to<T>(part: Part, stage: &Stage, traffic: &JoinHandle<T>) {
    stage.enter(part);
    wake(traffic);
}

/// Waits for the end that the sender announces.
fn announced<R: Read + AsFd>(control: &mut Receiver<ToEndpoint, R>) -> Result<u64, ChannelError> {
    loop {
        if let ToEndpoint::Drain { messages, .. } = control.receive()? {
            return Ok(messages);
        }
    }
}
