//! Load and traffic of a host next to its endpoint, for the conditions of a trial,
//! and how that endpoint is scheduled.
//!
//! Everything here ends when the trial does, and with the host's process,
//! however that ended.

mod schedule;
mod softirq;
mod traffic;

use model::Nanos;
use model::condition::{BackgroundReply, BackgroundRequest};
use model::control::ToEndpoint;
use model::plan::TrialEnd;

use crate::host::namespace::Entered;
use crate::load::Load;
use crate::refusal::Refusal;
use sys::clock;

use traffic::{Sink, Source};

/// Load and traffic of a host next to its endpoint.
#[derive(Debug, Default)]
pub struct Background {
    load: Option<Load>,
    sink: Option<Sink>,
    source: Option<Source>,
    /// Whether an endpoint's trial is prepared, and how long it is measured if time says so.
    measured: Option<Option<Nanos>>,
}

impl Background {
    /// Hears what the endpoint is told, so that the load is counted for as long as is
    /// measured. Of a trial of a number of messages that is all that it sends.
    pub fn hear(&mut self, told: &ToEndpoint) {
        match told {
            ToEndpoint::Prepare(task) => {
                self.measured = Some(match task.end {
                    TrialEnd::Length(length) => Some(length),
                    TrialEnd::Messages(_) => None,
                });
            }
            ToEndpoint::Go => {
                if let (Some(load), Some(None)) = (&mut self.load, self.measured) {
                    load.measure(Nanos::default(), None);
                }
            }
            ToEndpoint::Measure { at } => {
                if let (Some(load), Some(length @ Some(_))) = (&mut self.load, self.measured) {
                    load.measure(at.since(clock::monotonic()), length);
                }
            }
            ToEndpoint::Drain(_) if self.measured == Some(None) => {
                self.load.iter_mut().for_each(Load::measured);
            }
            _ => {}
        }
    }

    /// Carries out a command on the host that was entered, whose endpoint, if
    /// one runs, is this process.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn carry_out(&mut self, command: BackgroundRequest, entered: &Entered, endpoint: Option<u32>) -> Result<BackgroundReply, Refusal> {
        match command {
            BackgroundRequest::Load { units, cpus } => {
                // Ended first: two loads would be one too many.
                self.load = None;
                self.load = Some(Load::start(units, &cpus)?);
                Ok(BackgroundReply::Done)
            }
            BackgroundRequest::Unload => {
                let load = self.load.take().ok_or_else(|| out_of_turn("end a load: none is running"))?;
                Ok(BackgroundReply::Load(load.stop()?))
            }
            BackgroundRequest::Sink { at, device, avoid } => {
                self.sink = None;
                let (sink, own) = Sink::open(at, device, &avoid)?;
                self.sink = Some(sink);
                Ok(BackgroundReply::Listening(own))
            }
            BackgroundRequest::Send(traffic) => {
                self.source = None;
                self.source = Some(Source::start(&traffic)?);
                Ok(BackgroundReply::Done)
            }
            BackgroundRequest::Quiet => match (self.source.take(), self.sink.take()) {
                (Some(source), sink) => {
                    self.sink = sink;
                    Ok(BackgroundReply::Traffic(source.stop()?))
                }
                (None, Some(sink)) => Ok(BackgroundReply::Traffic(sink.close()?)),
                (None, None) => Err(out_of_turn("end other traffic: there is none")),
            },
            BackgroundRequest::Schedule(priority) => {
                let endpoint = endpoint.ok_or_else(|| out_of_turn("schedule an endpoint: none is running"))?;
                schedule::schedule(endpoint, priority)?;
                Ok(BackgroundReply::Done)
            }
            BackgroundRequest::Softirq { device, cpu } => {
                softirq::steer(entered, &device, cpu)?;
                Ok(BackgroundReply::Done)
            }
        }
    }
}

/// The controller and this host have lost step.
fn out_of_turn(words: &str) -> Refusal {
    Refusal::new(format!("{words} (a fault of the controller)"), "", "")
}
