//! What this crate claims as a whole, each claim a test.

mod published;
mod recovery;
mod whole;
