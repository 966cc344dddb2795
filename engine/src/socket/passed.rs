//! Ends that no network joins: one of the two makes what carries the messages, a pair of
//! sockets, a pipe or memory, and passes the other's part to it.
//!
//! The ends have found each other over TCP, as always, and shown the cookie. Whoever
//! listened there then listens at a UNIX socket in the file system, which processes in
//! other network namespaces of the machine reach as well, and says on which machine that
//! is. Its name follows from the cookie. The other end comes, both show the cookie once
//! more, and a descriptor goes with the answer (unix(7), `SCM_RIGHTS`).

use std::env;
use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::control::Task;
use model::over::Over;
use model::{Nanos, Role};
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, getsockopt, recvmsg, sendmsg, socketpair,
};
use nix::unistd::geteuid;
use socket2::{Domain, SockAddr, Socket, Type};

use super::cookie::{self, Proof, SHOWN, Word};
use super::{JOIN_LIMIT, Patience, listens, role_of, shown};
use crate::api::{Carrier, KernelRefusal, shared};
use crate::error::{EndpointError, SocketError};

/// Time that a caller may take to show the cookie.
const SHOW_LIMIT: Duration = Duration::from_secs(2);
/// The machine's own address (`VMADDR_CID_LOCAL`).
const LOCAL: u32 = libc::VMADDR_CID_LOCAL;
/// The longest that a connection may take: where the kernel has no loopback of VSOCK, the
/// request leaves a guest for a host that does not answer.
const VSOCK_LIMIT: Duration = Duration::from_secs(1);
/// Bytes that name a machine, for as long as it runs: a UUID in text.
const MACHINE: usize = 36;

/// An end of what carries the messages of a flow.
#[derive(Debug)]
pub struct End {
    /// The socket of the flow: over a pipe and over memory one next to it, whose end tells
    /// of the other's.
    pub socket: OwnedFd,
    /// The pipe, or the memory.
    pub passed: Option<Carrier>,
}

/// Joins the ends of all flows, whose connections have shown the cookie.
///
/// # Errors
/// A refusal of the system, an end on another machine, or the loss of the host.
pub(super) fn exchange(connections: &[Socket], task: &Task, patience: &Patience<'_>) -> Result<Vec<End>, EndpointError> {
    let over = task.cell.api.over();
    let path = env::temp_dir().join(format!("nettoll-{}", cookie::name(task.cookie)));
    let Some(mut first) = connections.first() else { return Ok(Vec::new()) };
    if listens(task) {
        let door = Door::open(&path)?;
        first.write_all(&machine()).map_err(|answer| SocketError::new("tell the other end which machine this is", answer))?;
        return door.hand_out(connections.len(), task, patience);
    }
    let mut theirs = [0; MACHINE];
    heard(first, "tell on which machine it is", patience)?;
    first.read_exact(&mut theirs).map_err(|answer| SocketError::new("hear on which machine the other end is", answer))?;
    if theirs != machine() {
        let answer = io::Error::other(format!("{} joins two processes of one machine, and the other end is on another", task.cell.api));
        return Err(SocketError::new(format!("join the ends over {over}"), answer).into());
    }
    (0..connections.len()).map(|flow| take(&path, shown(task, flow), over, patience)).collect()
}

/// The boot of this machine that its kernel names; zeros where it names none.
fn machine() -> [u8; MACHINE] {
    sys::process::boot_id().as_bytes().first_chunk().copied().unwrap_or([0; MACHINE])
}

/// Waits until something has come over a socket.
fn heard(socket: &Socket, what: &str, patience: &Patience<'_>) -> Result<(), EndpointError> {
    match patience.wait(&[PollFd::new(socket.as_fd(), PollFlags::POLLIN)], Duration::MAX)? {
        Some(_) => Ok(()),
        None => {
            let answer = io::Error::new(io::ErrorKind::TimedOut, format!("it did not within {}", Nanos::from(JOIN_LIMIT)));
            Err(SocketError::new(format!("wait for the other end to {what}"), answer).into())
        }
    }
}

/// A listener in the file system, which goes with this.
struct Door {
    listener: Socket,
    path: PathBuf,
}

impl Drop for Door {
    fn drop(&mut self) {
        // What is gone already is as good.
        let _ = fs::remove_file(&self.path);
    }
}

impl Door {
    fn open(path: &Path) -> Result<Self, SocketError> {
        let failed = |answer| SocketError::new(format!("listen at {}", path.display()), answer);
        let listener = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(failed)?;
        SockAddr::unix(path).and_then(|address| listener.bind(&address)).map_err(failed)?;
        let door = Self { listener, path: path.to_owned() };
        door.listener.listen(128).map_err(failed)?;
        Ok(door)
    }

