//! Apis by their names in a cell.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use super::incoming::one_room::Recv;
use super::outgoing::one_message::Send;
use super::{Batching, CallOutcome, Carrier, Halves, Incoming, Open, Outgoing, Place, WithApi, ZeroCopy, incoming, outgoing};

macro_rules! ways_of_sending {
    ($($(#[$doc:meta])* $module:ident::$type:ident = $word:literal $properties:tt,)+) => {
        /// Opens the api of an end that sends alone, and does some work with it.
        ///
        /// # Errors
        /// A refusal that keeps it from working here, and those of the work.
        pub fn open_sender<W: WithApi>(place: Place<'_>, work: W) -> io::Result<W::Output> {
            match place.cell.api {
                $(model::Api::$type => with(outgoing::$module::$type::open(&place)?, Recv::open(&place)?, place, work),)+
                model::Api::External(program) => Err(foreign(program)),
            }
        }

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
        /// Opens the api of an end that receives alone, and does some work with it.
        ///
        /// # Errors
        /// A refusal that keeps it from working here, and those of the work.
        pub fn open_receiver<W: WithApi>(place: Place<'_>, work: W) -> io::Result<W::Output> {
            match place.cell.receive() {
                $(model::Receive::$type => with(Send::open(&place)?, incoming::$module::$type::open(&place)?, place, work),)+
                model::Receive::External(program) => Err(foreign(program)),
            }
        }

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
        pub fn settle(socket: BorrowedFd<'_>, cell: &model::Cell) -> io::Result<Option<Carrier>> {
            match cell.receive() {
                $(model::Receive::$type => incoming::$module::$type::settle(socket, cell),)+
                model::Receive::External(_) => Ok(None),
            }
        }
    };
}
model::receives!(ways_of_receiving);

/// Does some work with two halves that were opened at a place. Of a way that hands over a batch
/// with a call the loop is not plain.
fn with<O, I, W>(mut outgoing: O, incoming: I, place: Place<'_>, work: W) -> io::Result<W::Output>
where
    O: Outgoing + 'static,
    I: Incoming + 'static,
    W: WithApi,
{
    match work.is_plain() && outgoing.batching().is_none() {
        true => work.run_plain(Halves::new(outgoing, incoming, place)),
        false => work.run(Halves::new(Box::new(outgoing), Box::new(incoming), place)),
    }
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

/// Opens the api of an end that sends and receives, and does some work with it. A round
/// takes tens of microseconds, of which a call that is not direct is some thousandth: any
/// way of sending goes with any way of receiving, and only the usual pair has loops of its own.
///
/// # Errors
/// A refusal that keeps it from working here, and those of the work.
pub fn open_exchange<W: WithApi>(place: Place<'_>, work: W) -> io::Result<W::Output> {
    let cell = &place.cell;
    if (cell.api, cell.receive()) == (model::Api::Send, model::Receive::Recv) {
        return with(Send::open(&place)?, Recv::open(&place)?, place, work);
    }
    let (outgoing, incoming) = (outgoing(&place)?, incoming(&place)?);
    work.run(Halves::new(outgoing, incoming, place))
}

impl Outgoing for Box<dyn Outgoing> {
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
