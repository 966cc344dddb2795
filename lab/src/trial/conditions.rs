//! Conditions of a trial: brought about before its ends are prepared, and
//! taken away after it, whatever came of it.

use model::condition::{BackgroundReply, BackgroundRequest, LoadUsage, ObservedConditions, Placement, Priority};
use model::control::{FromHost, ToHost};
use model::trial::Measured;
use model::warning::Warning;
use model::{Refusal, Role};

use super::talk::Both;
use super::{Trial, TrialSpec};
use crate::error::TrialError;
use crate::remote::{HostError, RemoteHost};
use crate::session::{EndCpus, Session};

/// Both roles, in the order in which hosts are told: the receiver has to be there first.
const ROLES: [Role; 2] = [Role::Receiver, Role::Sender];

/// The conditions that were brought about so far. What is in here is taken away.
#[derive(Debug, Default)]
pub struct Conditions {
    /// Places of the ends before.
    places: Option<[EndCpus; 2]>,
    /// The device whose packets are steered, and the CPU to which.
    steered: Option<(String, u32)>,
    /// `true` if a load was asked for.
    loaded: Both<bool>,
}

impl Conditions {
    /// Brings about what the order's cell is run under, the loads last: whatever
    /// else is to be done is done sooner without them.
    ///
    /// # Errors
    /// The condition that failed. Those brought about are still to be taken away.
    pub fn bring_about(&mut self, session: &mut Session, spec: &TrialSpec) -> Result<(), HostError> {
        let wanted = &spec.cell.conditions;
        if wanted.placement != Placement::Usual {
            self.places = Some(session.arrange(wanted.placement, spec.swapped)?);
            self.steer(session, spec)?;
        }
        self.load(session, spec)
    }

    /// Takes away what was brought about, and says what it took. Of hosts that
    /// are lost nothing is asked: it went with them.
    ///
    /// # Errors
    /// A host that did not do it, or that was lost meanwhile. The rest is taken
    /// away all the same.
    pub fn take_away(self, session: &mut Session, spec: &TrialSpec, lost: bool) -> Result<ObservedConditions, HostError> {
        let wanted = &spec.cell.conditions;
        let mut taken = ObservedConditions {
            priority: wanted.priority,
            softirq: self.steered.as_ref().map(|(_, cpu)| *cpu),
            ..ObservedConditions::default()
        };
        let mut failed = None;
        if !lost {
            let commands = ROLES.map(|role| (role, self.loaded.of(role).then_some(BackgroundRequest::Unload)));
            for (role, answer) in ask_each(session, spec, commands, &mut failed) {
                let BackgroundReply::Load(load) = answer else { continue };
                session.inherit(absences(&load));
                match role {
                    Role::Sender => taken.sender_load = Some(load),
                    Role::Receiver => taken.receiver_load = Some(load),
                }
            }
            if let Some((device, _)) = self.steered {
                let host = session.host(Role::Receiver, spec.swapped);
                failed = failed.or(carry_out(host, BackgroundRequest::Softirq { device, cpu: None }).err());
            }
        }
        if let Some(places) = self.places {
            session.rearrange(places);
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(taken),
        }
    }

    /// Has what the receiver's device receives handled where the placement says.
    fn steer(&mut self, session: &mut Session, spec: &TrialSpec) -> Result<(), HostError> {
        let at = match spec.cell.conditions.placement {
            Placement::SoftirqAtSender => Role::Sender,
            Placement::SoftirqAtReceiver => Role::Receiver,
            Placement::Usual | Placement::SameCore | Placement::OtherCore => return Ok(()),
        };
        let device = session.place(Role::Receiver, spec.swapped).device(spec.cell.family).to_owned();
        let cpu = session.place(at, spec.swapped).cpus(1).first().map(|place| place.cpu);
        let host = session.host(Role::Receiver, spec.swapped);
        let Some(cpu) = cpu else {
            return Err(host.refused(format!("placement {}: no CPU is known to be the {at}'s", spec.cell.conditions.placement)));
        };
        // Before it is told: half of the queues may be set when it fails.
        self.steered = Some((device.clone(), cpu));
        carry_out(host, BackgroundRequest::Softirq { device, cpu: Some(cpu) })
    }

