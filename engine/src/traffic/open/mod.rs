//! Open loops: messages and requests that follow a schedule, whatever is outstanding.

pub(super) mod ask;
mod kept;
mod outstanding;
pub(super) mod send;
pub(super) mod timetable;
pub(super) mod wait;

pub use kept::Kept;
pub(super) use kept::window_of;
pub(super) use outstanding::MARK;
