//! What this crate claims as a whole, each claim a test.

mod arms;
mod published;
mod recovery;
mod whole;
