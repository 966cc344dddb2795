//! Passes whole frames between a connection and a process on this machine, and
//! knows within two seconds when either is gone.
//!
//! Each side sends a beat when it has sent nothing else for [`BEAT_EVERY`], and
//! takes [`SILENCE`] for the other's death. Beats are made and swallowed here:
//! the processes behind never see them. While a trial runs nothing else wakes
//! this thread.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use model::Nanos;
use model::frame::{BEAT, Frames, LONGEST};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};

use super::link::{Filled, Link, LinkError, timeout};

/// Silence of a side before it sends a beat.
pub const BEAT_EVERY: Duration = Duration::from_millis(500);
/// Silence that is taken for the other's death: three beats and half of
/// one, so that what ran for it is gone within 2 s; and long enough for TCP to
/// send a lost segment three times (200, 400 and 800 ms).
pub const SILENCE: Duration = Duration::from_millis(1_750);
/// Time that the last words may take, and then the other's end.
const FAREWELL: Duration = Duration::from_millis(200);
/// Above this many bytes in line for the connection, no more is taken from
/// either side until they are gone: whoever asks on and on has to read answers.
const ENOUGH: usize = 256 << 10;
/// Above this many bytes in line for the process behind, it is taken for stuck.
const TOO_MUCH: usize = 2 * LONGEST;

/// Reason for the end of a pump.
#[derive(Debug)]
pub(crate) enum End {
    /// The process behind it closed its side.
    Near,
    /// The other side closed the connection.
    Far,
    /// The other side sent nothing for too long.
    Silent,
    /// The other side took nothing for too long.
    Stuck,
    /// The connection or what came over it cannot be used.
    Broken(LinkError),
    /// For a reason of its own, in words.
    Because(String),
}

/// Bytes to be sent each way.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// Frames for the process behind.
    pub near: Vec<u8>,
    /// Frames for the other side.
    pub far: Vec<u8>,
}

/// Stands between the connection and the process behind it; passes everything on
/// unless it says otherwise.
pub(crate) trait Middle {
    /// A frame has come over the connection. An error ends the connection.
    fn far_said(&mut self, frame: &[u8], way: &mut Way) -> Result<(), String> {
        way.near.extend_from_slice(frame);
        Ok(())
    }

    /// A frame has come from the process behind.
    fn near_said(&mut self, frame: &[u8], way: &mut Way) {
        way.far.extend_from_slice(frame);
    }

    /// Returns what else it waits for.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// When it wants to be called without cause.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Called when what it waits for has come, or the deadline. An error ends the connection.
    fn woken(&mut self, _: &mut Way) -> Result<(), String> {
        Ok(())
    }

    /// The connection ends; the last words may be said.
    fn ending(&mut self, _: &End, _: &mut Way) {}
}

/// Passes everything on.
#[derive(Debug)]
pub(super) struct Through;

impl Middle for Through {}

/// The two sides and what is on its way between them.
#[derive(Debug)]
pub(crate) struct Pump<M> {
    link: Link,
    from: File,
    to: File,
    far: Frames,
    near: Frames,
    way: Way,
    middle: M,
    /// When something came over the connection last.
    heard: Instant,
    /// When something was put in line for the connection last.
    said: Instant,
    /// When the other side took something last, or had nothing to take.
    moved: Instant,
}

impl<M: Middle> Pump<M> {
    /// Between a connection whose greeting is over, of which `rest` has been
    /// read already, and a process that reads `to` and writes `from`; neither
    /// of the two may block.
    pub(crate) fn new(link: Link, rest: &[u8], from: File, to: File, middle: M) -> Self {
        let mut far = Frames::new(LONGEST);
        far.push(rest);
        let now = Instant::now();
        Self { link, from, to, far, near: Frames::new(LONGEST), way: Way::default(), middle, heard: now, said: now, moved: now }
    }

    /// Passes frames on until either side ends. Afterwards both are closed.
    pub(crate) fn run(mut self) -> End {
        let end = match self.pass() {
            Ok(never) => match never {},
            Err(end) => end,
        };
        self.middle.ending(&end, &mut self.way);
        let last_words = !self.way.far.is_empty();
        self.farewell();
        if last_words {
            self.link.drain(Instant::now() + FAREWELL);
        }
        end
    }

