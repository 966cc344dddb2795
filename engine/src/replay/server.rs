//! The server of a replay, whose time is what is measured.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use model::Nanos;
use model::replay::{Giving, Replay, Replayed, Taking};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{SockAddr, SockRef};

use super::{ENDED, LOOK, MEASURED, Shared, gone, nothing_came};
use crate::api::headers::Headers;
use crate::api::{Buffer, CallOutcome, Completions, ZeroCopy, send_lent};
use crate::scheduling::bind_to;
use sys::clock::{monotonic, thread_cpu};
use sys::shared;

/// Datagrams of one `recvmmsg`.
const BATCH: usize = 64;
/// No datagram is larger.
const MOST_DATAGRAM: u64 = 64 << 10;

/// So many times a send is tried again for which the kernel has no room.
const MOST_REFUSED: u32 = 1000;

/// Counts of the server, with what they were when the measured part began.
struct Meter<'a> {
    shared: &'a Shared,
    exchanges: u64,
    began: Option<(u64, Nanos, Nanos, u64, Nanos)>,
    done: Option<Replayed>,
}

impl<'a> Meter<'a> {
    fn new(replay: &Replay, shared: &'a Shared) -> io::Result<Self> {
        bind_to(&replay.cpus)?;
        Ok(Self { shared, exchanges: 0, began: None, done: None })
    }

    /// Notes an edge where the stage has changed; true when all is over.
    fn look(&mut self) -> bool {
        match self.shared.stage() {
            MEASURED if self.began.is_none() => self.began = Some((self.exchanges, monotonic(), thread_cpu(), waits(), delay())),
            ENDED if self.done.is_none() => {
                let (cpu, wall, waits, delay) = (thread_cpu(), monotonic(), waits(), delay());
                let (exchanges, from, before, waited, delayed) = self.began.unwrap_or((self.exchanges, wall, cpu, waits, delay));
                self.done = Some(Replayed {
                    exchanges: self.exchanges - exchanges,
                    cpu: cpu.since(before),
                    wall: wall.since(from),
                    wake_ups: waits.saturating_sub(waited),
                    delay: delay.since(delayed),
                    ..Replayed::default()
                });
            }
            _ => {}
        }
        self.done.is_some()
    }

    fn finish(self) -> Replayed {
        Replayed { taken: self.exchanges, ..self.done.unwrap_or_default() }
    }
}

fn waits() -> u64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.voluntary_context_switches().unsigned_abs())
}

/// Time that this thread was ready and had no CPU, which needs CONFIG_SCHED_INFO.
fn delay() -> Nanos {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Nanos::new(sys::process::run_delay(&text).unwrap_or(0))
}

/// The program's own code: as much time of this thread. The monotonic clock is read without a
/// system call, so that this takes no longer than asked; who takes the CPU meanwhile shortens it.
fn work(replay: &Replay, shared: &Shared) {
    if replay.work.get() > 0 {
        let until = monotonic() + replay.work;
        while monotonic() < until && shared.stage() != ENDED {}
    }
}

/// The bytes of an answer, and what else its way needs.
struct Answer<'a> {
    replay: &'a Replay,
    bytes: Buffer,
    file: Option<File>,
}

impl<'a> Answer<'a> {
    fn new(replay: &'a Replay) -> io::Result<Self> {
        let bytes = Buffer::ones(replay.answer.iter().sum::<u64>().max(1) as usize);
        let from_file = replay.each.iter().chain([&replay.giving]).any(|way| matches!(way, Giving::ReadWrite | Giving::Sendfile));
        let file = if from_file { Some(shared::file_of(&bytes)?) } else { None };
        Ok(Self { replay, bytes, file })
    }

