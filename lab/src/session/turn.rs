//! Turns on hosts that serve several controllers.

use std::ops::ControlFlow;

use model::control::{FromHost, ToHost};
use model::sorting::Order;
use model::warning::Warning;

use super::Session;
use crate::error::TrialError;
use crate::event::{Event, Listener};
use crate::refusal::Refusal;
use crate::remote::{HostError, RemoteHost};

/// The agents of a session in the order in which all controllers ask for them,
/// so that two that want the same two cannot wait for each other.
fn order(hosts: &[RemoteHost; 2]) -> Vec<usize> {
    let id = |at: usize| hosts[at].agent().map(|agent| agent.id.id.0);
    let mut agents: Vec<usize> = (0..hosts.len()).filter(|at| id(*at).is_some()).collect();
    agents.order_by_key(|at| id(*at));
    agents
}

/// Returns whether two names lead to one agent. Two hosts that commands start on one machine
/// are known by the same identity, but are two.
fn is_one_agent(hosts: &[RemoteHost; 2]) -> bool {
    let agents = hosts.each_ref().map(|host| host.agent().filter(|agent| agent.at.agent().is_some()));
    matches!(agents, [Some(a), Some(b)] if a.id.id == b.id.id)
}

/// Waits until every agent is free for this trial; returns the places of those that others may have as well. Where one alone is to be waited for, the commands `then` go out with the
/// question, and `sights` questions for its time: the next [`RemoteHost::ask`] finds them sent.
///
/// # Errors
/// See [`TrialError`]. None is held then.
pub fn take(session: &mut Session, listener: &mut dyn Listener, then: &[Vec<ToHost>; 2], sights: u32) -> Result<Vec<usize>, TrialError> {
    let mut shared = Vec::new();
    let twice = is_one_agent(session.hosts());
    let agents = order(session.hosts());
    for at in &agents {
        let host = &mut session.hosts()[*at];
        let ahead = if agents.len() == 1 { &then[*at][..] } else { &[] };
        let mut waiting = |host: &str, place: u32| listener.hear(&Event::Waiting { host, place }).map_err(TrialError::Listener);
        let taken = match host.turn(&mut waiting, ahead, sights) {
            // It would wait for itself, or, where several have it at once, for another that waits for it.
            Ok(Some(_)) if twice => Err(HostError::from(one_agent()).into()),
            Ok(Some(false)) => Ok(()),
            Ok(Some(true)) => {
                shared.push(*at);
                Ok(())
            }
            Ok(None) => Err(TrialError::Stopped),
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            give_back(session);
            return Err(error);
        }
    }
    Ok(shared)
}

/// Asks the agents that others may have as well how many did during this trial.
///
/// # Errors
/// See [`HostError`].
pub fn company(session: &mut Session, shared: &[usize]) -> Result<Vec<Warning>, HostError> {
    let mut warnings = Vec::new();
    for at in shared {
        let host = &mut session.hosts()[*at];
        let others = others_at(host)?;
        warnings.extend((others > 0).then(|| Warning::SharedHost { host: host.name().to_owned(), others }));
    }
    Ok(warnings)
}

/// The most others that had a host in this turn.
pub(super) fn others_at(host: &mut RemoteHost) -> Result<u32, HostError> {
    match host.command(&ToHost::Company)? {
        FromHost::Company { others } => Ok(others),
        other => Err(host.unexpected("the number of others", &other)),
    }
}

/// Two names lead to one agent, which has one turn to give.
fn one_agent() -> Refusal {
    Refusal::new(
        "hosts a and b are one agent, which carries out one end of one trial at a time",
        "run a second one there on another --port, or leave one of the names out, so that this machine is \
         that host",
        "",
    )
}

/// Lets others have the agents.
pub fn give_back(session: &mut Session) {
    for at in order(session.hosts()) {
        session.hosts()[at].release();
    }
}

/// Ends the trial at once where the listener wants it.
pub fn heed(flow: ControlFlow<()>) -> Result<(), TrialError> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(TrialError::Stopped),
    }
}