    fn pass(&mut self) -> Result<std::convert::Infallible, End> {
        self.sort_far()?;
        loop {
            self.send()?;
            let [link, from, to, wake] = self.wait()?;
            if wake || self.middle.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
                self.middle.woken(&mut self.way).map_err(End::Because)?;
            }
            if to {
                self.write_near()?;
            }
            if self.is_full() {
                // Not listened to; whether it takes anything is seen in `send`.
                self.heard = Instant::now();
            } else if link {
                self.read_far()?;
            } else if self.heard.elapsed() >= SILENCE {
                // Not before it was read: this thread may have slept itself.
                return Err(End::Silent);
            }
            if from {
                self.read_near()?;
            }
        }
    }

    fn is_full(&self) -> bool {
        self.link.backlog() + self.way.far.len() > ENOUGH
    }

    /// Waits until something can be done; says with what.
    fn wait(&self) -> Result<[bool; 4], End> {
        let full = self.is_full();
        let mut until = self.heard + SILENCE;
        until = until.min(if self.link.wants_write() { self.moved + SILENCE } else { self.said + BEAT_EVERY });
        until = self.middle.deadline().map_or(until, |deadline| until.min(deadline));
        let mut fds = self.link.fds(!full);
        let of_link = fds.len();
        let mut place = [None; 3];
        let wake = self.middle.wake();
        let others = [
            (0, (!full).then(|| (self.from.as_fd(), PollFlags::POLLIN))),
            (1, (!self.way.near.is_empty()).then(|| (self.to.as_fd(), PollFlags::POLLOUT))),
            (2, wake.map(|wake| (wake, PollFlags::POLLIN))),
        ];
        for (which, (fd, events)) in others.into_iter().filter_map(|(which, fd)| Some((which, fd?))) {
            place[which] = Some(fds.len());
            fds.push(PollFd::new(fd, events));
        }
        match poll(&mut fds, timeout(until)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(End::Broken(LinkError::Io(errno.into()))),
        }
        let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let [from, to, wake] = place.map(|place| place.is_some_and(|at| ready(&fds[at])));
        Ok([fds[..of_link].iter().any(ready), from, to, wake])
    }

    /// Sends what is in line, or a beat if there was nothing for long.
    fn send(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let idle = !self.link.wants_write();
        if idle {
            self.moved = now;
        }
        if !self.way.far.is_empty() {
            self.link.queue(&self.way.far);
            self.way.far.clear();
            self.said = now;
        } else if idle && now.duration_since(self.said) >= BEAT_EVERY {
            self.link.queue(&BEAT);
            self.said = now;
        }
        if self.link.flush().map_err(End::Broken)? > 0 {
            self.moved = now;
        } else if now.duration_since(self.moved) >= SILENCE {
            return Err(End::Stuck);
        }
        Ok(())
    }

    fn read_far(&mut self) -> Result<(), End> {
        let mut bytes = Vec::new();
        let filled = self.link.fill(&mut bytes).map_err(End::Broken)?;
        self.far.push(&bytes);
        if filled == Filled::Some {
            self.heard = Instant::now();
        }
        self.sort_far()?;
        if filled == Filled::Closed { Err(End::Far) } else { Ok(()) }
    }

    fn sort_far(&mut self) -> Result<(), End> {
        while let Some(frame) = self.far.take().map_err(|error| End::Because(error.to_string()))? {
            if frame != BEAT {
                self.middle.far_said(&frame, &mut self.way).map_err(End::Because)?;
            }
        }
        self.write_near()?;
        if self.way.near.len() > TOO_MUCH {
            return Err(End::Because("the process behind the connection takes no messages".to_owned()));
        }
        Ok(())
    }

    fn read_near(&mut self) -> Result<(), End> {
        let mut bytes = [0; 16 << 10];
        match self.from.read(&mut bytes) {
            Ok(0) => return Err(End::Near),
            Ok(length) => self.near.push(&bytes[..length]),
            Err(error) if passing(&error) => {}
            Err(_) => return Err(End::Near),
        }
        while let Some(frame) = self.near.take().map_err(|error| End::Because(error.to_string()))? {
            self.middle.near_said(&frame, &mut self.way);
        }
        Ok(())
    }

    fn write_near(&mut self) -> Result<(), End> {
        while !self.way.near.is_empty() {
            match self.to.write(&self.way.near) {
                Ok(0) => return Err(End::Near),
                Ok(length) => drop(self.way.near.drain(..length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if passing(&error) => break,
                Err(_) => return Err(End::Near),
            }
        }
        Ok(())
    }

    /// Brings what is still in line to where it belongs, if that takes no time.
    fn farewell(&mut self) {
        let deadline = Instant::now() + FAREWELL;
        self.link.queue(&self.way.far);
        while Instant::now() < deadline {
            let near = self.write_near().is_ok() && !self.way.near.is_empty();
            let far = self.link.flush().is_ok() && self.link.wants_write();
            let mut fds = if far { self.link.fds(false) } else { Vec::new() };
            if near {
                fds.push(PollFd::new(self.to.as_fd(), PollFlags::POLLOUT));
            }
            if fds.is_empty() || poll(&mut fds, timeout(deadline)).is_err() {
                break;
            }
        }
        self.link.close();
    }
}

fn passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// [`SILENCE`], as texts name it.
pub(crate) fn silence() -> Nanos {
    Nanos::from(SILENCE)
}