    /// Makes the ends of each flow and hands the other's to whoever shows the cookie for it.
    fn hand_out(self, flows: usize, task: &Task, patience: &Patience<'_>) -> Result<Vec<End>, EndpointError> {
        let mut ends: Vec<Option<End>> = (0..flows).map(|_| None).collect();
        while ends.iter().any(Option::is_none) {
            heard(&self.listener, &format!("come to {}", self.path.display()), patience)?;
            let failed = |answer| SocketError::new(format!("accept at {}", self.path.display()), answer);
            let (caller, _) = self.listener.accept().map_err(failed)?;
            // Another user's process is no end of this trial.
            if getsockopt(&caller, PeerCredentials).is_ok_and(|peer| peer.uid() != geteuid().as_raw()) {
                continue;
            }
            caller.set_read_timeout(Some(SHOW_LIMIT)).map_err(failed)?;
            let mut asked = [0; SHOWN];
            let flow = (&caller).read_exact(&mut asked).ok().and_then(|()| cookie::flow_of(task.cookie, &asked));
            let Some((flow, place)) = flow.and_then(|flow| Some((flow, ends.get_mut(flow as usize)?))) else { continue };
            let over = task.cell.api.over();
            let made = make(over, role_of(task, flow as usize), caller.into(), shared::ring_bytes(&task.cell));
            let (ours, theirs, caller) = made.map_err(|answer| SocketError::new(format!("make {over}"), answer))?;
            let answer = Proof { cookie: task.cookie, flow }.bytes(Word::Answer);
            send_with(caller.as_ref().unwrap_or(&ours.socket), &answer, theirs.as_ref())
                .map_err(|answer| SocketError::new(format!("pass an end of {over}"), answer))?;
            *place = Some(ours);
        }
        Ok(ends.into_iter().flatten().collect())
    }
}

/// Makes what carries the messages of a flow between two ends, of which this one has
/// `role`, and which `joined` joins so far: this end, the descriptor for the other
/// end, and `joined` again where it is not this end's socket.
fn make(over: Over, role: Role, joined: OwnedFd, ring: usize) -> io::Result<(End, Option<OwnedFd>, Option<OwnedFd>)> {
    let (passed, theirs) = match over {
        Over::UnixDgram | Over::UnixSeqpacket => {
            let kind = if over == Over::UnixDgram { SockType::Datagram } else { SockType::SeqPacket };
            let (socket, theirs) = socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)?;
            return Ok((End { socket, passed: None }, Some(theirs), Some(joined)));
        }
        Over::Vsock => {
            let (socket, theirs) = vsock_pair()?;
            return Ok((End { socket, passed: None }, Some(theirs), Some(joined)));
        }
        Over::Pipe => {
            let (reads, writes) = io::pipe()?;
            let (reads, writes): (OwnedFd, OwnedFd) = (reads.into(), writes.into());
            if role == Role::Sender { (writes, reads) } else { (reads, writes) }
        }
        Over::Memory => {
            let memory = shared::make(ring)?;
            (memory.try_clone()?, memory)
        }
        Over::UnixStream | Over::Link | Over::Mptcp | Over::Sctp | Over::Ktls | Over::Packets => {
            return Ok((End { socket: joined, passed: None }, None, None));
        }
    };
    Ok((End { socket: joined, passed: Some(passed.into()) }, Some(theirs), None))
}

/// Two ends of a VSOCK connection from this machine to itself (vsock(7)).
///
/// # Errors
/// A kernel without VSOCK or its loopback.
fn vsock_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let lack = "this kernel has no loopback of VSOCK (CONFIG_VSOCKETS_LOOPBACK), or has not loaded it (`modprobe vsock_loopback`)";
    let refused = |answer| KernelRefusal::error(lack, answer);
    let open = || Socket::new(Domain::VSOCK, Type::STREAM, None).map_err(refused);
    let listener = open()?;
    listener.bind(&SockAddr::vsock(libc::VMADDR_CID_ANY, libc::VMADDR_PORT_ANY)).map_err(refused)?;
    listener.listen(1).map_err(refused)?;
    let (_, port) = listener.local_addr()?.as_vsock_address().ok_or_else(|| io::Error::other("the listener has no VSOCK address"))?;
    let here = open()?;
    here.connect_timeout(&SockAddr::vsock(LOCAL, port), VSOCK_LIMIT).map_err(refused)?;
    listener.set_nonblocking(true)?;
    // Another program of this machine may come first, and its bytes would be taken for messages.
    let own = here.local_addr()?.as_vsock_address();
    loop {
        let (there, from) = listener.accept().map_err(refused)?;
        if from.as_vsock_address().map(|(_, port)| port) == own.map(|(_, port)| port) {
            there.set_nonblocking(false)?;
            return Ok((here.into(), there.into()));
        }
    }
}

