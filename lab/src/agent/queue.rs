//! Turns of controllers: one trial at a time on a host, the others in line.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// The line before a host.
#[derive(Debug, Default)]
pub struct Queue(Mutex<VecDeque<Arc<Bell>>>);

/// Wakes the thread that serves one controller.
#[derive(Debug)]
pub struct Bell(EventFd);

impl Bell {
    pub fn new() -> nix::Result<Self> {
        Ok(Self(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?))
    }

    pub fn ring(&self) {
        // It can only be full, and is heard then.
        let _ = self.0.write(1);
    }

    pub fn clear(&self) {
        // It may be silent already.
        let _ = self.0.read();
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// One controller's place, whether it stands in line or not. Dropped, it leaves.
#[derive(Debug)]
pub struct Ticket {
    queue: Arc<Queue>,
    bell: Arc<Bell>,
}

impl Ticket {
    /// Not in line yet. `bell` is rung whenever one before it leaves.
    pub const fn new(queue: Arc<Queue>, bell: Arc<Bell>) -> Self {
        Self { queue, bell }
    }

    /// Gets in line, unless it stands there already.
    pub fn ask(&self) {
        let mut line = self.line();
        if !line.iter().any(|bell| Arc::ptr_eq(bell, &self.bell)) {
            line.push_back(Arc::clone(&self.bell));
        }
    }

    /// Returns the number of are before it; 0: the host is its own. `None`: it is not in line.
    pub fn place(&self) -> Option<usize> {
        self.line().iter().position(|bell| Arc::ptr_eq(bell, &self.bell))
    }

    /// Leaves the line and gives up the host.
    pub fn leave(&self) {
        let mut line = self.line();
        let Some(place) = line.iter().position(|bell| Arc::ptr_eq(bell, &self.bell)) else { return };
        line.remove(place);
        line.iter().skip(place).for_each(|bell| bell.ring());
    }

    fn line(&self) -> MutexGuard<'_, VecDeque<Arc<Bell>>> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Bell, Queue, Ticket};

    fn rung(ticket: &Ticket) -> bool {
        ticket.bell.0.read().is_ok()
    }

    #[test]
    fn who_comes_first_is_first_and_only_those_behind_are_told() {
        let queue = Arc::new(Queue::default());
        let tickets = [(); 3].map(|()| Ticket::new(Arc::clone(&queue), Arc::new(Bell::new().unwrap())));
        let places = |tickets: &[Ticket; 3]| tickets.each_ref().map(Ticket::place);
        assert_eq!(places(&tickets), [None; 3]);
        tickets.iter().for_each(Ticket::ask);
        tickets[0].ask();
        assert_eq!(places(&tickets), [Some(0), Some(1), Some(2)]);
        tickets[1].leave();
        assert_eq!(places(&tickets), [Some(0), None, Some(1)]);
        assert_eq!(tickets.each_ref().map(rung), [false, false, true]);
        tickets[1].ask();
        let [first, second, third] = tickets;
        drop(first);
        assert_eq!((second.place(), third.place()), (Some(1), Some(0)));
        assert!(rung(&second) && rung(&third));
    }
}
