//! Parts of a trial, as its traffic thread sees them.

/// A part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// Messages flow and are not measured.
    Warmup = 0,
    /// Messages flow and are measured.
    Measure = 1,
    /// The sender's window has closed, but it goes on for a moment, so that a
    /// receiver whose clock says so a little later measures traffic to the end.
    Tail = 2,
    /// The sender stops; the receiver takes what is left.
    Drain = 3,
    /// The measured part goes on as soon as the traffic thread has said how far
    /// it has come. Loops that run in `Measure` end, as for any other part: being
    /// asked costs them nothing while they are not.
    Tick = 4,
    /// Nothing flows yet: the traffic thread is ready and sleeps.
    Held = 5,
    /// Messages come one by one, until both ends know when they measure: they leave room for the
    /// host's word, which may share their way.
    Opening = 6,
    /// The controller of a woven trial asks for an edge; the measured part goes on as it orders.
    Marked = 7,
}
