//! The maths of nettoll: pure functions from trial records to what they show.
#![forbid(unsafe_code)]

pub mod result;
