//! Recovery from the loss of a host.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use model::plan::OnLoss;
use model::trial::Outcome;

use super::pool::{SessionKey, SessionPool};
use super::{Study, StudyError};
use crate::event::Event;
use crate::host_diff;
use crate::session::Session;

/// Times in a row that lost hosts are made again before the study gives up.
const REOPENINGS: u32 = 3;

/// Pauses before the attempts to find a lost agent again: a machine that
/// restarts needs half a minute.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
];

/// Interval at which the user is heard during a pause.
const STEP: Duration = Duration::from_millis(250);

impl Study<'_> {
    /// Makes lost hosts again, or finds lost agents again, where the last trial of
    /// a session ended with the loss of one.
    pub(super) fn recover(&mut self, key: SessionKey, outcome: &Outcome) -> Result<ControlFlow<()>, StudyError> {
        let Outcome::Failed { error, lost: true } = outcome else {
            self.lost_in_a_row = 0;
            return Ok(ControlFlow::Continue(()));
        };
        let agents = !self.plan.hosts.is_empty();
        if agents && self.plan.on_loss == OnLoss::Stop {
            return Err(StudyError::Lost(error.clone()));
        }
        self.lost_in_a_row += 1;
        if self.lost_in_a_row > REOPENINGS {
            return Err(StudyError::LostAgain(REOPENINGS));
        }
        self.arms.rest_machine();
        let found = if agents { self.find_again(key, error.clone())? } else { self.open_again(key)? };
        let Some(mut found) = found else { return Ok(ControlFlow::Break(())) };
        let lost = self.sessions.get(key);
        let differences = host_diff::compare(lost.facts(), found.facts());
        if !found.is_like(lost) || !differences.grave.is_empty() {
            let words = if differences.grave.is_empty() { "isolation, addresses or CPUs".to_owned() } else { differences.grave.join("; ") };
            return Err(StudyError::OtherHosts(words));
        }
        found.inherit(lost.warnings().to_vec());
        *self.sessions.get_mut(key) = found;
        Ok(ControlFlow::Continue(()))
    }

    /// Opens a session once more; `None` where the user wants no more of it.
    fn open_again(&mut self, key: SessionKey) -> Result<Option<Session>, StudyError> {
        SessionPool::open(self.sessions.setting(key), self.plan, self.credentials, self.listener)
    }

    /// Looks for the agents again, with longer and longer pauses; `None` where
    /// the user wants no more of it.
    fn find_again(&mut self, key: SessionKey, mut error: String) -> Result<Option<Session>, StudyError> {
        // What is left of the old connections must not stand before the new ones.
        self.sessions.get_mut(key).hang_up();
        for (attempt, pause) in (1..).zip(PAUSES) {
            let end = Instant::now() + pause;
            loop {
                let left = end.saturating_duration_since(Instant::now());
                let event = Event::Lost { error: &error, attempt, of: PAUSES.len() as u32, pause: left };
                if self.tell(&event)?.is_break() {
                    return Ok(None);
                }
                if left.is_zero() {
                    break;
                }
                std::thread::sleep(left.min(STEP));
            }
            let answer = match self.open_again(key) {
                Err(StudyError::Host(answer)) => answer,
                found => return found,
            };
            if !answer.may_pass() || attempt as usize == PAUSES.len() {
                return Err(StudyError::NotFound { attempts: attempt as usize, error: answer });
            }
            error = answer.to_string();
        }
        Ok(None)
    }
}
