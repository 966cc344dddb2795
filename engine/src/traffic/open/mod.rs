//! Open loops: messages and requests that follow a schedule, whatever is outstanding.

pub(super) mod ask;
mod outstanding;
pub(super) mod send;
pub(super) mod timetable;
pub(super) mod wait;

pub(super) use outstanding::Outstanding;