    /// Loads the hosts, both at once.
    fn load(&mut self, session: &mut Session, spec: &TrialSpec) -> Result<(), HostError> {
        let mut failed = None;
        let commands = ROLES.map(|role| {
            let units = *spec.cell.conditions.load.of(role);
            let cpus = session.place(role, spec.swapped).cpus(spec.cell.flows).iter().map(|place| place.cpu).collect();
            (role, (units > 0).then_some(BackgroundRequest::Load { units, cpus }))
        });
        for (role, _) in ask_each(session, spec, commands, &mut failed) {
            *self.loaded.of_mut(role) = true;
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Has commands carried out, at both hosts at once; returns the answers. Both are taken
/// before either's failure is told, so that no answer is left for a later command.
fn ask_each(
    session: &mut Session,
    spec: &TrialSpec,
    commands: [(Role, Option<BackgroundRequest>); 2],
    failed: &mut Option<HostError>,
) -> Vec<(Role, BackgroundReply)> {
    let mut told = Vec::new();
    for (role, command) in commands.into_iter().filter_map(|(role, command)| Some((role, command?))) {
        match session.host(role, spec.swapped).tell(&ToHost::Background(command)) {
            Ok(()) => told.push(role),
            Err(error) => *failed = failed.take().or(Some(error)),
        }
    }
    let mut answers = Vec::new();
    for role in told {
        let host = session.host(role, spec.swapped);
        match host.answer() {
            Ok(FromHost::Background(answer)) => answers.push((role, answer)),
            Ok(other) => *failed = failed.take().or(Some(host.unexpected("a load to be as asked", &other))),
            Err(error) => *failed = failed.take().or(Some(error)),
        }
    }
    answers
}

/// Keeps the conditions, next to the other traffic.
pub fn store(taken: ObservedConditions, measured: &mut Measured) {
    let traffic = measured.conditions.take().map_or_else(ObservedConditions::default, |traffic| *traffic);
    let taken = ObservedConditions { pairs: traffic.pairs, bulk: traffic.bulk, ..taken };
    measured.conditions = (taken != ObservedConditions::default()).then(|| Box::new(taken));
}

/// Returns what the load of a host lacked. Each is said once in a run.
fn absences(load: &LoadUsage) -> Vec<Warning> {
    let words: Vec<String> = load.replaced.iter().map(|replaced| format!("'{}' was {}", replaced.job, replaced.by)).collect();
    let replaced = (!words.is_empty()).then(|| {
        Warning::Absent(Refusal {
            what: "the usual program for some jobs of a host load".to_owned(),
            answer: format!("it is not in PATH, and what did the job was another: {}", words.join(", ")),
            remedy: "Install cc, troff, ed, cp and ps to compare with loads elsewhere.".to_owned(),
        })
    });
    let not_caged = load.not_caged.iter().map(|answer| {
        Warning::Absent(Refusal {
            what: "a pid namespace for the units of a host load".to_owned(),
            answer: answer.clone(),
            remedy: "Run as root; without it, what a killed load had just started ends a moment later.".to_owned(),
        })
    });
    replaced.into_iter().chain(not_caged).collect()
}

/// Has a command carried out that is answered with no more than that it is.
fn carry_out(host: &mut RemoteHost, command: BackgroundRequest) -> Result<(), HostError> {
    match host.command(&ToHost::Background(command))? {
        FromHost::Background(BackgroundReply::Done) => Ok(()),
        other => Err(host.unexpected("a condition to be as asked", &other)),
    }
}

impl Trial<'_> {
    /// Returns whether an end is to be scheduled in another way than is usual.
    pub fn is_scheduled(&self) -> bool {
        let wanted = self.spec.cell.conditions.priority;
        ROLES.iter().any(|role| *wanted.of(*role) != Priority::Usual)
    }

    /// Has each end, which was started and has one thread, scheduled as its cell says.
    pub fn schedule(&mut self) -> Result<(), TrialError> {
        let wanted = self.spec.cell.conditions.priority;
        for role in ROLES {
            let priority = *wanted.of(role);
            if priority != Priority::Usual {
                carry_out(self.host(role), BackgroundRequest::Schedule(priority))?;
            }
        }
        Ok(())
    }
}
