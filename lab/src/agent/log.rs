//! Lines of an agent on standard error: who was let in, who was not and why.

use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::printable::{Keep, printable};

/// Lines that may come at once.
const BURST: u32 = 20;
/// From then on one line each.
const EVERY: Duration = Duration::from_millis(500);

/// Characters of a line; the rest is left out.
const LONGEST: usize = 1_000;

/// Writes lines, but no more than a person could read, however many strangers
/// knock.
#[derive(Debug)]
pub struct Log(Mutex<State>);

#[derive(Debug)]
struct State {
    left: u32,
    counted: Instant,
    left_out: u64,
}

impl Log {
    pub fn new() -> Self {
        Self(Mutex::new(State { left: BURST, counted: Instant::now(), left_out: 0 }))
    }

    /// A line about a connection. What a stranger put into it stays one line, and of
    /// readable length.
    pub fn say(&self, line: impl Display) {
        let line: String = line.to_string().chars().take(LONGEST).collect();
        let line = printable(&line, Keep::Nothing);
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left_out) = state.admit(Instant::now()) else { return };
        // Held on to the lock: lines come whole and in order. Nobody may be there to read them.
        let mut stderr = std::io::stderr().lock();
        if left_out > 0 {
            let _ = writeln!(stderr, "nettoll agent: ({left_out} lines were left out: too many at once)");
        }
        let _ = writeln!(stderr, "nettoll agent: {line}");
    }
}

impl State {
    /// Returns whether a line may be written now, and how many were left out before it.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        let earned = (now.duration_since(self.counted).as_nanos() / EVERY.as_nanos()).min(u128::from(BURST)) as u32;
        self.counted += EVERY * earned;
        if self.left + earned >= BURST {
            (self.left, self.counted) = (BURST, now);
        } else {
            self.left += earned;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.left_out))
            }
            None => {
                self.left_out += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{BURST, EVERY, State};

    #[test]
    fn lines_come_at_once_then_slowly_and_what_is_missing_is_counted() {
        let start = Instant::now();
        let mut state = State { left: BURST, counted: start, left_out: 0 };
        let admitted = (0..100).filter(|_| state.admit(start).is_some()).count();
        assert_eq!(admitted, BURST as usize);
        assert_eq!(state.admit(start + EVERY), Some(80));
        assert_eq!(state.admit(start + EVERY), None);
        assert_eq!(state.admit(start + EVERY * 2), Some(1));
        let later = start + EVERY * 1_000;
        assert_eq!((0..100).filter(|_| state.admit(later).is_some()).count(), BURST as usize);
    }
}
