//! The ports that others reach endpoints at: each trial has some in a row, and no two the same.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ports of an agent.
#[derive(Debug)]
pub struct Ports {
    first: u16,
    count: u32,
    table: Mutex<PortTable>,
}

/// Numbers of ports, from 0.
#[derive(Debug, Default)]
struct PortTable {
    /// Before the next trial's.
    next: u32,
    /// Of trials that run.
    taken: Vec<Range<u32>>,
}

/// Ports of one trial. Dropped, it gives them back.
#[derive(Debug)]
pub struct PortLease<'a> {
    ports: &'a Ports,
    numbers: Range<u32>,
}

impl PortLease<'_> {
    /// The first of them; the others follow.
    pub const fn first(&self) -> u16 {
        self.ports.first + self.numbers.start as u16
    }
}

impl Drop for PortLease<'_> {
    fn drop(&mut self) {
        let mut table = self.ports.table();
        let place = table.taken.iter().position(|numbers| *numbers == self.numbers);
        place.map(|place| table.taken.swap_remove(place));
    }
}

impl Ports {
    /// From the first to the last.
    pub fn new(first: u16, last: u16) -> Self {
        Self { first, count: u32::from(last.saturating_sub(first)) + 1, table: Mutex::default() }
    }

    /// As many in a row as a trial may need, after those of the trial before, so that one just closed has
    /// time to rest.
    ///
    /// # Errors
    /// Words for why there are not as many.
    pub fn take(&self, wanted: u32) -> Result<PortLease<'_>, String> {
        let mut table = self.table();
        let is_free = |start: u32| {
            let end = start.saturating_add(wanted);
            start < end && end <= self.count && !table.taken.iter().any(|one| one.start < end && start < one.end)
        };
        let starts = [table.next, 0].into_iter().chain(table.taken.iter().map(|one| one.end));
        let Some(start) = starts.filter(|start| is_free(*start)).min_by_key(|start| (*start < table.next, *start)) else {
            let others = match table.taken.iter().map(|one| one.end - one.start).sum::<u32>() {
                0 => String::new(),
                others => format!(", of which other trials have {others}"),
            };
            return Err(format!(
                "{wanted} flows need a port each, in a row, but the agent has {}, from {}{others}: start the agent with more of them (--data-ports)",
                self.count, self.first
            ));
        };
        let numbers = start..start + wanted;
        table.next = numbers.end;
        table.taken.push(numbers.clone());
        drop(table);
        Ok(PortLease { ports: self, numbers })
    }

    fn table(&self) -> MutexGuard<'_, PortTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Ports;

    #[test]
    fn no_two_trials_have_the_same_port() {
        let ports = Ports::new(7_000, 7_004);
        let first = ports.take(2).unwrap();
        let second = ports.take(2).unwrap();
        assert_eq!((first.first(), second.first()), (7_000, 7_002));
        let why = ports.take(2).unwrap_err();
        assert!(why.contains("other trials have 4") && why.contains("--data-ports"), "{why}");
        let third = ports.take(1).unwrap();
        assert_eq!(third.first(), 7_004);
        drop(second);
        assert_eq!(ports.take(2).unwrap().first(), 7_002, "between two that run");
        drop(first);
        assert_eq!(ports.take(2).unwrap().first(), 7_000);
        assert!([0, 6, u32::MAX].into_iter().all(|wanted| ports.take(wanted).is_err()));
    }
}
