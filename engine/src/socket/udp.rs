//! UDP: the side that connects asks until it is answered; the other side binds
//! itself to whoever has shown the cookie, and answers.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use model::Protocol;
use model::control::{Task, ToEndpoint};
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{MsgFlags, recv};
use socket2::{SockAddr, SockRef, Socket};

use super::cookie::{Proof, SHOWN, Word};
use super::{FlowEnd, JOIN_LIMIT, Patience, shown, transport};
use crate::channel::{Receiver, Woken};
use crate::deadline::Deadline;
use crate::error::{EndpointError, SocketError};

/// Least interval at which the cookie is shown until it is answered.
const AGAIN: Duration = Duration::from_millis(50);
/// Time that answers to repeated requests are waited for, so that
/// none comes while messages flow.
const STRAGGLERS: Duration = Duration::from_millis(200);
/// Datagrams that are looked at in one go, so that a flood does not keep an
/// endpoint from hearing its host.
const AT_ONCE: usize = 1_000;

/// Shows the cookie to each goal until it answers.
pub(super) fn ask(sockets: Vec<Socket>, goals: &[SocketAddr], task: &Task, patience: &Patience<'_>) -> Result<Vec<Socket>, EndpointError> {
    let mut asking = Vec::new();
    for (flow, (socket, goal)) in sockets.into_iter().zip(goals).enumerate() {
        socket.connect(&SockAddr::from(*goal)).map_err(|answer| SocketError::new(format!("connect to {goal}"), answer))?;
        asking.push(Asking { socket, goal: *goal, shown: shown(task, flow), asked: 0, answered: 0, refusal: None });
    }
    // A third of the silence is a little more than a round trip of a far path: an answer that is
    // under way is not asked for again.
    let again = AGAIN.max(Duration::from(task.silence) / 3);
    let mut next = Instant::now();
    let mut all_since = None;
    loop {
        if asking.iter().any(|flow| flow.answered == 0) {
            if Instant::now() >= next {
                asking.iter_mut().filter(|flow| flow.answered == 0).for_each(Asking::ask);
                next = Instant::now() + again;
            }
        } else if asking.iter().all(|flow| flow.answered >= flow.asked)
            || all_since.get_or_insert_with(Instant::now).elapsed() >= STRAGGLERS
        {
            return Ok(asking.into_iter().map(|flow| flow.socket).collect());
        }
        let watched: Vec<PollFd<'_>> = asking.iter().map(|flow| readable(&flow.socket)).collect();
        let left = next.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match patience.wait(&watched, left)? {
            Some(ready) => ready.into_iter().for_each(|at| asking[at].hear()),
            None => return Err(unanswered(asking).into()),
        }
    }
}

struct Asking {
    socket: Socket,
    goal: SocketAddr,
    shown: Proof,
    asked: u32,
    answered: u32,
    /// The system's last answer.
    refusal: Option<io::Error>,
}

impl Asking {
    fn ask(&mut self) {
        match self.socket.send(&self.shown.bytes(Word::Ask)) {
            Ok(_) => self.asked += 1,
            Err(refusal) => self.refusal = Some(refusal),
        }
    }

