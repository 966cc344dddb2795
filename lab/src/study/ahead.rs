//! A look ahead: makes or reaches what a study needs, as it would begin, and measures nothing.

use std::net::IpAddr;

use model::plan::ApprovedPlan;
use model::warning::Warning;

use super::pool::SessionPool;
use super::{Replay, SampledGroups, Study, StudyError};
use crate::congestion::{NoCongestionControl, missing_there};
use crate::connection::Credentials;
use crate::event::QueueGuard;
use crate::session::Session;

/// Findings of a look ahead at a study that could begin.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Warnings about the whole run.
    pub warnings: Vec<Warning>,
    /// Congestion controls that agents lack.
    pub missing: Vec<NoCongestionControl>,
    /// Addresses of hosts a and b that messages take, where nettoll had to find them.
    pub between: Vec<[IpAddr; 2]>,
    /// Name of a host that serves another controller, about which no more is known.
    pub busy: Option<String>,
}

/// Makes the hosts and links of a plan, or reaches the hosts that it names, looks at what its arms
/// change, and lets go of everything.
///
/// # Errors
/// What would keep the study from beginning, as [`super::run`] would say it.
pub fn look_ahead(plan: &ApprovedPlan, credentials: &Credentials) -> Result<Ahead, StudyError> {
    let mut listener = QueueGuard::default();
    let session = match Session::open(plan, credentials, &mut listener) {
        Ok(session) => session,
        Err(error) => {
            let busy = Ahead { busy: listener.busy.map(|(host, _)| host), ..Ahead::default() };
            return StudyError::not_opened(error).map_or(Ok(busy), Err);
        }
    };
    let mut study = Study::new(plan, credentials, session, &mut listener, Replay::nothing(plan), SampledGroups::default());
    study.ready()?;
    let first = study.sessions.get(SessionPool::FIRST);
    let (warnings, missing) = (first.warnings().to_vec(), missing_there(plan, first.facts()));
    let between = first.found_addresses();
    Ok(Ahead { warnings, missing, between, busy: None })
}
