//! Approval: what a plan does beyond hosts, links and messages of nettoll's own, and the plan
//! whose user wants that.
//!
//! A [`Plan`] is data. Whatever measures takes an [`ApprovedPlan`], which is made
//! in two ways: from what the user wrote ([`resolve`](super::resolve)), and from a stored plan whose
//! actions the user has approved, each by name ([`Plan::approve`]).

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;

use super::error::PlanError;
use super::fitness::{Unfit, unfit};
use super::{FleetPlan, changes, conditions, link_check};
use super::{HostPlace, Plan, PlanEnd};
use crate::arm::Setting;
use crate::program::Program;
use crate::quantity::Nanos;
use crate::sorting::Gather;
use crate::traffic::Role;

/// An action of a plan that its user has to want: a process is started, a connection is made, or
/// this machine is changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Settings of this machine outside nettoll's own namespaces are changed.
    HostWide,
    /// A program of a user's own is an end of trials; its command.
    Program(&'static str),
    /// A command starts a host or stands in an arm; with its place, as it is written.
    Command(String),
    /// An agent is dialled; its address, with its place.
    Agent(String),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::HostWide => "change settings of this machine",
            Self::Program(command) => command,
            Self::Command(text) | Self::Agent(text) => text,
        })
    }
}

impl Action {
    fn of_host(text: String, at: &HostPlace) -> Self {
        match at {
            HostPlace::Agent(_) => Self::Agent(text),
            HostPlace::Command(_) => Self::Command(text),
        }
    }

    fn of_setting(arm: &str, setting: &Setting) -> Option<Self> {
        let text = format!("{arm}: {}={}", setting.name(), setting.value());
        match setting {
            Setting::Host { at, .. } => Some(Self::of_host(text, at)),
            Setting::Before(_) | Setting::After(_) | Setting::Tool(_) => Some(Self::Command(text)),
            // Programs of levels are those of the cells that they make.
            Setting::Factor { .. } | Setting::Mtu(_) | Setting::Sysctl { .. } | Setting::Cpus { .. } => None,
        }
    }
}

impl Plan {
    /// Every action of the plan.
    pub fn actions(&self) -> BTreeSet<Action> {
        let of_host = |name: &str, at: &HostPlace| Action::of_host(format!("host {name}: {at}"), at);
        let hosts = self.hosts.iter().map(|(name, at)| of_host(name, at));
        let members = self.fleet.iter().flat_map(|fleet| &fleet.hosts).map(|member| of_host(&member.name, &member.at));
        let settings = self.arms.iter().flat_map(|arm| arm.settings.iter().filter_map(|setting| Action::of_setting(&arm.name, setting)));
        // A cell whose arm cannot be applied is listed as it stands: no trial of it is run.
        let cells = self.cells.iter().cloned().chain(self.in_arms());
        let programs = cells.flat_map(|cell| [Role::Sender, Role::Receiver].map(|role| cell.external(role))).flatten();
        // Implementations that nettoll brings along are nettoll.
        let programs = programs.filter(|program| program.shipped().is_none()).map(|program| Action::Program(Program::command(program)));
        let host_wide = self.host_wide.then_some(Action::HostWide);
        host_wide.into_iter().chain(hosts).chain(members).chain(settings).chain(programs).into_set()
    }

    /// The plan as one that may be carried out, if every action of it is approved. Only the place
    /// that asks the user calls this.
    ///
    /// # Errors
    /// The actions that are not approved; a plan that hosts and links cannot carry.
    pub fn approve(self, approved: &BTreeSet<Action>) -> Result<ApprovedPlan, ApprovalError> {
        self.with_approval(approved)
    }

    fn with_approval(self, approved: &BTreeSet<Action>) -> Result<ApprovedPlan, ApprovalError> {
        let missing: Vec<Action> = self.actions().into_iter().filter(|action| !approved.contains(action)).collect();
        if !missing.is_empty() {
            return Err(ApprovalError::Actions(missing));
        }
        if self.cells.is_empty() {
            return Err(PlanError::NoCells.into());
        }
        check_hosts(&self)?;
        Ok(ApprovedPlan { plan: self })
    }
}

/// A plan that is not carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApprovalError {
    /// Actions that the user has not approved; at least one.
    #[error("the user has not approved: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Actions(Vec<Action>),
    /// Hosts and links that cannot carry it.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A plan that may be carried out: the user wrote it, or approved every [`Action`] of it. It has a
/// cell at least, is read as a [`Plan`], cannot be changed, and is not read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedPlan {
    plan: Plan,
}

impl ApprovedPlan {
    pub(super) const fn written(plan: Plan) -> Self {
        Self { plan }
    }

    /// Another plan with the approval of this one: it has no action that this one has not.
    ///
    /// # Errors
    /// See [`Plan::approve`].
    pub fn carry_over(&self, plan: Plan) -> Result<Self, ApprovalError> {
        plan.with_approval(&self.plan.actions())
    }

