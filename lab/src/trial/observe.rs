//! Instruments switched on during a trial, and their readings.

use std::time::Duration;

use model::Refusal;
use model::control::{FromHost, Observe, ToHost};
use model::plan::receipt::{PERIOD, of_pass, period_for};
use model::trial::Observed;
use model::{Nanos, Pass, Role};

use super::talk::Both;
use super::{Reports, Trial, flowing};
use crate::error::TrialError;
use crate::profiler::LONGEST;
use crate::remote::HostError;
use crate::session::Session;

/// Beyond the time in which messages flow: what comes before and after them.
const BEYOND: Duration = Duration::from_secs(2);

impl Trial<'_> {
    /// Has both hosts watch their ends, which are joined and wait: [`Self::hear_observing`] takes the answers.
    pub fn tell_to_observe(&mut self) -> Result<(), TrialError> {
        if self.spec.pass.is_clean() {
            return Ok(());
        }
        let period = self.period()?;
        let longest = Nanos::from(flowing(&self.spec) + BEYOND).min(LONGEST);
        let pass = self.spec.pass;
        let cpus = Both { sender: self.cpus(Role::Sender), receiver: self.cpus(Role::Receiver) };
        // The samplers of woven ends take turns.
        let both = self.spec.woven.is_some();
        let command = |role| {
            let pass = if both || pass.watches(role) { pass } else { Pass::Clean };
            ToHost::Observe(Observe { pass, period, longest, cpus: cpus.of(role).clone() })
        };
        Ok(self.tell(command)?)
    }

    /// # Errors
    /// That either cannot be watched.
    pub fn hear_observing(&mut self) -> Result<(), TrialError> {
        if self.spec.pass.is_clean() {
            return Ok(());
        }
        let read = |answer| match answer {
            FromHost::Observing => Ok(None),
            FromHost::NotObserved(refused) => Ok(Some(refused)),
            other => Err(other),
        };
        let answers: Both<Option<Refusal>> = self.hear_answers(read, "the start of watching")?;
        for (role, refused) in [(Role::Sender, answers.sender), (Role::Receiver, answers.receiver)] {
            if let Some(refused) = refused {
                return Err(TrialError::NotObserved { name: self.host(role).name().to_owned(), refused });
            }
        }
        Ok(())
    }

    /// Returns the distance of samples in this pass: about the plan's, or the least at which both hosts, whose roles change,
    /// keep to what samples may cost.
    fn period(&mut self) -> Result<Nanos, TrialError> {
        if !self.spec.pass.samples() {
            return Ok(PERIOD);
        }
        let usual = self.usual_period()?;
        Ok(of_pass(usual, self.spec.seed ^ self.spec.pass as u64))
    }

    /// Returns the plan's distance of samples, or the session's, which is measured where it is unknown.
    pub fn usual_period(&mut self) -> Result<Nanos, TrialError> {
        if let Some(period) = self.spec.plan.receipt.and_then(|receipt| receipt.period).or(self.session.sample_period) {
            return Ok(period);
        }
        let cost = self.sample_cost()?;
        Ok(*self.session.sample_period.insert(period_for(cost.sender.max(cost.receiver))))
    }

    fn sample_cost(&mut self) -> Result<Both<Nanos>, TrialError> {
        let cpus = Both { sender: self.cpus(Role::Sender), receiver: self.cpus(Role::Receiver) };
        let command = |role| ToHost::SampleCost { cpus: cpus.of(role).clone() };
        let read = |answer| match answer {
            FromHost::SampleCost(cost) => Ok(cost),
            other => Err(other),
        };
        Ok(self.ask_both(command, read, "the cost of a sample")?)
    }

    /// Returns whether hosts are asked what they saw: woven ends write their own edges, and their samples count for
    /// nothing.
    fn is_read(&self) -> bool {
        !self.spec.pass.is_clean() && self.spec.woven.is_none()
    }

    /// Asks both hosts what they saw of ends that are gone.
    pub fn ask_observed(&mut self, reports: &Reports) -> Result<(), TrialError> {
        if !self.is_read() {
            return Ok(());
        }
        Ok(self.tell(|role| {
            let report = reports.of(role);
            ToHost::Observed { window: report.window, threads: report.threads.clone() }
        })?)
    }

    /// Returns what both hosts saw; `None` in a clean pass.
    pub fn hear_observed(&mut self) -> Result<Option<Box<Observed>>, TrialError> {
        if !self.is_read() {
            return Ok(None);
        }
        let read = |answer| match answer {
            FromHost::Observation(seen) => Ok(*seen),
            other => Err(other),
        };
        let Both { sender, receiver } = self.hear_answers(read, "what was seen")?;
        Ok(Some(Box::new(Observed { sender, receiver })))
    }

    fn cpus(&self, role: Role) -> Vec<model::control::CpuPlace> {
        self.place(role).cpus(self.spec.cell.flows).to_vec()
    }
}

/// Switches the sampler of one end on, and of the others off, while no message flows.
pub fn switch_samplers(session: &mut Session, swapped: bool, on: Option<Role>) -> Result<(), HostError> {
    for role in [Role::Sender, Role::Receiver] {
        session.host(role, swapped).ask(&ToHost::Sampling { on: on == Some(role) })?;
    }
    for role in [Role::Sender, Role::Receiver] {
        let host = session.host(role, swapped);
        match host.answer()? {
            FromHost::Done => {}
            other => return Err(host.unexpected("the switch of a sampler", &other)),
        }
    }
    Ok(())
}
