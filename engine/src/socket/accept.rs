//! TCP: who is let in.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use model::Protocol;
use model::control::Task;
use nix::poll::{PollFd, PollFlags};
use socket2::Socket;

use super::cookie::{Proof, SHOWN, Word, flow_of};
use super::{JOIN_LIMIT, Patience};
use crate::error::{EndpointError, SocketError};

/// Time that a caller may take to show the cookie.
const SHOW_LIMIT: Duration = Duration::from_secs(2);
/// Strangers that are waited for at the same time, besides all flows, which may
/// come at once; beyond that the oldest has to go.
const MOST_STRANGE: usize = 64;
/// Connections that are let in before those that came are listened to.
const AT_ONCE: usize = 64;
/// Strangers after which a trial is given up: somebody means it no good.
const MOST_STRANGERS: u32 = 10_000;

/// Takes a connection for each flow from whoever shows the cookie for it, and
/// answers it.
///
/// Whoever else comes holds nobody up: all that have come are listened to at
/// once, and those who show nothing, or something else, are closed.
pub(super) fn accept(listeners: &[Socket], flows: usize, task: &Task, patience: &Patience<'_>) -> Result<Vec<Socket>, EndpointError> {
    let port = listeners.first().and_then(|listener| super::address(listener).ok()).map_or(0, |address| address.port());
    for listener in listeners {
        listener.set_nonblocking(true).map_err(|answer| SocketError::new("accept", answer))?;
    }
    let mut door = Door { task, taken: (0..flows).map(|_| None).collect(), pending: VecDeque::new(), strangers: 0 };
    while door.taken.iter().any(Option::is_none) {
        let sockets = listeners.iter().chain(door.pending.iter().map(|stranger| &stranger.socket));
        let sockets: Vec<_> = sockets.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        let ready = patience.wait(&sockets, SHOW_LIMIT)?;
        let nobody = || SocketError::unheard("accept a connection that shows the cookie", &door.missing(), JOIN_LIMIT, port, Protocol::Tcp);
        let ready = ready.ok_or_else(nobody)?;
        door.listen(ready.iter().filter_map(|at| at.checked_sub(listeners.len())));
        for listener in ready.iter().filter_map(|at| listeners.get(*at)) {
            door.open(listener)?;
        }
    }
    for listener in listeners {
        listener.set_nonblocking(false).map_err(|answer| SocketError::new("accept", answer))?;
    }
    Ok(door.taken.into_iter().flatten().collect())
}

/// Whoever has come, and has shown the cookie or not yet.
struct Door<'a> {
    task: &'a Task,
    taken: Vec<Option<Socket>>,
    pending: VecDeque<Stranger>,
    strangers: u32,
}

struct Stranger {
    socket: Socket,
    since: Instant,
    bytes: [u8; SHOWN],
    length: usize,
}

/// Result of listening to a stranger.
enum Greeting {
    Nothing,
    /// The cookie is shown for this flow.
    Flow(u32),
    /// Something else, or its end.
    Other,
}

impl Door<'_> {
    /// Lets in those who wait at a listener; they have yet to show the cookie.
    fn open(&mut self, listener: &Socket) -> Result<(), SocketError> {
        for _ in 0..AT_ONCE {
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(answer) if answer.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Gone before it was let in.
                Err(answer) if matches!(answer.raw_os_error(), Some(libc::ECONNABORTED | libc::EINTR)) => continue,
                Err(answer) => return Err(SocketError::new("accept", answer)),
            };
            socket.set_nonblocking(true).map_err(|answer| SocketError::new("accept", answer))?;
            if self.pending.len() >= self.taken.len() + MOST_STRANGE {
                self.pending.pop_front();
            }
            self.strangers += 1;
            if self.strangers > MOST_STRANGERS {
                let many = io::Error::other(format!("{} connections came and did not show the cookie", self.strangers));
                return Err(SocketError::new("accept", many));
            }
            self.pending.push_back(Stranger { socket, since: Instant::now(), bytes: [0; SHOWN], length: 0 });
        }
        Ok(())
    }

    /// Listens to those of the pending that said something, and forgets those
    /// who have had their time.
    fn listen(&mut self, ready: impl Iterator<Item = usize>) {
        let ready: Vec<usize> = ready.collect();
        for (at, mut stranger) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let heard = if ready.contains(&at) { stranger.listen(self.task) } else { Greeting::Nothing };
            match heard {
                Greeting::Nothing if stranger.since.elapsed() < SHOW_LIMIT => self.pending.push_back(stranger),
                Greeting::Flow(flow) => self.take(flow, stranger.socket),
                Greeting::Nothing | Greeting::Other => {}
            }
        }
    }

    /// Answers whoever has shown the cookie, and takes its connection.
    fn take(&mut self, flow: u32, socket: Socket) {
        let answer = Proof { cookie: self.task.cookie, flow }.bytes(Word::Answer);
        let place = self.taken.get_mut(flow as usize).filter(|place| place.is_none());
        if let Some(place) = place
            // The first bytes of a connection fit into any send buffer.
            && (&socket).write_all(&answer).is_ok()
            && socket.set_nonblocking(false).is_ok()
        {
            leave_pingpong_mode(&socket);
            *place = Some(socket);
            self.strangers = self.strangers.saturating_sub(1);
        }
    }

    fn missing(&self) -> String {
        let (missing, strangers) = (self.taken.iter().filter(|place| place.is_none()).count(), self.strangers);
        format!("{missing} of {} connections did not come, and {strangers} strangers did,", self.taken.len())
    }
}

/// Has a connection acknowledge as a new one does. To the kernel, an end that has answered is in a
/// dialogue and holds acknowledgements back for its next answer (pingpong mode:
/// `tcp_event_data_sent()` and `tcp_cleanup_rbuf()` in its net/ipv4). A stream by bbr into such an
/// end carried a tenth less.
fn leave_pingpong_mode(socket: &Socket) {
    // Transports other than TCP do not have the option. MPTCP refuses it although its subflows have the
    // mode; there nothing changes.
    let _ = socket.set_tcp_quickack(true);
}

impl Stranger {
    /// Reads the bytes of the cookie and not one more.
    fn listen(&mut self, task: &Task) -> Greeting {
        match (&self.socket).read(&mut self.bytes[self.length..]) {
            Ok(length @ 1..) => self.length += length,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Greeting::Nothing,
            _ => return Greeting::Other,
        }
        if self.length < SHOWN {
            return Greeting::Nothing;
        }
        flow_of(task.cookie, &self.bytes).map_or(Greeting::Other, Greeting::Flow)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn whoever_has_answered_acknowledges_as_on_a_new_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = Socket::from(listener.accept().unwrap().0);
        // How many answers make a dialogue differs between kernels (net.ipv4.tcp_pingpong_thresh).
        for _ in 0..100 {
            caller.write_all(b"ask").unwrap();
            (&accepted).read_exact(&mut [0; 3]).unwrap();
            (&accepted).write_all(b"answer").unwrap();
            if !accepted.tcp_quickack().unwrap() {
                break;
            }
        }
        assert!(!accepted.tcp_quickack().unwrap(), "a hundred answers are no dialogue: is this still needed?");
        leave_pingpong_mode(&accepted);
        assert!(accepted.tcp_quickack().unwrap());
    }
}
