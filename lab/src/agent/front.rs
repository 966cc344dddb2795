//! The door: takes connections, and lets in who may come in.
//!
//! One thread waits for everybody at once. Without anybody it sleeps.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::guest::{Guest, Outcome, Reception};
use super::log::Log;
use crate::wire::link::Link;
use crate::wire::pump::timeout;

/// How many may be at the door. Beyond that somebody has to go.
const MOST_GUESTS: usize = 256;
/// How many are taken at a time, so that those at the door are not forgotten.
const AT_ONCE: usize = 64;
/// How long none is taken after the system refused one.
const REST: Duration = Duration::from_millis(200);

/// The listening sockets and everybody who is not let in yet.
#[derive(Debug)]
pub struct Front<'a> {
    pub listeners: &'a [TcpListener],
    pub reception: &'a Reception,
    pub log: &'a Log,
    guests: Vec<Guest>,
    /// Until when no connection is taken.
    rest: Option<Instant>,
}

impl<'a> Front<'a> {
    pub const fn new(listeners: &'a [TcpListener], reception: &'a Reception, log: &'a Log) -> Self {
        Self { listeners, reception, log, guests: Vec::new(), rest: None }
    }

    /// Serves the door until `stop` can be read; `admit` takes whoever is let
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

    /// Which guests can go on; `None`: the agent is to end.
    fn wait(&self, stop: BorrowedFd<'_>) -> io::Result<Option<Vec<bool>>> {
        let listening = if self.rest.is_some() { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut fds = vec![PollFd::new(stop, PollFlags::POLLIN)];
        fds.extend(self.listeners.iter().map(|listener| PollFd::new(listener.as_fd(), listening)));
        let others = fds.len();
        fds.extend(self.guests.iter().map(|guest| PollFd::new(guest.as_fd(), guest.interest())));
        let until = self.guests.iter().map(|guest| guest.deadline).chain(self.rest).min();
        match poll(&mut fds, until.map_or(PollTimeout::NONE, timeout)) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Some(vec![false; self.guests.len()])),
            Err(errno) => return Err(errno.into()),
        }
        let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        Ok(if ready(&fds[0]) { None } else { Some(fds[others..].iter().map(ready).collect()) })
    }

    fn step(&mut self, ready: &[bool], admit: &mut impl FnMut(Link, Vec<u8>, SocketAddr)) {
        let now = Instant::now();
        let mut stay = Vec::with_capacity(self.guests.len());
        for (at, mut guest) in std::mem::take(&mut self.guests).into_iter().enumerate() {
            let outcome = match ready.get(at) {
                Some(true) => guest.step(self.reception),
                _ => Outcome::Stays,
            };
            let outcome = if matches!(outcome, Outcome::Stays) && now >= guest.deadline { guest.expire() } else { outcome };
            let peer = guest.peer;
            match outcome {
                Outcome::Stays => stay.push(guest),
                Outcome::Refused(why) => {
                    self.log.say(format_args!("{peer}: refused: {why}"));
                    stay.push(guest);
                }
                Outcome::Gone(Some(why)) => self.log.say(format_args!("{peer}: {why}")),
                Outcome::Gone(None) => {}
                Outcome::Admitted => {
                    let (link, rest) = guest.into_parts();
                    admit(link, rest, peer);
                }
            }
        }
        self.guests = stay;
    }

    fn take(&mut self, listener: &TcpListener) {
        for _ in 0..AT_ONCE {
            match listener.accept() {
                Ok((socket, peer)) => match Guest::new(socket, peer) {
                    Ok(guest) => self.seat(guest),
                    Err(error) => self.log.say(format_args!("{peer}: set its socket: {error}")),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_shortage(&error) => return self.run_short(&error),
                // Of one that went away before it was taken.
                Err(_) => {}
            }
        }
    }

    fn seat(&mut self, guest: Guest) {
        if self.guests.len() >= MOST_GUESTS {
            self.send_one_away("made room: too many connections wait to be let in");
        }
        self.guests.push(guest);
    }

    /// Descriptors or memory are short: whoever has come from where most came
    /// from makes room, and the door stays shut for a moment.
    fn run_short(&mut self, error: &io::Error) {
        self.log.say(format_args!(
            "accept a connection: {error}; no more are taken for {REST:?}; raise the limit on open files (ulimit -n) if this goes on"
        ));
        self.send_one_away("made room: no more connections can be open");
        self.rest = Some(Instant::now() + REST);
    }

    /// The oldest of those that come from the address that most come from, so
    /// that a flood from one address does not push out others.
    fn send_one_away(&mut self, why: &str) {
        let from = |guest: &Guest| guest.peer.ip().to_canonical();
        let mut numbers: Vec<(IpAddr, usize)> = Vec::new();
        for guest in &self.guests {
            match numbers.iter_mut().find(|(address, _)| *address == from(guest)) {
                Some((_, number)) => *number += 1,
                None => numbers.push((from(guest), 1)),
            }
        }
        let Some((most, _)) = numbers.into_iter().max_by_key(|(_, number)| *number) else { return };
        if let Some(at) = self.guests.iter().position(|guest| from(guest) == most) {
            let gone = self.guests.remove(at);
            self.log.say(format_args!("{}: {why}", gone.peer));
        }
    }
}

fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS];
    error.raw_os_error().is_some_and(|number| shortages.contains(&Errno::from_raw(number)))
}
