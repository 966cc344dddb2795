//! The trials of a study in their arms: the hosts brought to the state that each
//! wants, and made sure of.

use std::collections::BTreeMap;

use model::adjust::Taken;
use model::plan::HostAddress;
use model::schedule::{Block, Slot};
use model::trial::Measured;
use model::{Cell, Plan, Role};

use super::{Study, StudyError, not_opened};
use crate::arm::{ArmError, Bench};
use crate::remote::HostError;
use crate::session::Session;
use crate::trial::{self, Done, Order, TrialError};

/// A trial in its arm.
pub(super) struct InArm {
    /// The cell as it was run.
    pub cell: Cell,
    /// What was set on the hosts.
    pub taken: Vec<Taken>,
    /// What came of it.
    pub came: Result<Done, TrialError>,
}

/// The hosts of arms that name others than the plan does.
#[derive(Debug, Default)]
pub(super) struct Others {
    sessions: BTreeMap<usize, Session>,
    /// Whose session the study has in hand.
    at: Option<usize>,
}

impl Study<'_> {
    /// Looks at what the arms change before anything is measured.
    pub(super) fn ready(&mut self) -> Result<(), StudyError> {
        self.bench = Bench::open(self.plan, &mut self.session)?;
        Ok(())
    }

    /// Runs the trial of a slot.
    pub(super) fn run_in_arm(&mut self, block: &Block, slot: Slot) -> Result<InArm, StudyError> {
        let swapped = block.swapped;
        let (mut cell, mut taken) = (self.plan.cells[slot.cell].clone(), Vec::new());
        let mut came = match self.prepare(slot, swapped) {
            Ok(prepared) => {
                (cell, taken) = prepared;
                let end = self.replay.effort.end(self.plan, block.index, slot);
                let arm = self.bench.around(slot.arm);
                let order = Order { plan: self.plan, cell: &cell, swapped, pass: slot.pass, end, arm };
                trial::run(&mut self.session, order, self.listener)
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
        let concluded = self.bench.conclude(&mut self.session, self.plan, slot, swapped);
        self.session.bind(&BTreeMap::new())?;
        match concluded {
            Err(ArmError::Trial(error)) if came.is_ok() => came = Err(error.into()),
            Ok(()) | Err(ArmError::Trial(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(InArm { cell, taken, came })
    }

    fn prepare(&mut self, slot: Slot, swapped: bool) -> Result<(Cell, Vec<Taken>), ArmError> {
        if let Some(around) = self.bench.around(slot.arm) {
            self.session.bind(&around.cpus)?;
        }
        let (cell, mut taken) = self.bench.prepare(&mut self.session, self.plan, slot, swapped)?;
        if let Some(around) = self.bench.around(slot.arm) {
            let facts = |name: &String| self.session.facts().iter().find(|facts| facts.name == *name);
            let kernel = |name| facts(name).map_or_else(String::new, |facts| format!("Linux {} on {}", facts.kernel, facts.cpu_model));
            let hosts =
                around.hosts.iter().map(|(name, at)| Taken { name: format!("host.{name}"), asked: at.to_string(), got: kernel(name) });
            taken.extend(hosts);
        }
        Ok((cell, taken))
    }

    /// Whether an end was not bound to the CPUs that its arm names.
    fn not_bound(&self, slot: Slot, measured: &Measured, swapped: bool) -> Option<HostError> {
        let around = self.bench.around(slot.arm).filter(|around| !around.cpus.is_empty())?;
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

    /// Takes the hosts of an arm in hand, which are the plan's unless it names
    /// others. `false` where the user does not want to wait for them.
    pub(super) fn enter(&mut self, arm: usize) -> Result<bool, StudyError> {
        let named = self.bench.around(arm).map(|around| around.hosts.clone()).unwrap_or_default();
        if named.is_empty() {
            return Ok(true);
        }
        let mut session = match self.others.sessions.remove(&arm) {
            Some(session) => session,
            None => match Session::open(&with_hosts(self.plan, named), self.credentials, self.listener) {
                Ok(session) => session,
                Err(error) => return not_opened(error).map(|_| false),
            },
        };
        session.inherit(self.session.warnings().to_vec());
        std::mem::swap(&mut self.session, &mut session);
        // The plan's own, until this arm's trial is over.
        self.others.sessions.insert(arm, session);
        self.others.at = Some(arm);
        Ok(true)
    }

    /// Gives the hosts of an arm back.
    pub(super) fn leave(&mut self) {
        let Some(session) = self.others.at.take().and_then(|arm| self.others.sessions.get_mut(&arm)) else { return };
        std::mem::swap(&mut self.session, session);
        self.session.inherit(session.warnings().to_vec());
    }

    /// Sets everything back to what it was before the first trial, as far as the
    /// hosts are there: what the hosts are after a run is not what its last arm made of them.
    pub(super) fn rest(&mut self) {
        self.leave();
        self.bench.rest(&mut self.session);
    }

    /// The plan with the hosts of the arm in hand.
    pub(super) fn plan_in_hand(&self) -> Plan {
        let named = self.others.at.and_then(|arm| self.bench.around(arm)).map(|around| around.hosts.clone());
        with_hosts(self.plan, named.unwrap_or_default())
    }
}

fn with_hosts(plan: &Plan, named: BTreeMap<String, HostAddress>) -> Plan {
    let mut plan = plan.clone();
    plan.hosts.extend(named);
    plan
}
