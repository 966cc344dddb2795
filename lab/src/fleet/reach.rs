//! Hosts of a fleet are reached, many at once, and say what they are.

use std::ops::ControlFlow;
use std::sync::Arc;

use model::host::HostFacts;
use model::{Family, Plan};

use super::host::Member;
use super::{Fleet, Place};
use crate::event::Event;
use crate::session::device_towards;
use crate::study::StudyError;
use crate::threads::{Stop, on_threads};

/// Hosts that are reached at once: a login takes CPU time here and there, and sshd refuses
/// more than ten of one client that are not through yet only by chance (MaxStartups), which
/// does not matter for different hosts.
const AT_ONCE: usize = 32;

/// The family that all cells need, where it is one.
fn only_family(plan: &Plan) -> Option<Family> {
    let mut families = plan.cells_run().into_iter().map(|cell| cell.family);
    let first = families.next()?;
    families.all(|other| other == first).then_some(first)
}

impl Fleet<'_> {
    /// Reaches every host.
    pub(super) fn reach_all(&mut self) -> Result<ControlFlow<()>, StudyError> {
        self.reach((0..self.places.len()).collect())
    }

    /// Looks for hosts that are not there, if they were not looked for so often in vain, and
    /// gathers the facts of those that come back.
    pub(super) fn search(&mut self, most: u32) -> Result<ControlFlow<()>, StudyError> {
        let away = |place: &Place| place.member.is_none() && place.searches < most;
        let wanted: Vec<usize> = (0..self.places.len()).filter(|at| away(&self.places[*at])).collect();
        if wanted.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        wanted.iter().for_each(|at| self.places[*at].searches += 1);
        if self.reach(wanted.clone())?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let back: Vec<usize> = wanted.into_iter().filter(|at| self.places[*at].member.is_some()).collect();
        Ok(if self.gather(back)? { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    fn reach(&mut self, wanted: Vec<usize>) -> Result<ControlFlow<()>, StudyError> {
        let (fleet, credentials, only) = (Arc::clone(&self.fleet), Arc::clone(&self.credentials), only_family(&self.plan));
        let of = wanted.len();
        let work = move |stop: &Stop, at: usize| (at, Member::reach(&fleet.hosts[at], only, &credentials.until(stop)));
        let listener = &mut *self.listener;
        let ended = on_threads(wanted, AT_ONCE, work, |done| listener.hear(&Event::Reaching { done, of })).map_err(StudyError::Listener)?;
        for (at, reached) in ended.done {
            let place = &mut self.places[at];
            match reached {
                Ok(member) => *place = Place { member: Some(Box::new(member)), ..Place::default() },
                Err(error) => place.error = Some(of_host(&self.fleet.hosts[at].name, &error.to_string())),
            }
        }
        Ok(if ended.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// The facts of every host that is there; `None` where the user did not want to wait.
    pub(super) fn facts(&mut self) -> Result<Option<Vec<HostFacts>>, StudyError> {
        let there = (0..self.places.len()).filter(|at| self.places[*at].member.is_some()).collect();
        if !self.gather(there)? {
            return Ok(None);
        }
        Ok(Some(self.places.iter().filter_map(|place| Some(place.member.as_ref()?.known.facts.clone())).collect()))
    }

    /// Gathers the facts of these hosts, which are there; those that are lost with it are not
    /// any more. `false` where the user did not want to wait.
    fn gather(&mut self, wanted: Vec<usize>) -> Result<bool, StudyError> {
        let family = only_family(&self.plan).unwrap_or(Family::V4);
        let addresses: Vec<_> = self.places.iter().map(|place| place.member.as_ref()?.host.address_of(family)).collect();
        let mut work = Vec::new();
        for at in wanted {
            let Some(mut member) = self.places[at].member.take() else { continue };
            // Any other host will do: what joins them is one network.
            let other = addresses.iter().enumerate().find_map(|(other, address)| if other == at { None } else { *address });
            let device = other.and_then(|other| device_towards(&mut member.host, other).ok()).unwrap_or_default();
            work.push((at, member, device));
        }
        let gather = |stop: &Stop, (at, mut member, device): (usize, Box<Member>, String)| {
            let gathered = member.gather(&device, || !stop.is_set());
            (at, gathered.map(|_| member))
        };
        let of = work.len();
        let listener = &mut *self.listener;
        let ended = on_threads(work, AT_ONCE, gather, |done| listener.hear(&Event::Reaching { done, of })).map_err(StudyError::Listener)?;
        for (at, gathered) in ended.done {
            match gathered {
                Ok(member) => self.places[at] = Place { member: Some(member), ..Place::default() },
                Err(error) => self.places[at].error = Some(of_host(&self.fleet.hosts[at].name, &error.to_string())),
            }
        }
        Ok(!ended.stopped)
    }
}

/// An error that names its host.
fn of_host(name: &str, error: &str) -> String {
    let named = error.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter))).any(|word| word == name);
    if named { error.to_owned() } else { format!("host {name}: {error}") }
}

#[cfg(test)]
mod tests {
    use super::of_host;

    #[test]
    fn a_host_is_named_once() {
        assert_eq!(of_host("n1", "host n1: gone"), "host n1: gone");
        assert_eq!(of_host("n1", "host n10: gone"), "host n1: host n10: gone");
    }
}
