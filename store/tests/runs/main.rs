//! Run directories: what is written is read again, whatever happens meanwhile.

#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod damage;
mod directory;
mod disk;
mod kill;
mod pipes;
mod reopen;
mod support;
