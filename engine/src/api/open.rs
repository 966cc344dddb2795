//! Apis by their names in a cell.

use std::io;
use std::os::fd::BorrowedFd;

use model::{Cell, Role};

use super::incoming::one_room::Recv;
use super::outgoing::one_message::Send;
use super::{Carrier, Halves, Incoming, Open, Outgoing, Place, incoming, outgoing};

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
    Ok(Halves::of_any(outgoing, incoming, place))
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
