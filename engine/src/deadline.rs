//! Time that a host lets a trial take.

use std::time::{Duration, Instant};

use model::Nanos;

use crate::error::EndpointError;

/// The end of a host's patience with one trial; there may be none.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    limit: Option<Nanos>,
    begun: Instant,
}

impl Deadline {
    /// `limit` from now.
    pub fn starting_now(limit: Option<Nanos>) -> Self {
        Self { limit, begun: Instant::now() }
    }

    /// `time`, or what is left if that is less.
    pub fn at_most(&self, time: Duration) -> Duration {
        self.limit.map_or(time, |limit| time.min(Duration::from(limit).saturating_sub(self.begun.elapsed())))
    }

    /// # Errors
    /// That it has passed.
    pub fn check(&self) -> Result<(), EndpointError> {
        match self.limit {
            Some(limit) if self.begun.elapsed() >= limit.into() => Err(EndpointError::TooLong { limit }),
            _ => Ok(()),
        }
    }
}
