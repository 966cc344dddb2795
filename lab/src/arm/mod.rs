//! Arms: brings the hosts to the state that each trial's arm and cell want, and
//! makes sure that they are in it.
//!
//! ```text
//! ArmController (in the controller) --ArmRequest--> host: Adjuster, in the namespace that it holds
//!                    --ArmRequest--> guard: Adjuster + Journal, for changes of the machine
//! ```

mod adjust;
pub mod guard;
pub mod host_side;
mod item;
pub mod journal;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use model::adjust::{AppliedSetting, ArmReply, ArmRequest, HostState};
use model::arm::{HostSettings, Setting};
use model::control::{FromHost, ToHost};
use model::plan::Factor;
use model::schedule::Slot;
use model::sorting::Gather;
use model::trial::Measured;
use model::warning::Warning;
use model::{Arm, Cell, Plan, Role};

use crate::refusal::Refusal;
use crate::remote::HostError;
use crate::session::Session;

use guard::Guard;

pub use adjust::Adjuster;

/// Trials that cannot be brought about as their arms want them.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// This trial cannot; another may.
    #[error(transparent)]
    Trial(#[from] HostError),
    /// Nothing of the machine can be changed any more.
    #[error(transparent)]
    Guard(Refusal),
    /// The user has to allow it first.
    #[error(
        "{what} would be changed on this machine, for every program on it: {why}; leave it out, or give --host-wide, \
         and it is undone when the study ends, however it ends"
    )]
    HostWide {
        /// The settings.
        what: String,
        /// Reason why they cannot be set for the trials alone.
        why: String,
    },
    /// This machine lacks something that an arm asks for.
    #[error(transparent)]
    Lacking(Refusal),
    /// There is no such setting.
    #[error("sysctl.{name}: this kernel has no such setting ({}){hint}", item::path(name).map_or_else(|error| error.to_string(), |path| path.display().to_string()))]
    NoSuchSysctl {
        /// Its name.
        name: String,
        /// The nearest that there is.
        hint: String,
    },
}

