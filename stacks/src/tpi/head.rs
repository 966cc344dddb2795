//! The stream head: what a user's `putmsg` and `getmsg` do, and when service procedures run.

use std::io;
use std::net::SocketAddr;

use super::Options;
use super::block::{Block, Pool};
use super::primitive::{self, Address, T_UNITDATA_IND, T_UNITDATA_REQ};
use super::queue::{Queue, Queued};
use crate::error::StackError;
use crate::net::frames::Room;

/// What lies at the lower end of a stream and carries out its primitives.
pub trait Provider {
    /// Bytes that a data block has before the user's, for headers of the provider's.
    const HEADROOM: usize;
    /// True where requests wait in a queue for the provider's service procedure; otherwise its
    /// put procedure carries them out, and they are queued only where it cannot.
    const QUEUES: bool;

    /// The port that it is bound to.
    fn port(&self) -> u16;

    /// Hears where the other end is.
    ///
    /// # Errors
    /// A refusal of the system.
    fn connect(&mut self, peer: SocketAddr) -> Result<(), StackError>;

    /// Memory for a new data block, of `bytes` at least.
    fn room(&mut self, bytes: usize) -> Room {
        Room::heap(bytes)
    }

    /// Copies user data; returns the sum of its words where the same pass makes it, or 0.
    fn copy(&self, from: &[u8], to: &mut [u8]) -> u32;

    /// Sends the data block of a request to `to`. `WouldBlock`: it cannot now.
    ///
    /// # Errors
    /// A refusal of the system.
    fn request(&mut self, to: SocketAddr, data: &mut Block) -> io::Result<()>;

    /// Takes one datagram from below into a data block; returns where it came from, or `None`
    /// where none is there and `wait` is false, or what came was none of this end's.
    ///
    /// # Errors
    /// A refusal of the system.
    fn fetch(&mut self, data: &mut Block, wait: bool) -> io::Result<Option<SocketAddr>>;

    /// Returns whether data that came is whole; `sum` is what the copy of its first `copied` bytes made.
    fn accepts(&mut self, data: &Block, copied: usize, sum: u32) -> bool;

    /// Kernel calls so far that moved messages.
    fn calls(&self) -> u64;

    /// Messages that it dropped so far itself.
    fn dropped(&self) -> u64;

    /// Messages that were dropped below it and that no counter of the host's holds; slow to read.
    fn dropped_below(&self) -> u64;
}

/// Messages with their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Traffic {
    const fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// The work of a stream so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Messages that the provider sent.
    pub sent: Traffic,
    /// Messages that the user got.
    pub received: Traffic,
    /// Copies of a message's data between the user and a block.
    pub copies: u64,
}

/// A stream: the head, the write queue of the provider, and the read queue of the head.
#[derive(Debug)]
pub struct Head<P> {
    /// Its lower end.
    pub provider: P,
    pool: Pool,
    write: Queue,
    read: Queue,
    defer: u32,
    /// Requests since the write service procedure ran.
    deferred: u32,
    done: Done,
}

impl<P: Provider> Head<P> {
    /// A stream with empty queues.
    pub fn new(provider: P, pool: Pool, options: Options) -> Self {
        let queue = || Queue::new(options.high_water, options.low_water);
        Self { provider, pool, write: queue(), read: queue(), defer: options.defer, deferred: 0, done: Done::default() }
    }

    /// What it has done.
    pub const fn done(&self) -> &Done {
        &self.done
    }

    /// What was done with its two queues.
    pub const fn queued(&self) -> Queued {
        let (write, read) = (&self.write.done, &self.read.done);
        Queued {
            puts: write.puts + read.puts,
            gets: write.gets + read.gets,
            refused: write.refused + read.refused,
            back_enabled: write.back_enabled + read.back_enabled,
        }
    }

    /// The user's `putmsg`: copies the data into a block behind a request, and puts both down the
    /// stream. While the provider's queue is full it waits, as a user would sleep: the service
    /// procedure runs until the queue enables the head again.
    ///
    /// # Errors
    /// A refusal of the system below.
    pub fn put_message(&mut self, to: &Address, data: &[u8]) -> Result<(), StackError> {
        while !self.write.can_put() {
            self.serve_writes()?;
        }
        let mut proto = self.pool.proto();
        primitive::write(&mut proto, T_UNITDATA_REQ, to);
        let mut block = self.pool.data(|bytes| self.provider.room(bytes));
        let end = P::HEADROOM + data.len();
        block.sum = Some(self.provider.copy(data, &mut block.room()[P::HEADROOM..end]));
        block.set(P::HEADROOM, end);
        self.done.copies += 1;
        proto.next = Some(block);
        self.put(proto)
    }

