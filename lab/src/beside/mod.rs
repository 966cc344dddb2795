//! What a host has running beside its endpoint for the conditions of a trial,
//! and how that endpoint is scheduled.
//!
//! Everything here ends when the trial does, and with the host's process,
//! however that ended.

mod schedule;
mod softirq;
mod traffic;

use model::condition::{ForBeside, OfBeside};

use crate::host::namespace::Entered;
use crate::load::{Load, LoadError};

pub use schedule::ScheduleError;
pub use softirq::SoftirqError;
pub use traffic::TrafficError;
use traffic::{Sink, Source};

/// Why a condition could not be brought about.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// A load did not start, or ended.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Other traffic did not start, or ended.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// The endpoint could not be scheduled so.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Packets could not be steered.
    #[error(transparent)]
    Softirq(#[from] SoftirqError),
    /// The controller and this host have lost step.
    #[error("{0} (a fault of the controller)")]
    OutOfTurn(&'static str),
}

/// What a host has running beside its endpoint.
#[derive(Debug, Default)]
pub struct Beside {
    load: Option<Load>,
    sink: Option<Sink>,
    source: Option<Source>,
}

impl Beside {
    /// Carries out a command on the host that was entered, whose endpoint, if
    /// one runs, is this process.
    ///
    /// # Errors
    /// See [`BesideError`].
    pub fn carry_out(&mut self, command: ForBeside, entered: &Entered, endpoint: Option<u32>) -> Result<OfBeside, BesideError> {
        match command {
            ForBeside::Load { units, cpus } => {
                // Ended first: two loads would be one too many.
                self.load = None;
                self.load = Some(Load::start(units, &cpus)?);
                Ok(OfBeside::Done)
            }
            ForBeside::Unload => {
                let load = self.load.take().ok_or(BesideError::OutOfTurn("end a load: none is running"))?;
                Ok(OfBeside::Load(load.stop()?))
            }
            ForBeside::Sink { at, device, avoid } => {
                self.sink = None;
                let (sink, own) = Sink::open(at, device, &avoid)?;
                self.sink = Some(sink);
                Ok(OfBeside::Listening(own))
            }
            ForBeside::Send(traffic) => {
                self.source = None;
                self.source = Some(Source::start(&traffic)?);
                Ok(OfBeside::Done)
            }
            ForBeside::Quiet => match (self.source.take(), self.sink.take()) {
                (Some(source), sink) => {
                    self.sink = sink;
                    Ok(OfBeside::Traffic(source.stop()?))
                }
                (None, Some(sink)) => Ok(OfBeside::Traffic(sink.close()?)),
                (None, None) => Err(BesideError::OutOfTurn("end other traffic: there is none")),
            },
            ForBeside::Schedule(priority) => {
                let endpoint = endpoint.ok_or(BesideError::OutOfTurn("schedule an endpoint: none is running"))?;
                schedule::schedule(endpoint, priority)?;
                Ok(OfBeside::Done)
            }
            ForBeside::Softirq { device, cpu } => {
                softirq::steer(entered, &device, cpu)?;
                Ok(OfBeside::Done)
            }
        }
    }
}
