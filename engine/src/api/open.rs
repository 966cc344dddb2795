//! Apis by their names in a cell.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use model::end::Counts;
use model::{Cell, Role};

use super::incoming::one_room::Recv;
use super::outgoing::one_message::Send;
use super::{Batching, CallOutcome, Carrier, Halves, Incoming, LoopEnd, Open, Outgoing, Place, ZeroCopy, incoming, outgoing};
use crate::stage::{Part, Stage};

macro_rules! ways_of_sending {
    ($($(#[$doc:meta])* $module:ident::$type:ident = $word:literal $properties:tt,)+) => {
        fn outgoing(place: &Place<'_>) -> io::Result<Box<dyn Outgoing>> {
            Ok(match place.cell.api {
                $(model::Api::$type => Box::new(outgoing::$module::$type::open(place)?),)+
                // The program is the other end: in a request/response test this one sends as well, by plain calls.
                model::Api::External(_) => Box::new(Send::open(place)?),
            })
        }
    };
}
model::apis!(ways_of_sending);

macro_rules! ways_of_receiving {
    ($($(#[$doc:meta])* $module:ident::$type:ident = $word:literal $properties:tt,)+) => {
        fn incoming(place: &Place<'_>) -> io::Result<Box<dyn Incoming>> {
            Ok(match place.cell.receive() {
                $(model::Receive::$type => Box::new(incoming::$module::$type::open(place)?),)+
                // Likewise this end receives as well.
                model::Receive::External(_) => Box::new(Recv::open(place)?),
            })
        }

        /// Readies a flow's socket for a way of receiving, before its ends join.
        ///
        /// # Errors
        /// A refusal of the system.
        pub fn prepare(name: model::Receive, socket: BorrowedFd<'_>) -> io::Result<()> {
            match name {
                $(model::Receive::$type => incoming::$module::$type::prepare(socket),)+
                // Its end is no socket of this process.
                model::Receive::External(_) => Ok(()),
            }
        }

        /// Readies a flow's socket for the way in which its cell receives, once its ends
        /// have joined.
        ///
        /// # Errors
        /// A refusal of the system.
        pub fn settle(socket: BorrowedFd<'_>, cell: &Cell) -> io::Result<Option<Carrier>> {
            match cell.receive() {
                $(model::Receive::$type => incoming::$module::$type::settle(socket, cell),)+
                model::Receive::External(_) => Ok(None),
            }
        }
    };
}
model::receives!(ways_of_receiving);

/// Opens the ways of an end at a place. The one that its stream does not use is a plain one.
///
/// # Errors
/// A refusal that keeps one from working here.
pub fn open(place: Place<'_>, role: Role) -> io::Result<Halves> {
    let cell = &place.cell;
    let (outgoing, incoming): (Box<dyn Outgoing>, Box<dyn Incoming>) = match (cell.test.is_stream(), role, cell.api, cell.receive()) {
        (true, Role::Sender, model::Api::External(program), _) => return Err(foreign(program)),
        (true, Role::Receiver, _, model::Receive::External(program)) => return Err(foreign(program)),
        (true, Role::Sender, ..) => (outgoing(&place)?, Box::new(Recv::open(&place)?)),
        (true, Role::Receiver, ..) => (Box::new(Send::open(&place)?), incoming(&place)?),
        (false, ..) => (outgoing(&place)?, incoming(&place)?),
    };
    Ok(Halves::new(outgoing, incoming, place))
}

/// Returns whether an end that sends and receives does so in the usual ways.
pub fn is_usual_pair(cell: &Cell) -> bool {
    (cell.api, cell.receive()) == (model::Api::Send, model::Receive::Recv)
}

/// Opens the usual ways of an end that sends and receives. A round takes tens of microseconds, of which a
/// call that is looked up is some thousandth: any way of sending goes with any way of receiving, and only
/// the usual pair has loops of its own.
///
/// # Errors
/// A refusal that keeps them from working here.
pub fn open_usual_pair(place: Place<'_>) -> io::Result<Halves<Send, Recv>> {
    Ok(Halves::new(Send::open(&place)?, Recv::open(&place)?, place))
}

/// A program is an end by itself: no thread of this process sends or receives by it.
#[cold]
fn foreign(program: model::Program) -> io::Error {
    io::Error::other(format!("{program} is no way of nettoll's own"))
}

/// Opens the way of sending at a place and hands over one message.
///
/// # Errors
/// A refusal that keeps it from working here.
pub fn try_sending(place: &Place<'_>) -> io::Result<()> {
    let mut way = outgoing(place)?;
    let (sent, flushed) = (way.send_span(0, 0, usize::MAX), way.flush());
    match sent.0.min(flushed.0) {
        errno @ ..0 => Err(io::Error::from_raw_os_error(-errno as i32)),
        _ => Ok(()),
    }
}

/// Opens the way of receiving at a place.
///
/// # Errors
/// A refusal that keeps it from working here.
pub fn try_receiving(place: &Place<'_>) -> io::Result<()> {
    incoming(place).map(|_| ())
}

impl Outgoing for Box<dyn Outgoing> {
    fn send_until(&mut self, size: usize, stage: &Stage, part: Part, limit: u64) -> Counts {
        (**self).send_until(size, stage, part, limit)
    }

    fn send_span(&mut self, place: usize, from: usize, to: usize) -> CallOutcome {
        (**self).send_span(place, from, to)
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        (**self).message_at(place)
    }

    fn batching(&mut self) -> Option<&mut dyn Batching> {
        (**self).batching()
    }

    fn flush(&mut self) -> CallOutcome {
        (**self).flush()
    }

    fn end(&mut self) {
        (**self).end();
    }

    fn leaves_by(&self) -> Option<&OwnedFd> {
        (**self).leaves_by()
    }

    fn system_calls(&self) -> u64 {
        (**self).system_calls()
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        (**self).zero_copy()
    }
}

impl Incoming for Box<dyn Incoming> {
    fn receive_while(&mut self, datagrams: bool, room: usize, stage: &Stage, part: Part, enough: u64) -> (Counts, LoopEnd) {
        (**self).receive_while(datagrams, room, stage, part, enough)
    }

    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        (**self).receive(limit, wait)
    }

    fn last(&self) -> &[u8] {
        (**self).last()
    }

    fn has_more(&self) -> bool {
        (**self).has_more()
    }

    fn take_alike(&mut self, most: u64) -> u64 {
        (**self).take_alike(most)
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        (**self).waits_on()
    }

    fn take_calls(&mut self) -> Option<u64> {
        (**self).take_calls()
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        (**self).drops()
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        (**self).zero_copy()
    }
}
