//! Woven trials: the arms of a cell take turns, and the traffic threads themselves write the
//! edges of their slices.
//!
//! The CPU clock of another process that runs is up to a tick old: no controller can read the
//! edges of a slice of 10 ms. So the [`Board`] is memory that all ends share with their
//! controller. A [`Seat`] of it holds the part of the trial that its traffic thread looks at once
//! a message anyway. The controller changes it; the thread comes out of its loop, writes an
//! edge ([`Reading`](model::woven::Reading)), and goes on or sleeps on a futex until its next turn.
//! A controller that may be late plans the end of a slice ahead: the thread's own timer changes the part then.

mod board;
mod layout;
mod seat;

pub use board::{Board, Interrupted, Mark};
pub use layout::Order;
pub use seat::Seat;
