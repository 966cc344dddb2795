//! Messages of every process, counted for a part of the time: the programs that count them cost each socket call
//! of the machine.

use std::collections::BTreeMap;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use model::sorting::Order;
use model::top::{Messages, Owner, ProcessMessages};
use model::{Nanos, Refusal};
use profile::owners::{Counted, MessageCounts};

use super::units::Units;

/// Length of a window of counting, of which every second stretch has one: 5 % of the time.
const WINDOW: Duration = Duration::from_millis(100);
/// Stretches from one with a window to the next.
const EVERY: u32 = 2;
/// The most processes that are looked at because of their messages: `/proc` takes some 50 µs each.
const BUSIEST: usize = 100;
/// Calls of a run by which the cost of one is measured, and pairs of runs with and without counting: the shortest of
/// each count.
const CALLS: u32 = 500;
const PAIRS: usize = 8;

/// Counts messages in windows, or all the time.
#[derive(Debug)]
pub struct MessageWindows {
    counter: Option<MessageCounts>,
    /// True where every message is counted.
    all: bool,
    /// Cost of counting one call.
    price: Nanos,
    stretch: u32,
    /// Start and end of this stretch's window.
    window: Option<(Instant, Instant)>,
    since: Option<Instant>,
    counted: Duration,
    rows: Vec<Counted>,
}

impl MessageWindows {
    /// Loads the programs; `note` gets what this kernel refuses.
    pub fn open(all: bool, note: impl FnOnce(Refusal)) -> Self {
        let mut counter = MessageCounts::load().map_err(note).ok();
        let price = counter.as_mut().map_or_else(Nanos::default, price);
        let (window, since, counted, rows) = (None, None, Duration::ZERO, Vec::new());
        Self { counter, all, price, stretch: 0, window, since, counted, rows }
    }

    /// A stretch of `length` begins: its window, if it has one, is anywhere in it.
    pub fn begin(&mut self, now: Instant, length: Duration) {
        let place = self.stretch;
        self.stretch = self.stretch.wrapping_add(1);
        self.window = match (self.all, place % EVERY) {
            (true, _) => Some((now, now + length)),
            // The golden ratio's multiples, whose parts behind the point spread evenly.
            (false, 0) => {
                let start = now + length.saturating_sub(WINDOW).mul_f64((f64::from(place) * 0.618_033_988_75).fract());
                Some((start, start + WINDOW))
            }
            (false, _) => None,
        };
    }

    /// Starts and stops counting as the time has come; `note` gets why it cannot, after which nothing is counted any more.
    pub fn turn(&mut self, now: Instant, note: impl FnOnce(Refusal)) {
        let Some((start, end)) = self.window else { return };
        if self.since.is_none() && (start..end).contains(&now) {
            self.start(note);
        } else if self.since.is_some() && now >= end && !self.all {
            self.stop();
        }
    }

    /// Time until the next turn.
    pub fn wait(&self, now: Instant) -> Duration {
        let next = self.window.map(|(start, end)| if self.since.is_some() { end } else { start });
        next.filter(|next| *next > now).map_or(Duration::MAX, |next| next - now)
    }

    fn start(&mut self, note: impl FnOnce(Refusal)) {
        match self.counter.as_mut().map(MessageCounts::start) {
            Some(Ok(())) => self.since = Some(Instant::now()),
            Some(Err(refusal)) => {
                note(refusal);
                self.counter = None;
            }
            None => {}
        }
    }

    fn stop(&mut self) {
        let Some(since) = self.since.take() else { return };
        let Some(counter) = &mut self.counter else { return };
        counter.stop();
        self.counted += since.elapsed();
        self.rows.extend(counter.take().unwrap_or_default());
    }

