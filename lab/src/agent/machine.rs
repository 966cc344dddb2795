//! Turns among hosts that several commands started on one machine.
//!
//! Each is a process of its own and sees no other, so the kernel has to tell whose turn it
//! is: a name in the abstract namespace of UNIX sockets (unix(7)) is held by one process at
//! a time, whoever its user is, needs no file, and is free again when its holder ends. The
//! namespace is that of the network namespace: hosts in two of them do not wait for each
//! other.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use crate::hex::Hex;

/// Name that the holder of the turn has.
const TURN: &str = "nettoll/turn";
/// Interval at which whoever waits looks again.
const EVERY: Duration = Duration::from_millis(50);

/// One host's part in the turns of its machine.
#[derive(Debug)]
pub struct MachineTurn {
    /// Name by which hosts of the same controller know the holder.
    family: String,
    held: Option<[UnixListener; 2]>,
    next_try: Option<Instant>,
}

impl MachineTurn {
    /// For the host of a controller with this identity.
    pub fn new(controller: Hex<16>) -> Self {
        Self { family: format!("{TURN}/{controller}"), held: None, next_try: None }
    }

    /// Takes the turn; `false` where another has it. Two hosts of one controller have
    /// it together: they are the two ends of one trial.
    pub fn take(&mut self, now: Instant) -> bool {
        self.next_try = None;
        if self.held.is_some() {
            return true;
        }
        let names = SocketAddr::from_abstract_name(TURN).and_then(|turn| Ok((turn, SocketAddr::from_abstract_name(&self.family)?)));
        // Both are short enough for the kernel; without them there is nothing to wait by.
        let Ok((turn, family)) = names else { return true };
        if let Ok(listener) = UnixListener::bind_addr(&turn) {
            self.held = UnixListener::bind_addr(&family).ok().map(|known| [listener, known]);
            return true;
        }
        if UnixStream::connect_addr(&family).is_ok() {
            return true;
        }
        self.next_try = Some(now + EVERY);
        false
    }

    /// Lets others have it.
    pub fn give_back(&mut self) {
        self.held = None;
        self.next_try = None;
    }

    /// When to look again, where another had it.
    pub const fn next_try(&self) -> Option<Instant> {
        self.next_try
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crate::hex::Hex;

    use super::MachineTurn;

    /// One test alone: the name is one for the whole machine.
    #[test]
    fn one_controller_has_the_machine_with_all_of_its_hosts_and_others_wait() {
        let new = |id: u8| MachineTurn::new(Hex([id, std::process::id() as u8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        let (mut a, mut b, mut other) = (new(1), new(1), new(2));
        let now = Instant::now();
        // Another test on this machine may have the turn for a moment.
        while !a.take(now) {
            std::thread::sleep(super::EVERY);
        }
        assert!(a.take(now) && b.take(now) && a.next_try().is_none());
        assert!(!other.take(now));
        assert_eq!(other.next_try(), Some(now + super::EVERY));
        a.give_back();
        b.give_back();
        while !other.take(now) {
            std::thread::sleep(super::EVERY);
        }
        assert!(!a.take(now));
    }
}