    /// Gives it on a connection, of whose lent memory `notices` keeps account.
    fn give(&mut self, connection: &mut TcpStream, notices: Option<&mut Completions>) -> io::Result<()> {
        let sizes = &self.replay.answer;
        if let Some(notices) = notices {
            return sizes.iter().try_for_each(|size| lend(connection, &self.bytes[..*size as usize], notices));
        }
        match (self.replay.giving, &self.file) {
            _ if !self.replay.each.is_empty() => self.give_each(connection),
            (Giving::Gathered, _) => {
                const MOST: usize = 16;
                let (mut left, mut pieces) = (&self.bytes[..], [IoSlice::new(&[]); MOST]);
                for (piece, size) in pieces.iter_mut().zip(sizes) {
                    let (first, rest) = left.split_at((*size as usize).min(left.len()));
                    *piece = IoSlice::new(first);
                    left = rest;
                }
                let given = connection.write_vectored(&pieces[..sizes.len().min(MOST)])?;
                connection.write_all(&self.bytes[given..])
            }
            (Giving::Sendfile, Some(file)) => send_file(connection, file, self.bytes.len()),
            (Giving::ReadWrite, Some(file)) => {
                file.read_exact_at(&mut self.bytes, 0)?;
                connection.write_all(&self.bytes)
            }
            _ => sizes.iter().try_for_each(|size| connection.write_all(&self.bytes[..*size as usize])),
        }
    }

    /// Each piece in its own way.
    fn give_each(&self, connection: &mut TcpStream) -> io::Result<()> {
        for (size, way) in self.replay.answer.iter().zip(&self.replay.each) {
            let piece = &self.bytes[..*size as usize];
            match (way, &self.file) {
                (Giving::Sendfile, Some(file)) => send_file(connection, file, piece.len())?,
                (Giving::Gathered, _) => {
                    let given = connection.write_vectored(&[IoSlice::new(piece)])?;
                    connection.write_all(&piece[given..])?;
                }
                _ => connection.write_all(piece)?,
            }
        }
        Ok(())
    }
}

/// Gives a piece from its own pages, of which as many bytes as the kernel lets a user lock.
fn lend(connection: &TcpStream, piece: &[u8], notices: &mut Completions) -> io::Result<()> {
    let (mut left, mut refused) = (piece, 0);
    while !left.is_empty() {
        let CallOutcome(given) = send_lent(connection.as_raw_fd(), left, notices);
        if given >= 0 {
            left = &left[given.unsigned_abs()..];
            continue;
        }
        let error = io::Error::from_raw_os_error(-given as i32);
        // Notices that stood in the way were waited for.
        refused += 1;
        if !nothing_came(&error) || refused > MOST_REFUSED {
            return Err(error);
        }
    }
    // While they are there, every look at the connection says so.
    notices.take(connection.as_raw_fd());
    Ok(())
}

