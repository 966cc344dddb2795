//! The relay: a wire in user space between tap devices, for what no queueing
//! discipline does: propagation delay and loss without netem, slow hosts, a
//! half-duplex medium with collisions.
//!
//! ```text
//! host a -- nettoll0 (tap) == file == LinkEmulator == file == (tap) nettoll0 -- host b
//! ```
//!
//! The rules are [`linksim::emulator`]'s, which compute in times of their
//! own: this thread only moves frames when they are due. When it is late, so is
//! that frame, but no frame after it: what is due next does not depend on when
//! the last one was moved. The lateness is counted.
//!
//! The relay runs as a thread of the process that holds the wire, and ends with
//! it; with its files vanish the devices.

mod mover;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use model::control::WireTask;
use model::kernel::WireCounters;
use model::link::Wire;
use nix::errno::Errno;

use crate::host::link;
use crate::host::namespace::Entered;
use crate::refusal::{Refusal, refused};

use mover::Mover;

/// A running relay.
#[derive(Debug)]
pub struct Relay {
    shared: Arc<Shared>,
}

/// State shared by the relay's thread and the process that started it.
#[derive(Debug, Default)]
struct Shared {
    counters: Mutex<WireCounters>,
    /// Nobody wants the relay any more.
    over: AtomicBool,
    /// Reason for its end, where it ended by itself.
    broken: Mutex<Option<String>>,
}

impl Relay {
    /// Makes two tap devices, takes them to their hosts, and starts to move
    /// frames between them. To be called in a process that has set itself apart.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn start(entered: &Entered, wire: Wire, task: &WireTask) -> Result<Self, Refusal> {
        let [a, b] = &task.ends[..] else {
            let tried = format!("making a relay between {} hosts", task.ends.len());
            return Err(Refusal::new(tried, "it joins two", "use a shared-wire or switch link for more"));
        };
        let mut files = Vec::new();
        // Names of its own: both hosts may call their end the same.
        for (name, end) in ["relay0", "relay1"].into_iter().zip([a, b]) {
            files.push(sys::device::tap(name).map_err(|answer| no_tap(&answer))?);
            link::give_away(entered, name, end)?;
        }
        let shared = Arc::new(Shared::default());
        let mover = Mover::new(wire, task.seed, files, Arc::clone(&shared));
        let started = thread::Builder::new().name("relay".to_owned()).stack_size(256 << 10).spawn(move || mover.run());
        started.map_err(refused("starting the relay's thread", "raise the limit on processes (ulimit -u)"))?;
        Ok(Self { shared })
    }

    /// Returns what became of the frames so far.
    ///
    /// # Errors
    /// Why the relay has ended, if it has.
    pub fn counters(&self) -> Result<WireCounters, Refusal> {
        match &*self.shared.broken.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(reason) => Err(Refusal::new("the relay has ended", reason, "run the study again")),
            None => Ok(*self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

fn no_tap(answer: &std::io::Error) -> Refusal {
    let errno = answer.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw);
    let remedy = match errno {
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => {
            "the kernel has no tap devices (CONFIG_TUN, or 'modprobe tun' as root), or the container does not show the file; \
             an ethernet or shared-wire link needs none"
        }
        Errno::EACCES => "a relay reads and writes that file: allow it to this user, or run as root",
        Errno::EPERM => "the new namespace gives no rights (a security module?): run as root",
        _ => "use an ethernet or shared-wire link, or report this with the kernel's version",
    };
    Refusal::new(format!("making a tap device ({})", sys::device::TUN), format!("the system answered {errno}"), remedy)
}

#[cfg(test)]
mod tests {
    use super::no_tap;

    #[test]
    fn a_refusal_names_the_file_the_errno_and_a_way_out() {
        let text = no_tap(&std::io::Error::from_raw_os_error(13)).to_string();
        assert!(text.contains("/dev/net/tun") && text.contains("EACCES") && text.contains("run as root"), "{text}");
        assert!(no_tap(&std::io::Error::from_raw_os_error(2)).to_string().contains("CONFIG_TUN"));
    }
}
