//! The parts that the tests of endurance share: nettoll run as its users run it, and
//! a look at everything that it could leave behind.

pub mod agent;
pub mod processes;
pub mod stored;
pub mod tool;
pub mod traces;

use std::thread;
use std::time::{Duration, Instant};

/// Time until a claim came true; `None` when it did not within `limit`.
pub fn within(limit: Duration, mut claim: impl FnMut() -> bool) -> Option<Duration> {
    let begun = Instant::now();
    loop {
        if claim() {
            return Some(begun.elapsed());
        }
        if begun.elapsed() > limit {
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