    /// The plan with woven arms or ways of sending: an instance of each group a block, so many at least and at most. Woven
    /// trials have no warm-up.
    ///
    /// # Errors
    /// The reason for which they are compared in turn.
    pub fn weave(mut self, [least, most]: [u32; 2]) -> Result<Self, Unfit> {
        let plan = &mut self.plan;
        if let Some(why) = unfit(plan) {
            return Err(why);
        }
        (plan.blocks.least, plan.blocks.most) = (least, most);
        // Ways that are not woven have trials as their author wrote them.
        if plan.arms.len() > 1 {
            plan.end = PlanEnd::Length(plan.groups().iter().map(|group| plan.instance_length(group)).max().unwrap_or_default());
            plan.warmup = Nanos::default();
        }
        (plan.woven, plan.progress) = (true, None);
        Ok(self)
    }

    /// The plan as data.
    pub fn into_plan(self) -> Plan {
        self.plan
    }
}

impl Deref for ApprovedPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// Checks that hosts and links can carry a plan, and that it changes nothing that it may not.
///
/// # Errors
/// What they cannot carry.
pub(super) fn check_hosts(plan: &Plan) -> Result<(), PlanError> {
    plan.fleet.iter().try_for_each(FleetPlan::check)?;
    link_check::check(plan)?;
    changes::check(plan)?;
    conditions::check(plan)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Action, ApprovalError};
    use crate::plan::{Plan, RawPlan, resolve};

    fn plan(more: &str, cells: &str) -> Plan {
        let text = format!("name = \"x\"\n{more}\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\n{cells}");
        resolve(&RawPlan::parse(&text).unwrap(), &[], 1).unwrap().into_plan()
    }

    /// Every field of a plan through which something is started or dialled.
    fn rows() -> Vec<(Plan, &'static str)> {
        let host_wide = Plan { host_wide: true, ..plan("", "") };
        let mut fleet = plan("hosts = { b = \"db1\" }", "");
        let members = [("na", "db1"), ("nb", "cmd:touch x")];
        fleet.hosts.clear();
        fleet.fleet = Some(
            serde_json::from_value(serde_json::json!({
                "hosts": members.map(|(name, at)| serde_json::json!({ "name": name, "at": at })), "rounds": 1, "least": 0.05,
            }))
            .unwrap(),
        );
        vec![
            (host_wide, "change settings of this machine"),
            (plan("", "api = \"exec:touch x\""), "touch x"),
            (plan("", "receive = \"exec:touch x\""), "touch x"),
            (plan("arms = [\"a\", \"b: api=exec:touch x\"]", ""), "touch x"),
            (plan("arms = [\"a\", \"b: before=touch x\"]", ""), "b: before=touch x"),
            (plan("arms = [\"a\", \"b: after=touch x\"]", ""), "b: after=touch x"),
            (plan("arms = [\"a\", \"b: tool=/tmp/x\"]", ""), "b: tool=/tmp/x"),
            (plan("hosts = { b = \"db1\" }", ""), "host b: db1:10984"),
            (plan("hosts = { b = \"cmd:touch x\" }", ""), "host b: cmd:touch x"),
            (plan("arms = [\"a\", \"b: host.b=db2\"]\nhosts = { b = \"db2\" }", ""), "b: host.b=db2:10984"),
            (plan("arms = [\"a\", \"b: host.b=cmd:touch x\"]\nhosts = { b = \"db2\" }", ""), "b: host.b=cmd:touch x"),
            (fleet.clone(), "host na: db1:10984"),
            (fleet, "host nb: cmd:touch x"),
        ]
    }

    #[test]
    fn nothing_is_carried_out_that_is_not_approved() {
        for (plan, words) in rows() {
            let actions = plan.actions();
            let action =
                actions.iter().find(|action| action.to_string() == words).unwrap_or_else(|| panic!("{words}: {actions:?}")).clone();
            // All but this one are approved.
            let others: BTreeSet<Action> = actions.iter().filter(|other| **other != action).cloned().collect();
            assert_eq!(plan.clone().with_approval(&others), Err(ApprovalError::Actions(vec![action])), "{words}");
            let harmless = self::plan("", "");
            let approved = harmless.clone().with_approval(&BTreeSet::new()).unwrap();
            assert!(matches!(approved.carry_over(plan.clone()), Err(ApprovalError::Actions(_))), "{words}");
            assert_eq!(approved.carry_over(harmless.clone()).unwrap().into_plan(), harmless);
            if plan.host_wide || plan.fleet.is_none() {
                assert_eq!(plan.clone().with_approval(&actions).unwrap().into_plan(), plan);
            }
        }
    }

    /// A stored plan is checked like a written one before it is carried out.
    #[test]
    fn what_no_user_could_write_is_not_carried_out() {
        let offload = plan("", "\"offload.gro\" = \"off\"");
        let loopback = serde_json::from_value(serde_json::json!({ "kind": "loopback" })).unwrap();
        let refused = Plan { link: loopback, ..offload }.with_approval(&BTreeSet::new()).unwrap_err();
        assert!(refused.to_string().contains("a change of this machine"), "{refused}");
    }

    #[test]
    fn what_nettoll_brings_along_is_no_action() {
        assert_eq!(plan("", "api = [\"send\", \"tokio\"]").actions(), BTreeSet::new());
    }
}
