//! What every room asks of the system, each once.
#![forbid(unsafe_code)]

pub mod file;
pub mod owner;
pub mod process;
