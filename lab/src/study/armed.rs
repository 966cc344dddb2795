//! The trials of a study in their arms: the session that each needs taken in hand,
//! and its hosts brought to the state that it wants, and made sure of.

use std::collections::BTreeMap;

use model::adjust::AppliedSetting;
use model::schedule::{Block, Slot};
use model::trial::Measured;
use model::{Cell, Plan, Role};

use super::{Study, StudyError, not_opened};
use crate::arm::{ArmController, ArmError};
use crate::remote::HostError;
use crate::session::{Session, Setting};
use crate::trial::{self, Done, TrialError, TrialSpec};

/// A trial in its arm.
pub(super) struct InArm {
    /// The cell as it was run.
    pub cell: Cell,
    /// What was set on the hosts.
    pub taken: Vec<AppliedSetting>,
    /// What came of it.
    pub came: Result<Done, TrialError>,
}

/// The sessions of trials that need others than the first: over other links, or
/// with hosts that their arm names.
#[derive(Debug)]
pub(super) struct SessionPool {
    /// What trials with the plan's own hosts need; of the first the study has a session.
    settings: Vec<Setting>,
    sessions: Vec<(Setting, Session)>,
    /// Whose session the study has in hand.
    at: Option<usize>,
}

impl SessionPool {
    /// None is open yet.
    pub fn of(plan: &Plan) -> Self {
        Self { settings: Setting::all(plan), sessions: Vec::new(), at: None }
    }
}