/// Gives the beginning of a file.
fn send_file(connection: &TcpStream, file: &File, length: usize) -> io::Result<()> {
    let mut from = 0;
    while (from as usize) < length {
        let left = length - from as usize;
        // SAFETY: both descriptors are open, and the offset is alive and nobody else's.
        let given = unsafe { libc::sendfile(connection.as_raw_fd(), file.as_raw_fd(), &raw mut from, left) };
        if given < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Serves TCP connections.
pub fn stream(replay: &Replay, listener: &TcpListener, shared: &Shared) -> io::Result<Replayed> {
    let mut meter = Meter::new(replay, shared)?;
    SockRef::from(listener).set_read_timeout(Some(LOOK))?;
    let (mut answer, mut room) = (Answer::new(replay)?, vec![0_u8; replay.read as usize]);
    let mut open: Vec<Connection> = Vec::new();
    let mut noticed = None;
    while !meter.look() {
        if open.len() < replay.connections as usize {
            match accept(replay, listener) {
                Ok(connection) => open.push(connection),
                Err(error) if nothing_came(&error) => continue,
                Err(error) => return Err(error),
            }
            if !replay.reconnect && open.len() < replay.connections as usize {
                continue;
            }
        }
        // The only one is read from without a look whether there is anything.
        let ready = if replay.connections == 1 && replay.spin.get() == 0 { None } else { Some(ready(&mut open, replay.spin)?) };
        // From the last on, so that one that closes moves none that is still to be served.
        for place in (0..open.len()).rev() {
            if ready.as_ref().is_some_and(|ready| !ready[place]) {
                continue;
            }
            let over = serve(replay, &mut open[place], &mut room, &mut answer, &mut meter)?;
            if over {
                add_notices(&mut noticed, open.remove(place));
            }
        }
    }
    open.into_iter().for_each(|connection| add_notices(&mut noticed, connection));
    Ok(Replayed { zero_copy: noticed, ..meter.finish() })
}

/// A client's connection.
struct Connection {
    stream: TcpStream,
    /// Bytes of a request that have come so far.
    got: u64,
    /// Notices of memory that the kernel was lent, where that is the way.
    notices: Option<Completions>,
}

fn add_notices(sum: &mut Option<ZeroCopy>, mut of: Connection) {
    if let Some(notices) = &mut of.notices {
        notices.take(of.stream.as_raw_fd());
        sum.get_or_insert_default().add(notices.seen());
    }
}

/// Answers a request, if it has come; true when the connection is over.
fn serve(replay: &Replay, connection: &mut Connection, room: &mut [u8], answer: &mut Answer, meter: &mut Meter) -> io::Result<bool> {
    match take(replay, &mut connection.stream, &mut connection.got, room) {
        Ok(false) => return Ok(false),
        Ok(true) => {}
        Err(error) if gone(&error) => return Ok(true),
        Err(error) => return Err(error),
    }
    work(replay, meter.shared);
    match answer.give(&mut connection.stream, connection.notices.as_mut()) {
        Ok(()) => meter.exchanges += 1,
        Err(error) if gone(&error) || nothing_came(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(replay.reconnect)
}

fn accept(replay: &Replay, listener: &TcpListener) -> io::Result<Connection> {
    let (stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(LOOK))?;
    // A client that has gone must not hold the server for ever.
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    stream.set_nodelay(replay.nodelay)?;
    buffers(replay, SockRef::from(&stream))?;
    let lends = replay.giving == Giving::ZeroCopy && replay.each.is_empty();
    let notices = lends.then(|| Completions::enable(stream.as_raw_fd())).transpose()?;
    Ok(Connection { stream, got: 0, notices })
}

fn buffers(replay: &Replay, socket: SockRef) -> io::Result<()> {
    // The kernel doubles what is asked for, and tells the double.
    if let Some(bytes) = replay.receive_buffer {
        socket.set_recv_buffer_size((bytes / 2) as usize)?;
    }
    replay.send_buffer.map_or(Ok(()), |bytes| socket.set_send_buffer_size((bytes / 2) as usize))
}

/// Which connections are readable; asks for `spin` before it sleeps.
fn ready(open: &mut [Connection], spin: Nanos) -> io::Result<Vec<bool>> {
    let mut fds: Vec<PollFd> = open.iter().map(|connection| PollFd::new(connection.stream.as_fd(), PollFlags::POLLIN)).collect();
    let until = monotonic() + spin;
    let mut found = 0;
    while spin.get() > 0 && found == 0 && monotonic() < until {
        found = poll(&mut fds, PollTimeout::ZERO)?;
    }
    if found == 0 {
        match poll(&mut fds, PollTimeout::from(LOOK.as_millis() as u16)) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => return Ok(vec![false; open.len()]),
            Err(errno) => return Err(errno.into()),
        }
    }
    let seen: Vec<PollFlags> = fds.iter().map(|fd| fd.revents().unwrap_or(PollFlags::empty())).collect();
    for (connection, seen) in open.iter_mut().zip(&seen) {
        if let (Some(notices), true) = (&mut connection.notices, seen.contains(PollFlags::POLLERR)) {
            notices.take(connection.stream.as_raw_fd());
        }
    }
    // A notice alone is an error to `poll`, and nothing to read.
    let readable = |connection: &Connection, seen: &PollFlags| match connection.notices {
        Some(_) => seen.intersects(PollFlags::POLLIN | PollFlags::POLLHUP),
        None => !seen.is_empty(),
    };
    Ok(open.iter().zip(&seen).map(|(connection, seen)| readable(connection, seen)).collect())
}

/// Takes what a request still lacks, as far as it is there; true when it is whole.
fn take(replay: &Replay, connection: &mut TcpStream, got: &mut u64, room: &mut [u8]) -> io::Result<bool> {
    loop {
        match connection.read(room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => *got += count as u64,
            Err(error) if nothing_came(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        if *got >= replay.request {
            *got -= replay.request;
            return Ok(true);
        }
        if replay.connections > 1 {
            return Ok(false);
        }
    }
}

/// Serves datagrams.
pub fn datagrams(replay: &Replay, socket: &UdpSocket, shared: &Shared) -> io::Result<Replayed> {
    let mut meter = Meter::new(replay, shared)?;
    socket.set_read_timeout(Some(LOOK))?;
    buffers(replay, SockRef::from(socket))?;
    if replay.giving == Giving::Segmented {
        let size = replay.answer.first().copied().unwrap_or(1);
        setsockopt(socket, sockopt::UdpGsoSegment, &i32::try_from(size).unwrap_or(i32::MAX))?;
    }
    let room = replay.read.min(MOST_DATAGRAM) as usize;
    let mut rooms = Headers::over(Buffer::ones(BATCH * room), BATCH, room, room);
    let mut one = vec![0_u8; room];
    let (answer, mut gone_clients) = (Datagrams::new(replay), 0);
    loop {
        let over = meter.look();
        if over && gone_clients >= replay.connections {
            return Ok(meter.finish());
        }
        if replay.nap.get() > 0 && !over {
            std::thread::sleep(replay.nap.into());
        }
        let taken = match replay.taking {
            Taking::Calls => one_by_one(replay, shared, socket, &mut one, &answer),
            Taking::Many => many(replay, shared, socket, &mut rooms),
        };
        match taken {
            Ok((count, last)) => {
                meter.exchanges += count;
                gone_clients += last;
            }
            // What is still in the queue is taken before the end.
            Err(error) if nothing_came(&error) && over => return Ok(meter.finish()),
            Err(error) if nothing_came(&error) || gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Takes a datagram and answers it; the number of requests, and that of clients' last datagrams.
fn one_by_one(replay: &Replay, shared: &Shared, socket: &UdpSocket, room: &mut [u8], answer: &Datagrams) -> io::Result<(u64, u32)> {
    let (length, peer) = socket.recv_from(room)?;
    if length == 0 {
        return Ok((0, 1));
    }
    work(replay, shared);
    answer.give(replay, socket, peer)?;
    Ok((1, 0))
}

/// Takes all datagrams that are there; both numbers likewise.
fn many(replay: &Replay, shared: &Shared, socket: &UdpSocket, rooms: &mut Headers) -> io::Result<(u64, u32)> {
    let headers = rooms.all();
    // SAFETY: every header points to its own iovec, and that to as many writable bytes as it says;
    // all outlive the call. No time limit is given.
    let answer = unsafe {
        libc::recvmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), headers.len() as libc::c_uint, libc::MSG_WAITFORONE, std::ptr::null_mut())
    };
    let count = usize::try_from(answer).map_err(|_| io::Error::last_os_error())?;
    let last = headers.iter().take(count).filter(|header| header.msg_len == 0).count();
    (last..count).for_each(|_| work(replay, shared));
    Ok(((count - last) as u64, last as u32))
}

/// Datagrams of an answer.
struct Datagrams {
    bytes: Buffer,
}

impl Datagrams {
    fn new(replay: &Replay) -> Self {
        Self { bytes: Buffer::ones(replay.answer.iter().sum::<u64>().max(1) as usize) }
    }

    fn give(&self, replay: &Replay, socket: &UdpSocket, peer: SocketAddr) -> io::Result<()> {
        match replay.giving {
            _ if replay.answer.is_empty() => Ok(()),
            Giving::Segmented => socket.send_to(&self.bytes, peer).map(drop),
            Giving::Many => self.give_many(replay, socket, peer),
            _ => replay.answer.iter().try_for_each(|size| socket.send_to(&self.bytes[..*size as usize], peer).map(drop)),
        }
    }

    fn give_many(&self, replay: &Replay, socket: &UdpSocket, peer: SocketAddr) -> io::Result<()> {
        let to = SockAddr::from(peer);
        let start = self.bytes.as_ptr().cast_mut();
        let mut pieces: Vec<libc::iovec> =
            replay.answer.iter().map(|size| libc::iovec { iov_base: start.cast(), iov_len: *size as usize }).collect();
        let header = |piece: &mut libc::iovec| {
            // SAFETY: zeros are a valid header without an address, iovecs or control data.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_name = to.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_namelen = to.len();
            (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (piece, 1);
            header
        };
        let mut headers: Vec<libc::mmsghdr> = pieces.iter_mut().map(header).collect();
        // SAFETY: every header points to its own iovec and to the address, the iovec to as many
        // readable bytes; the kernel writes none of them, and all outlive the call.
        let answer = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), headers.len() as libc::c_uint, 0) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
