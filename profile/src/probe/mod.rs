//! Trying what the kernel offers, never asking for its version.
//!
//! Each function makes one attempt and returns the system's own answer: an
//! [`std::io::Error`] with the errno. What that means to a person is not said
//! here.

pub mod btf;
pub mod perf;
pub mod wakeup;
