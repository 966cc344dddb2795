//! The guest's network: loopback, and a pair of virtual Ethernet devices between two
//! namespaces, with delays and losses on them where that is asked for.

use crate::netlink::{Message, attribute};
use crate::plan::Step;
use crate::sys::{self, Answer, Errno, Fd, call};

/// The flags that an interface is up and running (`IFF_UP | IFF_RUNNING`).
const UP: u16 = 0x41;
/// Names of the devices, and their addresses, here and there.
const DEVICES: [&str; 2] = ["va", "vb"];
/// Addresses of the devices.
pub const ADDRESSES: [[u8; 4]; 2] = [[10, 9, 0, 1], [10, 9, 0, 2]];

/// The namespaces that messages go between.
#[derive(Debug)]
pub struct Network {
    /// Here and there; the same place until there is a pair of devices.
    namespaces: Option<[Fd; 2]>,
}

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

    /// Asks, by a socket of the namespace that the process is in.
    fn ask(&mut self, number: usize) -> Answer {
        // SAFETY: numbers: a datagram socket of IPv4.
        let socket = unsafe { call(41, [2, 2, 0, 0, 0, 0]) }? as Fd;
        // SAFETY: each of these requests reads and writes one `struct ifreq`; where that points to
        // more, it lives until the call returns.
        let answer = unsafe { call(16, [socket as usize, number, (&raw mut *self) as usize, 0, 0, 0]) };
        sys::close(socket);
        answer
    }

    /// An address of IPv4 in it (`struct sockaddr_in`).
    fn with_address(mut self, address: [u8; 4]) -> Self {
        self.content[..2].copy_from_slice(&2_u16.to_ne_bytes());
        self.content[4..8].copy_from_slice(&address);
        self
    }
}

/// Switches an interface on (`SIOCSIFFLAGS`).
///
/// # Errors
/// The kernel's, where there is no such interface.
pub fn bring_up(interface: &str) -> Answer {
    let mut request = Request::of(interface)?;
    request.content[..2].copy_from_slice(&UP.to_ne_bytes());
    request.ask(0x8914)
}

/// Place of an interface in the namespace's list (`SIOCGIFINDEX`).
fn index(interface: &str) -> Result<u32, Errno> {
    let mut request = Request::of(interface)?;
    request.ask(0x8933)?;
    let [a, b, c, d, ..] = request.content;
    Ok(u32::from_ne_bytes([a, b, c, d]))
}

impl Network {
    /// One namespace with its loopback.
    pub const fn new() -> Self {
        Self { namespaces: None }
    }

    /// Goes to one of the namespaces, does something there, and comes back.
    ///
    /// # Errors
    /// The kernel's, or what was done answers.
    pub fn within<T>(&self, place: usize, what: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        let Some([here, _]) = self.namespaces else { return what() };
        sys::set_net(self.namespaces.map_or(here, |both| both[place]))?;
        let done = what();
        sys::set_net(here)?;
        done
    }

    /// Makes the pair of devices, with an address each.
    ///
    /// # Errors
    /// The kernel's, as without the module veth.
    pub fn make_veth(&mut self) -> Answer {
        let both = two_namespaces()?;
        new_veth(both[1])?;
        self.namespaces = Some(both);
        self.address(DEVICES)
    }

    /// Puts the second of two cards into a namespace of its own, and gives each an address: `cards
    /// eth0 eth1`.
    ///
    /// # Errors
    /// The kernel's, as without a driver for them.
    pub fn part_cards(&mut self, names: &str) -> Answer {
        let (first, second) = names.split_once(' ').ok_or(Errno::INVALID)?;
        let both = two_namespaces()?;
        move_device(index(second)?, both[1])?;
        self.namespaces = Some(both);
        self.address([first, second])
    }

    /// Gives each device its address and switches it on.
    fn address(&self, devices: [&str; 2]) -> Answer {
        for place in 0..2 {
            self.within(place, || {
                let device = devices[place];
                // SIOCSIFADDR, SIOCSIFNETMASK.
                Request::of(device)?.with_address(ADDRESSES[place]).ask(0x8916)?;
                Request::of(device)?.with_address([255, 255, 255, 0]).ask(0x891c)?;
                bring_up("lo")?;
                bring_up(device)
            })?;
        }
        Ok(0)
    }

