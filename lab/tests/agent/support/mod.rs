//! What every claim needs: a namespace with addresses, agents, controllers.

pub mod agent;
pub mod files;
pub mod inside;
pub mod raw;
pub mod roles;
pub mod talk;

use std::time::{Duration, Instant};

/// Why a claim cannot be tested here.
#[derive(Debug)]
pub struct Skip(pub String);

/// Waits for a claim to come true.
#[track_caller]
pub fn within(limit: Duration, what: &str, mut claim: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !claim() {
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

/// Each of these words is in a text.
#[track_caller]
pub fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}
