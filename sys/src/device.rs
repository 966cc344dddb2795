//! Network devices of the calling thread's namespace: requests of netdevice(7), devices of the TUN driver
//! (the kernel's Documentation/networking/tuntap.rst), rows of /proc/net/dev.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// The file that makes devices of the TUN driver.
pub const TUN: &str = "/dev/net/tun";

/// A hardware address of Ethernet.
pub type Mac = [u8; 6];

/// A device of Ethernet.
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
        for (name, _) in rows(&fs::read_to_string("/proc/thread-self/net/dev")?) {
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

/// Makes a device of a file that was opened at [`TUN`], and returns its name: the kernel puts a number in
/// the place of `%d`. The device vanishes with the file.
///
/// # Errors
/// The system's answer: EPERM without the right, EBUSY for a name that is taken, EINVAL for one that no
/// device can have.
pub fn make(file: &File, name: &str, flags: libc::c_int) -> io::Result<String> {
    let mut request = named(name);
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    control(file.as_raw_fd(), libc::TUNSETIFF, &mut request)?;
    let bytes = request.ifr_name.iter().map(|byte| u8::from_ne_bytes(byte.to_ne_bytes())).take_while(|byte| *byte != 0);
    Ok(bytes.map(char::from).collect())
}

/// A tap device called `name`, as a file that holds one frame a read, without a header before it, and
/// takes one a write; neither waits. The device vanishes with the file.
///
/// # Errors
/// As of [`make`]; ENOENT or ENODEV without the driver, EACCES without the right.
pub fn tap(name: &str) -> io::Result<File> {
    // One place is kept for the closing zero.
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(['%', '\0']) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(TUN)?;
    // One queue and no header: a frame is what stands on the wire.
    make(&file, name, libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL)?;
    Ok(file)
}

/// Sets the largest packet of a device.
///
/// # Errors
/// The system's answer.
pub fn set_mtu(name: &str, bytes: libc::c_int) -> io::Result<()> {
    let mut request = named(name);
    request.ifr_ifru.ifru_mtu = bytes;
    control(any_socket()?.as_raw_fd(), libc::SIOCSIFMTU, &mut request)
}

/// Brings a device up.
///
/// # Errors
/// The system's answer.
pub fn bring_up(name: &str) -> io::Result<()> {
    let mut request = named(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    control(any_socket()?.as_raw_fd(), libc::SIOCSIFFLAGS, &mut request)
}

/// Counts of a device in the text of /proc/net/dev: bytes, packets, errors, drops and four more of what it
/// received, and as many of what it sent. `None` where there is no such row.
pub fn counts(devices: &str, name: &str) -> Option<Vec<u64>> {
    let (_, counts) = rows(devices).find(|(found, _)| *found == name)?;
    counts.split_ascii_whitespace().map(|count| count.parse().ok()).collect()
}

/// Rows of /proc/net/dev: a device's name has no colon, and old kernels put no blank after it.
fn rows(devices: &str) -> impl Iterator<Item = (&str, &str)> {
    devices.lines().filter_map(|line| line.split_once(':')).map(|(name, counts)| (name.trim(), counts))
}

/// Any socket leads to the devices of its namespace.
fn any_socket() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
}

/// A request about a device; names are shorter than 16 bytes.
fn named(name: &str) -> libc::ifreq {
    // SAFETY: numbers, and pointers that may be null.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *place = byte.cast_signed() as libc::c_char;
    }
    request
}

fn control(file: RawFd, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: each of these calls reads and writes an ifreq.
    match unsafe { libc::ioctl(file, what, &raw mut *request) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::{Ethernet, bring_up, counts, rows, tap};

    #[test]
    fn counts_are_those_of_the_device() {
        let devices = "Inter-|   Receive |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n    \
                       lo:  10 1 0 0 0 0 0 0 10 1 0 9 0 0 0 0\nnettoll-recv:77 1 0 2 0 0 0 0 88 3 0 41 0 0 0 0\n";
        assert_eq!(rows(devices).map(|(name, _)| name).collect::<Vec<_>>(), ["lo", "nettoll-recv"]);
        let found = counts(devices, "nettoll-recv").unwrap();
        assert_eq!((found[0], found[3], found[11]), (77, 2, 41));
        assert_eq!((counts(devices, "nettoll-re"), counts("lo: 1 x", "lo")), (None, None));
    }

    #[test]
    fn loopback_is_not_of_ethernet() {
        assert_eq!(Ethernet::with_address(Ipv4Addr::LOCALHOST).unwrap(), None);
        assert_eq!(Ethernet::with_address(Ipv4Addr::new(192, 0, 2, 77)).unwrap(), None);
    }

    #[test]
    fn a_name_that_no_device_can_have_makes_none() {
        for name in ["", "a-name-that-is-too-long", "tap%d", "a\0b"] {
            assert_eq!(tap(name).unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{name:?}");
        }
        assert!(bring_up("nettoll-none").unwrap_err().raw_os_error().is_some());
    }
}
