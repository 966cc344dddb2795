//! The thread that moves frames.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use linksim::emulator::{Delivered, End, LinkEmulator};
use model::Nanos;
use model::kernel::WireCounters;
use model::link::Wire;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::Shared;
use sys::clock::monotonic;

/// No frame is longer: the largest IP packet with an Ethernet header.
const LONGEST: usize = 65_535 + 14;

/// Bytes that the relay holds before it leaves frames in the device's queue,
/// which is short, and counts what does not fit.
const MOST_HELD: u64 = 64 << 20;

/// Frames taken from one end before the other is looked at.
const AT_A_TIME: usize = 32;

/// Longest sleep: then it looks whether it is still wanted.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

pub(super) struct Mover {
    emulator: LinkEmulator<Vec<u8>>,
    files: Vec<File>,
    shared: Arc<Shared>,
    held: u64,
    room: Vec<u8>,
    late_ns: u64,
    /// Frames that a device did not take, its host being gone.
    untaken: u64,
}

impl Mover {
    pub fn new(wire: Wire, seed: u64, files: Vec<File>, shared: Arc<Shared>) -> Self {
        Self { emulator: LinkEmulator::new(wire, seed), files, shared, held: 0, room: vec![0; LONGEST], late_ns: 0, untaken: 0 }
    }

    pub fn run(mut self) {
        // Timers of a usual process may come 50 µs late. Where this is refused
        // the lateness shows in the counters.
        let _ = nix::sys::prctl::set_timerslack(1);
        while !self.shared.over.load(Ordering::Relaxed) {
            if let Err(reason) = self.turn() {
                *self.shared.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
                return;
            }
        }
    }

    /// Moves all that is due, takes what has come, and sleeps until there is more.
    fn turn(&mut self) -> Result<(), String> {
        let now = monotonic();
        let mut moved = false;
        while let Some(frame) = self.emulator.take(now) {
            moved = true;
            self.deliver(frame);
        }
        for end in End::BOTH {
            moved |= self.collect(end, now)?;
        }
        if moved {
            // Nothing is slept over: what was just collected may be due at once.
            self.publish();
            return Ok(());
        }
        self.sleep(now)
    }

    fn deliver(&mut self, Delivered { at, to, load }: Delivered<Vec<u8>>) {
        self.late_ns = self.late_ns.saturating_add(monotonic().since(at).get());
        self.held = self.held.saturating_sub(load.len() as u64);
        // The device takes a frame whole or not at all; one that is down, EIO.
        if self.files[to.index()].write(&load).is_err() {
            self.untaken += 1;
        }
    }

    /// Takes frames that a host has sent; whether there were any.
    fn collect(&mut self, end: End, now: Nanos) -> Result<bool, String> {
        for taken in 0..AT_A_TIME {
            if self.held >= MOST_HELD {
                return Ok(taken > 0);
            }
            match self.files[end.index()].read(&mut self.room) {
                Ok(0) => return Ok(taken > 0),
                Ok(length) => {
                    let frame = self.room[..length].to_vec();
                    // A frame is far shorter than 4 GiB.
                    let counted = u32::try_from(length).unwrap_or(u32::MAX);
                    if self.emulator.hand(now, end, counted, frame) {
                        self.held += length as u64;
                    }
                }
                Err(answer) if answer.kind() == ErrorKind::WouldBlock => return Ok(taken > 0),
                Err(answer) if answer.kind() == ErrorKind::Interrupted => {}
                Err(answer) => return Err(format!("reading a frame from a tap device: {answer}")),
            }
        }
        Ok(true)
    }

    fn sleep(&mut self, now: Nanos) -> Result<(), String> {
        let due = self.emulator.next_at().map_or(LONGEST_SLEEP, |at| Duration::from(at.since(now)));
        let wanted = if self.held < MOST_HELD { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut files: Vec<PollFd> = self.files.iter().map(|file| PollFd::new(file.as_fd(), wanted)).collect();
        match ppoll(&mut files, Some(TimeSpec::from_duration(due.min(LONGEST_SLEEP))), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(answer) => Err(format!("waiting for frames (ppoll): {answer}")),
        }
    }

    fn publish(&self) {
        let [a, b] = End::BOTH.map(|end| *self.emulator.tally(end));
        let counters = WireCounters {
            handed: a.handed + b.handed,
            dropped: a.refused + b.refused + self.untaken,
            lost: a.lost + b.lost,
            aborted: a.aborted + b.aborted,
            // Each collision is one of both ends.
            collisions: a.collisions,
            overtaking: a.overtaking + b.overtaking,
            delivered: (a.delivered + b.delivered).saturating_sub(self.untaken),
            late_ns: self.late_ns,
        };
        *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner) = counters;
    }
}
