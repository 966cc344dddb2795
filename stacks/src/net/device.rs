//! Requests about network devices, and waiting for them.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use sys::netlink::{Channel, Protocol, attribute, read_text};

/// A hardware address of Ethernet.
pub type Mac = [u8; 6];

/// A device of Ethernet in the network namespace of this thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ethernet {
    /// Its number.
    pub number: u32,
    /// Its hardware address.
    pub mac: Mac,
}

impl Ethernet {
    /// The device that has an address; `None` where none has, or it is not of Ethernet.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn with_address(address: Ipv4Addr) -> io::Result<Option<Self>> {
        let socket = any_socket()?;
        let ask = |name: &str, what| {
            let mut request = named(name);
            control(socket.as_raw_fd(), what, &mut request).map(|()| request)
        };
        for name in names(&fs::read_to_string("/proc/thread-self/net/dev")?) {
            // One without an address of IPv4 has no answer.
            let Ok(found) = ask(name, libc::SIOCGIFADDR) else { continue };
            // SAFETY: the call wrote an address, whose bytes are numbers in any case.
            let bytes = unsafe { found.ifr_ifru.ifru_addr }.sa_data;
            let own = [bytes[2], bytes[3], bytes[4], bytes[5]].map(|byte| byte as u8);
            if Ipv4Addr::from(own) != address {
                continue;
            }
            let hardware = ask(name, libc::SIOCGIFHWADDR)?;
            // SAFETY: as above.
            let hardware = unsafe { hardware.ifr_ifru.ifru_hwaddr };
            if hardware.sa_family != libc::ARPHRD_ETHER {
                return Ok(None);
            }
            let number = ask(name, libc::SIOCGIFINDEX)?;
            // SAFETY: as above; the call wrote a number.
            let number = unsafe { number.ifr_ifru.ifru_ifindex } as u32;
            let mut mac = Mac::default();
            mac.iter_mut().zip(hardware.sa_data).for_each(|(place, byte)| *place = byte as u8);
            return Ok(Some(Self { number, mac }));
        }
        Ok(None)
    }
}

/// The queue discipline of the device of this number; `None` where there is no such device.
///
/// # Errors
/// A refusal of the system.
pub fn queue_discipline(number: u32) -> io::Result<Option<String>> {
    const RTM_GETLINK: u16 = 18;
    const IFLA_QDISC: u16 = 6;
    // `struct ifinfomsg`: the device is its second number.
    let mut request = [0; 16];
    request[4..8].copy_from_slice(&number.to_ne_bytes());
    let mut netlink = Channel::open(Protocol::NetlinkRoute)?;
    match netlink.ask(&format!("look at device {number}"), RTM_GETLINK, 0, &request) {
        Ok(answers) => Ok(answers.first().and_then(|found| Some(read_text(attribute(found.body.get(16..)?, IFLA_QDISC)?)))),
        Err(refused) if refused.errno().is_some_and(|errno| errno as i32 == libc::ENODEV) => Ok(None),
        Err(refused) => Err(refused.into()),
    }
}

/// The names of the devices in /proc/net/dev.
fn names(devices: &str) -> impl Iterator<Item = &str> {
    devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()))
}

/// Any socket leads to the devices of its namespace.
pub(super) fn any_socket() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
}

/// A request about a device; names are shorter than 16 bytes.
pub(super) fn named(name: &str) -> libc::ifreq {
    // SAFETY: numbers, and pointers that may be null.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *place = byte.cast_signed() as libc::c_char;
    }
    request
}

pub(super) fn control(fd: libc::c_int, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: each of these calls reads and writes an ifreq.
    match unsafe { libc::ioctl(fd, what, &raw mut *request) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until there is something to read, `within` at most; returns whether there is.
pub(super) fn readable(fd: libc::c_int, within: Duration) -> io::Result<bool> {
    let mut watched = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor is watched, and the kernel writes its answer there.
    match unsafe { libc::poll(&raw mut watched, 1, within.as_millis() as libc::c_int) } {
        answer if answer < 0 => match io::Error::last_os_error() {
            answer if answer.kind() == io::ErrorKind::Interrupted => Ok(false),
            answer => Err(answer),
        },
        ready => Ok(ready > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::{Ethernet, names, queue_discipline};
    use std::net::Ipv4Addr;

    #[test]
    fn devices_have_their_names() {
        let devices = "Inter-|   Receive |  Transmit\n face |bytes packets|bytes packets\n    lo:  10 1\nnettoll-recv:77 1\n";
        assert_eq!(names(devices).collect::<Vec<_>>(), ["lo", "nettoll-recv"]);
    }

    #[test]
    fn loopback_is_not_of_ethernet() {
        assert_eq!(Ethernet::with_address(Ipv4Addr::LOCALHOST).unwrap(), None);
        assert_eq!(Ethernet::with_address(Ipv4Addr::new(192, 0, 2, 77)).unwrap(), None);
    }

    #[test]
    fn a_device_has_its_queue_discipline() {
        // Loopback is device 1 of every network namespace, and queues nothing.
        assert_eq!(queue_discipline(1).unwrap().as_deref(), Some("noqueue"));
        assert_eq!(queue_discipline(u32::MAX >> 1).unwrap(), None);
    }
}
