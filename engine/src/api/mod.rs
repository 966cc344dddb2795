//! The ways of handing messages to the kernel and of taking them from it.
//!
//! A new way is one file here that implements [`Open`] and [`Api`], one name in
//! `model::Api`, and one line in [`with_api!`].

mod buffer;
mod send;
mod spinning;
mod working;

use std::os::fd::OwnedFd;

pub use buffer::Buffer;
pub use send::Send;
pub use spinning::Spinning;
pub use working::Working;

/// What a call moved: bytes when positive or zero, a negated errno when negative.
///
/// The kernel's own convention, kept because the hot loop can test it in one
/// comparison and a `Result` would be taken apart again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved(pub isize);

impl Moved {
    /// What a libc call answered, with the errno fetched when it failed.
    #[inline(always)]
    pub(crate) fn from_call(answer: isize) -> Self {
        if answer >= 0 { Self(answer) } else { Self::from_errno() }
    }

    #[cold]
    fn from_errno() -> Self {
        Self(-(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize))
    }
}

/// What the sending loop calls once a message.
pub trait Transmit {
    /// Hands the message over, from its byte `from` on.
    fn send(&mut self, from: usize) -> Moved;
}

/// What is called for messages that are shorter than the longest.
pub trait TransmitPart {
    /// Hands the message over, from its byte `from` up to `to`.
    fn send_part(&mut self, from: usize, to: usize) -> Moved;
}

/// What a way of sending and receiving begins with.
pub trait Open: Api {
    /// Takes a connected socket, a message to send over and over, and room for
    /// what is received. Allocates everything it will need.
    ///
    /// # Errors
    /// Whatever keeps this way from working here.
    fn open(socket: OwnedFd, message: Buffer, room: Buffer) -> std::io::Result<Self>;
}

/// One way of sending and receiving over a connected socket.
pub trait Api: Transmit + TransmitPart + Sized {
    /// Takes what has arrived, at most `limit` bytes of it.
    fn receive(&mut self, limit: usize) -> Moved;

    /// The same, without waiting.
    fn receive_now(&mut self, limit: usize) -> Moved;

    /// The message, to be marked.
    fn message(&mut self) -> &mut [u8];

    /// What was received last.
    fn room(&self) -> &[u8];

    /// The socket.
    fn socket(&self) -> &OwnedFd;
}

/// Runs an expression with `$api` standing for the type behind a [`model::Api`].
macro_rules! with_api {
    ($name:expr, $api:ident => $body:expr) => {
        match $name {
            model::Api::Send => {
                type $api = $crate::api::Send;
                $body
            }
        }
    };
}
pub(crate) use with_api;