    fn hear(&mut self) {
        for _ in 0..AT_ONCE {
            match take(&self.socket, 0) {
                Ok((bytes, length)) => self.answered += u32::from(self.shown.is(&bytes[..length], Word::Answer)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(refusal) => self.refusal = Some(refusal),
            }
        }
    }
}

fn unanswered(asking: Vec<Asking>) -> SocketError {
    let (all, flow) = (asking.len(), asking.into_iter().find(|flow| flow.answered == 0));
    let Some(Asking { goal, asked, refusal, .. }) = flow else {
        return SocketError::new("show the cookie", io::Error::other("the time for it is over"));
    };
    let tried = format!("show the cookie to {goal}");
    match refusal {
        // Something did answer, only not the other end: that is no silence.
        Some(refusal) => SocketError::new(tried, refusal),
        None => SocketError::unheard(
            tried,
            &format!("no answer to {asked} datagrams of one of {all} flows"),
            JOIN_LIMIT,
            goal.port(),
            Protocol::Udp,
        ),
    }
}

/// Binds each socket to whoever shows the cookie for it, and answers.
pub(super) fn answer(sockets: Vec<Socket>, task: &Task, patience: &Patience<'_>) -> Result<Vec<Socket>, EndpointError> {
    let mut waiting: Vec<usize> = (0..sockets.len()).collect();
    while let Some(first) = waiting.first() {
        let watched: Vec<PollFd<'_>> = waiting.iter().map(|flow| readable(&sockets[*flow])).collect();
        let port = super::address(&sockets[*first])?.port();
        let what = format!("the cookie did not come for {} of {} flows", waiting.len(), sockets.len());
        let nobody = || SocketError::unheard("receive a datagram that shows the cookie", &what, JOIN_LIMIT, port, Protocol::Udp);
        let ready = patience.wait(&watched, Duration::MAX)?.ok_or_else(nobody)?;
        let mut failure = None;
        let shown_for: Vec<usize> = ready
            .into_iter()
            .map(|at| waiting[at])
            .filter(|flow| {
                bind_to_asker(&sockets[*flow], shown(task, *flow)).unwrap_or_else(|error| {
                    failure = Some(error);
                    false
                })
            })
            .collect();
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        waiting.retain(|flow| !shown_for.contains(flow));
    }
    Ok(sockets)
}

/// Looks at what has come; true when the cookie was among it. Nothing is sent
/// to anybody else, and whatever else has come is thrown away.
fn bind_to_asker(socket: &Socket, shown: Proof) -> Result<bool, SocketError> {
    let mut bound = false;
    for _ in 0..AT_ONCE {
        let mut room = [MaybeUninit::uninit(); SHOWN + 1];
        let Ok((length, from)) = socket.recv_from_with_flags(&mut room, libc::MSG_DONTWAIT) else { break };
        let mut bytes = [0; SHOWN + 1];
        for (byte, came) in bytes.iter_mut().zip(&room[..length]) {
            // SAFETY: the kernel wrote the first `length` bytes.
            *byte = unsafe { came.assume_init() };
        }
        if shown.is(&bytes[..length], Word::Ask) {
            if !bound {
                socket.connect(&from).map_err(|answer| SocketError::new("connect to the sender of the cookie", answer))?;
                bound = true;
            }
            // An answer that is lost is asked for once more.
            let _ = socket.send(&shown.bytes(Word::Answer));
        }
    }
    Ok(bound)
}

/// Event that is waited for at a socket.
fn readable(socket: &impl AsFd) -> PollFd<'_> {
    PollFd::new(socket.as_fd(), PollFlags::POLLIN)
}

/// Takes one datagram, or its first bytes.
fn take(socket: &impl AsFd, flags: libc::c_int) -> io::Result<([u8; SHOWN + 1], usize)> {
    let mut bytes = [0; SHOWN + 1];
    let flags = MsgFlags::from_bits_retain(flags | libc::MSG_DONTWAIT);
    let length = recv(std::os::fd::AsRawFd::as_raw_fd(&socket.as_fd()), &mut bytes, flags)?;
    Ok((bytes, length))
}

/// Waits for the host's word that messages may flow, and answers those who ask
/// once more because an answer was lost.
///
/// # Errors
/// The loss of the host, or that the trial has taken too long.
pub fn greet(
    joined: &[FlowEnd],
    task: &Task,
    control: &mut Receiver<ToEndpoint>,
    deadline: &Deadline,
) -> Result<ToEndpoint, EndpointError> {
    let mut watched: Vec<usize> = if transport(task) == Protocol::Udp { (0..joined.len()).collect() } else { Vec::new() };
    loop {
        let sockets: Vec<PollFd<'_>> = watched.iter().map(|flow| readable(&joined[*flow].socket)).collect();
        let woken = control.wait_with(&sockets, deadline.at_most(Duration::from_secs(3_600)))?;
        deadline.check()?;
        match woken {
            Woken::Message => return Ok(control.receive()?),
            Woken::Others(ready) => {
                let ready: Vec<usize> = ready.into_iter().map(|at| watched[at]).collect();
                let done = |flow: &usize| ready.contains(flow) && !take_greetings(&joined[*flow], shown(task, *flow), true);
                watched.retain(|flow| !done(flow));
            }
            Woken::Time => {}
        }
    }
}

/// Throws away what is left of the greetings. The other end may already send:
/// nothing behind its first message is touched.
pub fn forget_greetings(joined: &[FlowEnd], task: &Task) {
    if transport(task) == Protocol::Udp {
        for (flow, joined) in joined.iter().enumerate() {
            take_greetings(joined, shown(task, flow), false);
        }
    }
}

/// Takes greetings up to the first message; false when there is one.
fn take_greetings(joined: &FlowEnd, shown: Proof, answer: bool) -> bool {
    for _ in 0..AT_ONCE {
        match take(&joined.socket, libc::MSG_PEEK) {
            Ok((bytes, length)) => {
                let asks = shown.is(&bytes[..length], Word::Ask);
                if !asks && !shown.is(&bytes[..length], Word::Answer) {
                    return false;
                }
                let _ = take(&joined.socket, 0);
                if asks && answer {
                    let _ = SockRef::from(&joined.socket).send(&shown.bytes(Word::Answer));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            // What the network said about an earlier datagram.
            Err(_) => {}
        }
    }
    true
}
