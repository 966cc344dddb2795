//! A TUN device: packets that this process writes are received by the kernel's IP, and packets that
//! the kernel sends out of it are read here.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use sys::device::{self, TUN};

use super::frames::Room;
use super::{Device, readable};
use crate::error::StackError;

/// The largest packet of IP.
const LARGEST: i32 = 65_535;

/// A device that vanishes with this value.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    calls: u64,
}

impl Tun {
    /// Makes a device in the network namespace of this thread, brings it up, and lets packets from it
    /// be forwarded.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn open(name: &str) -> Result<Self, StackError> {
        let made = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TUN);
        let file = made.map_err(|answer| {
            let remedy = match answer.raw_os_error() {
                Some(libc::ENOENT | libc::ENODEV) => "; load the module (modprobe tun), and give a container the device",
                _ => "; run as root, or give this user access to the device",
            };
            StackError::System { tried: format!("open {TUN}"), answer, remedy }
        })?;
        let tun = Self { file, name: name.to_owned(), calls: 0 };
        let failed = |what: &str| {
            let tried = format!("{what} the device {name}");
            move |answer| StackError::System { tried, answer, remedy: "; a TUN device needs CAP_NET_ADMIN in its network namespace" }
        };
        device::make(&tun.file, name, libc::IFF_TUN | libc::IFF_NO_PI).map_err(failed("make"))?;
        tun.quieten().map_err(failed("set up"))?;
        device::set_mtu(name, LARGEST).and_then(|()| device::bring_up(name)).map_err(failed("bring up"))?;
        Ok(tun)
    }

    /// Keeps the kernel from talking over the device by itself, and has it forward what comes from it.
    fn quieten(&self) -> io::Result<()> {
        let setting = |family: &str, name: &str| format!("/proc/sys/net/{family}/conf/{}/{name}", self.name);
        // A kernel without IPv6 has nothing to say over it.
        let _ = fs::write(setting("ipv6", "disable_ipv6"), "1");
        fs::write(setting("ipv4", "forwarding"), "1")
    }
}

impl Device for Tun {
    fn send(&mut self, room: &mut Room, packet: Range<usize>) -> io::Result<()> {
        let length = packet.len();
        match self.file.write(&room[packet])? {
            sent if sent == length => self.calls += 1,
            sent => return Err(io::Error::other(format!("the device took {sent} of {length} B"))),
        }
        Ok(())
    }

    fn receive(&mut self, room: &mut Room) -> io::Result<Option<Range<usize>>> {
        loop {
            match self.file.read(room) {
                Ok(length) => {
                    self.calls += 1;
                    return Ok(Some(0..length));
                }
                Err(answer) if answer.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(answer) if answer.kind() == io::ErrorKind::Interrupted => {}
                Err(answer) => return Err(answer),
            }
        }
    }

    fn wait(&mut self, within: Duration) -> io::Result<()> {
        readable(self.file.as_raw_fd(), within).map(drop)
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    /// Packets that the kernel had for this device and that found no room in its queue.
    fn dropped(&self) -> u64 {
        let devices = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
        // Of what it sent, after eight counts of what it received.
        device::counts(&devices, &self.name).and_then(|counts| counts.get(8 + 3).copied()).unwrap_or(0)
    }
}

/// Has packets for `to` leave by a device, or by way of another host.
///
/// # Errors
/// A refusal of the system.
pub fn add_route(to: Ipv4Addr, by: Way<'_>) -> io::Result<()> {
    // Any socket leads to the routes of its namespace.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let flags = libc::RTF_UP | libc::RTF_HOST;
    // SAFETY: numbers, and pointers that may be null.
    let mut entry: libc::rtentry = unsafe { std::mem::zeroed() };
    entry.rt_dst = address(to);
    let name = match by {
        Way::Device(name) => Some(CString::new(name).map_err(io::Error::other)?),
        Way::Gateway(_) => None,
    };
    entry.rt_flags = flags;
    match (&by, &name) {
        (Way::Gateway(gateway), _) => {
            entry.rt_gateway = address(*gateway);
            entry.rt_flags |= libc::RTF_GATEWAY;
        }
        (Way::Device(_), Some(name)) => entry.rt_dev = name.as_ptr().cast_mut(),
        (Way::Device(_), None) => {}
    }
    // SAFETY: the entry is whole, and the name that it points to outlives the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT, &raw mut entry) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            // From an earlier trial.
            answer if answer.raw_os_error() == Some(libc::EEXIST) => Ok(()),
            answer => Err(answer),
        },
    }
}

/// How packets leave.
#[derive(Debug, Clone, Copy)]
pub enum Way<'a> {
    /// Out of this device.
    Device(&'a str),
    /// To this host, which passes them on.
    Gateway(Ipv4Addr),
}

fn address(ip: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: numbers alone.
    let mut address: libc::sockaddr = unsafe { std::mem::zeroed() };
    address.sa_family = libc::AF_INET as libc::sa_family_t;
    // Two bytes of port, then the address, as in sockaddr_in.
    for (place, byte) in address.sa_data[2..6].iter_mut().zip(ip.octets()) {
        *place = byte.cast_signed() as libc::c_char;
    }
    address
}
