//! The door: takes connections, and lets in who may come in.
//!
//! One thread waits for everybody at once. Without anybody it sleeps.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::log::Log;
use super::pending::{Outcome, Pending, Terms};
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

    /// Returns which pending can go on; `None`: the agent is to end.
    fn wait(&self, stop: BorrowedFd<'_>) -> io::Result<Option<Vec<bool>>> {
        let listening = if self.rest.is_some() { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut fds = vec![PollFd::new(stop, PollFlags::POLLIN)];
        fds.extend(self.listeners.iter().map(|listener| PollFd::new(listener.as_fd(), listening)));
        let others = fds.len();
        fds.extend(self.pending.iter().map(|one| PollFd::new(one.as_fd(), one.interest())));
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
            "accept a connection: {error}; no more are taken for {REST:?}; raise the limit on open files (ulimit -n) if this goes on"
        ));
        self.send_one_away("made room: no more connections can be open");
        self.rest = Some(Instant::now() + REST);
    }

    /// The oldest of those that come from the address that most come from, so
    /// that a flood from one address does not push out others.
    fn send_one_away(&mut self, why: &str) {
        let from = |one: &Pending| one.peer.ip().to_canonical();
        let mut numbers: Vec<(IpAddr, usize)> = Vec::new();
        for one in &self.pending {
            match numbers.iter_mut().find(|(address, _)| *address == from(one)) {
                Some((_, number)) => *number += 1,
                None => numbers.push((from(one), 1)),
            }
        }
        let Some((most, _)) = numbers.into_iter().max_by_key(|(_, number)| *number) else { return };
        if let Some(at) = self.pending.iter().position(|one| from(one) == most) {
            let gone = self.pending.remove(at);
            self.log.say(format_args!("{}: {why}", gone.peer));
        }
    }
}

fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS];
    error.raw_os_error().is_some_and(|number| shortages.contains(&Errno::from_raw(number)))
}
