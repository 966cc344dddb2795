//! Packets of IP, whose heads the program makes, written into a TUN device (the kernel's
//! Documentation/networking/tuntap.rst): the sender's kernel receives each, forwards it over the
//! link, and never sees it in its UDP.
//!
//! The device, with the settings that let its packets be forwarded, is the sender's own and goes
//! with it. It is made in namespaces of nettoll's alone.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, RawFd};

use sys::device::{self, TUN};

use super::raw::fits;
use crate::api::frame::{ETHERNET, Frame};
use crate::api::{CallOutcome, KernelRefusal, Open, Outgoing, Place, route};

/// The kernel puts a number in the place of %d.
const NAME: &str = "nettoll-tun%d";

/// One `write` system call a packet of IP.
#[derive(Debug)]
pub struct Tun {
    number: RawFd,
    name: String,
    frame: Frame,
    // The device is there as long as it is open.
    _file: File,
}

/// Opens what devices are made by.
///
/// # Errors
/// A refusal of the system, with the remedy.
pub fn device_file() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(TUN).map_err(|answer| {
        let remedy = match answer.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => "load the module (`modprobe tun`), and give a container the device",
            _ => "run as root, or let this user read and write the device",
        };
        KernelRefusal::error(format!("open {TUN} ({remedy})"), answer)
    })
}

/// Sees to it that the device is made in a network namespace of nettoll's: its host says so in the
/// environment, as it says it to programs.
fn in_own_namespace(peer: IpAddr) -> io::Result<()> {
    let wrong = match peer {
        peer if peer.is_loopback() => "a TUN device leads to the other host, and over loopback there is none: take a link between hosts",
        IpAddr::V6(_) => "tun carries IPv4 alone: a host that forwards IPv6 does so for all of its devices; leave out -6",
        _ if std::env::var_os("NT_NAMESPACE").is_some_and(|whose| whose == "own") => return Ok(()),
        _ => {
            "tun makes a device and lets its packets be forwarded, and this host is a machine that nettoll changes nothing of: take hosts \
             that nettoll makes on this machine (without --host)"
        }
    };
    Err(io::Error::new(io::ErrorKind::Unsupported, wrong))
}

impl Open for Tun {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let ends = route::ends(&place.socket)?;
        in_own_namespace(ends[1].ip())?;
        fits(place, ends[1].is_ipv6(), "over tun")?;
        let file = device_file()?;
        let name = make(&file)?;
        set_up(&name)?;
        Ok(Self { number: file.as_raw_fd(), _file: file, name, frame: Frame::new(ends, [[0; 6]; 2], &place.message()) })
    }
}

/// Makes a device of an opened file's, and returns its name.
fn make(file: &File) -> io::Result<String> {
    let refused =
        |answer| KernelRefusal::error("make a TUN device (TUNSETIFF), which needs CAP_NET_ADMIN in the host's network namespace", answer);
    device::make(file, NAME, libc::IFF_TUN | libc::IFF_NO_PI).map_err(refused)
}

/// Lets packets from the device, which bear the sender's own address, be forwarded, keeps the
/// kernel from talking over it by itself, and brings it up.
fn set_up(name: &str) -> io::Result<()> {
    let setting = |family: &str, device: &str, key: &str| format!("/proc/sys/net/{family}/conf/{device}/{key}");
    let write = |path: String, value: &str| {
        fs::write(&path, value).map_err(|answer| {
            KernelRefusal::error(format!("write {value} to {path}, so that packets of a TUN device are forwarded"), answer)
        })
    };
    // A kernel without IPv6 has nothing to say over it.
    let _ = fs::write(setting("ipv6", name, "disable_ipv6"), "1");
    for (key, value) in [("accept_local", "1"), ("rp_filter", "0"), ("forwarding", "1")] {
        write(setting("ipv4", name, key), value)?;
    }
    // Of this one the larger of both counts (the kernel's Documentation/networking/ip-sysctl.rst).
    let all = setting("ipv4", "all", "rp_filter");
    if fs::read_to_string(&all).is_ok_and(|value| value.trim() != "0") {
        write(all, "0")?;
    }
    device::bring_up(name).map_err(|answer| KernelRefusal::error(format!("bring up the TUN device {name}"), answer))
}

impl Tun {
    /// Packets that the kernel dropped when it took them from the device.
    fn dropped(&self) -> Option<u64> {
        /// Bytes, packets and errors come before.
        const DROPPED: usize = 3;
        let devices = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
        device::counts(&devices, &self.name)?.get(DROPPED).copied()
    }
}

impl Outgoing for Tun {
    /// A datagram goes whole: it begins at its first byte.
    #[inline(always)]
    fn send_span(&mut self, _place: usize, _from: usize, to: usize) -> CallOutcome {
        let packet = &self.frame.of_length(to)[ETHERNET..];
        // SAFETY: `packet` is readable for its length and outlives the call.
        let moved = CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_write, self.number, packet.as_ptr(), packet.len()) });
        if moved.0 >= 0 { CallOutcome(self.frame.message_length() as isize) } else { moved }
    }

    fn message_at(&mut self, _place: usize) -> &mut [u8] {
        self.frame.message_mut()
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        self.dropped().filter(|dropped| *dropped > 0).map(|dropped| ("TUN rx_dropped", dropped)).into_iter().collect()
    }
}
