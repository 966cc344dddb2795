//! TCP: who connects, asks where a cookie is to be shown, and waits for the answer.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use model::Protocol;
use model::control::Task;
use nix::poll::{PollFd, PollFlags};
use socket2::{SockAddr, Socket};

use super::cookie::{Proof, SHOWN, Word};
use super::{JOIN_LIMIT, Patience, knows_the_cookie, shown};
use crate::error::{EndpointError, SocketError};

/// Connects each flow to its goal; where both ends know the cookie it asks there, and waits for the answer.
///
/// All flows do so at once, so that many of them take no longer over a long
/// path than one does. Until its answer has come nothing but what asks for it
/// is sent to a goal: whatever else listens there is no end of a trial.
pub(super) fn connect(
    sockets: Vec<Socket>,
    goals: &[SocketAddr],
    task: &Task,
    patience: &Patience<'_>,
) -> Result<Vec<Socket>, EndpointError> {
    let proof = |flow| knows_the_cookie(task).then(|| shown(task, flow));
    let start = |(flow, (socket, goal)): (usize, (Socket, &SocketAddr))| Caller::start(socket, *goal, proof(flow));
    let mut callers = sockets.into_iter().zip(goals).enumerate().map(start).collect::<Result<Vec<_>, _>>()?;
    loop {
        let waiting: Vec<usize> = (0..callers.len()).filter(|at| callers[*at].state != State::Joined).collect();
        if waiting.is_empty() {
            return Ok(callers.into_iter().map(Caller::joined).collect::<Result<_, _>>()?);
        }
        let watched: Vec<PollFd<'_>> = waiting.iter().map(|at| callers[*at].event()).collect();
        match patience.wait(&watched, Duration::MAX)? {
            Some(ready) => ready.into_iter().try_for_each(|place| callers[waiting[place]].go_on())?,
            None => return Err(unanswered(&callers, waiting[0], waiting.len()).into()),
        }
    }
}

/// Progress of a flow that connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its connection is being made.
    Connecting,
    /// It has asked.
    Asked,
    /// It is connected, and the right answer has come where one is due.
    Joined,
}

/// A flow on its way to the other end.
struct Caller {
    socket: Socket,
    goal: SocketAddr,
    /// Proof of the cookie; none to a program of a user.
    shown: Option<Proof>,
    state: State,
    answer: [u8; SHOWN],
    length: usize,
}

impl Caller {
    fn start(socket: Socket, goal: SocketAddr, shown: Option<Proof>) -> Result<Self, SocketError> {
        let mut caller = Self { socket, goal, shown, state: State::Connecting, answer: [0; SHOWN], length: 0 };
        caller.socket.set_nonblocking(true).map_err(|answer| caller.failed(answer))?;
        match caller.socket.connect(&SockAddr::from(goal)) {
            Err(answer) if answer.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(answer) => return Err(caller.failed(answer)),
            Ok(()) => caller.ask()?,
        }
        Ok(caller)
    }

    /// The event that it waits for.
    fn event(&self) -> PollFd<'_> {
        let flags = if self.state == State::Connecting { PollFlags::POLLOUT } else { PollFlags::POLLIN };
        PollFd::new(self.socket.as_fd(), flags)
    }

    fn go_on(&mut self) -> Result<(), SocketError> {
        match self.state {
            State::Connecting => {
                self.socket.take_error().and_then(|error| error.map_or(Ok(()), Err)).map_err(|answer| self.failed(answer))?;
                self.ask()
            }
            State::Asked => self.listen(),
            State::Joined => Ok(()),
        }
    }

    fn ask(&mut self) -> Result<(), SocketError> {
        let Some(shown) = self.shown else {
            self.state = State::Joined;
            return Ok(());
        };
        // The first bytes of a connection fit into any send buffer.
        (&self.socket).write_all(&shown.bytes(Word::Ask)).map_err(|answer| self.failed(answer))?;
        self.state = State::Asked;
        Ok(())
    }

    /// Reads the bytes of the answer and not one more: the first message may
    /// follow them.
    fn listen(&mut self) -> Result<(), SocketError> {
        match (&self.socket).read(&mut self.answer[self.length..]) {
            Ok(0) => return Err(self.failed(io::Error::other("it closed the connection and did not answer with what shows the cookie"))),
            Ok(length) => self.length += length,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(()),
            Err(error) => return Err(self.failed(error)),
        }
        if self.length == SHOWN {
            if !self.shown.is_some_and(|shown| shown.is(&self.answer, Word::Answer)) {
                let stranger = "what listens there is not the other end of this trial: it does not know the cookie";
                return Err(self.failed(io::Error::other(stranger)));
            }
            self.state = State::Joined;
        }
        Ok(())
    }

    fn joined(self) -> Result<Socket, SocketError> {
        self.socket.set_nonblocking(false).map_err(|answer| self.failed(answer))?;
        Ok(self.socket)
    }

    fn failed(&self, answer: io::Error) -> SocketError {
        let tried = match self.state {
            State::Asked | State::Joined if self.shown.is_some() => "show the cookie to",
            _ => "connect to",
        };
        SocketError::new(format!("{tried} {}", self.goal), answer)
    }
}

/// The time is over: says so of the first that waits.
fn unanswered(callers: &[Caller], first: usize, waiting: usize) -> SocketError {
    let Caller { goal, state, .. } = &callers[first];
    let tried = if *state == State::Connecting { "connect to" } else { "show the cookie to" };
    let what = if callers.len() == 1 { "no answer".to_owned() } else { format!("no answer to {waiting} of {} flows", callers.len()) };
    SocketError::unheard(format!("{tried} {goal}"), &what, JOIN_LIMIT, goal.port(), Protocol::Tcp)
}
