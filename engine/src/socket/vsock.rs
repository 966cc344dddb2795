//! A connection of VSOCK sockets from this machine to itself (vsock(7)).

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::api::KernelRefusal;

/// The machine's own address (`VMADDR_CID_LOCAL`).
const LOCAL: u32 = libc::VMADDR_CID_LOCAL;
/// The longest that a connection may take: where the kernel has no loopback of VSOCK, the
/// request leaves a guest for a host that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Two ends that are connected.
///
/// # Errors
/// A kernel without VSOCK or its loopback.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let lack = "this kernel has no loopback of VSOCK (CONFIG_VSOCKETS_LOOPBACK), or has not loaded it (`modprobe vsock_loopback`)";
    let refused = |answer| KernelRefusal::error(lack, answer);
    let open = || Socket::new(Domain::VSOCK, Type::STREAM, None).map_err(refused);
    let listener = open()?;
    listener.bind(&SockAddr::vsock(libc::VMADDR_CID_ANY, libc::VMADDR_PORT_ANY)).map_err(refused)?;
    listener.listen(1).map_err(refused)?;
    let (_, port) = listener.local_addr()?.as_vsock_address().ok_or_else(|| io::Error::other("the listener has no VSOCK address"))?;
    let here = open()?;
    here.connect_timeout(&SockAddr::vsock(LOCAL, port), PATIENCE).map_err(refused)?;
    listener.set_nonblocking(true)?;
    // Whoever else of this machine came first is not the peer of `here`, and its bytes would be
    // taken for messages.
    let own = here.local_addr()?.as_vsock_address();
    loop {
        let (there, from) = listener.accept().map_err(refused)?;
        if from.as_vsock_address().map(|(_, port)| port) == own.map(|(_, port)| port) {
            there.set_nonblocking(false)?;
            return Ok((here.into(), there.into()));
        }
    }
}
