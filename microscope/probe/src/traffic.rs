//! Both ends of a scenario, and one message from one to the other.

use crate::network::{ADDRESSES, Network};
use crate::plan::Step;
use crate::sys::{self, Answer, Errno, Fd, call};

/// The longest message, in bytes.
pub const MOST: usize = 1 << 16;

const INET: usize = 2;
const INET6: usize = 10;
const UNIX: usize = 1;
const STREAM: usize = 1;
const DATAGRAM: usize = 2;
/// `SOL_TCP` and `TCP_NODELAY`: a message is sent when it is handed over.
const NO_DELAY: [usize; 2] = [6, 1];
/// `SOL_UDP` and `UDP_SEGMENT`: datagrams of this size are made of one message.
const SEGMENT: [usize; 2] = [17, 103];
/// `SOL_UDP` and `UDP_GRO`: several datagrams are received at once.
const GRO: [usize; 2] = [17, 104];

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: one cheap system call, which is the floor under all others.
    Getppid,
    /// Sockets, of whatever family.
    Sockets,
    /// A pipe.
    Pipe,
}

/// A connection with both of its ends.
#[derive(Debug)]
pub struct Pair {
    kind: Kind,
    stream: bool,
    near: Fd,
    far: Fd,
}

/// An address of IPv4 or IPv6 (`struct sockaddr_in`, `struct sockaddr_in6`).
#[derive(Clone, Copy)]
struct Address {
    bytes: [u8; 28],
    length: usize,
}

impl Address {
    /// An address with a port; of IPv6 the loopback's.
    fn new(family: usize, port: u16, host: [u8; 4]) -> Self {
        let mut bytes = [0; 28];
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        if family == INET6 {
            bytes[23] = 1;
            return Self { bytes, length: 28 };
        }
        bytes[4..8].copy_from_slice(&host);
        Self { bytes, length: 16 }
    }

    /// `bind(2)` (49) or `connect(2)` (42).
    fn give(&self, number: usize, socket: Fd) -> Answer {
        // SAFETY: an address as long as is said.
        unsafe { call(number, [socket as usize, self.bytes.as_ptr() as usize, self.length, 0, 0, 0]) }
    }
}

const BIND: usize = 49;
const CONNECT: usize = 42;

fn socket(family: usize, kind: usize) -> Result<Fd, Errno> {
    // SAFETY: numbers.
    unsafe { call(41, [family, kind, 0, 0, 0, 0]) }.map(|fd| fd as Fd)
}

fn set(socket: Fd, [level, option]: [usize; 2], value: u32) -> Answer {
    // SAFETY: an option of four bytes.
    unsafe { call(54, [socket as usize, level, option, (&raw const value) as usize, 4, 0]) }
}

