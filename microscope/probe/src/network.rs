//! The guest's network: its loopback.

use crate::sys::{self, Answer, Errno, Fd, call};

/// The flags that an interface is up and running (`IFF_UP | IFF_RUNNING`).
const UP: u16 = 0x41;

/// A request about an interface (`struct ifreq`).
#[repr(C)]
struct Request {
    name: [u8; 16],
    content: [u8; 24],
}

impl Request {
    fn of(interface: &str) -> Result<Self, Errno> {
        let mut name = [0; 16];
        name.get_mut(..interface.len()).filter(|_| interface.len() < 16).ok_or(Errno::INVALID)?.copy_from_slice(interface.as_bytes());
        Ok(Self { name, content: [0; 24] })
    }

    fn ask(&mut self, socket: Fd, number: usize) -> Answer {
        // SAFETY: each of these requests reads and writes one `struct ifreq`.
        unsafe { call(16, [socket as usize, number, (&raw mut *self) as usize, 0, 0, 0]) }
    }
}

/// Switches an interface on (`SIOCSIFFLAGS`).
///
/// # Errors
/// The kernel's, where there is no such interface.
pub fn bring_up(interface: &str) -> Answer {
    // SAFETY: numbers: a datagram socket of IPv4.
    let socket = unsafe { call(41, [2, 2, 0, 0, 0, 0]) }? as Fd;
    let mut request = Request::of(interface)?;
    request.content[..2].copy_from_slice(&UP.to_ne_bytes());
    let answer = request.ask(socket, 0x8914);
    sys::close(socket);
    answer
}