    /// The messages of the stretch that ends; `None` where they were not counted in it. Processes are named where
    /// their ids, which are those of the first namespace, are `visible` here.
    pub fn take(&mut self, units: &mut Units, visible: bool) -> Option<Messages> {
        if self.all
            && let (Some(counter), Some(since)) = (&mut self.counter, &mut self.since)
        {
            let now = Instant::now();
            self.rows.extend(counter.take().unwrap_or_default());
            self.counted += now - std::mem::replace(since, now);
        } else {
            self.stop();
        }
        if self.counted.is_zero() {
            return None;
        }
        let counted = Nanos::from(std::mem::take(&mut self.counted));
        let mut by_owner: BTreeMap<Owner, ProcessMessages> = BTreeMap::new();
        for row in std::mem::take(&mut self.rows) {
            let unit = units.path(row.cgroup).filter(|path| *path != "/").map(str::to_owned);
            let process = (visible && row.process != 0).then_some(row.process);
            let owner = Owner { process, unit: unit.map(|path| units.place(&path)) };
            let sum = by_owner.entry(owner).or_insert_with(|| ProcessMessages { owner, ..ProcessMessages::default() });
            sum.messages = [sum.messages[0] + row.sends, sum.messages[1] + row.receives];
            sum.bytes = [sum.bytes[0] + row.sent_bytes, sum.bytes[1] + row.received_bytes];
        }
        Some(Messages { counted, processes: by_owner.into_values().collect() })
    }

    /// What counting these cost those that sent and received them.
    pub fn cost(&self, messages: &Messages) -> Nanos {
        let calls: u64 = messages.processes.iter().flat_map(|one| one.messages).sum();
        Nanos::new(calls.saturating_mul(self.price.get()))
    }
}

/// The processes with the most messages: as many as are looked at for these alone.
pub fn busiest(messages: &Messages) -> Vec<u32> {
    let mut all: Vec<&ProcessMessages> = messages.processes.iter().filter(|one| one.owner.process.is_some()).collect();
    all.order_by_key(|one| std::cmp::Reverse(one.messages.iter().sum::<u64>()));
    all.into_iter().take(BUSIEST).filter_map(|one| one.owner.process).collect()
}

/// Time that counting one call takes here.
fn price(counter: &mut MessageCounts) -> Nanos {
    let Ok(sockets) = UnixDatagram::pair() else { return Nanos::default() };
    let run = || {
        let begun = Instant::now();
        for _ in 0..CALLS {
            // A call that fails takes time as well, with counting and without.
            let _ = sockets.0.send(&[0]);
            let _ = sockets.1.recv(&mut [0]);
        }
        begun.elapsed()
    };
    let (mut with, mut without) = (Duration::MAX, Duration::MAX);
    for _ in 0..PAIRS {
        without = without.min(run());
        if counter.start().is_err() {
            return Nanos::default();
        }
        with = with.min(run());
        counter.stop();
    }
    // The messages of this process are not of the machine.
    let _ = counter.take();
    Nanos::from(with.saturating_sub(without) / (2 * CALLS))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{EVERY, MessageWindows, WINDOW};
    use crate::top::units::Units;

    const SECOND: Duration = Duration::from_secs(1);

    fn windows(all: bool) -> MessageWindows {
        let (window, since, counted, rows) = (None, None, Duration::ZERO, Vec::new());
        MessageWindows { counter: None, all, price: model::Nanos::default(), stretch: 0, window, since, counted, rows }
    }

    #[test]
    fn every_second_stretch_has_a_window_within_it_at_another_place() {
        let mut windows = windows(false);
        let now = Instant::now();
        let mut places = Vec::new();
        for stretch in 0..20 {
            windows.begin(now, SECOND);
            assert_eq!(windows.window.is_some(), stretch % EVERY == 0);
            if let Some((start, end)) = windows.window {
                assert!(start >= now && end <= now + SECOND && end - start == WINDOW);
                // The first one has begun.
                assert!(start == now || windows.wait(now) == start - now);
                places.push(start);
            }
        }
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 10);
    }

    #[test]
    fn a_kernel_that_does_not_count_gives_none() {
        for all in [false, true] {
            let mut windows = windows(all);
            let now = Instant::now();
            windows.begin(now, SECOND);
            windows.turn(now + SECOND / 2, |refusal| panic!("{refusal}"));
            assert_eq!(windows.take(&mut Units::find(), true), None);
        }
    }
}
