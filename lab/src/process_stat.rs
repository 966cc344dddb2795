//! `/proc/PID/stat`, as far as it is read.

use std::fs;

use model::Nanos;

/// Length of a tick of `/proc/PID/stat`: `USER_HZ` is 100 on every machine that nettoll runs on.
const TICK: u64 = 10_000_000;

/// The part of `/proc/PID/stat` that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// It has ended, and its parent has not asked for its outcome yet.
    pub dead: bool,
    /// CPU time of children that ended and were waited for.
    pub ended: Nanos,
    /// Ticks from the start of the machine to its own.
    pub started: u64,
}

impl Stat {
    /// That of a process; `None` where there is none.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads a line; the name in it may hold anything, so fields count from its last bracket.
    pub fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The state is field 3 of proc(5).
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ended = number(16)?.saturating_add(number(17)?).saturating_mul(TICK);
        Some(Self { dead: matches!(fields.first(), Some(&("Z" | "X"))), ended: Nanos::new(ended), started: number(22)? })
    }
}

/// Ticks from the start of the machine to that of a process which has not ended; `None` of any other.
pub fn started(pid: u32) -> Option<u64> {
    Stat::of(pid).filter(|stat| !stat.dead).map(|stat| stat.started)
}
