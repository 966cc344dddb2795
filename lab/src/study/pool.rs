//! The sessions of a study, one for each setting that its trials need.

use model::Plan;
use model::schedule::Slot;

use super::StudyError;
use crate::arm::ArmController;
use crate::connection::Credentials;
use crate::event::Listener;
use crate::session::{Session, Setting};

/// Owner of all sessions of a study. The first is that of the plan's own hosts and
/// its first link; others are over further links, or with hosts that an arm names.
#[derive(Debug)]
pub(super) struct SessionPool {
    /// Settings of trials with the plan's own hosts, the first session's first.
    settings: Vec<Setting>,
    /// Open sessions, each with what it was opened for; never empty.
    sessions: Vec<(Setting, Session)>,
}

/// A session of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionKey(usize);

impl SessionPool {
    /// Key of the session that is open as long as the pool.
    pub const FIRST: SessionKey = SessionKey(0);

    /// Makes a pool of the plan's first session.
    pub fn new(plan: &Plan, first: Session) -> Self {
        Self { settings: Setting::all(plan), sessions: vec![(Setting::first(plan), first)] }
    }

    /// Returns the session of a key.
    pub fn get(&self, key: SessionKey) -> &Session {
        &self.sessions[key.0].1
    }

    /// Returns the session of a key.
    pub fn get_mut(&mut self, key: SessionKey) -> &mut Session {
        &mut self.sessions[key.0].1
    }

    /// Returns the setting that the session of a key was opened for.
    pub fn setting(&self, key: SessionKey) -> &Setting {
        &self.sessions[key.0].0
    }

    /// Returns the settings of the plan's own links.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Returns the setting that the trial of a slot needs. `None` where its arm has
    /// a level that the cell cannot take: that is its error, over whatever link.
    pub fn setting_for(&self, plan: &Plan, arms: &ArmController, slot: Slot) -> Option<Setting> {
        let cell = plan.cell_in(&plan.cells[slot.cell], slot.arm).ok()?;
        let link = plan.link_of(&cell);
        let mut setting = self.settings.iter().find(|setting| setting.link == link)?.clone();
        if let Some(of_arm) = arms.settings(slot.arm) {
            setting.hosts.extend(of_arm.hosts.clone());
        }
        Some(setting)
    }

    /// Returns the session of a setting, opened where there is none yet; `None`
    /// where the user does not want to wait for it.
    pub fn enter(
        &mut self,
        setting: &Setting,
        plan: &Plan,
        credentials: &Credentials,
        listener: &mut dyn Listener,
    ) -> Result<Option<SessionKey>, StudyError> {
        if let Some(place) = self.sessions.iter().position(|(open, _)| open == setting) {
            return Ok(Some(SessionKey(place)));
        }
        let Some(session) = Self::open(setting, plan, credentials, listener)? else { return Ok(None) };
        self.sessions.push((setting.clone(), session));
        Ok(Some(SessionKey(self.sessions.len() - 1)))
    }

    /// Opens a session that is not yet in the pool; `None` where the user does not
    /// want to wait for it.
    pub fn open(
        setting: &Setting,
        plan: &Plan,
        credentials: &Credentials,
        listener: &mut dyn Listener,
    ) -> Result<Option<Session>, StudyError> {
        match Session::open_as(setting, plan, credentials, listener) {
            Ok(session) => Ok(Some(session)),
            Err(error) => StudyError::not_opened(error).map_or(Ok(None), Err),
        }
    }

    /// Gives the warnings of one session to another.
    pub fn share_warnings(&mut self, from: SessionKey, to: SessionKey) {
        if from != to {
            let warnings = self.get(from).warnings().to_vec();
            self.get_mut(to).inherit(warnings);
        }
    }
}
