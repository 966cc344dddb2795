//! What every claim needs: a namespace with addresses, agents, controllers.

pub mod agent;
pub mod files;
pub mod inside;
pub mod raw;
pub mod roles;
pub mod talk;

pub use testkit::{Skip, within};

/// Each of these words is in a text.
#[track_caller]
pub fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}