/// Comes to the other end's door for a flow and takes what is passed there.
fn take(path: &Path, shown: Proof, over: Over, patience: &Patience<'_>) -> Result<End, EndpointError> {
    let failed = |answer| SocketError::new(format!("take an end of {over} at {}", path.display()), answer);
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(failed)?;
    SockAddr::unix(path).and_then(|address| socket.connect(&address)).map_err(|answer| match answer.kind() {
        io::ErrorKind::NotFound => {
            failed(io::Error::new(answer.kind(), format!("{answer}; the hosts of both ends must share {}", env::temp_dir().display())))
        }
        _ => failed(answer),
    })?;
    (&socket).write_all(&shown.bytes(Word::Ask)).map_err(failed)?;
    heard(&socket, "pass an end", patience)?;
    let (answer, passed) = receive_with(&socket).map_err(failed)?;
    if !shown.is(&answer, Word::Answer) {
        return Err(failed(io::Error::other("what listens there does not know the cookie")).into());
    }
    match (over, passed) {
        (Over::UnixDgram | Over::UnixSeqpacket | Over::Vsock, Some(socket)) => Ok(End { socket, passed: None }),
        (Over::Pipe | Over::Memory, Some(passed)) => Ok(End { socket: socket.into(), passed: Some(passed.into()) }),
        (Over::UnixStream, None) => Ok(End { socket: socket.into(), passed: None }),
        _ => Err(failed(io::Error::other("it passed another thing than what carries the messages")).into()),
    }
}

/// Two ends that are joined over `over` within this process: of who sends, and of who
/// receives.
///
/// # Errors
/// A refusal of the system.
pub fn pair(over: Over, ring: usize) -> io::Result<(End, End)> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?;
    let (sends, passed, _joined) = make(over, Role::Sender, ours, ring)?;
    let receives = match over {
        Over::UnixDgram | Over::UnixSeqpacket | Over::Vsock => End { socket: passed.unwrap_or(theirs), passed: None },
        _ => End { socket: theirs, passed: passed.map(Carrier::from) },
    };
    Ok((sends, receives))
}

/// Sends bytes, and a descriptor with them.
fn send_with(socket: &OwnedFd, bytes: &[u8], passed: Option<&OwnedFd>) -> io::Result<()> {
    let numbers: Vec<RawFd> = passed.into_iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&numbers)];
    let control = if numbers.is_empty() { &[][..] } else { &rights };
    match sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(bytes)], control, MsgFlags::MSG_NOSIGNAL, None)? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives what shows the cookie, and the descriptor that came with it.
fn receive_with(socket: &Socket) -> io::Result<([u8; SHOWN], Option<OwnedFd>)> {
    let (mut bytes, mut control) = ([0; SHOWN], nix::cmsg_space!(RawFd));
    let mut pieces = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_WAITALL;
    let came = recvmsg::<()>(socket.as_raw_fd(), &mut pieces, Some(&mut control), flags)?;
    // The room may hold more than the one that is due: none stays open.
    let owned = |number| {
        // SAFETY: the kernel has just opened it for this process, and nothing else has it.
        unsafe { OwnedFd::from_raw_fd(number) }
    };
    let passed: Vec<OwnedFd> = match came.cmsgs()?.next() {
        Some(ControlMessageOwned::ScmRights(numbers)) => numbers.into_iter().map(owned).collect(),
        _ => Vec::new(),
    };
    match came.bytes {
        SHOWN => Ok((bytes, passed.into_iter().next())),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::{Over, SHOWN, pair, receive_with, send_with};
    use crate::socket::cookie::Word;

    #[test]
    fn a_descriptor_goes_with_the_answer() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reads, writes) = std::io::pipe().unwrap();
        let shown = super::Proof { cookie: model::control::Cookie([7; 16]), flow: 3 }.bytes(Word::Answer);
        send_with(&here.into(), &shown, Some(&writes.into())).unwrap();
        let (bytes, passed) = receive_with(&there.into()).unwrap();
        std::fs::File::from(passed.unwrap()).write_all(b"x").unwrap();
        let mut byte = [0];
        reads.read_exact(&mut byte).unwrap();
        assert_eq!((bytes, byte), (shown, *b"x"));
        assert_eq!(bytes.len(), SHOWN);
    }

    #[test]
    fn an_answer_that_is_cut_is_none() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&[1; SHOWN - 1]).unwrap();
        drop(here);
        assert!(receive_with(&there.into()).is_err());
    }

    #[test]
    fn each_kind_has_what_carries_it() {
        for (over, passes) in
            [(Over::UnixStream, false), (Over::UnixDgram, false), (Over::UnixSeqpacket, false), (Over::Pipe, true), (Over::Memory, true)]
        {
            let (sends, receives) = pair(over, 1 << 16).unwrap();
            assert_eq!((sends.passed.is_some(), receives.passed.is_some()), (passes, passes), "{over}");
        }
    }
}
