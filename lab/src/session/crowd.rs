//! Several machines at one side of a session: each is joined to the host that they share, over a connection of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use model::Plan;
use model::host::HostFacts;
use model::plan::HOST_NAMES;

use super::{Session, turn};
use crate::connection::Credentials;
use crate::error::TrialError;
use crate::event::{Event, Listener, QueueGuard};
use crate::refusal::Refusal;
use crate::remote::{HostError, RemoteHost};

/// Times that a machine that was lost is looked for again.
const SEARCHES: u32 = 3;
/// Time between two looks at a line in which others stand.
const PAUSE: Duration = Duration::from_millis(250);

/// The machines of the side that has several.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// The side: 0 of host `a`, 1 of host `b`.
    pub side: usize,
    /// All of them, the session's own host first.
    seats: Vec<Seat>,
    plan: Plan,
    credentials: Credentials,
    /// The CPUs of the ends in the arm at hand, by the names of their hosts.
    cpus: BTreeMap<String, Vec<u32>>,
}

/// One of them.
#[derive(Debug)]
struct Seat {
    name: String,
    /// The session that joins it to the shared host; `None` of the first, whose session is the one that has the crowd.
    session: Option<Session>,
    /// Answer of one that is not there.
    error: Option<String>,
    searches: u32,
}

/// A machine that takes part in a trial: its place, and its session.
pub(crate) type Participant<'a> = (usize, &'a mut Session);

impl Crowd {
    /// Joins the further machines of a plan to the host that `first` has; `None` where a side has no more than one that a
    /// trial needs.
    ///
    /// # Errors
    /// See [`TrialError`]: one that cannot be reached, two names of one agent, a shared host that does not serve as many
    /// at once.
    pub fn open(
        plan: &Plan,
        first: &mut Session,
        credentials: &Credentials,
        listener: &mut dyn Listener,
    ) -> Result<Option<Box<Self>>, TrialError> {
        let most = plan.cells_run().iter().map(|cell| cell.conditions.most_hosts()).max().unwrap_or(1) as usize;
        let Some(side) = plan.many_side().filter(|_| most > 1) else { return Ok(None) };
        let seat = |name: &str| Seat { name: name.to_owned(), session: None, error: None, searches: 0 };
        let seats = plan.hosts_at(side).into_iter().take(most).map(seat).collect();
        let mut crowd = Box::new(Self { side, seats, plan: plan.clone(), credentials: credentials.clone(), cpus: BTreeMap::new() });
        for place in 1..crowd.seats.len() {
            crowd.seats[place].session = Some(crowd.join(place, listener)?);
        }
        let (mut joined, _) = crowd.present(first, most);
        distinct(&mut joined, side)?;
        take_turns(&mut joined, side, 1, listener).map_err(|(_, error)| error)?;
        give_back(&mut joined);
        Ok(Some(crowd))
    }

    /// Joins a machine to the shared host.
    fn join(&self, place: usize, listener: &mut dyn Listener) -> Result<Session, TrialError> {
        let mut names = HOST_NAMES;
        names[self.side] = &self.seats[place].name;
        let mut session = Session::open_pair(names, 0, &self.plan, &self.credentials, listener)?;
        session.use_other_cpus(1 - self.side, place * session.most_flows.div_ceil(self.seats.len() as u32) as usize);
        session.bind(&self.cpus)?;
        Ok(session)
    }

    /// Binds the ends of all machines; see [`Session::bind`].
    ///
    /// # Errors
    /// Likewise.
    pub fn bind(&mut self, wanted: &BTreeMap<String, Vec<u32>>) -> Result<(), HostError> {
        self.cpus.clone_from(wanted);
        self.seats.iter_mut().filter_map(|seat| seat.session.as_mut()).try_for_each(|session| session.bind(wanted))
    }

