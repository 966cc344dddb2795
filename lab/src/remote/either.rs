//! Both hosts of a trial heard at once.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Heard, HostError, RemoteHost};

/// Returns what comes next from either host's endpoint, and from which; waits for both,
/// so that the loss of either is known at once.
///
/// # Errors
/// The failure of either, or that nothing came within `limit`.
pub fn hear_either(hosts: &mut [RemoteHost; 2], limit: Duration, awaited: &'static str) -> Result<(usize, Heard), HostError> {
    let deadline = Instant::now() + limit;
    loop {
        for (at, host) in hosts.iter_mut().enumerate() {
            if let Some(heard) = host.heard()? {
                return Ok((at, heard));
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // Rounded up, so that the last millisecond is not spun away.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        let [a, b] = &*hosts;
        let mut both = [a, b].map(|host| PollFd::new(host.answers.as_fd(), PollFlags::POLLIN));
        match poll(&mut both, timeout) {
            Ok(0) if left.is_zero() => return Err(HostError::Silent { awaited, limit }),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(a.endpoint_error(format!("waiting for the endpoints (poll): {errno}"))),
        }
    }
}
