//! The door: takes connections, and lets in who may come in.
//!
//! One thread waits for everybody at once. Without anybody it sleeps.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use model::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::log::Log;
use super::pending::{Outcome, Pending, Terms, source};
use crate::connection::link::{Link, timeout};

/// Number of those at the door. Beyond that somebody has to go.
const MOST_PENDING: usize = 256;
/// Number taken at a time, so that those at the door are not forgotten.
const AT_ONCE: usize = 64;
/// Pause after the system refused one.
const REST: Duration = Duration::from_millis(200);

/// The listening sockets and everybody who is not let in yet.
#[derive(Debug)]
pub struct Admission<'a> {
    pub listeners: &'a [TcpListener],
    pub terms: &'a Terms,
    pub log: &'a Log,
    pending: Vec<Pending>,
    /// Until when no connection is taken.
    rest: Option<Instant>,
}

impl<'a> Admission<'a> {
    pub const fn new(listeners: &'a [TcpListener], terms: &'a Terms, log: &'a Log) -> Self {
        Self { listeners, terms, log, pending: Vec::new(), rest: None }
    }

    /// Serves the door until `stop` can be read; `admit` takes the controllers that are let
    /// in, with what it said after its greeting.
    pub fn serve(&mut self, stop: BorrowedFd<'_>, mut admit: impl FnMut(Link, Vec<u8>, SocketAddr)) -> io::Result<()> {
        loop {
            let Some(ready) = self.wait(stop)? else { return Ok(()) };
            self.step(&ready, &mut admit);
            self.rest = self.rest.filter(|until| Instant::now() < *until);
            if self.rest.is_none() {
                for listener in self.listeners {
                    self.take(listener);
                }
            }
        }
    }

    /// Returns which pending can go on; `None`: the agent is to end.
    fn wait(&self, stop: BorrowedFd<'_>) -> io::Result<Option<Vec<bool>>> {
        let listening = if self.rest.is_some() { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut fds = vec![PollFd::new(stop, PollFlags::POLLIN)];
        fds.extend(self.listeners.iter().map(|listener| PollFd::new(listener.as_fd(), listening)));
        let others = fds.len();
        // Each of them has one: a socket.
        fds.extend(self.pending.iter().flat_map(Pending::fds));
        let until = self.pending.iter().map(|one| one.deadline).chain(self.rest).min();
        match poll(&mut fds, until.map_or(PollTimeout::NONE, timeout)) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Some(vec![false; self.pending.len()])),
            Err(errno) => return Err(errno.into()),
        }
        let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        Ok(if ready(&fds[0]) { None } else { Some(fds[others..].iter().map(ready).collect()) })
    }

    fn step(&mut self, ready: &[bool], admit: &mut impl FnMut(Link, Vec<u8>, SocketAddr)) {
        let now = Instant::now();
        let mut stay = Vec::with_capacity(self.pending.len());
        for (at, mut one) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let outcome = match ready.get(at) {
                Some(true) => one.step(self.terms),
                _ => Outcome::Stays,
            };
            let outcome = if matches!(outcome, Outcome::Stays) && now >= one.deadline { one.expire() } else { outcome };
            let peer = one.peer;
            match outcome {
                Outcome::Stays => stay.push(one),
                Outcome::Refused(why) => {
                    self.log.say(format_args!("{peer}: refused: {why}"));
                    stay.push(one);
                }
                Outcome::Gone(Some(why)) => self.log.say(format_args!("{peer}: {why}")),
                Outcome::Gone(None) => {}
                Outcome::Admitted => {
                    let (link, rest) = one.into_parts();
                    admit(link, rest, peer);
                }
            }
        }
        self.pending = stay;
    }

    fn take(&mut self, listener: &TcpListener) {
        for _ in 0..AT_ONCE {
            match listener.accept() {
                Ok((socket, peer)) => match Pending::new(socket, peer) {
                    Ok(one) => self.add(one),
                    Err(error) => self.log.say(format_args!("{peer}: set its socket: {error}")),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_shortage(&error) => return self.run_short(&error),
                // Of one that went away before it was taken.
                Err(_) => {}
            }
        }
    }

    fn add(&mut self, one: Pending) {
        if self.pending.len() >= MOST_PENDING {
            self.send_one_away("made room: too many connections wait to be let in");
        }
        self.pending.push(one);
    }

    /// Descriptors or memory are short: whoever has come from where most came
    /// from makes room, and the door stays shut for a moment.
    fn run_short(&mut self, error: &io::Error) {
        self.log.say(format_args!(
            "accept a connection: {error}; no more are taken for {}; raise the limit on open files (ulimit -n) if this goes on",
            Nanos::from(REST)
        ));
        self.send_one_away("made room: no more connections can be open");
        self.rest = Some(Instant::now() + REST);
    }

    fn send_one_away(&mut self, why: &str) {
        let sources: Vec<IpAddr> = self.pending.iter().map(|one| source(one.peer)).collect();
        if let Some(at) = to_send_away(&sources) {
            let gone = self.pending.remove(at);
            self.log.say(format_args!("{}: {why}", gone.peer));
        }
    }
}

/// Returns the oldest of those that come from where most come from, so that a flood
/// from one place does not push out others. Where several places have the same
/// number, the oldest of them all: it has had the most time, and an idle
/// connection does not outlast somebody who has just knocked.
fn to_send_away(sources: &[IpAddr]) -> Option<usize> {
    let mut numbers: HashMap<IpAddr, usize> = HashMap::new();
    for source in sources {
        *numbers.entry(*source).or_default() += 1;
    }
    let most = numbers.values().max()?;
    sources.iter().position(|source| numbers.get(source) == Some(most))
}

fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS];
    error.raw_os_error().is_some_and(|number| shortages.contains(&Errno::from_raw(number)))
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use super::{source, to_send_away};

    fn sources(addresses: &[&str]) -> Vec<IpAddr> {
        addresses.iter().map(|address| source(SocketAddr::new(address.parse().unwrap(), 1))).collect()
    }

    #[test]
    fn a_flood_from_one_place_makes_room_itself() {
        let of = |addresses: &[&str]| to_send_away(&sources(addresses));
        assert_eq!(of(&["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2"]), Some(1));
        assert_eq!(of(&["2001:db8::1", "10.0.0.2", "2001:db8::2"]), Some(0), "one /64 is one place");
        assert_eq!(of(&["2001:db8:0:1::1", "2001:db8:0:2::1", "10.0.0.2"]), Some(0));
        assert_eq!(of(&["10.0.0.9", "10.0.0.1", "::ffff:10.0.0.1"]), Some(1), "mapped addresses are those of IPv4");
    }

    #[test]
    fn of_equals_the_oldest_goes() {
        assert_eq!(to_send_away(&sources(&["10.0.0.3", "10.0.0.1", "10.0.0.2"])), Some(0));
        assert_eq!(to_send_away(&[]), None);
    }
}