    /// Delays or loses what leaves either device: `netem delay_us=5000 loss_ppm=10000`.
    ///
    /// # Errors
    /// The kernel's, as without the module sch_netem.
    pub fn impair(&self, step: &Step) -> Answer {
        for (place, device) in DEVICES.into_iter().enumerate() {
            self.within(place, || {
                let delay = step.number("delay_us", 0) as i64 * 1000;
                // Of 2^32.
                let loss = (step.number("loss_ppm", 0) as u64 * (1 << 32) / 1_000_000).min(u64::from(u32::MAX)) as u32;
                new_netem(index(device)?, delay, loss)
            })?;
        }
        Ok(0)
    }

    /// Has the kernel compute what a device would: `checksums off` (`ETHTOOL_STXCSUM`).
    ///
    /// # Errors
    /// The kernel's.
    pub fn checksums(&self, on: bool) -> Answer {
        for (place, device) in DEVICES.into_iter().enumerate() {
            self.within(place, || {
                let command = [0x17_u32, u32::from(on)];
                let mut request = Request::of(device)?;
                request.content[..8].copy_from_slice(&((&raw const command) as usize).to_ne_bytes());
                request.ask(0x8946)
            })?;
        }
        Ok(0)
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

/// The namespace of this process, and a new one.
fn two_namespaces() -> Result<[Fd; 2], Errno> {
    const PATH: &str = "/proc/self/ns/net";
    let here = sys::open(PATH, 0)?;
    sys::unshare_net()?;
    let there = sys::open(PATH, 0);
    sys::set_net(here)?;
    Ok([here, there?])
}

/// `ip link set DEVICE netns THERE`.
fn move_device(device: u32, there: Fd) -> Answer {
    // RTM_NEWLINK of a `struct ifinfomsg` that names it.
    let mut message = Message::new(16, 0);
    message.put(&[0; 4])?;
    message.put(&device.to_ne_bytes())?;
    message.put(&[0; 8])?;
    message.attribute(attribute::NAMESPACE_FD, &there.to_ne_bytes())?;
    message.send()
}

/// `ip link add va type veth peer name vb netns THERE`.
fn new_veth(there: Fd) -> Answer {
    // RTM_NEWLINK with NLM_F_CREATE | NLM_F_EXCL, then an empty `struct ifinfomsg`.
    let mut message = Message::new(16, 0x600);
    message.put(&[0; 16])?;
    message.text(attribute::NAME, DEVICES[0])?;
    message.nested(attribute::LINK_INFO, |info| {
        info.text(1, "veth")?;
        info.nested(2, |data| {
            data.nested(1, |peer| {
                peer.put(&[0; 16])?;
                peer.text(attribute::NAME, DEVICES[1])?;
                peer.attribute(attribute::NAMESPACE_FD, &there.to_ne_bytes())
            })
        })
    })?;
    message.send()
}

/// `tc qdisc add dev DEVICE root netem delay ... loss ...`.
fn new_netem(device: u32, delay_ns: i64, loss: u32) -> Answer {
    // RTM_NEWQDISC; `struct tcmsg` at the root of the device.
    let mut message = Message::new(36, 0x600);
    message.put(&[0; 4])?;
    message.put(&device.to_ne_bytes())?;
    message.put(&0_u32.to_ne_bytes())?;
    message.put(&u32::MAX.to_ne_bytes())?;
    message.put(&[0; 4])?;
    message.text(1, "netem")?;
    message.nested(2, |options| {
        // `struct tc_netem_qopt`: latency, limit, loss, gap, duplicate, jitter.
        for word in [0, 1000, loss, 0, 0, 0] {
            options.put(&word.to_ne_bytes())?;
        }
        // TCA_NETEM_LATENCY64.
        options.attribute(10, &delay_ns.to_ne_bytes())
    })?;
    message.send()
}
