//! Turns of controllers: one trial at a time on a host, or as many as its owner allows, the others in line.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// The line before a host.
#[derive(Debug)]
pub struct Queue {
    line: Mutex<VecDeque<Standing>>,
    /// Controllers at its head that have the host at once.
    at_once: NonZeroU32,
}

impl Default for Queue {
    /// Of a host for one at a time.
    fn default() -> Self {
        Self::new(NonZeroU32::MIN)
    }
}

impl Queue {
    /// Of a host for so many at once.
    pub fn new(at_once: NonZeroU32) -> Self {
        Self { line: Mutex::default(), at_once }
    }

    fn at_once(&self) -> usize {
        usize::try_from(self.at_once.get()).unwrap_or(usize::MAX)
    }
}

/// A controller that stands in line.
#[derive(Debug)]
struct Standing {
    bell: Arc<Bell>,
    /// The most others that had the host while it had it.
    others: u32,
}

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
        if self.position(&line).is_none() {
            line.push_back(Standing { bell: Arc::clone(&self.bell), others: 0 });
            self.count(&mut line);
        }
    }

    /// Returns the number of those that it waits for; 0: it has the host. `None`: it is not in line.
    pub fn place(&self) -> Option<usize> {
        let position = self.position(&self.line())?;
        Some((position + 1).saturating_sub(self.queue.at_once()))
    }

    /// Returns whether others may have the host at the same time.
    pub fn is_shared(&self) -> bool {
        self.queue.at_once() > 1
    }

    /// Its trial begins: who had the host before counts no more.
    pub fn begin(&self) {
        let mut line = self.line();
        if let Some(position) = self.position(&line) {
            line[position].others = 0;
        }
        self.count(&mut line);
    }

    /// The most others that had the host at the same time since its trial began.
    pub fn others(&self) -> u32 {
        let line = self.line();
        self.position(&line).map_or(0, |position| line[position].others)
    }

    /// Leaves the line and gives up the host.
    pub fn leave(&self) {
        let mut line = self.line();
        let Some(place) = self.position(&line) else { return };
        line.remove(place);
        self.count(&mut line);
        line.iter().skip(place).for_each(|standing| standing.bell.ring());
    }

    /// Counts for each that has the host how many others do.
    fn count(&self, line: &mut VecDeque<Standing>) {
        let have = line.len().min(self.queue.at_once());
        let others = u32::try_from(have.saturating_sub(1)).unwrap_or(u32::MAX);
        line.iter_mut().take(have).for_each(|standing| standing.others = standing.others.max(others));
    }

    fn position(&self, line: &VecDeque<Standing>) -> Option<usize> {
        line.iter().position(|standing| Arc::ptr_eq(&standing.bell, &self.bell))
    }

    fn line(&self) -> MutexGuard<'_, VecDeque<Standing>> {
        self.queue.line.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn as_many_as_are_allowed_have_the_host_and_know_of_each_other() {
        let queue = Arc::new(Queue::new(2.try_into().unwrap()));
        let tickets = [(); 4].map(|()| Ticket::new(Arc::clone(&queue), Arc::new(Bell::new().unwrap())));
        tickets[0].ask();
        assert_eq!((tickets[0].others(), tickets[0].is_shared()), (0, true));
        tickets[1..].iter().for_each(Ticket::ask);
        assert_eq!(tickets.each_ref().map(Ticket::place), [Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(tickets.each_ref().map(Ticket::others), [1, 1, 0, 0]);
        tickets[0].leave();
        assert_eq!(tickets.each_ref().map(Ticket::place), [None, Some(0), Some(0), Some(1)]);
        assert!(rung(&tickets[2]) && tickets[2].others() == 1);
        // A trial that begins now has had those who are there, and no others.
        tickets[2].begin();
        assert_eq!(tickets[2].others(), 1);
        // One that was there still counts when it has gone.
        tickets[2].leave();
        tickets[3].leave();
        assert_eq!((tickets[1].place(), tickets[1].others()), (Some(0), 1));
        tickets[1].begin();
        assert_eq!(tickets[1].others(), 0);
    }
}
