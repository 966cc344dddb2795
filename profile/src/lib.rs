//! What needs a privilege or a certain kernel, and can say "not here".
//!
//! So far: [`probe`], which asks the kernel by trying. Each probe opens what it
//! is about, closes it again and leaves nothing behind. A refusal is final: no
//! probe looks for a way round it.

pub mod probe;