/// The error that fails one trial, where there is one.
///
/// # Errors
/// Those that end the study.
pub fn of_trial(outcome: Result<(), ArmError>) -> Result<Option<HostError>, ArmError> {
    match outcome {
        Ok(()) => Ok(None),
        Err(ArmError::Trial(error)) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// Makes a study's trials what their arms and cells say.
#[derive(Debug, Default)]
pub struct ArmController {
    arms: Vec<HostSettings>,
    /// `true` if anything of the hosts is ever changed.
    changes: bool,
    /// `true` if every change is one of this machine: the hosts are.
    machine: bool,
    /// The sysctls that the hosts have in common with the machine.
    common: BTreeSet<String>,
    guard: Option<Guard>,
}

impl ArmController {
    /// Looks at what the plan changes, and where.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub fn open(plan: &Plan, session: &mut Session) -> Result<Self, ArmError> {
        let arms: Vec<HostSettings> = plan.arms.iter().map(Arm::host_settings).collect();
        let cells = plan.cells_run();
        let devices = cells.iter().any(|cell| !cell.offloads.is_empty()) || arms.iter().any(|arm| arm.mtu.is_some());
        let sysctls: BTreeSet<String> = arms.iter().flat_map(|arm| arm.sysctls.keys().cloned()).into_set();
        let changes = devices || !sysctls.is_empty();
        // Between machines a plan changes nothing, as its resolution made sure.
        let machine = changes && !session.is_isolated();
        let not_own = if machine || sysctls.is_empty() { BTreeMap::new() } else { look(session, &sysctls)? };
        for name in if machine { sysctls.iter().collect::<Vec<_>>() } else { not_own.keys().collect() } {
            known(name)?;
        }
        if !plan.host_wide && (machine || !not_own.is_empty()) {
            return Err(not_allowed(plan, machine, &not_own));
        }
        Ok(Self { arms, changes, machine, common: not_own.into_keys().collect(), guard: None })
    }

    /// Returns what an arm sets other than its cells.
    pub fn settings(&self, arm: usize) -> Option<&HostSettings> {
        self.arms.get(arm)
    }

    /// Returns whether anything is changed for every program of this machine.
    pub fn changes_machine(&self) -> bool {
        self.machine || !self.common.is_empty()
    }

    /// Brings the hosts to the state that a trial wants and runs the command that
    /// comes before it; returns its cell, and what was set and read back.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub fn prepare(
        &mut self,
        session: &mut Session,
        plan: &Plan,
        slot: Slot,
        swapped: bool,
    ) -> Result<(Cell, Vec<AppliedSetting>), ArmError> {
        let cell = plan.cell_in(&plan.cells[slot.cell], slot.arm).map_err(|error| refused("the plan", error))?;
        let mut taken = if self.changes { self.adjust(session, slot.arm, &cell, swapped)? } else { Vec::new() };
        let Some(settings) = self.arms.get(slot.arm) else { return Ok((cell, taken)) };
        if let Some(tool) = &settings.tool {
            taken.push(version(session, tool)?);
        }
        if let Some(command) = &settings.before {
            run(session, command, plan, slot, &cell, swapped)?;
        }
        Ok((cell, taken))
    }

    /// Tries the settings of an arm, as far as nothing of the machine changes by it: one that is refused now would
    /// fail every trial. Commands are not run.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub fn rehearse(&mut self, session: &mut Session, plan: &Plan, arm: usize) -> Result<(), ArmError> {
        let Some(settings) = self.arms.get(arm) else { return Ok(()) };
        if let Some(tool) = &settings.tool {
            version(session, tool)?;
        }
        if let Some(cell) = plan.cells.first().filter(|_| self.changes && !self.machine && self.common.is_empty()) {
            let cell = plan.cell_in(cell, arm).map_err(|error| refused("the plan", error))?;
            let tried = self.adjust(session, arm, &cell, false);
            let undone = adjust_hosts(session, &HostState::default());
            tried?;
            undone?;
        }
        Ok(())
    }

    /// Runs the command that comes after a trial, however that ended.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub fn conclude(&self, session: &mut Session, plan: &Plan, slot: Slot, swapped: bool) -> Result<(), ArmError> {
        let Some(command) = self.arms.get(slot.arm).and_then(|settings| settings.after.as_ref()) else { return Ok(()) };
        let cell = plan.cell_in(&plan.cells[slot.cell], slot.arm).map_err(|error| refused("the plan", error))?;
        run(session, command, plan, slot, &cell, swapped)
    }

    /// Sets what differs, and what no trial wants any more back.
    fn adjust(&mut self, session: &mut Session, arm: usize, cell: &Cell, swapped: bool) -> Result<Vec<AppliedSetting>, ArmError> {
        let none = HostSettings::default();
        let settings = self.arms.get(arm).unwrap_or(&none);
        let device = session.place(Role::Sender, swapped).device(cell.family).to_owned();
        let is_common = |name: &String| self.machine || self.common.contains(name);
        let (common, own) = settings.sysctls.clone().into_iter().partition(|(name, _)| is_common(name));
        let all = HostState { device, mtu: settings.mtu, offloads: cell.offloads.clone(), sysctls: own };
        let mut taken = Vec::new();
        if self.machine {
            taken.extend(self.adjust_machine(&HostState { sysctls: common, ..all })?);
        } else {
            taken.extend(adjust_hosts(session, &all)?);
            if !self.common.is_empty() {
                taken.extend(self.adjust_machine(&HostState { device: String::new(), sysctls: common, ..HostState::default() })?);
            }
        }
        Ok(taken)
    }

    /// Sets everything back. A host that cannot any more loses its namespace with
    /// all that was set in it; of the machine, the guard keeps trying.
    pub fn rest(&mut self, session: &mut Session) {
        if self.changes && !self.machine {
            let _ = adjust_hosts(session, &HostState::default());
        }
        self.rest_machine();
    }

    /// Sets back what was set of the machine.
    pub fn rest_machine(&mut self) {
        let _ = self.adjust_machine(&HostState::default());
    }

    fn adjust_machine(&mut self, wanted: &HostState) -> Result<Vec<AppliedSetting>, ArmError> {
        let guard = match (&mut self.guard, wanted.is_nothing()) {
            (Some(guard), _) => guard,
            // Nothing has been changed yet.
            (None, true) => return Ok(Vec::new()),
            (none, false) => none.insert(Guard::start().map_err(ArmError::Guard)?),
        };
        guard.adjust(wanted)
    }
}

