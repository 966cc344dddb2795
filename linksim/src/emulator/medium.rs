//! Turns on the wire.
//!
//! A carrier is heard at once everywhere: ends collide when both wait for the
//! end of what is in flight, which is what data and acknowledgements of a busy
//! connection do. Then each waits for its interface and for a random number of
//! slots (IEEE 802.3, truncated binary exponential backoff).

use model::link::Medium;
use rand::RngExt;

use super::{End, LinkEmulator, What, time};
use crate::frame::{GAP, PREAMBLE};

/// Byte times of a slot, the unit of backoff: 512 bit times.
const SLOT: u32 = 64;
/// Byte times of a collision between near neighbours: a preamble, a jam of 32
/// bits and the gap.
const COLLISION: u32 = PREAMBLE + 4 + GAP;
/// A frame is given up at this collision.
const ATTEMPTS: u32 = 16;
/// The backoff grows no more after this many collisions.
const GROWTH: u32 = 10;

/// The state of the one medium, or of both.
#[derive(Default)]
pub(super) struct Mediums {
    /// Until when each is in use.
    free: [u64; 2],
    /// Time at which each is looked at again, if it is.
    look: [Option<u64>; 2],
    /// The end that had the last turn.
    last: Option<End>,
}

impl Mediums {
    /// The medium of an end: one each, or one for both.
    pub const fn index(medium: Medium, end: End) -> usize {
        match medium {
            Medium::Full => end.index(),
            Medium::Shared | Medium::Half => 0,
        }
    }

    /// The medium is looked at now.
    pub fn heard(&mut self, medium: usize, at: u64) {
        if self.look[medium] == Some(at) {
            self.look[medium] = None;
        }
    }

    /// The medium is in use until `until`.
    pub const fn occupy(&mut self, medium: usize, until: u64) {
        self.free[medium] = until;
    }

    /// An end has its turn, until `until`.
    pub const fn give(&mut self, medium: usize, to: End, until: u64) {
        self.last = Some(to);
        self.occupy(medium, until);
    }
}

impl<T> LinkEmulator<T> {
    /// Lets frames go that wait for a medium, as far as it is free at `at`.
    pub(super) fn start(&mut self, medium: usize, at: u64) {
        while at >= self.mediums.free[medium] {
            let waiting = self.ends_of(medium).map(|end| end.filter(|end| self.is_ready(*end, at)));
            match (waiting, self.wire.medium) {
                ([None, None], _) => break,
                ([Some(_), Some(_)], Medium::Half) => self.collide(medium, at),
                ([Some(a), Some(b)], _) => {
                    let first = if self.mediums.last == Some(a) { b } else { a };
                    self.send(medium, first, at);
                }
                ([Some(end), None] | [None, Some(end)], _) => self.send(medium, end, at),
            }
        }
        self.look_again(medium);
    }

    fn ends_of(&self, medium: usize) -> [Option<End>; 2] {
        End::BOTH.map(|end| Some(end).filter(|end| Mediums::index(self.wire.medium, *end) == medium))
    }

    fn is_ready(&self, end: End, at: u64) -> bool {
        let side = &self.sides[end.index()];
        !side.queue.is_empty() && side.not_before <= at
    }

    /// Sees to it that what still waits is looked at in time.
    fn look_again(&mut self, medium: usize) {
        let waits = |end: End| Some(&self.sides[end.index()]).filter(|side| !side.queue.is_empty()).map(|side| side.not_before);
        let Some(first) = self.ends_of(medium).into_iter().flatten().filter_map(waits).min() else { return };
        let at = first.max(self.mediums.free[medium]);
        if self.mediums.look[medium].is_none_or(|known| known > at) {
            self.mediums.look[medium] = Some(at);
            self.push(at, What::Free(medium));
        }
    }

    fn collide(&mut self, medium: usize, at: u64) {
        let slot = time(self.wire.rate, SLOT);
        let over = at + time(self.wire.rate, COLLISION);
        self.mediums.occupy(medium, over);
        for end in End::BOTH {
            let recovery = self.wire.hosts[end.index()].recovery.get();
            let side = &mut self.sides[end.index()];
            side.tally.collisions += 1;
            side.attempts += 1;
            if side.attempts >= ATTEMPTS {
                side.attempts = 0;
                side.tally.aborted += 1;
                if let Some(frame) = side.queue.pop_front() {
                    side.queued = side.queued.saturating_sub(u64::from(frame.counted));
                }
            }
            let slots: u64 = self.random.random_range(0..1 << side.attempts.min(GROWTH));
            side.not_before = over + recovery + slots * slot;
        }
    }
}
