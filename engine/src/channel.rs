//! Control messages over a pipe or a socket.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::Nanos;
use model::frame::{Decoder, FrameError, encode};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A control connection that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The other side is gone.
    #[error("the other side closed the control connection")]
    Closed,
    /// Nothing came in time.
    #[error("nothing came on the control connection for {}", Nanos::from(*.0))]
    Silent(Duration),
    /// The system refused.
    #[error("control connection: {0}")]
    Io(#[from] std::io::Error),
    /// Not our messages.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Takes messages of one type from a pipe or a socket.
#[derive(Debug)]
pub struct Receiver<T> {
    input: File,
    decoder: Decoder<T>,
    ready: Option<T>,
}

/// The event that ended a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    /// A message is there.
    Message,
    /// These of the others are ready.
    Others(Vec<usize>),
    /// The time has passed.
    Time,
}

impl<T: DeserializeOwned> Receiver<T> {
    /// Over a stream.
    pub fn new(input: File) -> Self {
        Self { input, decoder: Decoder::default(), ready: None }
    }

    /// The next message, however long it takes.
    ///
    /// # Errors
    /// See [`ChannelError`].
    pub fn receive(&mut self) -> Result<T, ChannelError> {
        while !self.wait(Duration::from_secs(3_600))? {}
        self.ready.take().ok_or(ChannelError::Closed)
    }

    /// The next message, if it comes within `limit`.
    ///
    /// # Errors
    /// [`ChannelError::Silent`] when it does not.
    pub fn receive_within(&mut self, limit: Duration) -> Result<T, ChannelError> {
        match self.wait(limit)? {
            true => self.ready.take().ok_or(ChannelError::Closed),
            false => Err(ChannelError::Silent(limit)),
        }
    }

    /// Returns whether a message is there before `limit` has passed.
    ///
    /// # Errors
    /// See [`ChannelError`]; the end of the stream is one.
    pub fn wait(&mut self, limit: Duration) -> Result<bool, ChannelError> {
        let deadline = Instant::now() + limit;
        let mut bytes = [0; 16 << 10];
        while self.ready.is_none() {
            self.ready = self.decoder.take()?;
            if self.ready.is_some() {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.readable(left)? {
                return Ok(false);
            }
            match self.input.read(&mut bytes) {
                Ok(0) => return Err(ChannelError::Closed),
                Ok(length) => self.decoder.push(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Waits for any of `others` as long as this connection lasts; returns which of them
    /// are ready, none when `limit` passed first. Messages that come meanwhile stay for
    /// later.
    ///
    /// # Errors
    /// [`ChannelError::Closed`] when the other side went away.
    pub fn wait_for_any(&self, others: &[PollFd<'_>], limit: Duration) -> Result<Vec<usize>, ChannelError> {
        // The end of a socket shows in RDHUP, that of a pipe in HUP, which is always told.
        let hangup = PollFlags::from_bits_retain(libc::POLLRDHUP);
        let (control, ready) = self.poll_with(hangup, others, limit)?;
        if control && ready.is_empty() { Err(ChannelError::Closed) } else { Ok(ready) }
    }

    /// Waits for a message, for any of `others`, or for `limit` to pass. A
    /// message stays for [`Self::receive`].
    ///
    /// # Errors
    /// See [`ChannelError`]; the end of the stream is one.
    pub fn wait_with(&mut self, others: &[PollFd<'_>], limit: Duration) -> Result<Woken, ChannelError> {
        let begun = Instant::now();
        loop {
            if self.wait(Duration::ZERO)? {
                return Ok(Woken::Message);
            }
            let (control, ready) = self.poll_with(PollFlags::POLLIN, others, limit.saturating_sub(begun.elapsed()))?;
            match (control, ready.is_empty()) {
                (true, _) => {}
                (false, false) => return Ok(Woken::Others(ready)),
                (false, true) => return Ok(Woken::Time),
            }
        }
    }

    /// Returns whether this connection has `event`, and which of `others` have theirs.
    fn poll_with(&self, event: PollFlags, others: &[PollFd<'_>], limit: Duration) -> Result<(bool, Vec<usize>), ChannelError> {
        let begun = Instant::now();
        let mut all: Vec<PollFd<'_>> = std::iter::once(PollFd::new(self.input.as_fd(), event)).chain(others.iter().cloned()).collect();
        loop {
            match ppoll(&mut all, Some(timeout(limit.saturating_sub(begun.elapsed()))), None) {
                Ok(_) => break,
                Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(std::io::Error::from(errno).into()),
            }
        }
        let mut ready = all.iter().map(|one| one.any().unwrap_or(true));
        let control = ready.next().unwrap_or(false);
        Ok((control, ready.enumerate().filter_map(|(at, ready)| ready.then_some(at)).collect()))
    }

    fn readable(&self, limit: Duration) -> Result<bool, ChannelError> {
        match ppoll(&mut [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)], Some(timeout(limit)), None) {
            Ok(ready) => Ok(ready > 0),
            Err(nix::errno::Errno::EINTR) => Ok(!limit.is_zero() && self.readable(limit)?),
            Err(errno) => Err(std::io::Error::from(errno).into()),
        }
    }
}

impl<T> AsFd for Receiver<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }
}

fn timeout(limit: Duration) -> TimeSpec {
    // To the nanosecond: both ends of a trial wake for one time. The kernel takes no more seconds
    // than a signed number holds.
    TimeSpec::from_duration(limit.min(Duration::from_secs(1 << 30)))
}

/// Sends one message.
///
/// # Errors
/// See [`ChannelError`].
pub fn send<T: Serialize>(output: &mut impl Write, message: &T) -> Result<(), ChannelError> {
    let bytes = encode(message)?;
    match output.write_all(&bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ChannelError::Closed),
        answer => Ok(answer?),
    }
}

/// The stream on which all threads of an endpoint tell the host.
pub type Output = Arc<Mutex<File>>;

/// Sends one message from any thread.
///
/// # Errors
/// See [`ChannelError`].
pub fn tell(output: &Output, message: &impl Serialize) -> Result<(), ChannelError> {
    send(&mut *output.lock().unwrap_or_else(PoisonError::into_inner), message)
}