/// Returns which options an arm asked for and a trial did not get, in words.
pub fn not_taken(arm: &Arm, warnings: &[Warning]) -> Option<String> {
    let is_set_by = |option: &str, factor| match factor {
        Factor::Cc => option == "TCP_CONGESTION",
        Factor::Nodelay => option == "TCP_NODELAY",
        Factor::Sndbuf => option == "SO_SNDBUF",
        Factor::Rcvbuf => option == "SO_RCVBUF",
        Factor::Tos => ["IP_TOS", "IPV6_TCLASS"].contains(&option),
        Factor::Nstreams => option == "SCTP_STATUS",
        Factor::Xbind => option == "SCTP_GET_LOCAL_ADDRS",
        _ => false,
    };
    arm.settings.iter().find_map(|setting| {
        let factor = setting.level()?.factor();
        warnings.iter().find_map(|warning| match warning {
            Warning::OptionNotTaken { role, option, asked, got } if is_set_by(option, factor) => {
                Some(format!("{factor} did not take effect at the {role}: asked {asked}, set without an error, got {got} ({option})"))
            }
            _ => None,
        })
    })
}

/// Error of an end that was not bound to the CPUs that its arm names.
pub fn not_bound(settings: &HostSettings, session: &mut Session, measured: &Measured, swapped: bool) -> Option<HostError> {
    let ends = [(Role::Sender, &measured.sender), (Role::Receiver, &measured.receiver)];
    ends.into_iter().find_map(|(role, report)| {
        let name = session.host(role, swapped).name();
        let wanted = settings.cpus.get(name)?;
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

fn refused(name: &str, error: impl ToString) -> HostError {
    HostError::Refused { name: name.to_owned(), error: error.to_string() }
}

/// The sysctls that a host cannot set for itself alone, with the answer.
fn look(session: &mut Session, sysctls: &BTreeSet<String>) -> Result<BTreeMap<String, String>, HostError> {
    let mut not_own = BTreeMap::new();
    for host in session.hosts() {
        match host.command(&ToHost::Arm(ArmRequest::Look { sysctls: sysctls.iter().cloned().collect() }))? {
            FromHost::Arm(ArmReply::NotOwn(names)) => not_own.extend(names),
            other => return Err(host.unexpected("which sysctls are its own", &other)),
        }
    }
    Ok(not_own)
}

/// Both hosts at once; both answers are taken before either's failure is told.
fn adjust_hosts(session: &mut Session, wanted: &HostState) -> Result<Vec<AppliedSetting>, HostError> {
    let hosts = session.hosts();
    for host in hosts.iter_mut() {
        host.tell(&ToHost::Arm(ArmRequest::Adjust(wanted.clone())))?;
    }
    let answers = hosts.each_mut().map(|host| match host.answer() {
        Ok(FromHost::Arm(ArmReply::Adjusted(taken))) => Ok(taken),
        Ok(other) => Err(host.unexpected("the state of its link", &other)),
        Err(error) => Err(error),
    });
    let [first, second] = answers;
    // What one took the other took as well.
    second.and(first)
}

fn version(session: &mut Session, tool: &str) -> Result<AppliedSetting, HostError> {
    let mut said = BTreeSet::new();
    for host in session.hosts() {
        match host.command(&ToHost::Arm(ArmRequest::Version { tool: tool.to_owned() }))? {
            FromHost::Arm(ArmReply::Version(version)) => _ = said.insert(version),
            other => return Err(host.unexpected("the version of a program", &other)),
        }
    }
    Ok(AppliedSetting { name: "tool".to_owned(), asked: tool.to_owned(), got: said.into_iter().collect::<Vec<_>>().join("; ") })
}

/// Runs a command on both hosts, one after the other.
fn run(session: &mut Session, command: &str, plan: &Plan, slot: Slot, cell: &Cell, swapped: bool) -> Result<(), ArmError> {
    for role in [Role::Sender, Role::Receiver] {
        let device = session.place(role, swapped).device(cell.family).to_owned();
        let host = session.host(role, swapped);
        let arm = plan.arms.get(slot.arm).map_or("", |arm| &arm.name);
        let environment = [
            ("NETTOLL_HOST", host.name().to_owned()),
            ("NETTOLL_ROLE", role.to_string()),
            ("NETTOLL_DEVICE", device),
            ("NETTOLL_ARM", arm.to_owned()),
            ("NETTOLL_CELL", cell.to_string()),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
        match host.command(&ToHost::Arm(ArmRequest::Run { command: command.to_owned(), environment }))? {
            FromHost::Done => {}
            other => return Err(host.unexpected("the end of a command", &other).into()),
        }
    }
    Ok(())
}

fn not_allowed(plan: &Plan, machine: bool, not_own: &BTreeMap<String, String>) -> ArmError {
    if machine {
        let of_arms = plan.arms.iter().flat_map(|arm| arm.settings.iter().filter(|setting| setting.changes_host()).map(Setting::name));
        let of_cells = plan.cells.iter().flat_map(|cell| cell.offloads.keys().map(|offload| format!("offload.{offload}")));
        let what: BTreeSet<String> = of_arms.chain(of_cells).into_set();
        let why = "the hosts are not set apart from it".to_owned();
        return ArmError::HostWide { what: what.into_iter().collect::<Vec<_>>().join(", "), why };
    }
    let what: Vec<String> = not_own.keys().map(|name| format!("sysctl.{name}")).collect();
    let why = not_own.values().next().map_or_else(String::new, |answer| format!("the hosts' namespaces have none of their own ({answer})"));
    ArmError::HostWide { what: what.join(", "), why }
}

/// Makes sure that the kernel has a sysctl of this name.
fn known(name: &str) -> Result<(), ArmError> {
    let Some(path) = item::path(name).ok().filter(|path| !path.exists()) else { return Ok(()) };
    let siblings = path.parent().and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten().filter_map(Result::ok);
    let names: Vec<String> = siblings.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let (parent, last) = name.rsplit_once('.').unwrap_or(("", name));
    let near = model::nearest(last, names.iter().map(String::as_str));
    let hint =
        near.map_or_else(|| "; `sysctl -a` lists what there is".to_owned(), |near| format!("; did you mean 'sysctl.{parent}.{near}'?"));
    Err(ArmError::NoSuchSysctl { name: name.to_owned(), hint })
}

#[cfg(test)]
mod tests {
    use model::warning::Warning;
    use model::{Arm, Role};

    use super::{known, not_taken};

    #[test]
    fn an_option_that_an_arm_did_not_get_is_told_from_those_of_others() {
        let arms = Arm::parse_all(&["a".to_owned(), "b: sndbuf=1G".to_owned()]).unwrap();
        let warning =
            Warning::OptionNotTaken { role: Role::Sender, option: "SO_SNDBUF".to_owned(), asked: "2".to_owned(), got: "1".to_owned() };
        assert_eq!(not_taken(&arms[0], std::slice::from_ref(&warning)), None);
        let words = not_taken(&arms[1], &[Warning::OneCpu, warning]).unwrap();
        assert_eq!(words, "sndbuf did not take effect at the sender: asked 2, set without an error, got 1 (SO_SNDBUF)");
        let arms = Arm::parse_all(&["a: tos=0xb8".to_owned(), "b: tos=0xbb".to_owned()]).unwrap();
        for option in ["IP_TOS", "IPV6_TCLASS"] {
            let (asked, got) = ("187".to_owned(), "184".to_owned());
            let warning = Warning::OptionNotTaken { role: Role::Receiver, option: option.into(), asked, got };
            let words = not_taken(&arms[1], &[warning]).unwrap();
            assert_eq!(words, format!("tos did not take effect at the receiver: asked 187, set without an error, got 184 ({option})"));
        }
    }

    #[test]
    fn a_sysctl_that_does_not_exist_is_named_with_the_nearest() {
        known("net.ipv4.tcp_wmem").unwrap();
        let error = known("net.ipv4.tcp_wmen").unwrap_err().to_string();
        assert!(error.contains("did you mean 'sysctl.net.ipv4.tcp_wmem'?"), "{error}");
        assert!(known("net.none.x").unwrap_err().to_string().contains("sysctl -a"));
    }
}