    /// The put procedure of the provider.
    fn put(&mut self, message: Box<Block>) -> Result<(), StackError> {
        // What waits in the queue goes first.
        if P::QUEUES || !self.write.is_empty() {
            self.write.put(message);
            self.deferred += 1;
            return if self.deferred >= self.defer { self.serve_writes() } else { Ok(()) };
        }
        if let Some(left) = self.carry_out(message)? {
            self.write.put(left);
        }
        Ok(())
    }

    /// The write service procedure of the provider: carries out what is queued, until the
    /// provider can do no more.
    fn serve_writes(&mut self) -> Result<(), StackError> {
        self.deferred = 0;
        while let Some(message) = self.write.get() {
            if let Some(left) = self.carry_out(message)? {
                self.write.put_back(left);
                break;
            }
        }
        Ok(())
    }

    /// Has the provider send a message; returns it where it cannot now.
    fn carry_out(&mut self, mut message: Box<Block>) -> Result<Option<Box<Block>>, StackError> {
        let to = primitive::read(&message, T_UNITDATA_REQ);
        let (Some(to), Some(data)) = (to, message.next.as_deref_mut()) else {
            return Err(StackError::contract("a message down the stream is no T_UNITDATA_REQ with data (a fault of nettoll)"));
        };
        let size = data.bytes().len();
        match self.provider.request(to, data) {
            Ok(()) => {
                self.done.sent.add(size);
                self.pool.give(message);
                Ok(None)
            }
            Err(answer) if answer.kind() == io::ErrorKind::WouldBlock => Ok(Some(message)),
            Err(answer) => Err(StackError::system(format!("send {size} B to {to}"), answer)),
        }
    }

    /// Sends all that is still queued.
    ///
    /// # Errors
    /// A refusal of the system below.
    pub fn flush(&mut self) -> Result<(), StackError> {
        while !self.write.is_empty() {
            self.serve_writes()?;
        }
        Ok(())
    }

    /// The user's `getmsg`: takes the first message of the head's queue and copies its data out;
    /// where the queue is empty, the provider's read procedure fills it first. `idle` is called
    /// when a wait ended without a message.
    ///
    /// # Errors
    /// A refusal of the system below.
    pub fn get_message(&mut self, into: &mut [u8], idle: impl Fn(&Self)) -> Result<usize, StackError> {
        loop {
            let Some(message) = self.read.get() else {
                if !self.serve_reads()? {
                    idle(self);
                }
                continue;
            };
            let (from, data) = (primitive::read(&message, T_UNITDATA_IND), message.next.as_deref());
            let (Some(_), Some(data)) = (from, data) else {
                return Err(StackError::contract("a message up the stream is no T_UNITDATA_IND with data (a fault of nettoll)"));
            };
            // A read takes no more than it asked for; of a datagram the rest is lost.
            let bytes = data.bytes();
            let length = bytes.len().min(into.len());
            let sum = self.provider.copy(&bytes[..length], &mut into[..length]);
            self.done.copies += 1;
            let is_whole = self.provider.accepts(data, length, sum);
            self.pool.give(message);
            if is_whole {
                self.done.received.add(length);
                return Ok(length);
            }
        }
    }

    /// The provider's read procedure: waits for one datagram, takes what else is there while the
    /// head's queue has room, and puts each up the stream. Returns false where none came.
    fn serve_reads(&mut self) -> Result<bool, StackError> {
        let mut came = false;
        for turn in 0..self.defer {
            if turn > 0 && !self.read.can_put() {
                break;
            }
            let mut data = self.pool.data(|bytes| self.provider.room(bytes));
            let fetched = self.provider.fetch(&mut data, turn == 0);
            let Some(from) = fetched.map_err(|answer| StackError::system("receive from below", answer))? else {
                self.pool.give(data);
                break;
            };
            let mut proto = self.pool.proto();
            primitive::write(&mut proto, T_UNITDATA_IND, &Address::from(from));
            proto.next = Some(data);
            self.read.put(proto);
            came = true;
        }
        Ok(came)
    }
}

#[cfg(test)]
mod tests;