    /// Looks for those of the first `most` machines that are not there, each a few times in all.
    ///
    /// # Errors
    /// That of the listener, which may want no more.
    pub fn search(&mut self, first: &mut Session, most: usize, listener: &mut dyn Listener) -> Result<(), TrialError> {
        for place in 0..most.min(self.seats.len()) {
            let seat = &mut self.seats[place];
            if seat.error.is_none() || seat.searches >= SEARCHES {
                continue;
            }
            seat.searches += 1;
            match self.join(place, listener) {
                Ok(mut found) => {
                    self.seats[place].error = None;
                    if place == 0 {
                        found.inherit(first.warnings().to_vec());
                        // Those of the other machines.
                        found.facts.extend(first.facts.iter().skip(HOST_NAMES.len()).cloned());
                        *first = found;
                    } else {
                        self.seats[place].session = Some(found);
                    }
                }
                Err(TrialError::Host(error)) => self.seats[place].error = Some(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Those of the first `most` machines that are there, and the places of the others with their answers.
    pub fn present<'a>(&'a mut self, first: &'a mut Session, most: usize) -> (Vec<Participant<'a>>, Vec<(usize, String)>) {
        let (mut joined, mut missing, mut first) = (Vec::new(), Vec::new(), Some(first));
        for (place, seat) in self.seats.iter_mut().enumerate().take(most) {
            let session = if place == 0 { first.take() } else { seat.session.as_mut() };
            match (session, &seat.error) {
                (Some(session), None) => joined.push((place, session)),
                (_, error) => missing.push((place, error.clone().unwrap_or_default())),
            }
        }
        (joined, missing)
    }

    /// A machine was lost, or its way to the shared host: the next trial looks for it.
    pub fn lose(&mut self, place: usize, error: &TrialError) {
        let seat = &mut self.seats[place];
        (seat.session, seat.error) = (None, Some(error.to_string()));
    }

    /// The name of a machine.
    pub fn name(&self, place: usize) -> &str {
        &self.seats[place].name
    }

    /// The facts of the machines but the first, as their sessions have them.
    pub fn facts(&self) -> Vec<HostFacts> {
        self.seats.iter().filter_map(|seat| seat.session.as_ref()?.facts.get(self.side).cloned()).collect()
    }

    /// The same as they are now; nothing of those that are lost.
    pub fn gather_facts(&mut self, listener: &mut dyn Listener) -> Vec<HostFacts> {
        let side = self.side;
        let sessions = self.seats.iter_mut().filter_map(|seat| seat.session.as_mut());
        sessions.filter_map(|session| session.gather_facts(listener).ok()?.into_iter().nth(side)).collect()
    }

    /// Ends the control connections of all machines but the first.
    pub fn hang_up(&mut self) {
        let sessions = self.seats.iter_mut().filter_map(|seat| seat.session.as_mut());
        sessions.for_each(|session| session.hosts().iter_mut().for_each(RemoteHost::hang_up));
    }

    /// What is to be known of every trial of the machines but the first.
    pub fn warnings(&self) -> Vec<model::Warning> {
        self.seats.iter().filter_map(|seat| seat.session.as_ref()).flat_map(|session| session.warnings.clone()).collect()
    }
}

/// Refuses two names of one agent: it carries out one end of one trial at a time, or would be counted twice.
fn distinct(joined: &mut [Participant], side: usize) -> Result<(), HostError> {
    let mut known: Vec<(String, [u8; 16])> = Vec::new();
    for (_, session) in joined {
        let host = &session.hosts[side];
        let Some(agent) = host.agent().filter(|agent| agent.at.agent().is_some()) else { continue };
        if let Some((other, _)) = known.iter().find(|(_, id)| *id == agent.id.id.0) {
            let tried = format!("hosts {other} and {} are one agent, and each host takes part once", host.name());
            return Err(Refusal::new(tried, "", "name another machine, or leave one of the names out").into());
        }
        known.push((host.name().to_owned(), agent.id.id.0));
    }
    Ok(())
}

/// Waits until every machine is free for a trial, and the shared host for all at once; `side` is that of the several.
/// Nothing is held while others are waited for. Returns for each session the places of those that others may have.
///
/// # Errors
/// See [`TrialError`], with the place of the machine. None is held then.
pub(crate) fn take_turns(
    joined: &mut [Participant],
    side: usize,
    sights: u32,
    listener: &mut dyn Listener,
) -> Result<Vec<Vec<usize>>, (usize, TrialError)> {
    loop {
        match try_turns(joined, 1 - side, sights) {
            Ok(shared) => return Ok(shared),
            Err(none) => {
                let (at, error, busy) = *none;
                give_back(&mut joined[..=at]);
                let place = joined[at].0;
                let Some((host, waits)) = busy else { return Err((place, error)) };
                let event = Event::Waiting { host: &host, place: waits };
                let flow = listener.hear(&event).map_err(|error| (place, TrialError::Listener(error)))?;
                turn::heed(flow).map_err(|error| (place, error))?;
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Why a turn was refused: the number of the session, the reason, and where others have the host its name and their number.
type TurnRefusal = Box<(usize, TrialError, Option<(String, u32)>)>;

fn try_turns(joined: &mut [Participant], shared_side: usize, sights: u32) -> Result<Vec<Vec<usize>>, TurnRefusal> {
    let (wanted, mut all) = (joined.len(), Vec::with_capacity(joined.len()));
    for at in 0..wanted {
        let mut listener = QueueGuard::default();
        match turn::take(joined[at].1, &mut listener, &Default::default(), sights) {
            Ok(shared) => {
                let serves_one = joined[at].1.hosts[shared_side].agent().is_some() && !shared.contains(&shared_side);
                if serves_one && wanted > 1 {
                    return Err(Box::new((at, no_consent(&joined[at].1.hosts[shared_side], wanted, 1).into(), None)));
                }
                all.push(shared);
            }
            Err(TrialError::Stopped) if at > 0 && listener.waits_for(joined[at].1.hosts[shared_side].name()) => {
                // This one stood behind as many as are served at once, the first among them.
                let served = turn::others_at(&mut joined[0].1.hosts[shared_side]).map_err(|error| Box::new((at, error.into(), None)))? + 1;
                let refused = (served as usize) < wanted;
                let error = no_consent(&joined[at].1.hosts[shared_side], wanted, served).into();
                return Err(Box::new((at, error, listener.busy.filter(|_| !refused))));
            }
            Err(error) => return Err(Box::new((at, error, listener.busy))),
        }
    }
    Ok(all)
}

/// Lets others have the machines.
pub(crate) fn give_back(joined: &mut [Participant]) {
    joined.iter_mut().for_each(|(_, session)| turn::give_back(session));
}

fn no_consent(host: &RemoteHost, wanted: usize, served: u32) -> HostError {
    let tried = format!("host {} serves {served} at once, and {wanted} are asked for", host.name());
    Refusal::new(tried, "", format!("start the agent there with --at-once {wanted}, or ask for fewer hosts")).into()
}