/// Sends on a connected socket (`sendto(2)` without an address).
#[inline(always)]
fn send(socket: Fd, bytes: &[u8]) -> Answer {
    // SAFETY: the bytes are as many as is said.
    unsafe { call(44, [socket as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Receives from a socket (`recvfrom(2)` without an address).
#[inline(always)]
fn receive(socket: Fd, buffer: &mut [u8]) -> Answer {
    // SAFETY: the buffer is as long as is said.
    unsafe { call(45, [socket as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) }
}

impl Pair {
    /// Makes both ends of what a step asks for.
    ///
    /// # Errors
    /// The kernel's, where it lacks what is asked for.
    pub fn open(step: &Step, network: &Network) -> Result<Self, Errno> {
        let family = if step.says("family", "6") { INET6 } else { INET };
        // Addresses of both ends: of the devices, or of loopback.
        let hosts = if step.says("path", "veth") { ADDRESSES } else { [[127, 0, 0, 1]; 2] };
        let far_place = usize::from(step.says("path", "veth"));
        match step.value("kind").unwrap_or("") {
            "getppid" => Ok(Self { kind: Kind::Getppid, stream: false, near: -1, far: -1 }),
            "pipe" => sys::pipe().map(|[far, near]| Self { kind: Kind::Pipe, stream: true, near, far }),
            "unix" => Self::unix(if step.says("socket", "stream") { STREAM } else { DATAGRAM }),
            "udp" => Self::udp(family, step, hosts, |kind| network.within(far_place, || socket(family, kind))),
            "tcp" => Self::tcp(family, hosts[1], |kind| network.within(far_place, || socket(family, kind))),
            _ => Err(Errno::INVALID),
        }
    }

    fn unix(kind: usize) -> Result<Self, Errno> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors (`socketpair(2)`).
        unsafe { call(53, [UNIX, kind, 0, (&raw mut ends) as usize, 0, 0]) }?;
        Ok(Self { kind: Kind::Sockets, stream: kind == STREAM, near: ends[0], far: ends[1] })
    }

    fn udp(family: usize, step: &Step, hosts: [[u8; 4]; 2], socket_there: impl Fn(usize) -> Result<Fd, Errno>) -> Result<Self, Errno> {
        let (near, far) = (socket(family, DATAGRAM)?, socket_there(DATAGRAM)?);
        let (here, there) = (Address::new(family, 5001, hosts[0]), Address::new(family, 5002, hosts[1]));
        here.give(BIND, near)?;
        there.give(BIND, far)?;
        there.give(CONNECT, near)?;
        here.give(CONNECT, far)?;
        let segment = step.number("segment", 0);
        if segment > 0 {
            set(near, SEGMENT, segment as u32)?;
        }
        if step.says("gro", "on") {
            set(far, GRO, 1)?;
        }
        // One message comes as several datagrams.
        Ok(Self { kind: Kind::Sockets, stream: segment > 0, near, far })
    }

    fn tcp(family: usize, host: [u8; 4], socket_there: impl Fn(usize) -> Result<Fd, Errno>) -> Result<Self, Errno> {
        let (listener, near) = (socket_there(STREAM)?, socket(family, STREAM)?);
        let address = Address::new(family, 5003, host);
        // `SO_REUSEADDR`: the connection of the region before may still linger.
        set(listener, [1, 2], 1)?;
        address.give(BIND, listener)?;
        // SAFETY: numbers (`listen(2)`).
        unsafe { call(50, [listener as usize, 1, 0, 0, 0, 0]) }?;
        address.give(CONNECT, near)?;
        // SAFETY: numbers (`accept(2)` without an address).
        let far = unsafe { call(43, [listener as usize, 0, 0, 0, 0, 0]) }? as Fd;
        sys::close(listener);
        set(near, NO_DELAY, 1)?;
        set(far, NO_DELAY, 1)?;
        Ok(Self { kind: Kind::Sockets, stream: true, near, far })
    }

    /// Sends one message and receives it, in this process.
    #[inline(always)]
    pub fn message(&self, bytes: &[u8], buffer: &mut [u8]) -> Answer {
        match self.kind {
            Kind::Getppid => sys::getppid(),
            Kind::Sockets => {
                send(self.near, bytes)?;
                self.take(self.far, buffer)
            }
            Kind::Pipe => {
                sys::write(self.near, bytes)?;
                sys::read(self.far, buffer)
            }
        }
    }

    /// Sends one message and receives it back, from this process or another one.
    #[inline(always)]
    pub fn ask(&self, bytes: &[u8], buffer: &mut [u8]) -> Answer {
        send(self.near, bytes)?;
        self.take(self.near, buffer)
    }

    /// Receives one message at the far end and sends it back.
    #[inline(always)]
    pub fn answer(&self, buffer: &mut [u8]) -> Answer {
        self.take(self.far, buffer)?;
        send(self.far, buffer)
    }

    /// Sends one message, sends it back, and receives it, in this process.
    #[inline(always)]
    pub fn round(&self, bytes: &[u8], buffer: &mut [u8]) -> Answer {
        send(self.near, bytes)?;
        self.answer(buffer)?;
        self.take(self.near, buffer)
    }

    /// Receives as much as the buffer holds: of a stream, in as many calls as it takes.
    #[inline(always)]
    fn take(&self, end: Fd, buffer: &mut [u8]) -> Answer {
        if !self.stream {
            return receive(end, buffer);
        }
        let mut done = 0;
        while done < buffer.len() {
            done += receive(end, &mut buffer[done..])?;
        }
        Ok(done)
    }

    /// Closes both ends.
    pub fn close(self) {
        for end in [self.near, self.far] {
            if end >= 0 {
                sys::close(end);
            }
        }
    }
}