impl Study<'_> {
    /// Looks at what the arms change before anything is measured, and makes all
    /// links: what this machine refuses is to be known before hours are spent.
    pub(super) fn ready(&mut self) -> Result<(), StudyError> {
        self.arms = ArmController::open(self.plan, &mut self.session)?;
        // Agents are looked for when they are needed: they serve others as well.
        for setting in if self.plan.hosts.is_empty() { self.others.settings.clone() } else { Vec::new() } {
            self.place_of(&setting)?;
        }
        Ok(())
    }

    /// Runs the trial of a slot.
    pub(super) fn run_in_arm(&mut self, block: &Block, slot: Slot) -> Result<InArm, StudyError> {
        let swapped = block.swapped;
        let (mut cell, mut taken) = (self.plan.cells[slot.cell].clone(), Vec::new());
        let mut came = match self.prepare(slot, swapped) {
            Ok(prepared) => {
                (cell, taken) = prepared;
                let end = self.replay.durations.end(self.plan, block.index, slot);
                let arm = self.arms.around(slot.arm);
                let spec = TrialSpec { plan: self.plan, cell: &cell, swapped, pass: slot.pass, end, arm };
                trial::run(&mut self.session, spec, self.listener)
            }
            Err(ArmError::Trial(error)) => Err(error.into()),
            Err(error) => return Err(error.into()),
        };
        if let Ok(done) = &came
            && let Some(error) = self.not_bound(slot, &done.measured, swapped)
        {
            came = Err(error.into());
        }
        // Whatever came of it, nothing of the arm is to be left to the next.
        let concluded = self.arms.conclude(&mut self.session, self.plan, slot, swapped);
        self.session.bind(&BTreeMap::new())?;
        match concluded {
            Err(ArmError::Trial(error)) if came.is_ok() => came = Err(error.into()),
            Ok(()) | Err(ArmError::Trial(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(InArm { cell, taken, came })
    }

    fn prepare(&mut self, slot: Slot, swapped: bool) -> Result<(Cell, Vec<AppliedSetting>), ArmError> {
        if let Some(around) = self.arms.around(slot.arm) {
            self.session.bind(&around.cpus)?;
        }
        let (cell, mut taken) = self.arms.prepare(&mut self.session, self.plan, slot, swapped)?;
        if let Some(around) = self.arms.around(slot.arm) {
            let facts = |name: &String| self.session.facts().iter().find(|facts| facts.name == *name);
            let kernel = |name| facts(name).map_or_else(String::new, |facts| format!("Linux {} on {}", facts.kernel, facts.cpu_model));
            let hosts = around.hosts.iter().map(|(name, at)| AppliedSetting {
                name: format!("host.{name}"),
                asked: at.to_string(),
                got: kernel(name),
            });
            taken.extend(hosts);
        }
        Ok((cell, taken))
    }

    /// Whether an end was not bound to the CPUs that its arm names.
    fn not_bound(&self, slot: Slot, measured: &Measured, swapped: bool) -> Option<HostError> {
        let around = self.arms.around(slot.arm).filter(|around| !around.cpus.is_empty())?;
        let ends = [(Role::Sender, &measured.sender), (Role::Receiver, &measured.receiver)];
        ends.into_iter().find_map(|(role, report)| {
            let name = if (role == Role::Sender) == swapped { "b" } else { "a" };
            let wanted = around.cpus.get(name)?;
            let cpus: Vec<Option<u32>> =
                if report.flows.is_empty() { vec![report.cpu] } else { report.flows.iter().map(|flow| flow.cpu).collect() };
            let taken = cpus.iter().all(|cpu| cpu.is_some_and(|cpu| wanted.contains(&cpu)));
            let words = |cpu: &Option<u32>| cpu.map_or_else(|| "none".to_owned(), |cpu| cpu.to_string());
            let got = cpus.iter().map(words).collect::<Vec<_>>().join(",");
            let asked = wanted.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let error = format!("cpus.{name} did not take effect at the {role}: asked {asked}, bound to {got}");
            (!taken).then(|| HostError::Refused { name: name.to_owned(), error })
        })
    }

    /// Takes the session that a trial needs in hand. `false` where the user does
    /// not want to wait for it.
    pub(super) fn enter(&mut self, slot: Slot) -> Result<bool, StudyError> {
        let Some(setting) = self.setting_of(slot) else { return Ok(true) };
        match self.place_of(&setting)? {
            Place::First => {}
            Place::Other(place) => {
                let (_, session) = &mut self.others.sessions[place];
                session.inherit(self.session.warnings().to_vec());
                // The first, until this trial is over.
                std::mem::swap(&mut self.session, session);
                self.others.at = Some(place);
            }
            Place::Unwanted => return Ok(false),
        }
        Ok(true)
    }

    /// What the trial of a slot needs. `None` where its arm has a level that the
    /// cell cannot take: that is its error, over whatever link.
    fn setting_of(&self, slot: Slot) -> Option<Setting> {
        let cell = self.plan.cell_in(&self.plan.cells[slot.cell], slot.arm).ok()?;
        let link = self.plan.link_of(&cell);
        let mut setting = self.others.settings.iter().find(|setting| setting.link == link)?.clone();
        if let Some(around) = self.arms.around(slot.arm) {
            setting.hosts.extend(around.hosts.clone());
        }
        Some(setting)
    }

    /// Where the session of a setting is, opened where there is none yet.
    fn place_of(&mut self, setting: &Setting) -> Result<Place, StudyError> {
        if self.others.settings.first() == Some(setting) {
            return Ok(Place::First);
        }
        let sessions = &mut self.others.sessions;
        if let Some(place) = sessions.iter().position(|(other, _)| other == setting) {
            return Ok(Place::Other(place));
        }
        match Session::open_as(setting, self.plan, self.credentials, self.listener) {
            Ok(session) => {
                sessions.push((setting.clone(), session));
                Ok(Place::Other(sessions.len() - 1))
            }
            Err(error) => not_opened(error).map(|_| Place::Unwanted),
        }
    }

    /// Takes the first session in hand again.
    pub(super) fn leave(&mut self) {
        let Some((_, session)) = self.others.at.take().and_then(|place| self.others.sessions.get_mut(place)) else { return };
        std::mem::swap(&mut self.session, session);
        self.session.inherit(session.warnings().to_vec());
    }

    /// Sets everything back to what it was before the first trial, as far as the
    /// hosts are there: what the hosts are after a run is not what its last arm made of them.
    pub(super) fn rest(&mut self) {
        self.leave();
        self.arms.rest(&mut self.session);
    }

    /// What the session in hand is.
    pub(super) fn setting_in_hand(&self) -> Setting {
        let other = self.others.at.and_then(|place| self.others.sessions.get(place));
        other.map_or_else(|| Setting::first(self.plan), |(setting, _)| setting.clone())
    }
}

/// Where a session is.
enum Place {
    /// The study's first.
    First,
    /// Among the others.
    Other(usize),
    /// Nowhere: the user does not want to wait for it.
    Unwanted,
}
